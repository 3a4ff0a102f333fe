// Emails about accounts. Links are derived when the email is composed, from the row that it refers to and the
// instance's secret; the stored email contains none.
import { randomUUID } from "node:crypto";
import type { AccountEmailFacts, SecurityChange } from "../core/email.ts";
import type { Instant } from "../core/instant.ts";
import { isTokenValid } from "../core/sign-in.ts";
import { findAccountById } from "../store/accounts.ts";
import type { Db } from "../store/db.ts";
import { type EmailKind, insertEmail, type QueuedEmail } from "../store/emails.ts";
import { findInvitationByUuid } from "../store/invitations.ts";
import { findProjectByUuid, findProjectOwner, findTransfer } from "../store/projects.ts";
import { findTokenByUuid } from "../store/sign-in.ts";
import type { Tx } from "../store/transaction.ts";

type EmailToQueue = {
  kind: EmailKind;
  accountId: number | null;
  about: Readonly<Record<string, string>>;
  at: Instant;
};

async function queueEmail(tx: Tx, { kind, accountId, about, at }: EmailToQueue): Promise<void> {
  await insertEmail(tx, { uuid: randomUUID(), kind, accountId, channelId: null, about, createdAt: at });
}

/** Plans the email with the link or code of a token. */
export async function queueTokenEmail(
  tx: Tx,
  { kind, tokenUuid, at }: { kind: "signIn" | "confirm" | "changeEmail"; tokenUuid: string; at: Instant },
): Promise<void> {
  await queueEmail(tx, { kind, accountId: null, about: { token: tokenUuid }, at });
}

/** Plans the email with the link of an invitation. */
export async function queueInvitationEmail(
  tx: Tx,
  { uuid, at }: { uuid: string; at: Instant },
): Promise<void> {
  await queueEmail(tx, { kind: "invitation", accountId: null, about: { invitation: uuid }, at });
}

/** Plans the email that asks a member to take over a project. */
export async function queueTransferEmail(
  tx: Tx,
  { accountId, projectUuid, at }: { accountId: number; projectUuid: string; at: Instant },
): Promise<void> {
  await queueEmail(tx, { kind: "transfer", accountId, about: { project: projectUuid }, at });
}

/** Plans the email about a changed sign-in method; `to` is a previous address, if given. */
export async function queueSecurityEmail(
  tx: Tx,
  { accountId, what, at, to }: { accountId: number; what: SecurityChange; at: Instant; to?: string },
): Promise<void> {
  await queueEmail(tx, { kind: "security", accountId, about: { what, ...(to !== undefined && { to }) }, at });
}

export type AccountEmail = { to: string; facts: AccountEmailFacts };

/** Composes an email about an account; null if there is no longer anything to send. */
export async function composeAccountEmail(
  db: Db,
  email: QueuedEmail,
  now: Instant,
): Promise<AccountEmail | null> {
  const about = email.about as Readonly<Record<string, string | undefined>>;
  switch (email.kind) {
    case "signIn":
    case "confirm":
    case "changeEmail":
      return composeTokenEmail(db, { kind: email.kind, tokenUuid: about["token"] ?? "" }, now);
    case "invitation":
      return readInvitation(db, about["invitation"] ?? "", now);
    case "transfer":
      return readTransfer(db, { accountId: email.accountId, projectUuid: about["project"] ?? "" });
    case "security":
      return readSecurity(db, { accountId: email.accountId, what: about["what"], to: about["to"] });
    case "verification":
    case "unverified":
    case "disabled":
    case "report":
    case "reminder":
      return null;
  }
}

async function composeTokenEmail(
  db: Db,
  { kind, tokenUuid }: { kind: "signIn" | "confirm" | "changeEmail"; tokenUuid: string },
  now: Instant,
): Promise<AccountEmail | null> {
  const token = await findTokenByUuid(db, tokenUuid);
  if (token === null || !isTokenValid(token, now)) return null;
  const account = token.accountId === null ? null : await findAccountById(db, token.accountId);
  const to = token.email ?? account?.email;
  if (to === undefined) return null;
  const { uuid, digest, expiresAt } = token;
  if (kind === "confirm") return { to, facts: { kind, uuid, expiresAt } };
  if (kind === "changeEmail") return { to, facts: { kind, uuid, digest, expiresAt } };
  return { to, facts: { kind, uuid, digest, expiresAt, isNew: token.purpose === "register" } };
}

async function readInvitation(db: Db, uuid: string, now: Instant): Promise<AccountEmail | null> {
  const invitation = await findInvitationByUuid(db, uuid);
  if (invitation === null || now >= invitation.expiresAt) return null;
  const { email, digest, projectName, invitedBy, expiresAt } = invitation;
  return { to: email, facts: { kind: "invitation", uuid, digest, projectName, invitedBy, expiresAt } };
}

async function readTransfer(
  db: Db,
  { accountId, projectUuid }: { accountId: number | null; projectUuid: string },
): Promise<AccountEmail | null> {
  const project = await findProjectByUuid(db, projectUuid);
  if (project === null || accountId === null) return null;
  const transfer = await findTransfer(db, project.id);
  const account = await findAccountById(db, accountId);
  if (transfer?.toAccountId !== accountId || account === null) return null;
  const owner = await findProjectOwner(db, project.id);
  const facts = {
    kind: "transfer",
    projectUuid,
    projectName: project.name,
    from: owner?.email ?? "",
  } as const;
  return { to: account.email, facts };
}

async function readSecurity(
  db: Db,
  { accountId, what, to }: { accountId: number | null; what: string | undefined; to: string | undefined },
): Promise<AccountEmail | null> {
  const account = accountId === null ? null : await findAccountById(db, accountId);
  if (account === null) return null;
  // Stored by the functions above in this shape.
  return { to: to ?? account.email, facts: { kind: "security", what: what as SecurityChange } };
}
