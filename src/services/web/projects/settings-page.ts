// What the settings of a project are told: as much as the role of whoever asks allows to see.
import type {
  AuditPage,
  InvitationRow,
  KeyRow,
  MemberRow,
  ProjectSettings,
} from "../../../contract/web/project-settings.ts";
import { mayDo, mayRemoveMember, type Role } from "../../../core/access.ts";
import { AUDIT_WORDS } from "../../../core/accounts/audit-words.ts";
import { invitesBy, mayChangeRole } from "../../../core/accounts/member-rules.ts";
import { listAudit } from "../../../operations/accounts/audit.ts";
import { type Invitation, listInvitations } from "../../../store/accounts/invitations.ts";
import { findTransfer, listMembers, type Member } from "../../../store/accounts/members.ts";
import { findProjectEntry } from "../../../store/accounts/project-entry.ts";
import type { Db } from "../../../store/db.ts";
import { type ApiKey, listApiKeys } from "../../../store/keys.ts";
import { type ProjectAsk, WebRefusal } from "../route.ts";

/** The settings of a project, as they are now. */
export async function projectSettings({
  house,
  account,
  project,
  now,
}: ProjectAsk): Promise<ProjectSettings> {
  const { database: db } = house;
  // Read again: the request may just have changed it.
  const entry = await findProjectEntry(db, { accountId: account.id, projectId: project.id });
  if (entry === null) throw new WebRefusal("not_found", "It doesn't exist, or you don't have access to it.");
  const { role } = entry;
  const [members, invitations, keys, transfer] = await Promise.all([
    listMembers(db, project.id),
    mayDo(role, "manageMembers") ? listInvitations(db, project.id) : [],
    mayDo(role, "manageKeys") ? listApiKeys(db, project.id) : [],
    findTransfer(db, project.id),
  ]);
  const asked = members.find(({ accountId }) => accountId === transfer?.toAccountId);
  return {
    uuid: project.uuid,
    name: entry.project.name,
    zone: entry.project.tz,
    createdAt: project.createdAt,
    role,
    may: {
      rename: mayDo(role, "renameProject"),
      manageMembers: mayDo(role, "manageMembers"),
      manageKeys: mayDo(role, "manageKeys"),
      transfer: mayDo(role, "transferProject"),
      remove: mayDo(role, "removeProject"),
      leave: mayDo(role, "leaveProject"),
    },
    members: members.map((member) => shownMember(member, { role, accountId: account.id })),
    invitations: invitations.filter(({ expiresAt }) => expiresAt > now).map(shownInvitation),
    keys: keys.filter(({ revokedAt }) => revokedAt === null).map(shownKey),
    pingKey: mayDo(role, "manageKeys") ? entry.project.pingKey : null,
    transfer:
      transfer === null || asked === undefined
        ? null
        : {
            to: asked.email,
            name: asked.name,
            since: transfer.createdAt,
            isMine: asked.accountId === account.id,
          },
    invitesBy: invitesBy({ sendsMail: house.signIn.mail, isOperator: account.isOperator }),
  };
}

function shownMember(member: Member, asker: { role: Role; accountId: number }): MemberRow {
  const isMe = member.accountId === asker.accountId;
  const { uuid, email, name, role, since } = member;
  return {
    uuid,
    email,
    name,
    role,
    since,
    isMe,
    mayRemove: mayRemoveMember(asker.role, { role, isRemover: isMe }),
    mayChangeRole: mayChangeRole(asker.role, { role, isChanger: isMe }),
  };
}

function shownInvitation({ uuid, email, role, invitedBy, createdAt, expiresAt }: Invitation): InvitationRow {
  return { uuid, email, role: role ?? "readOnly", invitedBy, createdAt, expiresAt };
}

function shownKey({ id, kind, name, prefix, createdAt, lastUsedAt }: ApiKey): KeyRow {
  return { id, kind, name, prefix, createdAt, lastUsedAt };
}

/** A page of the record of a project, or (null) of what is about none. */
export async function auditPage(
  db: Db,
  { projectId, before }: { projectId: number | null; before: string | undefined },
): Promise<AuditPage> {
  const { entries, nextBeforeId } = await listAudit(db, {
    projectId,
    ...(before !== undefined && { beforeId: Number(before) }),
  });
  return {
    next: nextBeforeId,
    entries: entries.map((entry) => ({
      id: entry.id,
      at: entry.at,
      who: entry.email ?? (entry.keyPrefix === null ? null : `${entry.keyPrefix}…`),
      by: entry.accountId !== null ? "person" : entry.keyId !== null ? "key" : "nobody",
      what: entry.what,
      words: AUDIT_WORDS[entry.what] ?? entry.what,
      subject: entry.subject,
      // Written from objects, always.
      before: entry.before as Record<string, unknown> | null,
      after: entry.after as Record<string, unknown> | null,
    })),
  };
}
