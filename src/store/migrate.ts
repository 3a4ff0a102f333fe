// Migrations, and the check that code and schema match. The steps are the SQL files in migrations/, run in
// order by node-pg-migrate, each in its own transaction; an applied step must not change, which its recorded
// checksum ensures.
import type { RunnerOption } from "node-pg-migrate";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type pg from "pg";
import type { Migration } from "../core/backup.ts";
import { type TableWork, workOf } from "../core/migration.ts";
import { connectAlone, connectBare, type DatabaseOptions, statement } from "./db.ts";
import { postgresErrorName, UnusableDatabaseError } from "./errors.ts";
import type { BulkTx } from "./transaction.ts";

const MIGRATIONS_DIRECTORY = fileURLToPath(new URL("../../migrations/", import.meta.url));
const MIGRATION_FILE = /^(\d{4})_[a-z0-9_]+\.sql$/;
const MIGRATIONS_TABLE = "schema_migrations";
/** The schema of the first release, which every upgrade starts from. */
export const BASELINE = "0001_initial";
/**
 * The checksum that development versions recorded for the migration of that name. Their 19 migrations were merged
 * into the baseline.
 */
const DEVELOPMENT_CHECKSUM = "375d46da6b144d26f8ed26a1a90094b60449a3614b8fb91cd491f0bda720430c";
/** An arbitrary number that no other advisory lock in the database uses. */
const ADVISORY_LOCK_KEY = 7_064_531_920;
/**
 * How long one attempt waits for a table. Every statement that needs the table queues behind a waiting ALTER, so this
 * is well below the 500 ms that recording waits for a lock.
 */
const ATTEMPT_LOCK_TIMEOUT_MS = 200;
/** The pause before the next attempt, doubled each time up to the maximum. Recording catches up during the pause. */
const RETRY_PAUSE_MS_MIN = 500;
const RETRY_PAUSE_MS_MAX = 5_000;
/** After this time the migration fails, and nothing of its file is kept. */
const LOCK_WAIT_MS_MAX = 10 * 60_000;
/** Sessions that are named as possible holders of a lock. */
const HOLDERS_NAMED_MAX = 3;
/** SQLSTATE of a statement that a read-only server rejects. */
const READ_ONLY_CODE = "25006";
/** How often to check whether the other process has finished. */
const TURN_POLL_MS = 200;

export type MigrateOptions = DatabaseOptions & {
  /** Another folder of migrations, for tests. */
  directory?: string;
  /** Called once if another process is migrating. */
  onTurn?: () => void;
  /** Called after each attempt that could not lock a table. */
  onLocked?: (wait: LockWait) => void;
  /** How long to retry locked tables and to wait for another process. Throws LockedTableError after that. */
  lockWaitMs?: number;
  /** Ends either wait. A migration that has begun is finished. */
  signal?: AbortSignal;
};

/** A migration that waits for a table: its name, and the sessions with the oldest transactions on tables. */
export type LockWait = { step: string; holders: string[] };

/** A table stayed locked by another session for longer than the caller waits. */
export class LockedTableError extends UnusableDatabaseError {}

/** Names of the applied and of the pending migrations, in order. */
export type MigrationPlan = { applied: string[]; pending: string[] };

type LoaderStrategy = NonNullable<RunnerOption["migrationLoaderStrategies"]>[number];
type Step = { name: string; path: string; text: string; checksum: string };

