// What changes about an account after it was made; making and finding one is in projects.ts beside it.
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { toNumberArray, toTimestamp } from "../values.ts";
import type { Density, Theme } from "./sessions.ts";

const SIGNED_IN = statement({
  name: "accounts.signed_in",
  text: "update accounts set signed_in_at = $2 where id = $1",
});

/** Writes down when somebody came in last. */
export async function writeSignedIn(
  tx: Tx,
  { accountId, at }: { accountId: number; at: Instant },
): Promise<void> {
  await tx.query(SIGNED_IN, [accountId, toTimestamp(at)]);
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

/** Makes strangers of all browsers that were signed in to an account before. */
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

/** The addresses of accounts by their ids; those that were closed are left out. */
export async function findEmails(db: Db, accountIds: readonly number[]): Promise<Map<number, string>> {
  const { rows } = await db.query(FIND_EMAILS, [toNumberArray(accountIds)]);
  return new Map(rows.map(({ id, email }) => [id, email]));
}

const HAS_OPERATOR = statement<{ has_one: boolean }>({
  name: "accounts.has_operator",
  text: "select exists (select from accounts where is_operator) as has_one",
});

/** Whether anybody may administer the installation. */
export async function hasOperator(db: Db): Promise<boolean> {
  return (await db.query(HAS_OPERATOR, [])).rows[0]?.has_one ?? false;
}

const LOCK_OPERATORS = statement<{ id: number }>({
  name: "accounts.lock_operators",
  text: "select id from accounts where is_operator order by id for no key update",
});

/**
 * Who may administer the installation. Until the end of the transaction nobody else makes them fewer; rows that refer to
 * them can be written meanwhile, so that they are not kept from their work.
 */
export async function lockOperators(tx: Tx): Promise<number[]> {
  return (await tx.query(LOCK_OPERATORS, [])).rows.map(({ id }) => id);
}

const WRITE_PROFILE = statement({
  name: "accounts.write_profile",
  text: `update accounts set name = coalesce($2, name), theme = coalesce($3, theme),
      density = coalesce($4, density)
    where id = $1`,
});

type Profile = { name: string | null; theme: Theme | null; density: Density | null };

/** Changes how a person is called, and in which colours and how densely the pages are shown; null leaves it. */
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

/** Moves an account to another address. One that is taken already is a unique_violation. */
export async function writeEmail(
  tx: Tx,
  { accountId, email }: { accountId: number; email: string },
): Promise<void> {
  await tx.query(WRITE_EMAIL, [accountId, email]);
}

const WRITE_OPERATOR = statement({
  name: "accounts.write_operator",
  text: "update accounts set is_operator = $2 where id = $1",
});

/** Lets an account administer the installation, or no more. */
export async function writeOperator(
  tx: Tx,
  { accountId, isOperator }: { accountId: number; isOperator: boolean },
): Promise<void> {
  await tx.query(WRITE_OPERATOR, [accountId, isOperator]);
}

const LOCK = statement<{ id: number }>({
  name: "accounts.lock",
  text: "select id from accounts where id = $1 for update",
});

/** Locks an account until the end of the transaction. False: it is gone. */
export async function lockAccount(tx: Tx, accountId: number): Promise<boolean> {
  return (await tx.query(LOCK, [accountId])).count === 1;
}

const DELETE = statement({ name: "accounts.delete", text: "delete from accounts where id = $1" });

/** Removes an account and everything that belongs to nobody else. It must be a member of nothing by then. */
export async function deleteAccount(tx: Tx, accountId: number): Promise<boolean> {
  return (await tx.query(DELETE, [accountId])).count === 1;
}
