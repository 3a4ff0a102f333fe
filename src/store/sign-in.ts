// Sign-in tokens (as digests), started sign-ins, attempt limits, and recorded sign-ins.
import type { Instant } from "../core/instant.ts";
import type { AttemptKind, SignInMethod, TokenPurpose } from "../core/sign-in.ts";
import { amongOldest, type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { toTimestamp } from "./values.ts";

export type Token = {
  id: number;
  uuid: string;
  /** The digest of the link. */
  digest: Buffer;
  purpose: TokenPurpose;
  /** Null if the token creates an account. */
  accountId: number | null;
  email: string | null;
  nextPath: string | null;
  expiresAt: Instant;
  usedAt: Instant | null;
};

type TokenRow = {
  id: number;
  uuid: string;
  digest: Buffer;
  purpose: TokenPurpose;
  account_id: number | null;
  email: string | null;
  next_path: string | null;
  expires_at: Instant;
  used_at: Instant | null;
};

const TOKEN_COLUMNS = "id, uuid, digest, purpose, account_id, email, next_path, expires_at, used_at";

function toToken(row: TokenRow): Token {
  return {
    id: row.id,
    uuid: row.uuid,
    digest: row.digest,
    purpose: row.purpose,
    accountId: row.account_id,
    email: row.email,
    nextPath: row.next_path,
    expiresAt: row.expires_at,
    usedAt: row.used_at,
  };
}

const INSERT_TOKEN = statement({
  name: "tokens.insert",
  text: `insert into sign_in_tokens (uuid, digest, purpose, account_id, email, next_path, created_at, expires_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8)`,
});

export type NewToken = Omit<Token, "id" | "usedAt"> & { createdAt: Instant };

/** Inserts a token. */
export async function insertToken(tx: Tx, token: NewToken): Promise<void> {
  await tx.query(INSERT_TOKEN, [
    token.uuid,
    token.digest,
    token.purpose,
    token.accountId,
    token.email,
    token.nextPath,
    toTimestamp(token.createdAt),
    toTimestamp(token.expiresAt),
  ]);
}

const FIND_TOKEN = statement<TokenRow>({
  name: "tokens.find",
  text: `select ${TOKEN_COLUMNS} from sign_in_tokens where digest = $1`,
});

/** The token with this digest, used or not. */
export async function findToken(db: Db, digest: Buffer): Promise<Token | null> {
  const [row] = (await db.query(FIND_TOKEN, [digest])).rows;
  return row === undefined ? null : toToken(row);
}

const FIND_TOKEN_BY_UUID = statement<TokenRow>({
  name: "tokens.find_by_uuid",
  text: `select ${TOKEN_COLUMNS} from sign_in_tokens where uuid = $1`,
});

/** The token of an email. */
export async function findTokenByUuid(db: Db, uuid: string): Promise<Token | null> {
  const [row] = (await db.query(FIND_TOKEN_BY_UUID, [uuid])).rows;
  return row === undefined ? null : toToken(row);
}

const FIND_NEWEST_TOKEN = statement<TokenRow>({
  name: "tokens.find_newest",
  text: `select ${TOKEN_COLUMNS} from sign_in_tokens where account_id = $1 and purpose = $2 order by id desc limit 1`,
});

/** The last token of a purpose that was created for an account. */
export async function findNewestToken(
  db: Db,
  { accountId, purpose }: { accountId: number; purpose: TokenPurpose },
): Promise<Token | null> {
  const [row] = (await db.query(FIND_NEWEST_TOKEN, [accountId, purpose])).rows;
  return row === undefined ? null : toToken(row);
}

const USE_TOKEN = statement({
  name: "tokens.use",
  text: "update sign_in_tokens set used_at = $2 where id = $1 and used_at is null",
});

/** Uses a token. False: it was already used. */
export async function useToken(tx: Tx, { tokenId, at }: { tokenId: number; at: Instant }): Promise<boolean> {
  return (await tx.query(USE_TOKEN, [tokenId, toTimestamp(at)])).count === 1;
}

const VOID_TOKENS = statement({
  name: "tokens.void",
  text: `delete from sign_in_tokens where account_id is not distinct from $1 and purpose = $2 and used_at is null
    and email is not distinct from $3`,
});

/** Ends earlier tokens of the same purpose: one link is valid at a time. */
export async function voidTokens(
  tx: Tx,
  { accountId, purpose, email }: { accountId: number | null; purpose: TokenPurpose; email: string | null },
): Promise<void> {
  await tx.query(VOID_TOKENS, [accountId, purpose, email]);
}

const VOID_ALL_TOKENS = statement({
  name: "tokens.void_all",
  text: "delete from sign_in_tokens where account_id = $1 and used_at is null",
});

/** Ends all unused tokens of an account. */
export async function voidAllTokens(tx: Tx, accountId: number): Promise<void> {
  await tx.query(VOID_ALL_TOKENS, [accountId]);
}

const PRUNE_TOKENS = statement({
  name: "tokens.prune",
  text: `delete from sign_in_tokens
    where id in (select id from sign_in_tokens where expires_at < $1 order by expires_at limit $2)`,
});

/** Deletes at most `limit` tokens that expired before an instant; returns how many. */
export async function pruneTokens(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE_TOKENS, [toTimestamp(before), limit])).count;
}

