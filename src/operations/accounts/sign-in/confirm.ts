// Proving once more who sits in front of a browser that is signed in: by the password, the app, a passkey, or a code
// that is mailed.
import { readTypedCode } from "../../../core/accounts/second-factor-rules.ts";
import { confirmCode, isTokenGood } from "../../../core/accounts/token-rules.ts";
import type { Signing } from "../../../core/alerts/mail-tokens.ts";
import { AppError } from "../../../core/errors.ts";
import type { Instant } from "../../../core/instant.ts";
import { findAuthenticator } from "../../../store/accounts/authenticators.ts";
import { findPassword, listPasskeys } from "../../../store/accounts/credentials.ts";
import { listIdentities } from "../../../store/accounts/identities.ts";
import { proveSession } from "../../../store/accounts/sessions.ts";
import { findNewestToken, useToken } from "../../../store/accounts/tokens.ts";
import type { Database } from "../../../store/db.ts";
import { inTransaction } from "../../../store/transaction.ts";
import { countAttempts } from "./attempts.ts";
import { useTypedCode } from "./authenticator.ts";
import { mailToken } from "../mail.ts";
import { judged } from "./password-turns.ts";
import { giveSigned } from "./tokens.ts";

export type Proving = { accountId: number; sessionId: number; now: Instant };

export type ConfirmWays = { password: boolean; app: boolean; passkey: boolean; provider: boolean };

/** By what an account can prove who it is, besides mail. */
export async function confirmWays(database: Database, accountId: number): Promise<ConfirmWays> {
  return {
    password: (await findPassword(database, accountId)) !== null,
    app: ((await findAuthenticator(database, accountId))?.confirmedAt ?? null) !== null,
    passkey: (await listPasskeys(database, accountId)).length > 0,
    provider: (await listIdentities(database, accountId)).length > 0,
  };
}

const WRONG = "That is wrong, or was used before.";

/** Proves a session by its account's password. AppError `invalid`. */
export async function confirmByPassword(
  database: Database,
  { accountId, sessionId, now, password }: Proving & { password: string },
): Promise<void> {
  await countAttempts(database, [{ kind: "confirm", subject: String(accountId) }], { now });
  const stored = await findPassword(database, accountId);
  if (!(await judged(password, stored))) throw new AppError("invalid", WRONG);
  await prove(database, { sessionId, now });
}

/** Mails a code. AppError `rate_limited`. */
export async function mailConfirmCode(
  database: Database,
  { accountId, now, signing }: { accountId: number; now: Instant; signing: Signing },
): Promise<void> {
  await countAttempts(database, [{ kind: "confirmMail", subject: String(accountId) }], { now });
  await inTransaction(database, async (tx) => {
    const of = { purpose: "confirm", accountId, email: null, nextPath: null, now } as const;
    await mailToken(tx, { kind: "confirm", tokenUuid: await giveSigned(tx, signing, of), at: now });
  });
}

export type CodeProof = Proving & { code: string; signing: Signing; secretKey: string };

/** Proves a session by what was typed: a mailed code, one of the app, or a recovery code. AppError `invalid`. */
export async function confirmByCode(database: Database, proof: CodeProof): Promise<void> {
  const { accountId, sessionId, now, signing, secretKey } = proof;
  await countAttempts(database, [{ kind: "confirm", subject: String(accountId) }], { now });
  const typed = readTypedCode(proof.code);
  await inTransaction(database, async (tx) => {
    const mailed = await findNewestToken(tx, { accountId, purpose: "confirm" });
    const isMailed =
      mailed !== null &&
      typed !== null &&
      isTokenGood(mailed, now) &&
      signing.isSame(typed.code, confirmCode(signing, mailed.uuid)) &&
      (await useToken(tx, { tokenId: mailed.id, at: now }));
    const isRight =
      isMailed || (typed !== null && (await useTypedCode(tx, { accountId, typed, now, secretKey })));
    if (!isRight) throw new AppError("invalid", WRONG);
    await proveSession(tx, { sessionId, at: now });
  });
}

/** Proves a session after somebody was found to be its owner in another way. */
export async function prove(
  database: Database,
  { sessionId, now }: { sessionId: number; now: Instant },
): Promise<void> {
  await inTransaction(database, (tx) => proveSession(tx, { sessionId, at: now }));
}
