import type { Instant } from "../core/instant.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { toNumberArray, toTimestamp } from "./values.ts";

export type Account = {
  id: number;
  uuid: string;
  email: string;
  name: string;
  /** Whether it is a server admin. */
  isAdmin: boolean;
  /** Null: the limit of the server applies. */
  checkLimit: number | null;
  pingLogLimit: number | null;
  createdAt: Instant;
};

export type AccountRow = {
  id: number;
  uuid: string;
  email: string;
  name: string;
  is_operator: boolean;
  check_limit: number | null;
  ping_log_limit: number | null;
  created_at: Instant;
};

/** Of the table under the name `a`. */
export const ACCOUNT_COLUMNS =
  "a.id, a.uuid, a.email, a.name, a.is_operator, a.check_limit, a.ping_log_limit, a.created_at";

/** The account of a row with these columns. */
export function toAccount(row: AccountRow): Account {
  return {
    id: row.id,
    uuid: row.uuid,
    email: row.email,
    name: row.name,
    isAdmin: row.is_operator,
    checkLimit: row.check_limit,
    pingLogLimit: row.ping_log_limit,
    createdAt: row.created_at,
  };
}

const INSERT_ACCOUNT = statement<{ id: number }>({
  name: "accounts.insert",
  text: `insert into accounts (uuid, email, name, is_operator, check_limit, ping_log_limit, created_at)
    values ($1, $2, $3, $4, $5, $6, $7) returning id`,
});

/** Inserts an account and returns its ID. An address that is already in use is a unique_violation. */
export async function insertAccount(tx: Tx, account: Omit<Account, "id">): Promise<number> {
  const { rows } = await tx.query(INSERT_ACCOUNT, [
    account.uuid,
    account.email,
    account.name,
    account.isAdmin,
    account.checkLimit,
    account.pingLogLimit,
    toTimestamp(account.createdAt),
  ]);
  return onlyId(rows);
}

const FIND_ACCOUNT_BY_EMAIL = statement<AccountRow>({
  name: "accounts.find_by_email",
  text: `select ${ACCOUNT_COLUMNS} from accounts a where a.email = $1`,
});

/** The account with this address, given in lower case. */
export async function findAccountByEmail(db: Db, email: string): Promise<Account | null> {
  const { rows } = await db.query(FIND_ACCOUNT_BY_EMAIL, [email]);
  return rows[0] === undefined ? null : toAccount(rows[0]);
}

const FIND_ACCOUNT_BY_ID = statement<AccountRow>({
  name: "accounts.find_by_id",
  text: `select ${ACCOUNT_COLUMNS} from accounts a where a.id = $1`,
});

/** The account with this ID. */
export async function findAccountById(db: Db, accountId: number): Promise<Account | null> {
  const { rows } = await db.query(FIND_ACCOUNT_BY_ID, [accountId]);
  return rows[0] === undefined ? null : toAccount(rows[0]);
}

const FIND_ACCOUNT_BY_UUID = statement<AccountRow>({
  name: "accounts.find_by_uuid",
  text: `select ${ACCOUNT_COLUMNS} from accounts a where a.uuid = $1`,
});

/** The account with this UUID. */
export async function findAccountByUuid(db: Db, uuid: string): Promise<Account | null> {
  const { rows } = await db.query(FIND_ACCOUNT_BY_UUID, [uuid]);
  return rows[0] === undefined ? null : toAccount(rows[0]);
}

const LIST_ACCOUNTS = statement<AccountRow & { check_count: number }>({
  name: "accounts.list",
  text: `select ${ACCOUNT_COLUMNS},
      (select count(*) from members m join checks c on c.project_id = m.project_id
        where m.account_id = a.id and m.role = 'owner' and c.deleted_at is null) as check_count
    from accounts a where a.id > $1 order by a.id limit $2`,
});

/** Accounts after `afterId`, oldest first, at most `limit`, each with the number of checks it owns. */
export async function listAccounts(
  db: Db,
  { afterId, limit }: { afterId: number; limit: number },
): Promise<(Account & { checkCount: number })[]> {
  const { rows } = await db.query(LIST_ACCOUNTS, [afterId, limit]);
  return rows.map((row) => ({ ...toAccount(row), checkCount: row.check_count }));
}

const UPDATE_CHECK_LIMIT = statement({
  name: "accounts.update_check_limit",
  text: "update accounts set check_limit = $2 where id = $1",
});

/**
 * Sets how many checks an account may own; null restores the limit of the server. False: the account does not exist.
 */
export async function updateCheckLimit(
  tx: Tx,
  { accountId, checkLimit }: { accountId: number; checkLimit: number | null },
): Promise<boolean> {
  return (await tx.query(UPDATE_CHECK_LIMIT, [accountId, checkLimit])).count === 1;
}

export function onlyId(rows: { id: number }[]): number {
  const [row] = rows;
  if (row === undefined) throw new Error("the insert returned no ID");
  return row.id;
}

const WRITE_SIGNED_IN = statement({
  name: "accounts.signed_in",
  text: "update accounts set signed_in_at = $2 where id = $1",
});

/** Records the last sign-in. */
export async function writeSignedIn(
  tx: Tx,
  { accountId, at }: { accountId: number; at: Instant },
): Promise<void> {
  await tx.query(WRITE_SIGNED_IN, [accountId, toTimestamp(at)]);
}

const FIND_KNOWN_FROM = statement<{ browsers_known_from_at: Instant | null }>({
  name: "accounts.find_known_from",
  text: "select browsers_known_from_at from accounts where id = $1",
});