/**
 * Applies pending migrations and returns their names. Several processes may call it at once: one applies them, the
 * others wait. Throws UnusableDatabaseError on a newer, altered or unreleased schema, LockedTableError if a table
 * stays locked, and the reason of the signal.
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  await refuseTransactionPooling(options);
  const steps = readSteps(options.directory ?? MIGRATIONS_DIRECTORY);
  const client = await connectAlone({ ...options, statementTimeoutMs: 0 });
  try {
    await takeTurn(client, options);
    await client.query(`set lock_timeout = ${ATTEMPT_LOCK_TIMEOUT_MS}`);
    const { pending } = await comparePlan(client, steps);
    await refuseReadOnly(client);
    if (pending.length > 0) {
      await refuseUnprivileged(client);
      await runUntilUnlocked(client, steps, options);
    }
    return pending;
  } finally {
    // Ends the session, and with it the lock and any transaction that a failed migration left open.
    await client.end();
  }
}

/** Runs the pending migrations. An attempt that cannot lock a table is rolled back, and repeated after a pause. */
async function runUntilUnlocked(client: pg.Client, steps: Step[], options: MigrateOptions): Promise<void> {
  const { lockWaitMs = LOCK_WAIT_MS_MAX, onLocked, signal } = options;
  const deadline = performance.now() + lockWaitMs;
  for (let pauseMs = RETRY_PAUSE_MS_MIN; ; pauseMs = Math.min(pauseMs * 2, RETRY_PAUSE_MS_MAX)) {
    try {
      return await runSteps(client, steps, options.directory ?? MIGRATIONS_DIRECTORY);
    } catch (error) {
      if (postgresErrorName(error) !== "lock_not_available") throw error;
      await client.query("rollback");
      const step = (await comparePlan(client, steps)).pending[0] ?? "";
      const holders = await listLockHolders(client);
      onLocked?.({ step, holders });
      if (performance.now() + pauseMs >= deadline) {
        const whom = holders.length === 0 ? "" : ` Oldest transactions: ${holders.join("; ")}.`;
        throw new LockedTableError(
          `Migration ${step} could not lock a table within ${Math.round(lockWaitMs / 1_000)} s, because another session ` +
            `uses it.${whom} Run \`overdue migrate\` again when that session has ended.`,
          { cause: error },
        );
      }
    }
    await sleep(pauseMs, undefined, signal && { signal });
  }
}

/**
 * The sessions that have held table locks for longest. Application names are chosen by clients, so they are
 * truncated.
 */
async function listLockHolders(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string; pid: number; seconds: number }>(
    `select left(coalesce(nullif(a.application_name, ''), a.backend_type), 64) as name, a.pid,
        extract(epoch from clock_timestamp() - a.xact_start)::int as seconds
      from pg_stat_activity a
      where a.datname = current_database() and a.pid <> pg_backend_pid() and a.xact_start is not null
        and exists (select from pg_locks l where l.pid = a.pid and l.granted and l.locktype = 'relation'
          and l.relation >= 16384)
      order by a.xact_start limit $1`,
    [HOLDERS_NAMED_MAX],
  );
  return rows.map(({ name, pid, seconds }) => `${name} (pid ${pid}, open for ${seconds} s)`);
}

/** Polls instead of waiting in the server: a process that is asked to stop must not hang there. */
async function takeTurn(client: pg.Client, { onTurn, lockWaitMs, signal }: MigrateOptions): Promise<void> {
  const deadline = performance.now() + (lockWaitMs ?? Number.POSITIVE_INFINITY);
  for (let isFirst = true; ; isFirst = false) {
    const { rows } = await client.query<{ taken: boolean }>("select pg_try_advisory_lock($1) as taken", [
      ADVISORY_LOCK_KEY,
    ]);
    if (rows[0]?.taken === true) return;
    if (isFirst) onTurn?.();
    if (performance.now() >= deadline)
      throw new LockedTableError("Another process is migrating the database.");
    await sleep(TURN_POLL_MS, undefined, signal && { signal });
  }
}

/** Throws UnusableDatabaseError if the server is read-only. That may change, so the error counts as unreachable. */
async function refuseReadOnly(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ is_read_only: boolean }>(
    "select current_setting('transaction_read_only')::bool as is_read_only",
  );
  if (rows[0]?.is_read_only !== true) return;
  const error = new UnusableDatabaseError(
    "The database is read-only, such as on a standby server. Set OVERDUE_DATABASE_URL to the primary server, " +
      "or turn off default_transaction_read_only.",
  );
  throw Object.assign(error, { code: READ_ONLY_CODE });
}

