// Authenticator apps and recovery codes: sealed secrets and digests. Codes are judged elsewhere.
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { toTimestamp } from "../values.ts";

export type Authenticator = { sealed: Buffer; confirmedAt: Instant | null; lastStep: number | null };

const FIND = statement<{ sealed: Buffer; confirmed_at: Instant | null; last_step: number | null }>({
  name: "authenticators.find",
  text: "select sealed, confirmed_at, last_step from authenticators where account_id = $1",
});

/** The authenticator app of an account, confirmed or not. */
export async function findAuthenticator(db: Db, accountId: number): Promise<Authenticator | null> {
  const [row] = (await db.query(FIND, [accountId])).rows;
  if (row === undefined) return null;
  return { sealed: row.sealed, confirmedAt: row.confirmed_at, lastStep: row.last_step };
}

const WRITE = statement({
  name: "authenticators.write",
  text: `insert into authenticators as t (account_id, sealed, created_at) values ($1, $2, $3)
    on conflict (account_id) do update set sealed = excluded.sealed, created_at = excluded.created_at, last_step = null
    where t.confirmed_at is null`,
});

/** Begins to set an app up. False: there is one that works, and it stays. */
export async function writeAuthenticator(
  tx: Tx,
  { accountId, sealed, at }: { accountId: number; sealed: Buffer; at: Instant },
): Promise<boolean> {
  return (await tx.query(WRITE, [accountId, sealed, toTimestamp(at)])).count === 1;
}

const CONFIRM = statement({
  name: "authenticators.confirm",
  text: `update authenticators set confirmed_at = $2, last_step = $3
    where account_id = $1 and confirmed_at is null`,
});

/** From now on the app is asked for. False: there is none to be confirmed. */
export async function confirmAuthenticator(
  tx: Tx,
  { accountId, at, step }: { accountId: number; at: Instant; step: number },
): Promise<boolean> {
  return (await tx.query(CONFIRM, [accountId, toTimestamp(at), step])).count === 1;
}

const USE_STEP = statement({
  name: "authenticators.use_step",
  text: `update authenticators set last_step = $2
    where account_id = $1 and confirmed_at is not null and (last_step is null or last_step < $2)`,
});

/** Uses the code of a step. False: somebody else has used it, or a later one. */
export async function useAuthenticatorStep(
  tx: Tx,
  { accountId, step }: { accountId: number; step: number },
): Promise<boolean> {
  return (await tx.query(USE_STEP, [accountId, step])).count === 1;
}

const DELETE = statement({
  name: "authenticators.delete",
  text: "delete from authenticators where account_id = $1",
});

/** Takes the app of an account away. False: it had none. */
export async function deleteAuthenticator(tx: Tx, accountId: number): Promise<boolean> {
  return (await tx.query(DELETE, [accountId])).count === 1;
}

const DELETE_CODES = statement({
  name: "recovery_codes.delete",
  text: "delete from recovery_codes where account_id = $1",
});
const INSERT_CODES = statement({
  name: "recovery_codes.insert",
  text: "insert into recovery_codes (account_id, digest) select $1, unnest($2::bytea[])",
});

/** Gives an account these recovery codes and no others. */
export async function writeRecoveryCodes(
  tx: Tx,
  { accountId, digests }: { accountId: number; digests: readonly Buffer[] },
): Promise<void> {
  await tx.query(DELETE_CODES, [accountId]);
  if (digests.length > 0) await tx.query(INSERT_CODES, [accountId, digests]);
}

const USE_CODE = statement({
  name: "recovery_codes.use",
  text: "update recovery_codes set used_at = $3 where account_id = $1 and digest = $2 and used_at is null",
});

/** Uses a recovery code. False: the account has no such code, or it was used. */
export async function useRecoveryCode(
  tx: Tx,
  { accountId, digest, at }: { accountId: number; digest: Buffer; at: Instant },
): Promise<boolean> {
  return (await tx.query(USE_CODE, [accountId, digest, toTimestamp(at)])).count === 1;
}

const COUNT_CODES = statement<{ count: number }>({
  name: "recovery_codes.count",
  text: "select count(*) as count from recovery_codes where account_id = $1 and used_at is null",
});

/** How many recovery codes an account has left. */
export async function countRecoveryCodes(db: Db, accountId: number): Promise<number> {
  return (await db.query(COUNT_CODES, [accountId])).rows[0]?.count ?? 0;
}