export type StepKind = "secondFactor" | "passkey" | "newPasskey" | "oidc";

export type Step = {
  digest: Buffer;
  kind: StepKind;
  accountId: number | null;
  about: Readonly<Record<string, unknown>>;
  createdAt: Instant;
  expiresAt: Instant;
};

const INSERT_STEP = statement({
  name: "steps.insert",
  text: `insert into sign_in_steps (digest, kind, account_id, about, created_at, expires_at)
    values ($1, $2, $3, $4, $5, $6)`,
});

/** Stores a step of a started sign-in. */
export async function insertStep(tx: Tx, step: Step): Promise<void> {
  const { digest, kind, accountId, about, createdAt, expiresAt } = step;
  const times = [toTimestamp(createdAt), toTimestamp(expiresAt)];
  await tx.query(INSERT_STEP, [digest, kind, accountId, JSON.stringify(about), ...times]);
}

type StepRow = {
  kind: StepKind;
  account_id: number | null;
  about: Record<string, unknown>;
  created_at: Instant;
  expires_at: Instant;
};

const FIND_STEP = statement<StepRow>({
  name: "steps.find",
  text: "select kind, account_id, about, created_at, expires_at from sign_in_steps where digest = $1 and kind = $2",
});

/** Reads a step of a started sign-in. */
export async function findStep(
  db: Db,
  { digest, kind }: { digest: Buffer; kind: StepKind },
): Promise<Step | null> {
  const [row] = (await db.query(FIND_STEP, [digest, kind])).rows;
  return row === undefined ? null : toStep(row, digest);
}

const TAKE_STEP = statement<StepRow>({
  name: "steps.take",
  text: `delete from sign_in_steps where digest = $1 and kind = $2
    returning kind, account_id, about, created_at, expires_at`,
});

/** Reads and deletes a step: each can be used once. */
export async function takeStep(
  tx: Tx,
  { digest, kind }: { digest: Buffer; kind: StepKind },
): Promise<Step | null> {
  const [row] = (await tx.query(TAKE_STEP, [digest, kind])).rows;
  return row === undefined ? null : toStep(row, digest);
}

const DELETE_STEPS_OF = statement({
  name: "steps.delete_of",
  text: "delete from sign_in_steps where account_id = $1",
});

/** Deletes all started sign-ins of an account. */
export async function deleteStepsOf(tx: Tx, accountId: number): Promise<void> {
  await tx.query(DELETE_STEPS_OF, [accountId]);
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

/** Deletes at most `limit` steps that expired before an instant; returns how many. */
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

/** When a bucket will be full; a new one is full at `now`. Locks it for the transaction. */
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

/** Stores when the bucket will be full. */
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

/** Deletes at most `limit` buckets that were full before an instant; returns how many. */
export async function pruneAttempts(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE_ATTEMPTS, [toTimestamp(before), limit])).count;
}

/** A sign-in, with only the details its owner needs to recognize it. */
export type SignIn = {
  at: Instant;
  method: SignInMethod;
  ua: string;
  remoteAddr: string | null;
  /** Wrong passwords and codes since the previous one. */
  failedCount: number;
};

