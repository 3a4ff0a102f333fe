// Handlers of projects: settings, members, invitations, API keys, transfer, audit log. The role decides what is shown.
import {
  type AuditPage,
  type InvitationRow,
  type KeyRow,
  type MemberRow,
  type projectRoutes,
  type ProjectSettings,
} from "../../contract/api/projects.ts";
import { invitationMethod, mayChangeRole, mayDo, mayRemoveMember, type Role } from "../../core/access.ts";
import { AUDIT_ACTIONS } from "../../core/audit.ts";
import { AppError } from "../../core/errors.ts";
import type { Instant } from "../../core/instant.ts";
import { listAudit } from "../../operations/audit.ts";
import {
  changeRole,
  endTransfer,
  invite,
  leaveProject,
  removeMember,
  requestTransfer,
  takeOverProject,
  withdrawInvitation,
} from "../../operations/members.ts";
import {
  changePingKey,
  changeProjectName,
  changeProjectZone,
  endApiKey,
  makeApiKey,
  openProject,
  type ProjectChange,
  removeProject,
} from "../../operations/projects.ts";
import { type ApiKey, listApiKeys } from "../../store/api-keys.ts";
import type { Db } from "../../store/db.ts";
import { type Invitation, listInvitations } from "../../store/invitations.ts";
import {
  findProjectByUuid,
  findTransfer,
  listMembers,
  type Member,
  type Project,
} from "../../store/projects.ts";
import type { Person } from "../../store/sessions.ts";
import { changedBy, notFound, numberParam, uuidParam } from "./params.ts";
import { type Actor, type ApiContext, type ApiHandlers, ApiProblem } from "./route.ts";

/** The parts of a request that handlers of a project use. */
type ProjectRequest = {
  context: ApiContext;
  actor: Actor;
  account: Person | null;
  project: Project;
  role: Role;
  now: Instant;
};

/** The settings of a project, read again, because the request may just have changed it. */
async function projectSettings(request: ProjectRequest): Promise<ProjectSettings> {
  const { context, account, role, now } = request;
  const { database: db } = context;
  const project = await findProjectByUuid(db, request.project.uuid);
  if (project === null) throw notFound();
  const [members, invitations, keys, transfer] = await Promise.all([
    listMembers(db, project.id),
    mayDo(role, "manageMembers") ? listInvitations(db, project.id) : [],
    mayDo(role, "manageKeys") ? listApiKeys(db, project.id) : [],
    findTransfer(db, project.id),
  ]);
  const accountId = account?.id ?? null;
  const asked = members.find((member) => member.accountId === transfer?.toAccountId);
  return {
    id: project.uuid,
    name: project.name,
    zone: project.tz,
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
    members: members.map((member) => shownMember(member, { role, accountId })),
    invitations: invitations.filter(({ expiresAt }) => expiresAt > now).map(shownInvitation),
    keys: keys.filter(({ revokedAt }) => revokedAt === null).map(shownKey),
    pingKey: mayDo(role, "manageKeys") ? project.pingKey : null,
    transfer:
      transfer === null || asked === undefined
        ? null
        : {
            to: asked.email,
            name: asked.name,
            since: transfer.createdAt,
            isMine: asked.accountId === accountId,
          },
    invitesBy:
      account === null ? null : invitationMethod({ sendsMail: context.sendsMail, isAdmin: account.isAdmin }),
  };
}

