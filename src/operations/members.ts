// Members of a project: invitations, roles, leaving, and transferring ownership. Roles are read under the
// project's lock, so that a role that was just revoked has no effect.
import { randomUUID } from "node:crypto";
import {
  type GivenRole,
  isInvitationValid,
  mayChangeRole,
  mayDo,
  mayGiveRole,
  mayReceiveProject,
  mayRemoveMember,
  type Role,
} from "../core/access.ts";
import type { Signing } from "../core/email.ts";
import { AppError } from "../core/errors.ts";
import { DAY_MS, type Instant } from "../core/instant.ts";
import { MEMBERS_MAX, PROJECTS_OWNED_MAX } from "../core/limits.ts";
import { INVITATION_DAYS, linkToken, passwordProblem } from "../core/sign-in.ts";
import { digestOfToken } from "../lib/secrets.ts";
import { type Account, findAccountByEmail, findAccountById } from "../store/accounts.ts";
import { countChecks } from "../store/check-lists.ts";
import { countChecksOwnedBy, lockOwnedChecks } from "../store/checks.ts";
import { writePassword } from "../store/credentials.ts";
import type { Database, Db } from "../store/db.ts";
import {
  deleteInvitation,
  deleteInvitationsBy,
  deleteInvitationsOfEmail,
  findInvitation,
  findInvitationByUuid,
  insertInvitation,
  type Invitation,
  listInvitations,
} from "../store/invitations.ts";
import {
  countOwnedProjects,
  deleteMember,
  deleteTransfer,
  findTransfer,
  insertMember,
  listMembers,
  lockProject,
  type Member,
  type Project,
  writeRole,
  writeTransfer,
} from "../store/projects.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { queueInvitationEmail, queueTransferEmail } from "./account-emails.ts";
import { addAccount, normalEmail } from "./accounts.ts";
import { countAttempts, type Visitor } from "./attempts.ts";
import { audit } from "./audit.ts";
import { createPasswordHash } from "./credentials.ts";
import { inRetriedTransaction, retryOnUniqueViolation } from "./retry.ts";
import { completeSignIn, type SignInResult } from "./sign-in.ts";

export type InvitationRequest = {
  /** Null: to the server, by an admin. */
  project: Project | null;
  /** Null: the command line. */
  inviterId: number | null;
  email: string;
  role: GivenRole | null;
  signing: Signing;
  /** False: the link is returned instead of emailed. */
  byMail: boolean;
  now: Instant;
};

/** Invites an address; replaces its earlier invitation. Returns the token if no email is sent. */
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
    if (project !== null)
      await requireRoomForInvitation(tx, { projectId: project.id, inviterId, email, role });
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
    if (byMail) await queueInvitationEmail(tx, { uuid, at: now });
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

type InvitationRoom = { projectId: number; inviterId: number | null; email: string; role: GivenRole | null };

async function requireRoomForInvitation(
  tx: Tx,
  { projectId, inviterId, email, role }: InvitationRoom,
): Promise<void> {
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

/** Changes the role of a member. AppError `forbidden` if the roles do not allow it. */
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

/** Removes a member. AppError `forbidden` if the roles do not allow it. */
export async function removeMember(database: Database, change: MemberChange): Promise<void> {
  const { project, actorId } = change;
  await inRetriedTransaction(database, async (tx) => {
    const { actor, member } = await bothMembers(tx, change);
    const isRemover = member.accountId === actorId;
    if (!mayRemoveMember(actor.role, { role: member.role, isRemover })) throw notAllowed();
    await endMembership(tx, { project, member, actorId, what: "member.removed", now: change.now });
  });
}

/** Leaves a project. AppError `forbidden` for its owner, who has to transfer it. */
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
    await endMembership(tx, { project, member, actorId: accountId, what: "member.left", now });
  });
}

type EndedMembership = {
  project: Project;
  member: { accountId: number; email: string; role: Role };
  actorId: number;
  what: "member.removed" | "member.left";
  now: Instant;
};

async function endMembership(
  tx: Tx,
  { project, member, actorId, what, now }: EndedMembership,
): Promise<void> {
  const { accountId, email, role } = member;
  await deleteMember(tx, { projectId: project.id, accountId });
  // Only members can take over projects.
  if ((await findTransfer(tx, project.id))?.toAccountId === accountId) await deleteTransfer(tx, project.id);
  const by = { projectId: project.id, accountId: actorId, keyId: null };
  await audit(tx, { ...by, what, subject: email, before: { role }, after: null, at: now });
  await endInvitationsBy(tx, { projectId: project.id, inviterId: accountId, actorId, now });
}

