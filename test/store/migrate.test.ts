// Migrations: from an empty database to the newest schema, and every error that startup relies on.
import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connectAlone } from "../../src/store/db.ts";
import { UnusableDatabaseError } from "../../src/store/errors.ts";
import {
  BASELINE,
  describeMigrations,
  type LockWait,
  migrate,
  planMigrations,
  verifySchema,
} from "../../src/store/migrate.ts";
import { useDatabase } from "../support/database.ts";
import { sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase({ empty: true });
const OURS = fileURLToPath(new URL("../../migrations/", import.meta.url));
const OUR_STEPS = readdirSync(OURS)
  .filter((file) => /^\d{4}_/.test(file))
  .map((file) => file.replace(".sql", ""))
  .toSorted();

let directory = "";
const options = () => ({
  url: database.url,
  applicationName: "overdue-test",
  onError: () => {},
  requireDurable: false,
  directory,
});

function copyOurs(): void {
  for (const step of OUR_STEPS) copyFileSync(join(OURS, `${step}.sql`), join(directory, `${step}.sql`));
}

const numberOf = (step: number) => String(step).padStart(4, "0");
const NEXT_NUMBER = numberOf(OUR_STEPS.length + 1);
const AFTER_NEXT = numberOf(OUR_STEPS.length + 2);
const NEXT = `${NEXT_NUMBER}_add_a_note`;
const addNext = (sql: string) => writeFileSync(join(directory, `${NEXT}.sql`), sql);

async function tableExists(name: string): Promise<boolean> {
  const { rows } = await database.db.pool.query("select to_regclass($1) is not null as there", [name]);
  return rows[0].there;
}

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "overdue-migrations-"));
  copyOurs();
  await database.db.pool.query("drop schema public cascade; create schema public");
});
afterEach(() => rmSync(directory, { recursive: true }));

