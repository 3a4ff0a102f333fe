// The audit log. Entries are never changed, except for the name and address of closed accounts.
import type { AuditAction } from "../core/audit.ts";
import type { Instant } from "../core/instant.ts";
import { amongOldest, type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { toNumberArray, toTimestamp } from "./values.ts";

export type NewAuditEntry = {
  projectId: number | null;
  accountId: number | null;
  keyId: number | null;
  what: AuditAction;
  subject: string;
  before: object | null;
  after: object | null;
  at: Instant;
};

const INSERT = statement({
  name: "audit.insert",
  text: `insert into audit_entries (project_id, account_id, key_id, what, subject, before, after, at)
    select n.project_id, n.account_id, n.key_id, n.what, n.subject, n.before, n.after, n.at
    from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::jsonb[], $7::jsonb[],
      $8::timestamptz[])
      with ordinality as n (project_id, account_id, key_id, what, subject, before, after, at, position)
    order by n.position`,
});

/** Adds entries, in this order. */
export async function insertAuditEntries(tx: Tx, entries: readonly NewAuditEntry[]): Promise<void> {
  const json = (side: object | null) => (side === null ? null : JSON.stringify(side));
  await tx.query(INSERT, [
    entries.map((entry) => entry.projectId),
    entries.map((entry) => entry.accountId),
    entries.map((entry) => entry.keyId),
    entries.map((entry) => entry.what),
    entries.map((entry) => entry.subject),
    entries.map((entry) => json(entry.before)),
    entries.map((entry) => json(entry.after)),
    entries.map((entry) => toTimestamp(entry.at)),
  ]);
}

export type AuditEntry = Omit<NewAuditEntry, "projectId"> & {
  id: number;
  /** The actor's address, or the first characters of the key; null if unknown. */
  email: string | null;
  keyPrefix: string | null;
};

type Row = {
  id: number;
  account_id: number | null;
  key_id: number | null;
  what: AuditAction;
  subject: string;
  before: object | null;
  after: object | null;
  at: Instant;
  email: string | null;
  prefix: string | null;
};

const SELECT = `select e.id, e.account_id, e.key_id, e.what, e.subject, e.before, e.after, e.at, a.email, k.prefix
    from audit_entries e left join accounts a on a.id = e.account_id left join api_keys k on k.id = e.key_id`;

const LIST = statement<Row>({
  name: "audit.list",
  text: `${SELECT} where e.project_id = $1 and e.id < $2 order by e.id desc limit $3`,
});

const LIST_OF_INSTANCE = statement<Row>({
  name: "audit.list_of_instance",
  text: `${SELECT} where e.project_id is null and e.id < $1 order by e.id desc limit $2`,
});

/** Entries of a project, or (null) of no project, before one of them, newest first. */
export async function listAuditEntries(
  db: Db,
  { projectId, beforeId, limit }: { projectId: number | null; beforeId: number; limit: number },
): Promise<AuditEntry[]> {
  const { rows } = await (projectId === null
    ? db.query(LIST_OF_INSTANCE, [beforeId, limit])
    : db.query(LIST, [projectId, beforeId, limit]));
  return rows.map((row) => ({
    id: row.id,
    accountId: row.account_id,
    keyId: row.key_id,
    what: row.what,
    subject: row.subject,
    before: row.before,
    after: row.after,
    at: row.at,
    email: row.email,
    keyPrefix: row.prefix,
  }));
}

const MENTIONED =
  "(position($1 in subject) > 0 or position($2 in before::text) > 0 or position($2 in after::text) > 0)";

const FIND_HEAD = statement<{ head: number }>({
  name: "audit.find_head",
  text: "select coalesce(max(id), 0) as head from audit_entries",
});
const FIND_MENTIONS = statement<{ id: number }>({
  name: "audit.find_mentions",
  text: `select id from audit_entries where ${MENTIONED}`,
});

/** Entries that contain an address, and the ID of the newest entry before the search. */
export type AuditMentions = { ids: readonly number[]; head: number };

/** Searches the whole audit log for an address, which takes a while: do this before locking anything. */
export async function findAuditMentions(db: Db, email: string): Promise<AuditMentions> {
  const head = (await db.query(FIND_HEAD, [])).rows[0]?.head ?? 0;
  const { rows } = await db.query(FIND_MENTIONS, [email, inJson(email)]);
  return { ids: rows.map(({ id }) => id), head };
}

/**
 * IDs are assigned before commit, so this many before the newest one may not have been visible. One bulk change
 * writes a thousand.
 */
const IN_FLIGHT_MAX = 10_000;

const FORGET = statement({
  name: "audit.forget_address",
  text: `update audit_entries set subject = regexp_replace(subject, $3, $5, 'g'),
      before = regexp_replace(before::text, $4, $5, 'g')::jsonb, after = regexp_replace(after::text, $4, $5, 'g')::jsonb
    where (id = any ($6::bigint[]) or id > $7) and ${MENTIONED}`,
});

/**
 * Replaces an address in the found entries and in those added since, but not where it is part of another
 * address. For closed accounts.
 */
export async function eraseAuditedAddress(
  tx: Tx,
  { email, instead, mentions }: { email: string; instead: string; mentions: AuditMentions },
): Promise<void> {
  const patterns = [wholeAddress(email), wholeAddress(inJson(email))];
  const where = [toNumberArray(mentions.ids), mentions.head - IN_FLIGHT_MAX];
  await tx.query(FORGET, [email, inJson(email), ...patterns, instead, ...where]);
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

const FORGET_PROFILE = statement({
  name: "audit.forget_profile",
  text: `update audit_entries set before = null, after = null
    where account_id = $1 and what = 'account.changed' and (before is not null or after is not null)`,
});

/** Removes profile changes of an account from the log. */
export async function eraseAuditedProfile(tx: Tx, accountId: number): Promise<void> {
  await tx.query(FORGET_PROFILE, [accountId]);
}

const FORMER = statement<{ email: string }>({
  name: "audit.former_addresses",
  text: `select distinct e.before ->> 'email' as email from audit_entries e
    where e.account_id = $1 and e.what = 'account.emailChanged' and e.before ->> 'email' is not null
      and not exists (select from accounts a where a.email = e.before ->> 'email')`,
});

/** Former addresses of an account, as far as the log goes back; addresses now used by other accounts are left out. */
export async function listFormerAddresses(db: Db, accountId: number): Promise<string[]> {
  return (await db.query(FORMER, [accountId])).rows.map(({ email }) => email);
}

/** A pattern for an address that is not part of a longer one. */
function wholeAddress(text: string): string {
  const literal = text.replaceAll(/[\\^$.|?*+()[\]{}]/g, String.raw`\$&`);
  return String.raw`(?<![\w.!#$%&*+/=?^~-])${literal}(?![\w.-]*\w)`;
}

const PRUNE = statement({
  name: "audit.prune",
  text: `delete from audit_entries where ${amongOldest("audit_entries")}`,
});

/** Deletes those of the `limit` oldest entries from before an instant; returns how many. */
export async function pruneAuditEntries(
  tx: Tx,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  return (await tx.query(PRUNE, [toTimestamp(before), limit])).count;
}