/** Withdraws invitations of a member who may no longer invite, so that their links cannot be used later. */
export async function endInvitationsBy(
  tx: Tx,
  of: { projectId: number | null; inviterId: number; actorId: number; now: Instant },
): Promise<void> {
  const by = { projectId: of.projectId, accountId: of.actorId, keyId: null, after: null, at: of.now };
  for (const ended of await deleteInvitationsBy(tx, of)) {
    await audit(tx, { ...by, what: "member.inviteEnded", subject: ended.email, before: ended });
  }
}

/** The invitation of a link, and whether its address has an account. Null if it is invalid. */
export async function readInvitation(
  db: Db,
  { token, now }: { token: string; now: Instant },
): Promise<{ invitation: Invitation; hasAccount: boolean } | null> {
  const invitation = await findInvitation(db, digestOfToken(token));
  if (invitation === null || now >= invitation.expiresAt) return null;
  if (!isInvitationValid(invitation.inviter, invitation)) return null;
  return { invitation, hasAccount: (await findAccountByEmail(db, invitation.email)) !== null };
}

export type Acceptance = {
  token: string;
  /** The signed-in account; null: create one if the address has none. */
  account: Pick<Account, "id" | "email"> | null;
  visitor: Visitor;
  /** Password of a new account; null if users sign in by email or an identity provider. */
  password: string | null;
};

/**
 * Accepts an invitation for the signed-in user or a new account. The link does not sign in to an existing
 * account, because the inviter may have seen it. AppError `unauthenticated` asks to sign in first.
 */
export function acceptInvitation(database: Database, request: Acceptance): Promise<SignInResult | null> {
  // Two invitations of a new address may be accepted at once: then the account exists, and its owner must
  // sign in.
  return retryOnUniqueViolation(() => accept(database, request));
}

async function accept(database: Database, request: Acceptance): Promise<SignInResult | null> {
  const { token, visitor } = request;
  const { now } = visitor;
  const hash = await hashFor(database, request);
  return inRetriedTransaction(database, async (tx) => {
    // Lock the project first, as all changes of rights do.
    const found = await findInvitation(tx, digestOfToken(token));
    if (found !== null && found.projectId !== null) await lockProject(tx, found.projectId);
    const read = await readInvitation(tx, { token, now });
    if (read === null || !(await deleteInvitation(tx, read.invitation.id))) {
      throw new AppError("not_found", "This invitation was revoked, has already been used, or has expired.");
    }
    const { invitation, hasAccount } = read;
    if (request.account === null && hasAccount) {
      throw new AppError("unauthenticated", "Sign in to accept the invitation.");
    }
    // Only inserted: an account created concurrently must not be opened.
    const account = request.account ?? (await addAccount(tx, { email: invitation.email, name: "", now }));
    await join(tx, { invitation, account, now });
    if (request.account !== null) return null;
    if (hash !== null) await writePassword(tx, { accountId: account.id, hash, at: now });
    return completeSignIn(tx, { accountId: account.id, method: "link", visitor, nextPath: null });
  });
}

/** Hashes the password of a new account. Hashing is expensive, so the link is checked first. */
async function hashFor(db: Db, { token, account, visitor, password }: Acceptance): Promise<string | null> {
  if (password === null || account !== null) return null;
  const read = await readInvitation(db, { token, now: visitor.now });
  if (read === null || read.hasAccount) return null;
  const problem = passwordProblem(password, { email: read.invitation.email });
  if (problem !== null) throw new AppError("invalid", problem, "password");
  return createPasswordHash(password);
}

async function join(
  tx: Tx,
  {
    invitation,
    account,
    now,
  }: { invitation: Invitation; account: Pick<Account, "id" | "email">; now: Instant },
): Promise<void> {
  const { projectId, role } = invitation;
  if (projectId === null || role === null) return;
  // A deleted project is kept for a while without members.
  if ((await listMembers(tx, projectId)).length === 0) {
    throw new AppError("not_found", "The project no longer exists.");
  }
  if (!(await insertMember(tx, { projectId, accountId: account.id, role, at: now }))) return;
  const by = { projectId, accountId: account.id, keyId: null };
  const after = { role };
  await audit(tx, { ...by, what: "member.joined", subject: account.email, before: null, after, at: now });
}

export type TransferChange = { project: Project; actorId: number; now: Instant };