/** Since when browsers of an account are known; null: always, or there is no such account. */
export async function findKnownFrom(db: Db, accountId: number): Promise<Instant | null> {
  return (await db.query(FIND_KNOWN_FROM, [accountId])).rows[0]?.browsers_known_from_at ?? null;
}

const WRITE_KNOWN_FROM = statement({
  name: "accounts.write_known_from",
  text: "update accounts set browsers_known_from_at = $2 where id = $1",
});

/** Invalidates all known browsers of an account. */
export async function writeKnownFrom(
  tx: Tx,
  { accountId, at }: { accountId: number; at: Instant },
): Promise<void> {
  await tx.query(WRITE_KNOWN_FROM, [accountId, toTimestamp(at)]);
}

const FIND_EMAILS = statement<{ id: number; email: string }>({
  name: "accounts.find_emails",
  text: "select id, email from accounts where id = any ($1::bigint[])",
});

/** The addresses of accounts by ID; closed accounts are left out. */
export async function findEmails(db: Db, accountIds: readonly number[]): Promise<Map<number, string>> {
  const { rows } = await db.query(FIND_EMAILS, [toNumberArray(accountIds)]);
  return new Map(rows.map(({ id, email }) => [id, email]));
}

const FIND_ACCOUNT_NAMES = statement<{ id: number; name: string; email: string }>({
  name: "accounts.find_names",
  text: "select id, name, email from accounts where id = any ($1::bigint[])",
});

/** The names of accounts by ID, or their addresses if they have none; closed accounts are left out. */
export async function findAccountNames(db: Db, accountIds: readonly number[]): Promise<Map<number, string>> {
  const { rows } = await db.query(FIND_ACCOUNT_NAMES, [toNumberArray(accountIds)]);
  return new Map(rows.map(({ id, name, email }) => [id, name === "" ? email : name]));
}

const HAS_ADMIN = statement<{ has_one: boolean }>({
  name: "accounts.has_operator",
  text: "select exists (select from accounts where is_operator) as has_one",
});

/** Whether there is an admin. */
export async function hasAdmin(db: Db): Promise<boolean> {
  return (await db.query(HAS_ADMIN, [])).rows[0]?.has_one ?? false;
}

const LOCK_ADMINS = statement<{ id: number }>({
  name: "accounts.lock_operators",
  text: "select id from accounts where is_operator order by id for no key update",
});

/**
 * Locks and returns the admins, so that their number cannot decrease until the transaction ends; rows that
 * refer to them can still be written.
 */
export async function lockAdmins(tx: Tx): Promise<number[]> {
  return (await tx.query(LOCK_ADMINS, [])).rows.map(({ id }) => id);
}

const WRITE_PROFILE = statement({
  name: "accounts.write_profile",
  text: `update accounts set name = coalesce($2, name), theme = coalesce($3, theme),
      density = coalesce($4, density)
    where id = $1`,
});

type Profile = { name: string | null; theme: Theme | null; density: Density | null };

/** Changes the name, theme and density of an account; null leaves a value unchanged. */
export async function writeProfile(
  tx: Tx,
  { accountId, name, theme, density }: { accountId: number } & Profile,
): Promise<void> {
  await tx.query(WRITE_PROFILE, [accountId, name, theme, density]);
}

const WRITE_EMAIL = statement({
  name: "accounts.write_email",
  text: "update accounts set email = $2 where id = $1",
});

/** Changes the address of an account. An address that is already in use is a unique_violation. */
export async function writeEmail(
  tx: Tx,
  { accountId, email }: { accountId: number; email: string },
): Promise<void> {
  await tx.query(WRITE_EMAIL, [accountId, email]);
}

const WRITE_ADMIN = statement({
  name: "accounts.write_operator",
  text: "update accounts set is_operator = $2 where id = $1",
});

/** Grants or revokes admin rights. */
export async function writeAdmin(
  tx: Tx,
  { accountId, isAdmin }: { accountId: number; isAdmin: boolean },
): Promise<void> {
  await tx.query(WRITE_ADMIN, [accountId, isAdmin]);
}

const LOCK_ACCOUNT = statement<{ id: number }>({
  name: "accounts.lock",
  text: "select id from accounts where id = $1 for update",
});

/** Locks an account until the end of the transaction. False: it does not exist. */
export async function lockAccount(tx: Tx, accountId: number): Promise<boolean> {
  return (await tx.query(LOCK_ACCOUNT, [accountId])).count === 1;
}

const DELETE_ACCOUNT = statement({ name: "accounts.delete", text: "delete from accounts where id = $1" });

/** Deletes an account and everything that belongs only to it. It must have left all projects before. */
export async function deleteAccount(tx: Tx, accountId: number): Promise<boolean> {
  return (await tx.query(DELETE_ACCOUNT, [accountId])).count === 1;
}

export type AdminAccountFacts = { accountId: number; signedInAt: Instant | null; hasTotp: boolean };

const LIST_ACCOUNT_FACTS = statement<{ id: number; signed_in_at: Instant | null; has_totp: boolean }>({
  name: "accounts.list_facts",
  text: `select a.id, a.signed_in_at,
      exists (select from authenticators t where t.account_id = a.id and t.confirmed_at is not null) as has_totp
    from accounts a where a.id = any ($1::bigint[])`,
});

/** The last sign-in of these accounts, and whether they have an authenticator app. */
export async function listAccountFacts(db: Db, accountIds: readonly number[]): Promise<AdminAccountFacts[]> {
  const { rows } = await db.query(LIST_ACCOUNT_FACTS, [accountIds]);
  return rows.map((row) => ({ accountId: row.id, signedInAt: row.signed_in_at, hasTotp: row.has_totp }));
}

export type Theme = "system" | "light" | "dark";

/** Density of list rows. */
export type Density = "comfortable" | "compact";
