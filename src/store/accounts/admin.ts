// What whoever runs the installation sees of it: accounts, and how far work is behind.
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import { toTimestamp } from "../values.ts";

export type AdminAccountFacts = { accountId: number; signedInAt: Instant | null; hasTotp: boolean };

const LIST_FACTS = statement<{ id: number; signed_in_at: Instant | null; has_totp: boolean }>({
  name: "accounts.list_facts",
  text: `select a.id, a.signed_in_at,
      exists (select from authenticators t where t.account_id = a.id and t.confirmed_at is not null) as has_totp
    from accounts a where a.id = any ($1::bigint[])`,
});

/** When these accounts came in last, and whether they have an authenticator app. */
export async function listAccountFacts(db: Db, accountIds: readonly number[]): Promise<AdminAccountFacts[]> {
  const { rows } = await db.query(LIST_FACTS, [accountIds]);
  return rows.map((row) => ({ accountId: row.id, signedInAt: row.signed_in_at, hasTotp: row.has_totp }));
}

export type Backlog = {
  /** The earliest deadline that waits for the sweeper. */
  oldestSweepAt: Instant | null;
  /** Since when the oldest message, and the oldest letter, has waited for a try that is due. */
  oldestUnsentAt: Instant | null;
  unsentCount: number;
  oldestLetterAt: Instant | null;
  databaseBytes: number;
};

type BacklogRow = {
  sweep_at: Instant | null;
  unsent_at: Instant | null;
  unsent_count: number;
  letter_at: Instant | null;
  bytes: number;
};

const READ_BACKLOG = statement<BacklogRow>({
  name: "admin.read_backlog",
  text: `select
      (select min(s.sweep_at) from check_states s where s.sweep_at <= $1) as sweep_at,
      (select min(greatest(d.created_at, d.next_try_at)) from deliveries d where d.state = 'pending' and d.next_try_at <= $1) as unsent_at,
      (select count(*) from deliveries d where d.state = 'pending') as unsent_count,
      (select min(greatest(l.created_at, l.next_try_at)) from letters l where l.state = 'pending' and l.next_try_at <= $1) as letter_at,
      pg_database_size(current_database()) as bytes`,
});

/** What waits to be done, and how large the database is. */
export async function readBacklog(db: Db, { now }: { now: Instant }): Promise<Backlog> {
  const [row] = (await db.query(READ_BACKLOG, [toTimestamp(now)])).rows;
  return {
    oldestSweepAt: row?.sweep_at ?? null,
    oldestUnsentAt: row?.unsent_at ?? null,
    unsentCount: row?.unsent_count ?? 0,
    oldestLetterAt: row?.letter_at ?? null,
    databaseBytes: row?.bytes ?? 0,
  };
}

const LIST_MIGRATIONS = statement<{ name: string; run_on: Instant | null }>({
  name: "admin.list_migrations",
  text: "select name, run_on at time zone 'UTC' as run_on from schema_migrations order by name",
});

/** The migrations that were applied, and when. */
export async function listMigrations(db: Db): Promise<{ name: string; appliedAt: Instant | null }[]> {
  return (await db.query(LIST_MIGRATIONS, [])).rows.map((row) => ({ name: row.name, appliedAt: row.run_on }));
}

/** What is stored, by the tables that it lies in. Whatever is in none of them is small, or bounded by the rest. */
const TABLES_OF = {
  pings: ["pings", "ping_bodies"],
  runs: ["run_chunks", "check_days"],
  flips: ["flips"],
  events: ["events"],
  messages: ["deliveries", "letters", "notice_checks"],
  auditEntries: ["audit_entries"],
  signIns: ["sign_ins", "sign_in_failures"],
  checks: ["checks", "check_states", "check_channels"],
} as const;

export type StoredName = keyof typeof TABLES_OF | "other";
/** With indexes and what waits to be vacuumed; the rows are an estimate of the first table's, as the planner has it. */
export type StoredSize = { bytes: number; rowCount: number };

const LIST_SIZES = statement<{ name: string; bytes: number; row_count: number }>({
  name: "admin.list_sizes",
  text: `select c.relname as name, pg_total_relation_size(c.oid) as bytes,
      greatest(c.reltuples::bigint, pg_stat_get_live_tuples(c.oid), 0) as row_count
    from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'`,
});

/** How large everything is that is stored. */
export async function readSizes(db: Db): Promise<Record<StoredName, StoredSize>> {
  const left = new Map((await db.query(LIST_SIZES, [])).rows.map((row) => [row.name, row]));
  const take = (tables: readonly string[]): StoredSize => {
    const rows = tables.flatMap((name) => left.get(name) ?? []);
    for (const name of tables) left.delete(name);
    return { bytes: rows.reduce((sum, { bytes }) => sum + bytes, 0), rowCount: rows[0]?.row_count ?? 0 };
  };
  const named = Object.entries(TABLES_OF).map(([name, tables]) => [name, take(tables)] as const);
  const { bytes } = take([...left.keys()]);
  // Rows of many sorts have no number that says something.
  return {
    ...(Object.fromEntries(named) as Record<keyof typeof TABLES_OF, StoredSize>),
    other: { bytes, rowCount: 0 },
  };
}
