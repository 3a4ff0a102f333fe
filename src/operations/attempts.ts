// Rate limits of attempts by network, address or account, stored as digests.
import type { Signing } from "../core/email.ts";
import { AppError } from "../core/errors.ts";
import { type Instant, MINUTE_MS } from "../core/instant.ts";
import { type CountedAttempt, readDevice, takeAttempt } from "../core/sign-in.ts";
import { digestOfToken } from "../lib/secrets.ts";
import { findKnownFrom } from "../store/accounts.ts";
import type { Database } from "../store/db.ts";
import { addSignInFailure, lockAttempts, writeAttempts } from "../store/sign-in.ts";
import type { Tx } from "../store/transaction.ts";
import { inRetriedTransaction } from "./retry.ts";

/** The signed cookie of a browser that was signed in before; empty if none. */
export type Known = { device: string; signing: Signing };

/** The known browser of an account that a request comes from, or null. */
export async function deviceOf(
  database: Database,
  { device, signing }: Known,
  { accountId, now }: { accountId: number; now: Instant },
): Promise<string | null> {
  const knownFromAt = await findKnownFrom(database, accountId);
  return readDevice(device, { signing, accountId, knownFromAt, now });
}

/**
 * Counts one attempt of each of these. AppError `rate_limited` if one is used up; then nothing is counted.
 */
export async function countAttempts(
  database: Database,
  attempts: readonly CountedAttempt[],
  { now }: { now: Instant },
): Promise<void> {
  await inRetriedTransaction(database, (tx) => countAttemptsIn(tx, attempts, { now }));
}

/** The same in a transaction, which must end with the error. */
export async function countAttemptsIn(
  tx: Tx,
  attempts: readonly CountedAttempt[],
  { now }: { now: Instant },
): Promise<void> {
  for (const { kind, subject } of attempts) {
    const digest = digestOfToken(`${kind}\n${subject}`);
    const fullAt = await lockAttempts(tx, { kind, digest, now });
    const verdict = takeAttempt(kind, { fullAt, now });
    if (!verdict.allowed) throw new AppError("rate_limited", waitText(verdict.retryAt - now));
    await writeAttempts(tx, { kind, digest, fullAt: verdict.fullAt });
  }
}

/** Counts a wrong password or code, shown to the account's owner; null: there is no account. */
export function countFailure(
  database: Database,
  failure: { accountId: number | null; at: Instant },
): Promise<void> {
  return inRetriedTransaction(database, (tx) => addSignInFailure(tx, failure));
}

function waitText(waitMs: number): string {
  const minutes = Math.max(1, Math.ceil(waitMs / MINUTE_MS));
  return `Too many attempts. Try again in ${minutes === 1 ? "1 minute" : `${minutes} minutes`}.`;
}

/** The known browser of a sign-in. */
export type Visitor = {
  ua: string;
  remoteAddr: string | null;
  /** The keys that attempts are counted by. */
  network: string;
  now: Instant;
};
