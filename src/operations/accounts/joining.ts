// Following an invitation: who is let in by its link, with which account. What the link may not do is said here: it
// opens no account that is there already.
import { doesInvitationStand } from "../../core/accounts/member-rules.ts";
import { passwordProblem } from "../../core/accounts/password-rules.ts";
import { AppError } from "../../core/errors.ts";
import type { Instant } from "../../core/instant.ts";
import { digestOfToken } from "../../lib/secrets/secret-token.ts";
import { writePassword } from "../../store/accounts/credentials.ts";
import { deleteInvitation, findInvitation, type Invitation } from "../../store/accounts/invitations.ts";
import { insertMember, listMembers, lockProject } from "../../store/accounts/members.ts";
import { type Account, findAccountByEmail } from "../../store/accounts/projects.ts";
import type { Database, Db } from "../../store/db.ts";
import type { Tx } from "../../store/transaction.ts";
import { againIfMadeMeanwhile, inRetriedTransaction } from "../changing/retried.ts";
import { audit } from "./audit.ts";
import { addAccount } from "./set-up.ts";
import { admit, type Admitted, type Visitor } from "./sign-in/admit.ts";
import { hashed } from "./sign-in/password-turns.ts";

/** What an invitation's link stands for, and whether its address has an account. Null when it is not good. */
export async function readInvitation(
  db: Db,
  { token, now }: { token: string; now: Instant },
): Promise<{ invitation: Invitation; hasAccount: boolean } | null> {
  const invitation = await findInvitation(db, digestOfToken(token));
  if (invitation === null || now >= invitation.expiresAt) return null;
  if (!doesInvitationStand(invitation.inviter, invitation)) return null;
  return { invitation, hasAccount: (await findAccountByEmail(db, invitation.email)) !== null };
}

export type Acceptance = {
  token: string;
  /** Whoever is signed in; null: the account is made, if the address has none. */
  account: Pick<Account, "id" | "email"> | null;
  visitor: Visitor;
  /** For an account that is made; null where mail or somebody else vouches for people. */
  password: string | null;
};

/**
 * Accepts an invitation: for whoever is signed in, or with a new account. The link alone opens no account that is there
 * already, because whoever invites may have seen it. AppError `unauthenticated` asks to sign in first.
 */
export function acceptInvitation(database: Database, request: Acceptance): Promise<Admitted | null> {
  // Two invitations of a new address may be accepted at once: the account is there then, and asks for its owner.
  return againIfMadeMeanwhile(() => accept(database, request));
}

async function accept(database: Database, request: Acceptance): Promise<Admitted | null> {
  const { token, visitor } = request;
  const { now } = visitor;
  const hash = await hashFor(database, request);
  return inRetriedTransaction(database, async (tx) => {
    // First the project, like everybody who takes rights away: what is read then stays so.
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
    // Only added: an account that somebody else has made meanwhile is not ours to open.
    const account = request.account ?? (await addAccount(tx, { email: invitation.email, name: "", now }));
    await join(tx, { invitation, account, now });
    if (request.account !== null) return null;
    if (hash !== null) await writePassword(tx, { accountId: account.id, hash, at: now });
    return admit(tx, { accountId: account.id, method: "link", visitor, nextPath: null });
  });
}

/** What is stored for the password of a new account. A hash is dear: whoever has no link must not make us work. */
async function hashFor(db: Db, { token, account, visitor, password }: Acceptance): Promise<string | null> {
  if (password === null || account !== null) return null;
  const read = await readInvitation(db, { token, now: visitor.now });
  if (read === null || read.hasAccount) return null;
  const problem = passwordProblem(password, { email: read.invitation.email });
  if (problem !== null) throw new AppError("invalid", problem, "password");
  return hashed(password);
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
  // A project that was removed is kept for a while with nobody in it, and so it stays.
  if ((await listMembers(tx, projectId)).length === 0) {
    throw new AppError("not_found", "The project no longer exists.");
  }
  if (!(await insertMember(tx, { projectId, accountId: account.id, role, at: now }))) return;
  const by = { projectId, accountId: account.id, keyId: null };
  const after = { role };
  await audit(tx, { ...by, what: "member.joined", subject: account.email, before: null, after, at: now });
}
