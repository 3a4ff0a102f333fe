// Proving once more who sits in front of a browser that is signed in: by the password or a code that is mailed, with the
// code of the app where there is one, or by a passkey.
import { isProofEnough, readTypedCode } from "../../../core/accounts/second-factor-rules.ts";
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
import { inTransaction, type Tx } from "../../../store/transaction.ts";
import { inRetriedTransaction } from "../../changing/retried.ts";
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

const WRONG = "The password or code is incorrect, or the code was already used.";

export type Proof = Proving & {
  /** What was typed; empty: nothing. */
  password: string;
  mailed: string;
  code: string;
  signing: Signing;
  secretKey: string;
};

/**
 * Proves a session by what was typed: the password, or a mailed code, and where an app is set up its code or a recovery
 * code as well. AppError `invalid` does not say which of them is wrong, and nothing is used up then.
 */
export async function confirmByTyping(database: Database, proof: Proof): Promise<void> {
  const { accountId, sessionId, now, secretKey } = proof;
  await countAttempts(database, [{ kind: "confirm", subject: String(accountId) }], { now });
  const stored = await findPassword(database, accountId);
  const password = proof.password !== "" && (await judged(proof.password, stored));
  await inRetriedTransaction(database, async (tx) => {
    const app = ((await findAuthenticator(tx, accountId))?.confirmedAt ?? null) !== null;
    const typed = readTypedCode(proof.code);
    const shown = {
      password,
      mailedCode: await useMailedCode(tx, proof),
      appCode: typed !== null && (await useTypedCode(tx, { accountId, typed, now, secretKey })),
    };
    if (!isProofEnough({ password: stored !== null, app }, shown)) throw new AppError("invalid", WRONG);
    await proveSession(tx, { sessionId, at: now });
  });
}

async function useMailedCode(tx: Tx, { accountId, mailed, signing, now }: Proof): Promise<boolean> {
  const token = await findNewestToken(tx, { accountId, purpose: "confirm" });
  const typed = readTypedCode(mailed);
  if (token === null || typed === null || !isTokenGood(token, now)) return false;
  if (!signing.isSame(typed.code, confirmCode(signing, token.uuid))) return false;
  return useToken(tx, { tokenId: token.id, at: now });
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

/** Proves a session after somebody was found to be its owner in another way. */
export async function prove(
  database: Database,
  { sessionId, now }: { sessionId: number; now: Instant },
): Promise<void> {
  await inTransaction(database, (tx) => proveSession(tx, { sessionId, at: now }));
}
