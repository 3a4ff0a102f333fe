// Members of a project: inviting, roles, leaving. What a role may do is core's; here it is looked up under the
// project's lock, so that nobody acts on a role that was taken away meanwhile.
import { randomUUID } from "node:crypto";
import { mayDo, mayRemoveMember, type Role } from "../../core/access.ts";
import { type GivenRole, mayChangeRole, mayGiveRole, MEMBERS_MAX } from "../../core/accounts/member-rules.ts";
import { INVITATION_DAYS, linkToken } from "../../core/accounts/token-rules.ts";
import type { Signing } from "../../core/alerts/mail-tokens.ts";
import { AppError } from "../../core/errors.ts";
import { DAY_MS, type Instant } from "../../core/instant.ts";
import { digestOfToken } from "../../lib/secrets/secret-token.ts";
import {
  deleteInvitation,
  deleteInvitationsBy,
  deleteInvitationsOfEmail,
  findInvitationByUuid,
  insertInvitation,
  listInvitations,
} from "../../store/accounts/invitations.ts";
import {
  deleteMember,
  deleteTransfer,
  findTransfer,
  listMembers,
  lockProject,
  type Member,
  writeRole,
} from "../../store/accounts/members.ts";
import { findAccountByEmail, type Project } from "../../store/accounts/projects.ts";
import type { Database } from "../../store/db.ts";
import { inTransaction, type Tx } from "../../store/transaction.ts";
import { inRetriedTransaction } from "../changing/retried.ts";
import { normalEmail } from "../create-account.ts";
import { countAttempts } from "./sign-in/attempts.ts";
import { audit } from "./audit.ts";
import { mailInvitation } from "./mail.ts";

export type InvitationRequest = {
  /** Null: into the installation, by whoever runs it. */
  project: Project | null;
  /** Null: the command line. */
  inviterId: number | null;
  email: string;
  role: GivenRole | null;
  signing: Signing;
  /** False: the link is returned, to be passed on by hand. */
  byMail: boolean;
  now: Instant;
};

/** Invites somebody; an earlier invitation of the address ends. The token is returned where no mail is sent. */
export async function invite(
  database: Database,
  request: InvitationRequest,
): Promise<{ token: string | null }> {
  const { project, inviterId, role, signing, byMail, now } = request;
  const email = normalEmail(request.email);
  if (inviterId !== null)
    await countAttempts(database, [{ kind: "invite", subject: String(inviterId) }], { now });
  const uuid = randomUUID();
  const token = linkToken(signing, { purpose: "invite", uuid });
  const projectId = project?.id ?? null;
  await inRetriedTransaction(database, async (tx) => {
    if (project !== null) await demandRoom(tx, { projectId: project.id, inviterId, email, role });
    else if ((await findAccountByEmail(tx, email)) !== null) {
      throw new AppError("conflict", `An account for ${email} already exists.`);
    }
    await deleteInvitationsOfEmail(tx, { projectId, email });
    const expiresAt = now + INVITATION_DAYS * DAY_MS;
    const digest = digestOfToken(token);
    await insertInvitation(tx, {
      uuid,
      digest,
      projectId,
      email,
      role,
      inviterId,
      createdAt: now,
      expiresAt,
    });
    if (byMail) await mailInvitation(tx, { uuid, at: now });
    const after = { email, role };
    const what = "member.invited";
    await audit(tx, {
      projectId,
      accountId: inviterId,
      keyId: null,
      what,
      subject: email,
      before: null,
      after,
      at: now,
    });
  });
  return { token: byMail ? null : token };
}

type Room = { projectId: number; inviterId: number | null; email: string; role: GivenRole | null };

async function demandRoom(tx: Tx, { projectId, inviterId, email, role }: Room): Promise<void> {
  await lockProject(tx, projectId);
  const members = await listMembers(tx, projectId);
  const inviter = members.find(({ accountId }) => accountId === inviterId);
  if (inviterId !== null && (inviter === undefined || role === null || !mayGiveRole(inviter.role, role))) {
    throw notAllowed();
  }
  if (members.some((member) => member.email === email)) {
    throw new AppError("conflict", `${email} is already a member.`);
  }
  if (members.length + (await listInvitations(tx, projectId)).length >= MEMBERS_MAX) {
    throw new AppError("conflict", `A project can have at most ${MEMBERS_MAX} members.`);
  }
}

function notAllowed(): AppError {
  return new AppError("forbidden", "Your role in this project does not allow this.");
}

