// Brings the schema forward, and tells whether code and schema fit each other. The steps are the SQL files
// in migrations/, run in order by node-pg-migrate, each in its own transaction; a step once applied may
// never change, which its recorded checksum proves.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type RunnerOption, runner } from "node-pg-migrate";
import type pg from "pg";
import { connectAlone, type DatabaseOptions } from "./db.ts";
import { postgresErrorName, UnusableDatabaseError } from "./errors.ts";
import { refuseTransactionPooling } from "./pooler.ts";

const MIGRATIONS_DIRECTORY = fileURLToPath(new URL("../../migrations/", import.meta.url));
const MIGRATION_FILE = /^(\d{4})_[a-z0-9_]+\.sql$/;
const MIGRATIONS_TABLE = "schema_migrations";
/** Any number will do, as long as nothing else in the database takes the same advisory lock. */
const ADVISORY_LOCK_KEY = 7_064_531_920;
/** How long a step may wait for a table that a running process holds, before it gives way. */
const STEP_LOCK_TIMEOUT_MS = 10_000;
/** How often it is asked whether the other process is done. */
const TURN_POLL_MS = 200;

export type MigrateOptions = DatabaseOptions & {
  /** Another folder of steps, for tests. */
  directory?: string;
  /** Told once, when another process migrates and this one waits for it. */
  onTurn?: () => void;
  /** Ends that wait. A step that has begun is finished. */
  signal?: AbortSignal;
};

/** Names of the steps that the database has, and of those it lacks, in order. */
export type MigrationPlan = { applied: string[]; pending: string[] };

type LoaderStrategy = NonNullable<RunnerOption["migrationLoaderStrategies"]>[number];
type Step = { name: string; path: string; text: string; checksum: string };

/**
 * Applies every missing step and returns their names. Several processes may call it at once: one works, the
 * others wait and find nothing left. Throws UnusableDatabaseError on a newer or an altered schema and where a table
 * stays locked, and the reason of the signal.
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  await refuseTransactionPooling(options);
  const steps = readSteps(options.directory ?? MIGRATIONS_DIRECTORY);
  const client = await connectAlone({ ...options, statementTimeoutMs: 0 });
  try {
    await takeTurn(client, options);
    await client.query(`set lock_timeout = ${STEP_LOCK_TIMEOUT_MS}`);
    const { pending } = await comparePlan(client, steps);
    if (pending.length > 0) await runSteps(client, steps, options.directory ?? MIGRATIONS_DIRECTORY);
    return pending;
  } finally {
    // Ends the session, and with it the lock and any transaction that a failed step left open.
    await client.end();
  }
}

/** Asked again and again instead of waited for in the server: a process that is told to stop must not hang there. */
async function takeTurn(client: pg.Client, { onTurn, signal }: MigrateOptions): Promise<void> {
  for (let isFirst = true; ; isFirst = false) {
    const { rows } = await client.query<{ taken: boolean }>("select pg_try_advisory_lock($1) as taken", [
      ADVISORY_LOCK_KEY,
    ]);
    if (rows[0]?.taken === true) return;
    if (isFirst) onTurn?.();
    await sleep(TURN_POLL_MS, undefined, signal && { signal });
  }
}

/** What `migrate` would do, without doing it. Throws UnusableDatabaseError as `migrate` does. */
export async function planMigrations(options: MigrateOptions): Promise<MigrationPlan> {
  const client = await connectAlone(options);
  try {
    return await comparePlan(client, readSteps(options.directory ?? MIGRATIONS_DIRECTORY));
  } finally {
    await client.end();
  }
}

/** Throws UnusableDatabaseError, saying what to do, unless the schema is exactly the one this code knows. */
export async function verifySchema(options: MigrateOptions): Promise<void> {
  const { applied, pending } = await planMigrations(options);
  if (pending.length === 0) return;
  throw new UnusableDatabaseError(
    applied.length === 0
      ? "The database is empty. Run `overdue migrate` first."
      : `The database is older than this version of Overdue and lacks ${pending.join(", ")}. Run \`overdue migrate\`.`,
  );
}

function readSteps(directory: string): Step[] {
  const files = readdirSync(directory).filter((file) => file.endsWith(".sql") && file !== "schema.sql");
  return files.toSorted().map((file, index) => {
    const number = MIGRATION_FILE.exec(file)?.[1];
    if (number === undefined || Number(number) !== index + 1) {
      throw new Error(`Migrations are numbered 0001, 0002, … without a gap; ${file} breaks the row.`);
    }
    const path = join(directory, file);
    const text = readFileSync(path, "utf8");
    // Line ends are left out: a checkout on Windows may have changed them.
    const checksum = createHash("sha256").update(text.replaceAll("\r\n", "\n")).digest("hex");
    return { name: basename(file, ".sql"), path, text, checksum };
  });
}

async function comparePlan(client: pg.Client, steps: Step[]): Promise<MigrationPlan> {
  const recorded = await readRecordedChecksums(client);
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
          "Applied migrations never change: restore the file and put the change into a new one.",
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
  const byPath = new Map(steps.map((step) => [step.path, step]));
  // The checksum is written by the step's own transaction: there is never one without the other.
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
    // The advisory lock is held already; it also covers the comparison above.
    noLock: true,
    log: () => {},
  }).catch((error: unknown) => {
    if (postgresErrorName(error) !== "lock_not_available") throw error;
    throw new UnusableDatabaseError(
      `A migration waited ${STEP_LOCK_TIMEOUT_MS / 1_000} s for a table that another session holds, such as a backup, ` +
        "and was taken back. Try again when that is over; pg_stat_activity shows who is there.",
      { cause: error },
    );
  });
}