function shownMember(member: Member, asker: { role: Role; accountId: number | null }): MemberRow {
  const isMe = member.accountId === asker.accountId;
  const { uuid: id, email, name, role, since } = member;
  return {
    id,
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
  return { id: uuid, email, role: role ?? "readOnly", invitedBy, createdAt, expiresAt };
}

function shownKey({ id, kind, name, prefix, createdAt, lastUsedAt }: ApiKey): KeyRow {
  return { id, kind, name, prefix, createdAt, lastUsedAt };
}

/** A page of the audit log of a project, or of the server (null). */
export async function auditPage(
  db: Db,
  { projectId, cursor }: { projectId: number | null; cursor: string | undefined },
): Promise<AuditPage> {
  const { entries, nextBeforeId } = await listAudit(db, {
    projectId,
    ...(cursor !== undefined && { beforeId: Number(cursor) }),
  });
  return {
    next: nextBeforeId === null ? null : String(nextBeforeId),
    entries: entries.map((entry) => ({
      id: entry.id,
      at: entry.at,
      who: entry.email ?? (entry.keyPrefix === null ? null : `${entry.keyPrefix}…`),
      by: entry.accountId !== null ? "person" : entry.keyId !== null ? "key" : "nobody",
      what: entry.what,
      words: AUDIT_ACTIONS[entry.what] ?? entry.what,
      subject: entry.subject,
      // Always written from objects.
      before: entry.before as Record<string, unknown> | null,
      after: entry.after as Record<string, unknown> | null,
    })),
  };
}

/** A change of the project. */
function changeOf({ project, actor, now }: ProjectRequest): ProjectChange {
  return { project, by: actor, now };
}

/** A change to members. */
function memberChange({ project, account, now }: ProjectRequest & { account: Person }) {
  return { project, actorId: account.id, now };
}

/** The project after a change. */
async function settings(request: ProjectRequest): Promise<{ json: ProjectSettings }> {
  return { json: await projectSettings(request) };
}

/** The error for a request based on a name that has changed since. */
async function nameConflict({ context, account, project, now }: ProjectRequest): Promise<ApiProblem> {
  const { entries } = await listAudit(context.database, { projectId: project.id });
  const entry = entries.find(({ what }) => what === "project.renamed");
  return new ApiProblem("conflict", "Someone else renamed this project while you were editing it.", {
    conflict: {
      by: changedBy(entry, account?.id ?? null),
      at: entry?.at ?? now,
      before: { ...entry?.before },
      after: { ...entry?.after },
      version: 0,
    },
  });
}

export const projectHandlers: ApiHandlers<typeof projectRoutes> = {
  createProject: async ({ context, account, body, now }) => {
    const { uuid, name } = await openProject(context.database, {
      accountId: account.id,
      name: body.name,
      now,
    });
    return { json: { id: uuid, name } };
  },
  getProject: settings,
  updateProject: async (request) => {
    const { context, body } = request;
    const { name, nameBefore: expected, zone } = body;
    if (name !== undefined) {
      const change = { ...changeOf(request), name, ...(expected !== undefined && { expected }) };
      await changeProjectName(context.database, change).catch(async (error: unknown) => {
        if (!(error instanceof AppError) || error.code !== "precondition_failed") throw error;
        throw await nameConflict(request);
      });
    }
    if (zone !== undefined) await changeProjectZone(context.database, { ...changeOf(request), zone });
    return settings(request);
  },
  deleteProject: async (request) => {
    await removeProject(request.context.database, changeOf(request));
    return { json: null };
  },
  leaveProject: async ({ context, project, account, now }) => {
    await leaveProject(context.database, { project, accountId: account.id, now });
    return { json: null };
  },
  inviteMember: async (request) => {
    const { context, account, project, body, now } = request;
    const by = invitationMethod({ sendsMail: context.sendsMail, isAdmin: account.isAdmin });
    if (by === null) {
      const text = "This server doesn't send email. An admin can create an invitation link.";
      throw new AppError("invalid", text, "email");
    }
    const { signing } = context;
    const invitation = { project, inviterId: account.id, ...body, signing, byMail: by === "mail", now };
    const { token } = await invite(context.database, invitation);
    const link = token === null ? null : `${context.site.url}/accounts/invitation/${token}/`;
    return { json: { settings: await projectSettings(request), link } };
  },
  cancelInvitation: async (request) => {
    const uuid = uuidParam(request.params.invitation);
    await withdrawInvitation(request.context.database, { ...memberChange(request), uuid });
    return settings(request);
  },
  changeRole: async (request) => {
    const memberUuid = uuidParam(request.params.account);
    const { role } = request.body;
    await changeRole(request.context.database, { ...memberChange(request), memberUuid, role });
    return settings(request);
  },
  removeMember: async (request) => {
    const memberUuid = uuidParam(request.params.account);
    await removeMember(request.context.database, { ...memberChange(request), memberUuid });
    return settings(request);
  },
  createKey: async (request) => {
    const { context, body } = request;
    const secretKey = context.secrets.current;
    const key = await makeApiKey(context.database, { ...changeOf(request), ...body, secretKey });
    return { json: { key, settings: await projectSettings(request) } };
  },
  revokeKey: async (request) => {
    const keyId = numberParam(request.params.key);
    await endApiKey(request.context.database, { ...changeOf(request), keyId });
    return settings(request);
  },
  createPingKey: async (request) => {
    await changePingKey(request.context.database, { ...changeOf(request), to: "new" });
    return settings(request);
  },
  deletePingKey: async (request) => {
    await changePingKey(request.context.database, { ...changeOf(request), to: "none" });
    return settings(request);
  },
  requestTransfer: async (request) => {
    const { context, body } = request;
    await requestTransfer(context.database, {
      ...memberChange(request),
      toUuid: body.account,
      byMail: context.sendsMail,
    });
    return settings(request);
  },
  cancelTransfer: async (request) => {
    await endTransfer(request.context.database, memberChange(request));
    return settings(request);
  },
  acceptTransfer: async (request) => {
    const { checkLimitDefault } = request.context;
    await takeOverProject(request.context.database, { ...memberChange(request), checkLimitDefault });
    return { json: null };
  },
  declineTransfer: async (request) => {
    await endTransfer(request.context.database, memberChange(request));
    return { json: null };
  },
  listAudit: async ({ context, project, query }) => ({
    json: await auditPage(context.database, { projectId: project.id, cursor: query.cursor }),
  }),
};
