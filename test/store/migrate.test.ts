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

/** As the first release leaves them: in projects 1 and 2 checks that are down, and some that must not get an alert. */
const CHECKS_BEFORE_ALERTS = `
  insert into projects (uuid, name, badge_key, created_at)
    select gen_random_uuid(), '', i, '2026-01-01' from generate_series(1, 3) i;
  insert into checks (uuid, badge_uuid, unique_key, project_id, name, slug, tags, description, kind, timeout_seconds,
      grace_seconds, schedule, tz, manual_resume, methods, start_kw, success_kw, failure_kw, filter_subject,
      filter_body, filter_http_body, filter_default_fail, created_at, updated_at, deleted_at)
    select gen_random_uuid(), gen_random_uuid(), n.name, n.project_id, n.name, '', '', '', 'simple', 3600, 600, '',
      'UTC', false, '', '', '', '', false, false, false, false, '2026-01-01', '2026-01-01',
      case when n.name = 'deleted' then timestamptz '2026-11-16' end
    from (values (1, 'a', 1), (2, 'b', 1), (3, 'c', 2), (4, 'up', 1), (5, 'paused', 2), (6, 'deleted', 3),
      (7, 'without history', 3)) as n (id, name, project_id)
    order by n.id;
  insert into check_states (check_id, status, ping_count, coalesced_count, rate_count)
    select id, case when name in ('up', 'paused') then name else 'down' end, 0, 0, 0 from checks;
  insert into flips (check_id, at, from_status, to_status, reason, taken_back_at)
    select n.check_id, timestamptz '2026-11-16 12:00Z' + n.minute * interval '1 min', 'up', n.to_status, n.reason,
      case when n.is_taken_back then timestamptz '2026-11-17' end
    from (values (2, 1, 'down', 'fail', false), (1, 2, 'down', 'fail', false), (1, 3, 'up', 'success', false),
      (1, 4, 'down', 'timeout', false), (3, 5, 'down', 'timeout', false), (3, 6, 'down', 'fail', true),
      (4, 1, 'down', 'fail', false), (4, 2, 'up', 'success', false), (5, 1, 'down', 'fail', false),
      (6, 1, 'down', 'fail', false)) as n (check_id, minute, to_status, reason, is_taken_back)`;

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

  test("checks that are down have an alert and an incident afterwards, and nothing is sent again", async () => {
    const later = OUR_STEPS.filter((step) => step !== BASELINE);
    for (const step of later) rmSync(join(directory, `${step}.sql`));
    await migrate(options());
    await database.db.pool.query(CHECKS_BEFORE_ALERTS);
    copyOurs();
    await migrate(options());
    const { rows: alerts } = await database.db.pool.query(
      `select c.name, i.project_id, i.number, i.state, i.severity, i.key, a.cause, a.opened_at, a.opened_flip_id,
          i.opened_at = a.opened_at as is_same_time, a.notified_at = a.opened_at as is_notified,
          a.planned_at is not null as is_planned, a.closed_at, i.next_step_at
        from alerts a join incidents i on i.id = a.incident_id join checks c on c.id = a.check_id
        order by i.project_id, i.number`,
    );
    const alert = {
      state: "open",
      severity: "normal",
      key: null,
      is_same_time: true,
      is_notified: true,
      is_planned: true,
      closed_at: null,
      next_step_at: null,
    };
    const at = (minute: number) => Date.UTC(2026, 10, 16, 12, minute);
    expect(alerts).toEqual([
      { ...alert, name: "b", project_id: 1, number: 1, cause: "failed", opened_at: at(1), opened_flip_id: 1 },
      { ...alert, name: "a", project_id: 1, number: 2, cause: "missed", opened_at: at(4), opened_flip_id: 4 },
      { ...alert, name: "c", project_id: 2, number: 1, cause: "missed", opened_at: at(5), opened_flip_id: 5 },
    ]);
    const { rows: counts } = await database.db.pool.query("select incident_count from projects order by id");
    expect(counts).toEqual([2, 1, 0].map((count) => ({ incident_count: count })));
    const { rows: totals } = await database.db.pool.query(
      `select (select count(*) from alerts) as alerts, (select count(*) from incidents) as incidents,
        (select count(*) from deliveries) as deliveries`,
    );
    expect(totals).toEqual([{ alerts: 3, incidents: 3, deliveries: 0 }]);
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
    // In one transaction: else the count of the insert can arrive after that of the analysis, and is added to it.
    await database.db.pool.query(
      `insert into flips (check_id, at, from_status, to_status, reason)
        select 1, now(), 'up', 'down', 'fail' from generate_series(1, 5000);
      analyze flips`,
    );
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