/** Withdraws an invitation. AppError `not_found`. */
export async function withdrawInvitation(
  database: Database,
  { project, uuid, actorId, now }: { project: Project; uuid: string; actorId: number; now: Instant },
): Promise<void> {
  await inTransaction(database, async (tx) => {
    const invitation = await findInvitationByUuid(tx, uuid);
    if (invitation?.projectId !== project.id || !(await deleteInvitation(tx, invitation.id))) {
      throw new AppError("not_found", "The invitation no longer exists.");
    }
    const { email, role } = invitation;
    const change = { before: { email, role }, after: null };
    const by = { projectId: project.id, accountId: actorId, keyId: null };
    await audit(tx, { ...by, what: "member.inviteEnded", subject: email, ...change, at: now });
  });
}

export type MemberChange = { project: Project; actorId: number; memberUuid: string; now: Instant };

async function bothMembers(
  tx: Tx,
  { project, actorId, memberUuid }: MemberChange,
): Promise<{ actor: Member; member: Member }> {
  await lockProject(tx, project.id);
  const members = await listMembers(tx, project.id);
  const actor = members.find(({ accountId }) => accountId === actorId);
  const member = members.find(({ uuid }) => uuid === memberUuid);
  if (actor === undefined || !mayDo(actor.role, "manageMembers")) throw notAllowed();
  if (member === undefined) throw new AppError("not_found", "This person is no longer a member.");
  return { actor, member };
}

/** Makes a member something else. AppError `forbidden` where the roles do not allow it. */
export async function changeRole(
  database: Database,
  change: MemberChange & { role: GivenRole },
): Promise<void> {
  const { project, actorId, role, now } = change;
  await inRetriedTransaction(database, async (tx) => {
    const { actor, member } = await bothMembers(tx, change);
    const isChanger = member.accountId === actorId;
    if (!mayChangeRole(actor.role, { role: member.role, isChanger }) || !mayGiveRole(actor.role, role)) {
      throw notAllowed();
    }
    await writeRole(tx, { projectId: project.id, accountId: member.accountId, role });
    const sides = { before: { role: member.role }, after: { role } };
    const by = { projectId: project.id, accountId: actorId, keyId: null };
    await audit(tx, { ...by, what: "member.roleChanged", subject: member.email, ...sides, at: now });
    if (mayDo(role, "manageMembers")) return;
    await endInvitationsBy(tx, { projectId: project.id, inviterId: member.accountId, actorId, now });
  });
}

/** Lets a member out. AppError `forbidden` where the roles do not allow it. */
export async function removeMember(database: Database, change: MemberChange): Promise<void> {
  const { project, actorId } = change;
  await inRetriedTransaction(database, async (tx) => {
    const { actor, member } = await bothMembers(tx, change);
    const isRemover = member.accountId === actorId;
    if (!mayRemoveMember(actor.role, { role: member.role, isRemover })) throw notAllowed();
    await letOut(tx, { project, member, actorId, what: "member.removed", now: change.now });
  });
}

/** Leaves a project. AppError `forbidden` for its owner, who hands it over instead. */
export async function leaveProject(
  database: Database,
  { project, accountId, now }: { project: Project; accountId: number; now: Instant },
): Promise<void> {
  await inRetriedTransaction(database, async (tx) => {
    await lockProject(tx, project.id);
    const member = (await listMembers(tx, project.id)).find((one) => one.accountId === accountId);
    if (member === undefined) throw new AppError("not_found", "You are not a member of this project.");
    if (!mayDo(member.role, "leaveProject")) {
      throw new AppError(
        "forbidden",
        "The owner cannot leave the project. Transfer ownership or delete the project.",
      );
    }
    await letOut(tx, { project, member, actorId: accountId, what: "member.left", now });
  });
}

type LettingOut = {
  project: Project;
  member: { accountId: number; email: string; role: Role };
  actorId: number;
  what: "member.removed" | "member.left";
  now: Instant;
};

async function letOut(tx: Tx, { project, member, actorId, what, now }: LettingOut): Promise<void> {
  const { accountId, email, role } = member;
  await deleteMember(tx, { projectId: project.id, accountId });
  // Only members take projects over.
  if ((await findTransfer(tx, project.id))?.toAccountId === accountId) await deleteTransfer(tx, project.id);
  const by = { projectId: project.id, accountId: actorId, keyId: null };
  await audit(tx, { ...by, what, subject: email, before: { role }, after: null, at: now });
  await endInvitationsBy(tx, { projectId: project.id, inviterId: accountId, actorId, now });
}

/** Ends what somebody has sent who may invite no more: nobody comes back, or lets others in, by a link kept for later. */
export async function endInvitationsBy(
  tx: Tx,
  of: { projectId: number | null; inviterId: number; actorId: number; now: Instant },
): Promise<void> {
  const by = { projectId: of.projectId, accountId: of.actorId, keyId: null, after: null, at: of.now };
  for (const ended of await deleteInvitationsBy(tx, of)) {
    await audit(tx, { ...by, what: "member.inviteEnded", subject: ended.email, before: ended });
  }
}
