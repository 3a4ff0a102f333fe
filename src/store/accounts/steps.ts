// Signing in that has begun and not ended, and how often it was tried. Both are forgotten within a day.
import type { AttemptKind } from "../../core/accounts/attempt-rules.ts";
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { toTimestamp } from "../values.ts";

export type StepKind = "secondFactor" | "passkey" | "newPasskey" | "oidc";

export type Step = {
  digest: Buffer;
  kind: StepKind;
  accountId: number | null;
  about: Readonly<Record<string, unknown>>;
  createdAt: Instant;
  expiresAt: Instant;
};

const INSERT = statement({
  name: "steps.insert",
  text: `insert into sign_in_steps (digest, kind, account_id, about, created_at, expires_at)
    values ($1, $2, $3, $4, $5, $6)`,
});

/** Remembers where somebody is on the way in. */
export async function insertStep(tx: Tx, step: Step): Promise<void> {
  const { digest, kind, accountId, about, createdAt, expiresAt } = step;
  const times = [toTimestamp(createdAt), toTimestamp(expiresAt)];
  await tx.query(INSERT, [digest, kind, accountId, JSON.stringify(about), ...times]);
}

type StepRow = {
  kind: StepKind;
  account_id: number | null;
  about: Record<string, unknown>;
  created_at: Instant;
  expires_at: Instant;
};

const FIND = statement<StepRow>({
  name: "steps.find",
  text: "select kind, account_id, about, created_at, expires_at from sign_in_steps where digest = $1 and kind = $2",
});

/** Where somebody is on the way in, without a change. */
export async function findStep(
  db: Db,
  { digest, kind }: { digest: Buffer; kind: StepKind },
): Promise<Step | null> {
  const [row] = (await db.query(FIND, [digest, kind])).rows;
  return row === undefined ? null : toStep(row, digest);
}

const TAKE = statement<StepRow>({
  name: "steps.take",
  text: `delete from sign_in_steps where digest = $1 and kind = $2
    returning kind, account_id, about, created_at, expires_at`,
});

/** The same, and it is forgotten: a step is taken once. */
export async function takeStep(
  tx: Tx,
  { digest, kind }: { digest: Buffer; kind: StepKind },
): Promise<Step | null> {
  const [row] = (await tx.query(TAKE, [digest, kind])).rows;
  return row === undefined ? null : toStep(row, digest);
}

const DELETE_OF = statement({
  name: "steps.delete_of",
  text: "delete from sign_in_steps where account_id = $1",
});

/** Whoever is on the way into an account has to begin anew. */
export async function deleteStepsOf(tx: Tx, accountId: number): Promise<void> {
  await tx.query(DELETE_OF, [accountId]);
}

function toStep(row: StepRow, digest: Buffer): Step {
  return {
    digest,
    kind: row.kind,
    accountId: row.account_id,
    about: row.about,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}

const PRUNE_STEPS = statement({
  name: "steps.prune",
  text: `delete from sign_in_steps
    where digest in (select digest from sign_in_steps where expires_at < $1 order by expires_at limit $2)`,
});

/** Forgets at most `limit` steps whose time was over before an instant; returns how many. */
export async function pruneSteps(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE_STEPS, [toTimestamp(before), limit])).count;
}

const LOCK_ATTEMPTS = statement<{ full_at: Instant }>({
  name: "attempts.lock",
  text: `insert into attempts as a (kind, digest, full_at) values ($1, $2, $3)
    on conflict (kind, digest) do update set full_at = a.full_at returning full_at`,
});

/** When the bucket of somebody will be full; a new one is full at `now`. Locks it for the transaction. */
export async function lockAttempts(
  tx: Tx,
  { kind, digest, now }: { kind: AttemptKind; digest: Buffer; now: Instant },
): Promise<Instant> {
  return (await tx.query(LOCK_ATTEMPTS, [kind, digest, toTimestamp(now)])).rows[0]?.full_at ?? now;
}

const WRITE_ATTEMPTS = statement({
  name: "attempts.write",
  text: "update attempts set full_at = $3 where kind = $1 and digest = $2",
});

/** When the bucket will be full from now on. */
export async function writeAttempts(
  tx: Tx,
  { kind, digest, fullAt }: { kind: AttemptKind; digest: Buffer; fullAt: Instant },
): Promise<void> {
  await tx.query(WRITE_ATTEMPTS, [kind, digest, toTimestamp(fullAt)]);
}

const PRUNE_ATTEMPTS = statement({
  name: "attempts.prune",
  text: `delete from attempts
    where (kind, digest) in (select kind, digest from attempts where full_at < $1 order by full_at limit $2)`,
});

/** Forgets at most `limit` buckets that were full before an instant; returns how many. */
export async function pruneAttempts(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE_ATTEMPTS, [toTimestamp(before), limit])).count;
}