/**
 * Throws UnusableDatabaseError if tables cannot be created. Checked first, because the runner's own error hides the
 * code.
 */
async function refuseUnprivileged(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{
    user: string;
    database: string;
    schema: string | null;
    may: boolean;
  }>(
    `select current_user as user, current_database() as database, current_schema() as schema,
       coalesce(has_schema_privilege(current_schema(), 'create'), false) as may`,
  );
  const [found] = rows;
  if (found === undefined || found.may) return;
  const where =
    found.schema === null ? "in any schema of its search_path" : `in the schema "${found.schema}"`;
  throw new UnusableDatabaseError(
    `The database user "${found.user}" has no permission to create tables ${where}. ` +
      `Make it the owner of the database: ALTER DATABASE "${found.database}" OWNER TO "${found.user}".`,
  );
}

/** What a pending migration does to a table that exists, and the size of that table. */
export type SizedWork = TableWork & { bytes: number; rowCount: number };

/** What the pending migrations would do to existing tables. Throws UnusableDatabaseError as `migrate` does. */
export async function describeMigrations(
  options: MigrateOptions,
): Promise<{ name: string; work: SizedWork[] }[]> {
  const steps = readSteps(options.directory ?? MIGRATIONS_DIRECTORY);
  const client = await connectAlone(options);
  try {
    const { pending } = await comparePlan(client, steps);
    const { rows } = await client.query<{ name: string; bytes: number; row_count: number }>(
      `select c.relname as name, pg_table_size(c.oid) as bytes,
          greatest(c.reltuples::bigint, pg_stat_get_live_tuples(c.oid), 0) as row_count
        from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'`,
    );
    const sizes = new Map(rows.map((row) => [row.name, row]));
    return steps
      .filter(({ name }) => pending.includes(name))
      .map(({ name, text }) => ({
        name,
        work: workOf(text).flatMap((work) => {
          const size = sizes.get(work.table);
          return size === undefined ? [] : [{ ...work, bytes: size.bytes, rowCount: size.row_count }];
        }),
      }));
  } finally {
    await client.end();
  }
}

/** The pending migrations, without applying them. Throws UnusableDatabaseError as `migrate` does. */
export async function planMigrations(options: MigrateOptions): Promise<MigrationPlan> {
  const client = await connectAlone(options);
  try {
    return await comparePlan(client, readSteps(options.directory ?? MIGRATIONS_DIRECTORY));
  } finally {
    await client.end();
  }
}

/** Whether a process is migrating the database right now. */
export async function isBeingMigrated(options: DatabaseOptions): Promise<boolean> {
  const client = await connectAlone(options);
  try {
    const { rowCount } = await client.query(
      `select 1 from pg_locks where locktype = 'advisory' and granted and objsubid = 1
         and database = (select oid from pg_database where datname = current_database())
         and (classid::bigint << 32 | objid::bigint) = $1`,
      [ADVISORY_LOCK_KEY],
    );
    return rowCount !== 0;
  } finally {
    await client.end();
  }
}

/** Throws UnusableDatabaseError with advice, unless the database can be used. */
export async function verifyUsable(options: MigrateOptions): Promise<void> {
  await refuseTransactionPooling(options);
  await verifySchema(options);
  const client = await connectAlone(options);
  try {
    await refuseReadOnly(client);
  } finally {
    await client.end();
  }
}

/** Throws UnusableDatabaseError with advice, unless tables can be created. */
export async function verifyWritable(options: DatabaseOptions): Promise<void> {
  await refuseTransactionPooling(options);
  const client = await connectAlone(options);
  try {
    await refuseReadOnly(client);
    await refuseUnprivileged(client);
  } finally {
    await client.end();
  }
}

/** Throws UnusableDatabaseError with advice, unless the schema exactly matches this code. */
export async function verifySchema(options: MigrateOptions): Promise<void> {
  const { applied, pending } = await planMigrations(options);
  if (pending.length === 0) return;
  throw new UnusableDatabaseError(
    applied.length === 0
      ? "The database is empty. Run `overdue migrate` first."
      : `The database is missing migrations of this version of Overdue: ${pending.join(", ")}. Run \`overdue migrate\`.`,
  );
}

