// The instance: its secret, database clock, backlog, storage, database identity and open incidents.
import type { DatabaseIdentity, ServiceState } from "../core/database-identity.ts";
import type { ServerFacts } from "../core/doctor.ts";
import type { Instant } from "../core/instant.ts";
import type { HealthProblem, HealthProblemKind, Incident } from "../core/server-health.ts";
import { within } from "../lib/service.ts";
import { connectBare, type Database, type DatabaseOptions, type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { toTimestamp } from "./values.ts";

const FIND_SETTING = statement<{ value: string }>({
  name: "instance.find_setting",
  text: "select value from instance_settings where name = $1",
});

/** A random text created by the first migration: a restored database keeps it, any other has a different one. */
export async function findStoredSecret(db: Db): Promise<string | null> {
  return (await db.query(FIND_SETTING, ["secret_key"])).rows[0]?.value ?? null;
}

/** The secret for digests and signatures, unless the configuration sets another. */
export async function findSecretKey(db: Db): Promise<string> {
  const secret = await findStoredSecret(db);
  if (secret === null)
    throw new Error("The secret key created by migration 0001 is missing from the database.");
  return secret;
}

const READ_DATABASE_CLOCK = statement<{ at: number }>({
  name: "instance.ask",
  text: "select clock_timestamp() as at",
});

/** Reads the database's clock, for health checks and for measuring the offset. */
export async function readDatabaseClock(db: Db): Promise<number> {
  const { rows } = await db.query(READ_DATABASE_CLOCK, []);
  return rows[0]?.at ?? Number.NaN;
}

const IS_READ_ONLY = statement<{ is_read_only: boolean }>({
  name: "instance.ask_read_only",
  text: "select current_setting('transaction_read_only') = 'on' as is_read_only",
});

/** Whether the database is read-only, as a standby or with default_transaction_read_only. */
export async function isReadOnly(db: Db): Promise<boolean> {
  return (await db.query(IS_READ_ONLY, [])).rows[0]?.is_read_only ?? false;
}

/**
 * The same with a time limit that includes the wait for a connection. A connection that does not answer is
 * dropped.
 */
export async function askDatabase(database: Database, { limitMs }: { limitMs: number }): Promise<void> {
  const question = { ...READ_DATABASE_CLOCK, query_timeout: limitMs };
  await within(database.pool.query(question), limitMs);
}

const INSPECT_SERVER = `with me as (
    select r.rolconnlimit, r.rolsuper, d.datconnlimit from pg_roles r, pg_database d
    where r.rolname = current_user and d.datname = current_database()
  ), clients as (
    select count(*) filter (where application_name not like 'overdue%' or application_name is null) as foreign_count
    from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()
  )
  select current_setting('server_version_num')::int as version,
    current_setting('server_encoding') as encoding,
    current_setting('fsync') as fsync,
    current_setting('synchronous_commit') as synchronous_commit,
    current_setting('full_page_writes') as full_page_writes,
    current_setting('transaction_read_only') = 'on' as is_read_only,
    pg_is_in_recovery() as is_standby,
    least(
      current_setting('max_connections')::int - case when me.rolsuper then 0 else
        current_setting('superuser_reserved_connections')::int
          + coalesce(current_setting('reserved_connections', true), '0')::int end,
      case when me.rolconnlimit < 0 or me.rolsuper then null else me.rolconnlimit end,
      case when me.datconnlimit < 0 or me.rolsuper then null else me.datconnlimit end
    ) as connections_max,
    clients.foreign_count::int as foreign_count
  from me, clients`;

type ServerRow = {
  version: number;
  encoding: string;
  fsync: string;
  synchronous_commit: string;
  full_page_writes: string;
  is_read_only: boolean;
  is_standby: boolean;
  connections_max: number;
  foreign_count: number;
};

/** Reads the settings of a server, also of one that Overdue would refuse. Throws the error of the connection. */
export async function inspectServer(
  options: DatabaseOptions & { timeoutMs: number },
): Promise<ServerFacts & { clock: { aheadMs: number; toleranceMs: number } }> {
  const limits = { connectionTimeoutMillis: options.timeoutMs, query_timeout: options.timeoutMs };
  const client = await connectBare(options, limits);
  try {
    const [row] = (await client.query<ServerRow>(INSPECT_SERVER)).rows;
    if (row === undefined) throw new Error("the current user is not in pg_roles");
    const askedAt = Date.now();
    const clock = await client.query<{ at: number }>(
      "select extract(epoch from clock_timestamp())::float8 * 1000 as at",
    );
    const toleranceMs = (Date.now() - askedAt) / 2;
    return {
      version: row.version,
      encoding: row.encoding,
      fsync: row.fsync,
      synchronousCommit: row.synchronous_commit,
      fullPageWrites: row.full_page_writes,
      isReadOnly: row.is_read_only,
      isStandby: row.is_standby,
      connectionsMax: row.connections_max,
      foreignConnections: row.foreign_count,
      clock: { aheadMs: (clock.rows[0]?.at ?? askedAt) - (askedAt + toleranceMs), toleranceMs },
    };
  } finally {
    await client.end();
  }
}

export type Backlog = {
  /** The earliest deadline that waits for the sweeper. */
  oldestSweepAt: Instant | null;
  /** Since when the oldest due delivery and email have been waiting. */
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

/** The backlog, and the size of the database. */
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

/** Kinds of data by table. Other tables are small. */
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

/** Includes indexes and dead rows; the row count is the planner's estimate for the first table. */
export type StoredSize = { bytes: number; rowCount: number };

const READ_SIZES = statement<{ name: string; bytes: number; row_count: number }>({
  name: "admin.list_sizes",
  text: `select c.relname as name, pg_total_relation_size(c.oid) as bytes,
      greatest(c.reltuples::bigint, pg_stat_get_live_tuples(c.oid), 0) as row_count
    from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'`,
});

/** The size of the stored data by kind. */
export async function readSizes(db: Db): Promise<Record<StoredName, StoredSize>> {
  const left = new Map((await db.query(READ_SIZES, [])).rows.map((row) => [row.name, row]));
  const take = (tables: readonly string[]): StoredSize => {
    const rows = tables.flatMap((name) => left.get(name) ?? []);
    for (const name of tables) left.delete(name);
    return { bytes: rows.reduce((sum, { bytes }) => sum + bytes, 0), rowCount: rows[0]?.row_count ?? 0 };
  };
  const named = Object.entries(TABLES_OF).map(([name, tables]) => [name, take(tables)] as const);
  const { bytes } = take([...left.keys()]);
  // For tables with mixed rows, a count means nothing.
  return {
    ...(Object.fromEntries(named) as Record<keyof typeof TABLES_OF, StoredSize>),
    other: { bytes, rowCount: 0 },
  };
}

export type StoredIdentity = DatabaseIdentity & {
  siteUrl: string | null;
  state: ServiceState;
  stateSinceAt: Instant;
  gapFromAt: Instant | null;
  reason: string | null;
  noticeId: number | null;
};

type IdentityRow = {
  system_identifier: string | null;
  database_oid: number;
  site_url: string | null;
  state: ServiceState;
  state_since_at: Instant;
  gap_from_at: Instant | null;
  reason: string | null;
  notice_id: number | null;
};

const IDENTITY_COLUMNS =
  "system_identifier, database_oid, site_url, state, state_since_at, gap_from_at, reason, notice_id";

const FIND_STORED_IDENTITY = statement<IdentityRow>({
  name: "database_identity.find",
  text: `select ${IDENTITY_COLUMNS} from database_identity`,
});

const LOCK_STORED_IDENTITY = statement<IdentityRow>({
  name: "database_identity.lock",
  text: `select ${IDENTITY_COLUMNS} from database_identity for update`,
});

/** The stored identity; null before the first start of a server. */
export async function findStoredIdentity(db: Db): Promise<StoredIdentity | null> {
  return toStoredIdentity((await db.query(FIND_STORED_IDENTITY, [])).rows[0]);
}

/** The same, locked until the end of the transaction. */
export async function lockStoredIdentity(tx: Tx): Promise<StoredIdentity | null> {
  return toStoredIdentity((await tx.query(LOCK_STORED_IDENTITY, [])).rows[0]);
}

function toStoredIdentity(row: IdentityRow | undefined): StoredIdentity | null {
  if (row === undefined) return null;
  return {
    systemIdentifier: row.system_identifier,
    databaseOid: row.database_oid,
    siteUrl: row.site_url,
    state: row.state,
    stateSinceAt: row.state_since_at,
    gapFromAt: row.gap_from_at,
    reason: row.reason,
    noticeId: row.notice_id,
  };
}

const MAY_READ_CONTROL = statement<{ may: boolean }>({
  name: "database_identity.may_read_control",
  text: "select has_function_privilege('pg_catalog.pg_control_system()', 'execute') as may",
});

const READ_ACTUAL_IDENTITY = statement<{ oid: number; system_identifier: string }>({
  name: "database_identity.read",
  text: `select d.oid::bigint as oid, c.system_identifier::text as system_identifier
    from pg_database d, pg_control_system() c where d.datname = current_database()`,
});

const READ_OID = statement<{ oid: number }>({
  name: "database_identity.read_oid",
  text: "select oid::bigint as oid from pg_database where datname = current_database()",
});

/**
 * The identity of the database of this connection. The cluster identifier is null without the permission to read it.
 */
export async function readActualIdentity(db: Db): Promise<DatabaseIdentity> {
  // Checked first: a statement with a function that may not be called fails.
  const mayReadControl = (await db.query(MAY_READ_CONTROL, [])).rows[0]?.may ?? false;
  const [row] = (
    await db.query<{ oid: number; system_identifier?: string }>(
      mayReadControl ? READ_ACTUAL_IDENTITY : READ_OID,
      [],
    )
  ).rows;
  if (row === undefined) throw new Error("the current database is not in pg_database");
  return { systemIdentifier: row.system_identifier ?? null, databaseOid: row.oid };
}

const INSERT_IDENTITY = statement({
  name: "database_identity.insert",
  text: `insert into database_identity (system_identifier, database_oid, site_url, state, state_since_at)
    values ($1, $2, $3, 'normal', $4) on conflict do nothing`,
});

/** Stores the identity of the database, unless another process already has. */
export async function insertIdentity(
  tx: Tx,
  { identity, siteUrl, now }: { identity: DatabaseIdentity; siteUrl: string | null; now: Instant },
): Promise<void> {
  const { systemIdentifier, databaseOid } = identity;
  await tx.query(INSERT_IDENTITY, [systemIdentifier, databaseOid, siteUrl, toTimestamp(now)]);
}

const WRITE_IDENTITY = statement({
  name: "database_identity.write",
  text: `update database_identity set system_identifier = $1, database_oid = $2, site_url = $3, state = $4,
    state_since_at = $5, gap_from_at = $6, reason = $7, notice_id = $8`,
});

/** Replaces the stored identity. The caller has locked it. */
export async function writeIdentity(tx: Tx, identity: StoredIdentity): Promise<void> {
  await tx.query(WRITE_IDENTITY, [
    identity.systemIdentifier,
    identity.databaseOid,
    identity.siteUrl,
    identity.state,
    toTimestamp(identity.stateSinceAt),
    toTimestamp(identity.gapFromAt),
    identity.reason,
    identity.noticeId,
  ]);
}

const INSERT_CHALLENGE = statement({
  name: "identity_challenges.insert",
  text: "insert into identity_challenges (id, answer, created_at) values ($1, $2, $3)",
});
const PRUNE_CHALLENGES = statement({
  name: "identity_challenges.prune",
  text: "delete from identity_challenges where created_at < $1 or created_at > $2",
});

/** Stores a random value. Those from before `keptFrom` are deleted, so that the table stays small. */
export async function insertChallenge(
  tx: Tx,
  challenge: { id: string; answer: string; now: Instant; keptFrom: Instant },
): Promise<void> {
  await tx.query(PRUNE_CHALLENGES, [toTimestamp(challenge.keptFrom), toTimestamp(challenge.now)]);
  await tx.query(INSERT_CHALLENGE, [challenge.id, challenge.answer, toTimestamp(challenge.now)]);
}

const FIND_CHALLENGE_ANSWER = statement<{ answer: string }>({
  name: "identity_challenges.find",
  text: "select answer from identity_challenges where id = $1",
});

/** The value stored under an ID in this database; null if there is none. */
export async function findChallengeAnswer(db: Db, id: string): Promise<string | null> {
  return (await db.query(FIND_CHALLENGE_ANSWER, [id])).rows[0]?.answer ?? null;
}

type IncidentRow = {
  trouble: HealthProblemKind;
  subject: string;
  since_at: Instant;
  seen_at: Instant;
  said: string;
};

const LIST_INCIDENTS = statement<IncidentRow>({
  name: "server_incidents.list",
  text: "select trouble, subject, since_at, seen_at, said from operator_incidents order by trouble, subject",
});

/** All open incidents. */
export async function listIncidents(db: Db): Promise<Incident[]> {
  return (await db.query(LIST_INCIDENTS, [])).rows.map((row) => ({
    kind: row.trouble,
    subject: row.subject,
    since: row.since_at,
    seenAt: row.seen_at,
    text: row.said,
  }));
}

const BEGIN_INCIDENT = statement({
  name: "server_incidents.begin",
  text: `insert into operator_incidents (trouble, subject, since_at, seen_at, said) values ($1, $2, $3, $4, $5)
    on conflict do nothing`,
});

/** Inserts an incident. False: another process already has, and reports it. */
export async function beginIncident(tx: Tx, problem: HealthProblem & { seenAt: Instant }): Promise<boolean> {
  const { kind, subject, since, seenAt, text } = problem;
  const { count } = await tx.query(BEGIN_INCIDENT, [
    kind,
    subject,
    toTimestamp(since),
    toTimestamp(seenAt),
    text,
  ]);
  return count === 1;
}

const SEE_INCIDENT = statement({
  name: "server_incidents.see",
  text: "update operator_incidents set seen_at = $3 where trouble = $1 and subject = $2 and seen_at < $3",
});

/** Updates when an incident was last observed. */
export async function seeIncident(
  tx: Tx,
  { kind, subject, seenAt }: Pick<Incident, "kind" | "subject" | "seenAt">,
): Promise<void> {
  await tx.query(SEE_INCIDENT, [kind, subject, toTimestamp(seenAt)]);
}

const END_INCIDENT = statement({
  name: "server_incidents.end",
  text: "delete from operator_incidents where trouble = $1 and subject = $2 and seen_at <= $3",
});

/** Deletes an incident that has not been observed since. False: it has, or another process reports its end. */
export async function endIncident(
  tx: Tx,
  { kind, subject, seenAt }: Pick<Incident, "kind" | "subject" | "seenAt">,
): Promise<boolean> {
  return (await tx.query(END_INCIDENT, [kind, subject, toTimestamp(seenAt)])).count === 1;
}

// Excludes channels that fail, wait at the receiver's request, are at their rate limit or were used recently.
const FIND_DUE_DELIVERY = statement<{ due_at: Instant | null }>({
  name: "server_incidents.find_due_delivery",
  text: `select min(greatest(d.created_at, d.next_try_at)) as due_at
    from deliveries d join channels ch on ch.id = d.channel_id
    where d.state = 'pending' and d.next_try_at <= $1 and (d.claimed_until_at is null or d.claimed_until_at <= $1)
      and ch.disabled_at is null and ch.failure_count = 0 and (ch.hold_until_at is null or ch.hold_until_at <= $1)
      and (ch.bucket_full_at is null or ch.bucket_full_at <= $1)
      and (ch.last_notify_at is null or ch.last_notify_at < $2)`,
});

/** Since when the oldest sendable message has been waiting; null: none is. */
export async function findDueDelivery(
  db: Db,
  { now, notifiedBefore }: { now: Instant; notifiedBefore: Instant },
): Promise<Instant | null> {
  return (
    (await db.query(FIND_DUE_DELIVERY, [toTimestamp(now), toTimestamp(notifiedBefore)])).rows[0]?.due_at ??
    null
  );
}
