// Links and codes that were mailed or printed. Only digests of what they end with come here.
import type { TokenPurpose } from "../../core/accounts/token-rules.ts";
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { toTimestamp } from "../values.ts";

export type Token = {
  id: number;
  uuid: string;
  purpose: TokenPurpose;
  /** Null of those that make an account. */
  accountId: number | null;
  email: string | null;
  nextPath: string | null;
  expiresAt: Instant;
  usedAt: Instant | null;
};

type Row = {
  id: number;
  uuid: string;
  purpose: TokenPurpose;
  account_id: number | null;
  email: string | null;
  next_path: string | null;
  expires_at: Instant;
  used_at: Instant | null;
};

const COLUMNS = "id, uuid, purpose, account_id, email, next_path, expires_at, used_at";

function toToken(row: Row): Token {
  return {
    id: row.id,
    uuid: row.uuid,
    purpose: row.purpose,
    accountId: row.account_id,
    email: row.email,
    nextPath: row.next_path,
    expiresAt: row.expires_at,
    usedAt: row.used_at,
  };
}

const INSERT = statement({
  name: "tokens.insert",
  text: `insert into sign_in_tokens (uuid, digest, purpose, account_id, email, next_path, created_at, expires_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8)`,
});

export type NewToken = Omit<Token, "id" | "usedAt"> & { digest: Buffer; createdAt: Instant };

/** Adds a token. */
export async function insertToken(tx: Tx, token: NewToken): Promise<void> {
  await tx.query(INSERT, [
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

const FIND = statement<Row>({
  name: "tokens.find",
  text: `select ${COLUMNS} from sign_in_tokens where digest = $1`,
});

/** The token with this digest, used or not. */
export async function findToken(db: Db, digest: Buffer): Promise<Token | null> {
  const [row] = (await db.query(FIND, [digest])).rows;
  return row === undefined ? null : toToken(row);
}

const FIND_BY_UUID = statement<Row>({
  name: "tokens.find_by_uuid",
  text: `select ${COLUMNS} from sign_in_tokens where uuid = $1`,
});

/** The token that a letter is about. */
export async function findTokenByUuid(db: Db, uuid: string): Promise<Token | null> {
  const [row] = (await db.query(FIND_BY_UUID, [uuid])).rows;
  return row === undefined ? null : toToken(row);
}

const FIND_NEWEST = statement<Row>({
  name: "tokens.find_newest",
  text: `select ${COLUMNS} from sign_in_tokens where account_id = $1 and purpose = $2 order by id desc limit 1`,
});

/** The last token of a purpose that an account was given. */
export async function findNewestToken(
  db: Db,
  { accountId, purpose }: { accountId: number; purpose: TokenPurpose },
): Promise<Token | null> {
  const [row] = (await db.query(FIND_NEWEST, [accountId, purpose])).rows;
  return row === undefined ? null : toToken(row);
}

const USE = statement({
  name: "tokens.use",
  text: "update sign_in_tokens set used_at = $2 where id = $1 and used_at is null",
});

/** Uses a token. False: it was used before. */
export async function useToken(tx: Tx, { tokenId, at }: { tokenId: number; at: Instant }): Promise<boolean> {
  return (await tx.query(USE, [tokenId, toTimestamp(at)])).count === 1;
}

const VOID = statement({
  name: "tokens.void",
  text: `delete from sign_in_tokens where account_id is not distinct from $1 and purpose = $2 and used_at is null
    and email is not distinct from $3`,
});

/** Ends what was given out before for the same purpose: one link is outstanding at a time. */
export async function voidTokens(
  tx: Tx,
  { accountId, purpose, email }: { accountId: number | null; purpose: TokenPurpose; email: string | null },
): Promise<void> {
  await tx.query(VOID, [accountId, purpose, email]);
}

const VOID_ALL = statement({
  name: "tokens.void_all",
  text: "delete from sign_in_tokens where account_id = $1 and used_at is null",
});

/** Ends everything that was given out for an account and not used. */
export async function voidAllTokens(tx: Tx, accountId: number): Promise<void> {
  await tx.query(VOID_ALL, [accountId]);
}

const PRUNE = statement({
  name: "tokens.prune",
  text: `delete from sign_in_tokens
    where id in (select id from sign_in_tokens where expires_at < $1 order by expires_at limit $2)`,
});

/** Forgets at most `limit` tokens whose time was over before an instant; returns how many. */
export async function pruneTokens(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE, [toTimestamp(before), limit])).count;
}