/** The migrations of this program, in order. */
export function listOwnMigrations(directory = MIGRATIONS_DIRECTORY): Migration[] {
  return readSteps(directory).map(({ name, checksum }) => ({ name, checksum }));
}

const TAKE_TURN = statement<{ taken: boolean }>({
  name: "migrations.take_turn",
  text: "select pg_try_advisory_xact_lock($1) as taken",
});

// Extensions may have created tables of their own.
const FIND_RELATION = statement<{ name: string }>({
  name: "migrations.find_relation",
  text: `select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname <> 'information_schema' and n.nspname !~ '^pg_'
      and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
    order by 1 limit 1`,
});

/**
 * Creates the schema as it was after the first `count` migrations, for a restore. Throws UnusableDatabaseError if the
 * database is not empty.
 */
export async function createSchema(
  tx: BulkTx,
  { count, directory = MIGRATIONS_DIRECTORY }: { count: number; directory?: string },
): Promise<void> {
  const { rows: turns } = await tx.query(TAKE_TURN, [ADVISORY_LOCK_KEY]);
  if (turns[0]?.taken !== true) {
    throw new UnusableDatabaseError(
      "Another process is migrating the database. Stop it, and use an empty database.",
    );
  }
  const [relation] = (await tx.query(FIND_RELATION, [])).rows;
  if (relation !== undefined) {
    throw new UnusableDatabaseError(
      `The database is not empty: it has the table ${relation.name}. Create a new database, set OVERDUE_DATABASE_URL ` +
        "to it, and restore before you start the server.",
    );
  }
  // As node-pg-migrate creates it, so that it finds its table.
  await tx.run(
    `create table ${MIGRATIONS_TABLE} (id serial primary key, name varchar(255) not null, run_on timestamp not null)`,
  );
  for (const { name, text, checksum } of readSteps(directory).slice(0, count)) {
    await tx.run(text);
    await tx.run(`insert into migration_checksums (name, checksum) values ('${name}', '${checksum}')`);
    await tx.run(`insert into ${MIGRATIONS_TABLE} (name, run_on) values ('${name}', now())`);
  }
}

function readSteps(directory: string): Step[] {
  const files = readdirSync(directory).filter((file) => file.endsWith(".sql") && file !== "schema.sql");
  return files.toSorted().map((file, index) => {
    const number = MIGRATION_FILE.exec(file)?.[1];
    if (number === undefined || Number(number) !== index + 1) {
      throw new Error(`Migrations must be numbered 0001, 0002, … without gaps; ${file} is out of order.`);
    }
    const path = join(directory, file);
    const text = readFileSync(path, "utf8");
    // Line endings are ignored: a checkout on Windows may have changed them.
    const checksum = createHash("sha256").update(text.replaceAll("\r\n", "\n")).digest("hex");
    return { name: basename(file, ".sql"), path, text, checksum };
  });
}

async function comparePlan(client: pg.Client, steps: Step[]): Promise<MigrationPlan> {
  const recorded = await readRecordedChecksums(client);
  if (recorded.get(BASELINE) === DEVELOPMENT_CHECKSUM) {
    throw new UnusableDatabaseError(
      "The database was created by a development version of Overdue, before the first release, and cannot be upgraded. " +
        "Set OVERDUE_DATABASE_URL to a new, empty database, or start the trial in a new folder " +
        "(`overdue trial --data <folder>`). The old database was not changed: to copy its checks, start the " +
        "development version again and read them with the Management API.",
    );
  }
  const known = new Map(steps.map((step) => [step.name, step.checksum]));
  for (const [name, checksum] of recorded) {
    const ours = known.get(name);
    if (ours === undefined) {
      throw new UnusableDatabaseError(
        `The database was migrated by a newer version of Overdue: ${name} is unknown here. ` +
          "Start that version or a later one, or restore a backup taken before the upgrade.",
      );
    }
    if (ours !== checksum) {
      throw new UnusableDatabaseError(
        `Migration ${name} is not the one that was applied to this database. ` +
          "Never change an applied migration: restore the file and add a new migration.",
      );
    }
  }
  const names = steps.map((step) => step.name);
  return {
    applied: names.filter((name) => recorded.has(name)),
    pending: names.filter((name) => !recorded.has(name)),
  };
}

