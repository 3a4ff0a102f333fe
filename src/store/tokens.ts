// Personal access tokens. Only digests are stored.
import type { TokenScope } from "../core/access.ts";
import type { Instant } from "../core/instant.ts";
import { ACCOUNT_COLUMNS, type AccountRow, type Density, type Theme, toAccount } from "./accounts.ts";
import { firstOf, type KeyDigest } from "./api-keys.ts";
import { type Db, statement } from "./db.ts";
import type { Person } from "./sessions.ts";
import type { Tx } from "./transaction.ts";
import { toTimestamp } from "./values.ts";

export type AccessToken = {
  id: number;
  uuid: string;
  name: string;
  scope: TokenScope;
  /** The first characters of the token, to recognize it by. */
  prefix: string;
  createdAt: Instant;
  expiresAt: Instant;
  lastUsedAt: Instant | null;
};

type TokenRow = {
  token_id: number;
  token_uuid: string;
  token_name: string;
  scope: TokenScope;
  prefix: string;
  token_created_at: Instant;
  expires_at: Instant;
  last_used_at: Instant | null;
};

/** Of the table under the name `t`; prefixed, because an account has some of the same names. */
const COLUMNS = `t.id as token_id, t.uuid as token_uuid, t.name as token_name, t.scope, t.prefix,
  t.created_at as token_created_at, t.expires_at, t.last_used_at`;

function toToken(row: TokenRow): AccessToken {
  return {
    id: row.token_id,
    uuid: row.token_uuid,
    name: row.token_name,
    scope: row.scope,
    prefix: row.prefix,
    createdAt: row.token_created_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
  };
}

const INSERT = statement({
  name: "access_tokens.insert",
  text: `insert into access_tokens (uuid, account_id, name, scope, prefix, digest, secret_id, created_at, expires_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
});

export type NewAccessToken = Omit<AccessToken, "id" | "lastUsedAt"> & { accountId: number } & KeyDigest;

export async function insertAccessToken(tx: Tx, token: NewAccessToken): Promise<void> {
  await tx.query(INSERT, [
    token.uuid,
    token.accountId,
    token.name,
    token.scope,
    token.prefix,
    token.digest,
    token.secretId,
    toTimestamp(token.createdAt),
    toTimestamp(token.expiresAt),
  ]);
}

type FoundRow = TokenRow &
  AccountRow & {
    digest: Buffer;
    secret_id: string | null;
    theme: Theme;
    density: Density;
    tz: string | null;
  };

const FIND = statement<FoundRow>({
  name: "access_tokens.find",
  text: `select ${COLUMNS}, t.digest, t.secret_id, ${ACCOUNT_COLUMNS}, a.theme, a.density, p.tz
    from access_tokens t join accounts a on a.id = t.account_id left join preferences p on p.account_id = a.id
    where t.digest = any($1)`,
});

export type FoundAccessToken = {
  token: AccessToken;
  digest: Buffer;
  /** Null: not known. */
  secretId: string | null;
  person: Person;
};

/**
 * The token with one of these digests, the first if there are several, expired or not, and its owner. Timing reveals
 * nothing: the digests are keyed.
 */
export async function findAccessToken(db: Db, digests: readonly Buffer[]): Promise<FoundAccessToken | null> {
  const row = firstOf((await db.query(FIND, [digests])).rows, digests);
  if (row === undefined) return null;
  const person = { ...toAccount(row), theme: row.theme, density: row.density, zone: row.tz };
  return { token: toToken(row), digest: row.digest, secretId: row.secret_id, person };
}

const LIST = statement<TokenRow>({
  name: "access_tokens.list",
  text: `select ${COLUMNS} from access_tokens t where t.account_id = $1 order by t.id desc`,
});

/** The tokens of an account, newest first, including expired ones. */
export async function listAccessTokens(db: Db, accountId: number): Promise<AccessToken[]> {
  return (await db.query(LIST, [accountId])).rows.map(toToken);
}

const TOUCH = statement({
  name: "access_tokens.touch",
  text: `update access_tokens t set last_used_at = u.at
    from unnest($1::bigint[], $2::timestamptz[]) as u (id, at)
    where t.id = u.id and (t.last_used_at is null or t.last_used_at < u.at)`,
});

/** Records when tokens were last used. */
export async function touchAccessTokens(
  tx: Tx,
  uses: readonly { keyId: number; at: Instant }[],
): Promise<void> {
  await tx.query(TOUCH, [uses.map(({ keyId }) => keyId), uses.map(({ at }) => toTimestamp(at))]);
}

const RENEW = statement({
  name: "access_tokens.renew",
  text: `update access_tokens t set digest = u.digest, secret_id = u.secret_id
    from unnest($1::bigint[], $2::bytea[], $3::text[]) as u (id, digest, secret_id) where t.id = u.id`,
});

/** Replaces the digests of tokens by those made with the current secret key. */
export async function renewAccessTokens(
  tx: Tx,
  tokens: readonly ({ keyId: number } & KeyDigest)[],
): Promise<void> {
  await tx.query(RENEW, [
    tokens.map(({ keyId }) => keyId),
    tokens.map(({ digest }) => digest),
    tokens.map(({ secretId }) => secretId),
  ]);
}

const DELETE = statement<TokenRow>({
  name: "access_tokens.delete",
  text: `delete from access_tokens t where t.uuid = $1 and t.account_id = $2 returning ${COLUMNS}`,
});

/** Deletes a token of an account and returns it; null if the account has no such token. */
export async function deleteAccessToken(
  tx: Tx,
  { uuid, accountId }: { uuid: string; accountId: number },
): Promise<AccessToken | null> {
  const { rows } = await tx.query(DELETE, [uuid, accountId]);
  return rows[0] === undefined ? null : toToken(rows[0]);
}

const DELETE_EXPIRED = statement({
  name: "access_tokens.delete_expired",
  text: "delete from access_tokens where account_id = $1 and expires_at <= $2",
});

/** Deletes the expired tokens of an account. */
export async function deleteExpiredAccessTokens(
  tx: Tx,
  { accountId, now }: { accountId: number; now: Instant },
): Promise<void> {
  await tx.query(DELETE_EXPIRED, [accountId, toTimestamp(now)]);
}

const PRUNE = statement({
  name: "access_tokens.prune",
  text: `delete from access_tokens
    where id in (select id from access_tokens where expires_at < $1 order by expires_at limit $2)`,
});

/** Deletes at most `limit` tokens that expired before an instant; returns how many. */
export async function pruneAccessTokens(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE, [toTimestamp(before), limit])).count;
}