describe("migrating", () => {
  test("an empty database runs every step, and a second time none", async () => {
    expect(await planMigrations(options())).toEqual({ applied: [], pending: OUR_STEPS });
    expect(await tableExists("checks")).toBe(false);
    expect(await migrate(options())).toEqual(OUR_STEPS);
    expect(await planMigrations(options())).toEqual({ applied: OUR_STEPS, pending: [] });
    expect(await migrate(options())).toEqual([]);
    await verifySchema(options());
  });

  test("the folder of the package is used by default", async () => {
    const { directory: _, ...ours } = options();
    expect(await migrate(ours)).toEqual(OUR_STEPS);
  });

  test("several processes at once do it once", async () => {
    const done = await Promise.all([migrate(options()), migrate(options()), migrate(options())]);
    expect(done.toSorted((a, b) => b.length - a.length)).toEqual([OUR_STEPS, [], []]);
  });

  test("a process that waits for another reports it, and can be stopped", async () => {
    const other = await connectAlone(options());
    try {
      await other.query("select pg_advisory_lock(7064531920)");
      const stop = new AbortController();
      const waits = Promise.withResolvers<void>();
      const migrating = migrate({ ...options(), onTurn: waits.resolve, signal: stop.signal });
      await waits.promise;
      stop.abort();
      await expect(migrating).rejects.toThrow("aborted");
    } finally {
      await other.end();
    }
    expect(await planMigrations(options())).toEqual({ applied: [], pending: OUR_STEPS });
  });

  test("a later step runs alone, and a generated schema.sql beside it is no step", async () => {
    await migrate(options());
    addNext("create table notes (id bigint primary key)");
    writeFileSync(join(directory, "schema.sql"), "select broken");
    expect(await migrate(options())).toEqual([NEXT]);
    expect(await tableExists("notes")).toBe(true);
  });

  test("a database of the first release is upgraded and keeps its rows", async () => {
    const later = OUR_STEPS.filter((step) => step !== BASELINE);
    for (const step of later) rmSync(join(directory, `${step}.sql`));
    expect(await migrate(options())).toEqual([BASELINE]);
    await database.db.pool.query(`insert into accounts (uuid, email, name, is_operator, created_at)
        values (gen_random_uuid(), 'ada@example.org', 'Ada', true, '2026-11-16 12:00Z')`);
    copyOurs();
    expect(await migrate(options())).toEqual(later);
    const { rows } = await database.db.pool.query("select email from accounts");
    expect(rows).toEqual([{ email: "ada@example.org" }]);
    await verifySchema(options());
  });

  test("a step that fails leaves nothing behind, keeps the earlier ones, and can be repaired", async () => {
    addNext("create table notes (id bigint primary key); select 1 / 0");
    await expect(migrate(options())).rejects.toThrow("division by zero");
    expect(await tableExists("notes")).toBe(false);
    expect(await planMigrations(options())).toEqual({ applied: OUR_STEPS, pending: [NEXT] });
    addNext("create table notes (id bigint primary key)");
    expect(await migrate(options())).toEqual([NEXT]);
  });

  test("the plan names the tables that a pending step touches, with their sizes, and changes nothing", async () => {
    await migrate(options());
    await database.db.pool.query(
      `insert into flips (check_id, at, from_status, to_status, reason)
        select 1, now(), 'up', 'down', 'fail' from generate_series(1, 5000)`,
    );
    await database.db.pool.query("analyze flips");
    addNext(`alter table checks add column note text not null default '';
      create table notes (id bigint primary key);
      create index notes_id on notes (id);
      create index flips_at on flips (at)`);
    const [step, ...others] = await describeMigrations(options());
    expect(others).toEqual([]);
    expect(step).toMatchObject({
      name: NEXT,
      work: [
        { table: "checks", effect: "brief" },
        { table: "flips", effect: "scan", rowCount: 5_000 },
      ],
    });
    expect(step?.work[1]?.bytes).toBeGreaterThan(100_000);
    expect(await tableExists("notes")).toBe(false);
  });

  test("each database gets its own secret", async () => {
    const secret = async () =>
      (await database.db.pool.query("select value from instance_settings where name = 'secret_key'")).rows[0]
        .value;
    await migrate(options());
    const first = await secret();
    await database.db.pool.query("drop schema public cascade; create schema public");
    await migrate(options());
    expect(await secret()).not.toBe(first);
  });
});

describe("a table that a backup holds", () => {
  /** Like pg_dump, which keeps its locks until it ends. */
  async function startBackup() {
    const backup = await connectAlone({ ...options(), applicationName: "pg_dump" });
    await backup.query("set idle_in_transaction_session_timeout = 0");
    await backup.query("begin; lock checks, check_states, pings in access share mode");
    return backup;
  }

  test("does not stop recording, and the migration completes after the backup", async () => {
    await migrate(options());
    addNext("alter table checks add column note text; alter table check_states add column note text");
    const project = await sampleProject(database.db);
    const check = await sampleCheck(database.db, { projectId: project.id });
    const backup = await startBackup();
    const waits: LockWait[] = [];
    const migrating = migrate({
      ...options(),
      onLocked: (wait) => {
        waits.push(wait);
        // Recording is measured across several attempts.
        if (waits.length === 3) void backup.end();
      },
    });
    const ended = migrating.then(
      () => "ended",
      () => "ended",
    );
    let recorded = 0;
    while ((await Promise.race([ended, sleep(10, "migrating")])) === "migrating") {
      // Throws when it has to wait for longer than the lock timeout of a session.
      await database.db.pool.query("update check_states set last_ping_at = now() where check_id = $1", [
        check.id,
      ]);
      recorded += 1;
    }
    expect(await migrating).toEqual([NEXT]);
    expect(waits.length).toBeGreaterThanOrEqual(3);
    expect(waits[0]).toMatchObject({ step: NEXT });
    expect(waits[0]?.holders.join()).toMatch(/pg_dump \(pid \d+, open for \d+ s\)/);
    expect(recorded).toBeGreaterThan(20);
  });

  test("is given up in the end, with the session that holds it, and can be tried again", async () => {
    await migrate(options());
    addNext("alter table checks add column note text");
    const backup = await startBackup();
    try {
      const refused = migrate({ ...options(), lockWaitMs: 2_000 });
      await expect(refused).rejects.toThrow(
        new RegExp(`Migration ${NEXT} .* pg_dump \\(pid \\d+.*Run \`overdue migrate\` again`),
      );
    } finally {
      await backup.end();
    }
    expect(await migrate(options())).toEqual([NEXT]);
  });

  test("stops the wait on request", async () => {
    await migrate(options());
    addNext("alter table checks add column note text");
    const backup = await startBackup();
    const stop = new AbortController();
    try {
      await expect(
        migrate({ ...options(), onLocked: () => stop.abort(), signal: stop.signal }),
      ).rejects.toThrow("aborted");
    } finally {
      await backup.end();
    }
  });
});

