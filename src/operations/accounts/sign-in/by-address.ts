// The ways in that an address begins: a mailed link, and a password. Whoever tries learns nothing about whether an
// address has an account: answers are the same, and so is the work.
import { linkTries, passwordTries } from "../../../core/accounts/device-rules.ts";
import { safeNext } from "../../../core/accounts/token-rules.ts";
import { AppError } from "../../../core/errors.ts";
import type { Instant } from "../../../core/instant.ts";
import { findPassword } from "../../../store/accounts/credentials.ts";
import { findAccountByEmail, findAccountById } from "../../../store/accounts/projects.ts";
import { type Token, voidTokens } from "../../../store/accounts/tokens.ts";
import type { Database } from "../../../store/db.ts";
import { inTransaction } from "../../../store/transaction.ts";
import { inRetriedTransaction } from "../../changing/retried.ts";
import { normalEmail } from "../../create-account.ts";
import { admit, type Admitted, type Visitor } from "./admit.ts";
import { countAttempts, countFailure, deviceOf, type Known } from "./attempts.ts";
import { mailToken } from "../mail.ts";
import { judged } from "./password-turns.ts";
import { addFirstProject, findOrAddAccount } from "../set-up.ts";
import { giveRandom, giveSigned, readToken, takeToken } from "./tokens.ts";

export type LinkRequest = Known & {
  email: string;
  nextPath: string | null;
  registrationOpen: boolean;
  visitor: Visitor;
};

/** No account has this id: whoever is not there has no browser either. */
const NOBODY = 0;

/**
 * Mails a link to whoever has an account, or may make one. Answers the same for everybody; AppError `invalid` for what
 * is no address, `rate_limited` for too many.
 */
export async function askForLink(database: Database, request: LinkRequest): Promise<void> {
  const { registrationOpen, signing, visitor } = request;
  const { now, network } = visitor;
  const email = normalEmail(request.email);
  const known = await findAccountByEmail(database, email);
  const deviceId = await deviceOf(database, request, { accountId: known?.id ?? NOBODY, now });
  await countAttempts(database, linkTries({ email, network, deviceId }), { now });
  const nextPath = safeNext(request.nextPath);
  await inRetriedTransaction(database, async (tx) => {
    const account = await findAccountByEmail(tx, email);
    const of =
      account === null
        ? ({ purpose: "register", accountId: null, email } as const)
        : ({ purpose: "signIn", accountId: account.id, email: null } as const);
    const tokenUuid = await giveSigned(tx, signing, { ...of, nextPath, now });
    // Nothing is kept for nobody. It is written and taken back, so that it takes as long: the commit is what takes time.
    if (account === null && !registrationOpen) await voidTokens(tx, of);
    else await mailToken(tx, { kind: "signIn", tokenUuid, at: now });
  });
}

/** What a mailed link is for, before it is used: whose it is. Null when it is not good. */
export async function readLink(
  database: Database,
  { token, visitor }: { token: string; visitor: Visitor },
): Promise<{ email: string; isNew: boolean } | null> {
  const { now, network } = visitor;
  await countAttempts(database, [{ kind: "tokenByNetwork", subject: network }], { now });
  const found = await readToken(database, { token, purposes: ["signIn", "register"], now });
  if (found === null) return null;
  const account = found.accountId === null ? null : await findAccountById(database, found.accountId);
  const email = found.email ?? account?.email;
  return email === undefined ? null : { email, isNew: found.purpose === "register" };
}

/** Lets somebody in by a link, and makes the account first where that is what it is for. */
export async function useLink(
  database: Database,
  { token, visitor }: { token: string; visitor: Visitor },
): Promise<Admitted> {
  const { now } = visitor;
  return inRetriedTransaction(database, async (tx) => {
    const used = await takeToken(tx, { token, purposes: ["signIn", "register"], now });
    const accountId = used.accountId ?? (await register(used));
    return admit(tx, { accountId, method: "link", visitor, nextPath: used.nextPath });
    async function register({ email }: Token): Promise<number> {
      const account = await findOrAddAccount(tx, { email: email ?? "", name: "", now });
      await addFirstProject(tx, { accountId: account.id, now });
      return account.id;
    }
  });
}

/** A link for somebody who cannot get mail; whoever runs the installation passes it on. AppError `not_found`. */
export async function giveLoginLink(
  database: Database,
  { email, now }: { email: string; now: Instant },
): Promise<{ token: string; email: string }> {
  return inTransaction(database, async (tx) => {
    const account = await findAccountByEmail(tx, normalEmail(email));
    if (account === null) throw new AppError("not_found", `No account found for ${email}.`);
    const accountId = account.id;
    const token = await giveRandom(tx, { purpose: "signIn", accountId, email: null, nextPath: null, now });
    return { token, email: account.email };
  });
}

export type PasswordRequest = Known & {
  email: string;
  password: string;
  nextPath: string | null;
  visitor: Visitor;
};

/** Lets somebody in by a password. AppError `invalid` says nothing of what was wrong. */
export async function signInWithPassword(database: Database, request: PasswordRequest): Promise<Admitted> {
  const { visitor } = request;
  const { now, network } = visitor;
  const email = request.email.trim().toLowerCase();
  const account = await findAccountByEmail(database, email);
  const accountId = account?.id ?? NOBODY;
  const deviceId = await deviceOf(database, request, { accountId, now });
  await countAttempts(database, passwordTries({ email, network, deviceId }), { now });
  const isRight = await judged(request.password, await findPassword(database, accountId));
  if (account === null || !isRight) {
    await countFailure(database, { accountId: account?.id ?? null, at: now });
    throw new AppError("invalid", "Incorrect email address or password.");
  }
  return inRetriedTransaction(database, (tx) =>
    admit(tx, {
      accountId: account.id,
      method: "password",
      visitor,
      nextPath: safeNext(request.nextPath),
    }),
  );
}