const INSERT_SIGN_IN = statement({
  name: "sign_ins.insert",
  text: `with failed as (delete from sign_in_failures where account_id = $1 returning count)
    insert into sign_ins (account_id, at, method, ua, remote_addr, failed_count)
    values ($1, $2, $3, $4, $5, coalesce((select count from failed), 0))`,
});

/** Records a sign-in of an account, with the number of failed attempts before it. */
export async function insertSignIn(
  tx: Tx,
  signIn: Omit<SignIn, "failedCount"> & { accountId: number },
): Promise<void> {
  const { accountId, at, method, ua, remoteAddr } = signIn;
  await tx.query(INSERT_SIGN_IN, [accountId, toTimestamp(at), method, ua, remoteAddr]);
}

const TRIM_SIGN_INS = statement({
  name: "sign_ins.trim",
  text: `delete from sign_ins where account_id = $1 and id not in (
      select id from sign_ins where account_id = $1 order by id desc limit $2
    )`,
});

/** Deletes all but the newest sign-ins of an account. */
export async function trimSignIns(
  tx: Tx,
  { accountId, keep }: { accountId: number; keep: number },
): Promise<number> {
  return (await tx.query(TRIM_SIGN_INS, [accountId, keep])).count;
}

type SignInRow = {
  at: Instant;
  method: SignInMethod;
  ua: string;
  remote_addr: string | null;
  failed_count: number;
};

const LIST_SIGN_INS = statement<SignInRow>({
  name: "sign_ins.list",
  text: `select at, method, ua, remote_addr, failed_count from sign_ins
    where account_id = $1 order by id desc limit $2`,
});

/** The newest sign-ins of an account. */
export async function listSignIns(
  db: Db,
  { accountId, limit }: { accountId: number; limit: number },
): Promise<SignIn[]> {
  return (await db.query(LIST_SIGN_INS, [accountId, limit])).rows.map((row) => ({
    at: row.at,
    method: row.method,
    ua: row.ua,
    remoteAddr: row.remote_addr,
    failedCount: row.failed_count,
  }));
}

const PRUNE_SIGN_INS = statement({
  name: "sign_ins.prune",
  text: `delete from sign_ins where ${amongOldest("sign_ins")}`,
});

/** Deletes sign-ins from before an instant, among the `limit` oldest; returns how many. */
export async function pruneSignIns(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE_SIGN_INS, [toTimestamp(before), limit])).count;
}

const COUNT_FAILURE = statement({
  name: "sign_in_failures.add",
  // The account may be being closed: waits for that, and then counts for no account.
  text: `insert into sign_in_failures as f (account_id, count, last_at)
    values ((select id from accounts where id = $1 for key share), 1, $2)
    on conflict (account_id) do update set count = f.count + 1, last_at = $2`,
});
const DELETE_WITHOUT_ACCOUNT = statement({
  name: "sign_in_failures.forget_nobodys",
  text: "delete from sign_in_failures where account_id is null",
});

/**
 * Counts a wrong password or code; null: for an address without an account. Nothing is stored for those, but it takes
 * as long: the same statements, and a commit of a written row.
 */
export async function addSignInFailure(
  tx: Tx,
  { accountId, at }: { accountId: number | null; at: Instant },
): Promise<void> {
  await tx.query(COUNT_FAILURE, [accountId, toTimestamp(at)]);
  await tx.query(DELETE_WITHOUT_ACCOUNT, []);
}

const FIND_SIGN_IN_FAILURES = statement<{ count: number; last_at: Instant }>({
  name: "sign_in_failures.find",
  text: "select count, last_at from sign_in_failures where account_id = $1",
});

/** Number and time of failed sign-ins to an account since its last sign-in; null: none. */
export async function findSignInFailures(
  db: Db,
  accountId: number,
): Promise<{ count: number; lastAt: Instant } | null> {
  const [row] = (await db.query(FIND_SIGN_IN_FAILURES, [accountId])).rows;
  return row === undefined ? null : { count: row.count, lastAt: row.last_at };
}