async function ownerOf(tx: Tx, { project, actorId }: TransferChange): Promise<{ members: Member[] }> {
  await lockProject(tx, project.id);
  const members = await listMembers(tx, project.id);
  if (members.find(({ accountId }) => accountId === actorId)?.role !== "owner") {
    throw new AppError("forbidden", "Only the owner can transfer a project.");
  }
  return { members };
}

/** Asks a member to take over a project. AppError `invalid` if they are not a member. */
export async function requestTransfer(
  database: Database,
  change: TransferChange & { toUuid: string; byMail: boolean },
): Promise<void> {
  const { project, actorId, now, toUuid, byMail } = change;
  await inRetriedTransaction(database, async (tx) => {
    const { members } = await ownerOf(tx, change);
    const member = members.find(({ uuid }) => uuid === toUuid) ?? null;
    if (member === null || !mayReceiveProject(member)) {
      throw new AppError("invalid", "You can transfer a project only to one of its members.");
    }
    await writeTransfer(tx, { projectId: project.id, toAccountId: member.accountId, createdAt: now });
    if (byMail)
      await queueTransferEmail(tx, { accountId: member.accountId, projectUuid: project.uuid, at: now });
    const by = { projectId: project.id, accountId: actorId, keyId: null };
    const after = { to: member.email };
    await audit(tx, {
      ...by,
      what: "project.transferAsked",
      subject: project.name,
      before: null,
      after,
      at: now,
    });
  });
}

/** Withdraws or declines a transfer. AppError `not_found` if there is none. */
export async function endTransfer(database: Database, change: TransferChange): Promise<void> {
  const { project, actorId, now } = change;
  await inRetriedTransaction(database, async (tx) => {
    await lockProject(tx, project.id);
    const transfer = await findTransfer(tx, project.id);
    if (transfer === null) throw new AppError("not_found", "There is no pending transfer of this project.");
    if (transfer.toAccountId !== actorId) await ownerOf(tx, change);
    await deleteTransfer(tx, project.id);
    const by = { projectId: project.id, accountId: actorId, keyId: null };
    const what = "project.transferEnded";
    await audit(tx, { ...by, what, subject: project.name, before: null, after: null, at: now });
  });
}

/** Accepts a transfer. The checks count for the new owner; AppError `forbidden` if they exceed the limit. */
export async function takeOverProject(
  database: Database,
  { project, actorId, now, checkLimitDefault }: TransferChange & { checkLimitDefault: number | null },
): Promise<void> {
  await inRetriedTransaction(database, async (tx) => {
    await lockProject(tx, project.id);
    const transfer = await findTransfer(tx, project.id);
    const members = await listMembers(tx, project.id);
    const owner = members.find(({ role }) => role === "owner");
    const next = members.find(({ accountId }) => accountId === actorId);
    if (transfer?.toAccountId !== actorId || owner === undefined || next === undefined) {
      throw new AppError("not_found", "The transfer of this project to you is no longer pending.");
    }
    await requireRoomForTransfer(tx, {
      project,
      account: await findAccountById(tx, actorId),
      checkLimitDefault,
    });
    await writeRole(tx, { projectId: project.id, accountId: owner.accountId, role: "member" });
    await writeRole(tx, { projectId: project.id, accountId: actorId, role: "owner" });
    await deleteTransfer(tx, project.id);
    await endInvitationsBy(tx, { projectId: project.id, inviterId: owner.accountId, actorId, now });
    const sides = { before: { owner: owner.email }, after: { owner: next.email } };
    const by = { projectId: project.id, accountId: actorId, keyId: null };
    await audit(tx, { ...by, what: "project.transferred", subject: project.name, ...sides, at: now });
  });
}

async function requireRoomForTransfer(
  tx: Tx,
  {
    project,
    account,
    checkLimitDefault,
  }: { project: Project; account: Account | null; checkLimitDefault: number | null },
): Promise<void> {
  if (account === null) return;
  if ((await countOwnedProjects(tx, account.id)) >= PROJECTS_OWNED_MAX) {
    throw new AppError("forbidden", `You have reached the limit of ${PROJECTS_OWNED_MAX} owned projects.`);
  }
  const limit = account.checkLimit ?? checkLimitDefault;
  if (limit === null) return;
  await lockOwnedChecks(tx, account.id);
  const owned = await countChecksOwnedBy(tx, account.id);
  const coming = (await countChecks(tx, [project.id])).get(project.id) ?? 0;
  if (owned + coming > limit) {
    throw new AppError(
      "forbidden",
      `The project has ${coming} checks, which would exceed your limit of ${limit} checks.`,
    );
  }
}