async function readRecordedChecksums(client: pg.Client): Promise<Map<string, string>> {
  const present = await client.query("select 1 where to_regclass('migration_checksums') is not null");
  if (present.rowCount === 0) return new Map();
  const { rows } = await client.query<{ name: string; checksum: string }>(
    "select name, checksum from migration_checksums order by name",
  );
  return new Map(rows.map(({ name, checksum }) => [name, checksum]));
}

async function runSteps(client: pg.Client, steps: Step[], directory: string): Promise<void> {
  // Most starts have nothing to migrate.
  const { runner } = await import("node-pg-migrate");
  const byPath = new Map(steps.map((step) => [step.path, step]));
  // The checksum is written in the transaction of the migration: neither exists without the other.
  const withChecksum: LoaderStrategy = {
    extensions: [".sql"],
    loader: async (paths) =>
      paths.map((path) => {
        const step = byPath.get(path);
        if (step === undefined) throw new Error(`${path} appeared while migrations were read`);
        const record = `insert into migration_checksums (name, checksum) values ('${step.name}', '${step.checksum}')`;
        return {
          id: path,
          filePaths: [path],
          actions: {
            up: (builder) => {
              builder.sql(step.text);
              builder.sql(record);
            },
            down: false,
          },
        };
      }),
  };
  await runner({
    dbClient: client,
    dir: directory,
    ignorePattern: "(?!\\d{4}_).*",
    direction: "up",
    migrationsTable: MIGRATIONS_TABLE,
    migrationLoaderStrategies: [withChecksum],
    singleTransaction: false,
    // The advisory lock is already held; it also covers the comparison above.
    noLock: true,
    log: () => {},
  });
}

// Detects a connection pooler that changes the server under an open connection; see
// docs/decisions/0007-pgbouncer.md.

/**
 * With a single server connection in the pool, the second query waits for the first, which also reveals the pooler.
 */
const PROBE_TIMEOUT_MS = 2_000;

const ADVICE =
  "OVERDUE_DATABASE_URL points to a connection pooler in transaction mode (PgBouncer or similar). " +
  "Overdue uses prepared statements, timeouts, and advisory locks, which this mode " +
  "does not support. Connect to PostgreSQL directly, or to a pool with pool_mode = session.";

/** Throws UnusableDatabaseError if connections do not keep their server. Costs one connection if they do. */
export async function refuseTransactionPooling(options: DatabaseOptions): Promise<void> {
  const first = await connect(options);
  try {
    // PostgreSQL sends its process ID when a connection starts; a pooler sends its own number.
    const ours = (first as unknown as { processID: number | null }).processID;
    if ((await backendPid(first)) === ours) return;
    if (!(await keepsItsServer(first, options))) throw new UnusableDatabaseError(ADVICE);
  } finally {
    await first.end();
  }
}

function connect(options: DatabaseOptions): Promise<pg.Client> {
  return connectBare(options, { connectionTimeoutMillis: PROBE_TIMEOUT_MS, query_timeout: PROBE_TIMEOUT_MS });
}

async function backendPid(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]?.pid ?? 0;
}

/** A second connection holds a server in a transaction; in transaction mode it is the first one's. */
async function keepsItsServer(first: pg.Client, options: DatabaseOptions): Promise<boolean> {
  const second = await connect(options);
  try {
    const before = await backendPid(first);
    // A pooler that rotates its servers is detected here, one that reuses the last one below.
    if ((await backendPid(first)) !== before) return false;
    await second.query("begin");
    const held = await backendPid(second);
    return held !== before && (await backendPid(first)) === before;
  } catch {
    return false;
  } finally {
    await second.end();
  }
}
