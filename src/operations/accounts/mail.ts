// Letters about accounts: who is owed one, and what stands in it when it is sent. A link is made only then, from the
// row that the letter names and the instance's secret; the letter itself holds none.
import { randomUUID } from "node:crypto";
import { isTokenGood } from "../../core/accounts/token-rules.ts";
import type { AccountLetterFacts, SecurityNews } from "../../core/alerts/letters.ts";
import type { Instant } from "../../core/instant.ts";
import { findInvitationByUuid } from "../../store/accounts/invitations.ts";
import { findTransfer } from "../../store/accounts/members.ts";
import { findAccountById, findProjectByUuid, findProjectOwner } from "../../store/accounts/projects.ts";
import { findTokenByUuid } from "../../store/accounts/tokens.ts";
import { insertLetter, type Letter, type LetterKind } from "../../store/alerts/letters.ts";
import type { Db } from "../../store/db.ts";
import type { Tx } from "../../store/transaction.ts";

type Owed = {
  kind: LetterKind;
  accountId: number | null;
  about: Readonly<Record<string, string>>;
  at: Instant;
};

async function owe(tx: Tx, { kind, accountId, about, at }: Owed): Promise<void> {
  await insertLetter(tx, { uuid: randomUUID(), kind, accountId, channelId: null, about, createdAt: at });
}

/** Owes the letter with the link or the code of a token. */
export async function mailToken(
  tx: Tx,
  { kind, tokenUuid, at }: { kind: "signIn" | "confirm" | "changeEmail"; tokenUuid: string; at: Instant },
): Promise<void> {
  await owe(tx, { kind, accountId: null, about: { token: tokenUuid }, at });
}

/** Owes the letter with the link of an invitation. */
export async function mailInvitation(tx: Tx, { uuid, at }: { uuid: string; at: Instant }): Promise<void> {
  await owe(tx, { kind: "invitation", accountId: null, about: { invitation: uuid }, at });
}

/** Owes the letter that asks somebody to take a project over. */
export async function mailTransfer(
  tx: Tx,
  { accountId, projectUuid, at }: { accountId: number; projectUuid: string; at: Instant },
): Promise<void> {
  await owe(tx, { kind: "transfer", accountId, about: { project: projectUuid }, at });
}

/** Owes the owner of an account the news that a way in has changed; `to` is an address that it had before. */
export async function tellSecurity(
  tx: Tx,
  { accountId, what, at, to }: { accountId: number; what: SecurityNews; at: Instant; to?: string },
): Promise<void> {
  await owe(tx, { kind: "security", accountId, about: { what, ...(to !== undefined && { to }) }, at });
}

export type AccountLetter = { to: string; facts: AccountLetterFacts };

/** What a letter about an account says, and to whom; null when there is nothing to say any more. */
export async function readAccountLetter(db: Db, letter: Letter, now: Instant): Promise<AccountLetter | null> {
  const about = letter.about as Readonly<Record<string, string | undefined>>;
  switch (letter.kind) {
    case "signIn":
    case "confirm":
    case "changeEmail":
      return readTokenLetter(db, { kind: letter.kind, tokenUuid: about["token"] ?? "" }, now);
    case "invitation":
      return readInvitation(db, about["invitation"] ?? "", now);
    case "transfer":
      return readTransfer(db, { accountId: letter.accountId, projectUuid: about["project"] ?? "" });
    case "security":
      return readSecurity(db, { accountId: letter.accountId, what: about["what"], to: about["to"] });
    case "verification":
    case "unverified":
    case "disabled":
    case "report":
    case "reminder":
      return null;
  }
}

async function readTokenLetter(
  db: Db,
  { kind, tokenUuid }: { kind: "signIn" | "confirm" | "changeEmail"; tokenUuid: string },
  now: Instant,
): Promise<AccountLetter | null> {
  const token = await findTokenByUuid(db, tokenUuid);
  if (token === null || !isTokenGood(token, now)) return null;
  const account = token.accountId === null ? null : await findAccountById(db, token.accountId);
  const to = token.email ?? account?.email;
  if (to === undefined) return null;
  const { uuid, expiresAt } = token;
  if (kind === "signIn") return { to, facts: { kind, uuid, expiresAt, isNew: token.purpose === "register" } };
  return { to, facts: { kind, uuid, expiresAt } };
}

async function readInvitation(db: Db, uuid: string, now: Instant): Promise<AccountLetter | null> {
  const invitation = await findInvitationByUuid(db, uuid);
  if (invitation === null || now >= invitation.expiresAt) return null;
  const { email, projectName, invitedBy, expiresAt } = invitation;
  return { to: email, facts: { kind: "invitation", uuid, projectName, invitedBy, expiresAt } };
}

async function readTransfer(
  db: Db,
  { accountId, projectUuid }: { accountId: number | null; projectUuid: string },
): Promise<AccountLetter | null> {
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
): Promise<AccountLetter | null> {
  const account = accountId === null ? null : await findAccountById(db, accountId);
  if (account === null) return null;
  // Written above, in this shape.
  return { to: to ?? account.email, facts: { kind: "security", what: what as SecurityNews } };
}