describe("refusing", () => {
  const refusal = (work: Promise<unknown>) =>
    work.then(
      () => "accepted",
      (error: unknown) =>
        error instanceof UnusableDatabaseError ? error.message : `other: ${String(error)}`,
    );

  test("an empty database requires a migration", async () => {
    expect(await refusal(verifySchema(options()))).toMatch(/empty.*overdue migrate/);
  });

  test("an older schema is reported with its missing migrations", async () => {
    await migrate(options());
    addNext("select 1");
    expect(await refusal(verifySchema(options()))).toMatch(
      new RegExp(`missing migrations .*: ${NEXT}.*overdue migrate`),
    );
  });

  test("a newer schema is refused by start, plan and migrate alike", async () => {
    addNext("select 1");
    await migrate(options());
    rmSync(join(directory, `${NEXT}.sql`));
    for (const work of [verifySchema, planMigrations, migrate]) {
      expect(await refusal(work(options()))).toMatch(new RegExp(`newer version of Overdue: ${NEXT}`));
    }
  });

  test("a database of a development version is refused and not changed", async () => {
    // The first two of the migrations that were merged into the baseline.
    await database.db.pool.query(`
      create table migration_checksums (name text primary key, checksum text not null);
      insert into migration_checksums values
        ('0001_initial', '375d46da6b144d26f8ed26a1a90094b60449a3614b8fb91cd491f0bda720430c'),
        ('0002_history', '13013e04d1e060ad002279f442d1e5b20d28505780fe25d77e97ef9422596930')`);
    for (const work of [verifySchema, planMigrations, migrate]) {
      expect(await refusal(work(options()))).toMatch(
        /development version.*cannot be upgraded.*empty database/,
      );
    }
    const { rows: tables } = await database.db.pool.query(
      "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'",
    );
    expect(tables).toEqual([{ relname: "migration_checksums" }]);
    const { rows: steps } = await database.db.pool.query(
      "select name from migration_checksums order by name",
    );
    expect(steps).toEqual([{ name: "0001_initial" }, { name: "0002_history" }]);
  });

  test("an applied step that was changed since is refused", async () => {
    addNext("select 1");
    await migrate(options());
    addNext("select 2");
    for (const work of [verifySchema, planMigrations, migrate]) {
      expect(await refusal(work(options()))).toMatch(new RegExp(`${NEXT} is not the one that was applied`));
    }
  });

  test("line ends are no change", async () => {
    addNext("select 1;\nselect 2;\n");
    await migrate(options());
    addNext("select 1;\r\nselect 2;\r\n");
    expect(await refusal(verifySchema(options()))).toBe("accepted");
  });

  test.each([`${AFTER_NEXT}_gap.sql`, `${NEXT_NUMBER}_Bad-Name.sql`, "notes.sql"])(
    "a file named %s is refused",
    async (file) => {
      writeFileSync(join(directory, file), "select 1");
      await expect(migrate(options())).rejects.toThrow(`${file} is out of order`);
    },
  );
});
