// One migrated database with three projects (small, large and without checks) and their keys, and files with the IDs of
// the small one's checks. Filled on the server; every fifth check has a schedule.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type pg from "pg";
import { uniqueKey } from "../../src/core/identity.ts";
import { sha1Hex } from "../../src/lib/secrets.ts";
import { createAccount } from "../../src/operations/accounts.ts";
import { secretKeyOf } from "../../src/operations/secrets.ts";
import { createProject } from "../../src/operations/projects.ts";
import { type Database, openDatabase } from "../../src/store/db.ts";
import { migrate } from "../../src/store/migrate.ts";
import type { Engine } from "../store/engine.ts";

const NAME = "api";

export type ProjectName = "small" | "large" | "empty";

export type ApiStage = {
  url: string;
  admin: pg.Client;
  secretKey: string;
  /** Read-write keys. */
  keys: Readonly<Record<ProjectName, string>>;
  /** A check of the small project. */
  sample: SampleCheck;
  /** Files with the UUIDs and the unique keys of the small project's checks, one per line. */
  namesPaths: Readonly<Record<"uuid" | "uniqueKey", string>>;
  /** Their IDs, in the same order. */
  ids: readonly number[];
  close(): Promise<void>;
};

export type SampleCheck = { id: number; uuid: string; uniqueKey: string };

/** Creates, migrates and fills the database; its files are in the folder. */
export async function createApiStage(
  engine: Engine,
  { small, large, folder }: { small: number; large: number; folder: string },
): Promise<ApiStage> {
  const creator = await engine.connect("postgres");
  await creator.query(`create database ${NAME}`);
  await creator.end();
  const url = engine.url(NAME);
  const options = { url, applicationName: "overdue-bench", onError: () => {} };
  await migrate(options);
  const database = openDatabase(options);
  const admin = await engine.connect(NAME);
  const secretKey = await secretKeyOf(database, null);
  const keys = await makeProjects(database, secretKey);
  // Different from the IDs of everything else: bare SQL replaces a check by its ID alone.
  await admin.query("alter table checks alter column id restart with 1000001");
  await fill(admin, { project: "small", count: small });
  await fill(admin, { project: "large", count: large });
  await fill(admin, { project: "empty", count: 0 });
  await database.close();
  const checks = await writeUniqueKeys(admin);
  await admin.query("vacuum analyze");
  const [first] = checks;
  if (first === undefined) throw new Error("the small project has no checks");
  const write = async (name: "uuid" | "uniqueKey") => {
    const path = join(folder, `api-checks-${name}.txt`);
    await writeFile(path, checks.map((check) => `${check[name]}\n`).join(""));
    return path;
  };
  return {
    url,
    admin,
    secretKey,
    keys,
    sample: first,
    namesPaths: { uuid: await write("uuid"), uniqueKey: await write("uniqueKey") },
    ids: checks.map(({ id }) => id),
    close: () => admin.end(),
  };
}

/** Gives the checks of the small project their unique keys, which SQL cannot compute. Returns these checks. */
async function writeUniqueKeys(admin: pg.Client): Promise<SampleCheck[]> {
  const { rows } = await admin.query<{ id: string; uuid: string }>(
    "select c.id, c.uuid from checks c join projects p on p.id = c.project_id where p.name = 'small' order by c.id",
  );
  const checks = rows.map(({ id, uuid }) => ({ id: Number(id), uuid, uniqueKey: uniqueKey(uuid, sha1Hex) }));
  await admin.query(
    `update checks c set unique_key = n.key from unnest($1::bigint[], $2::text[]) as n (id, key) where c.id = n.id`,
    [checks.map(({ id }) => id), checks.map((check) => check.uniqueKey)],
  );
  return checks;
}

async function makeProjects(database: Database, secretKey: string): Promise<Record<ProjectName, string>> {
  const now = Date.now();
  const account = { email: "bench@example.org", name: "", isAdmin: false, checkLimit: null, now };
  const { id: ownerId } = await createAccount(database, account);
  const keyOf = async (name: ProjectName) =>
    (await createProject(database, { ownerId, name, secretKey, now })).apiKey;
  return { small: await keyOf("small"), large: await keyOf("large"), empty: await keyOf("empty") };
}

/** Checks that are up and were pinged recently, each with two channels. */
async function fill(
  admin: pg.Client,
  { project, count }: { project: ProjectName; count: number },
): Promise<void> {
  const { rows } = await admin.query<{ id: string }>("select id from projects where name = $1", [project]);
  const projectId = rows[0]?.id;
  await admin.query(
    `insert into checks (uuid, badge_uuid, unique_key, project_id, name, slug, tags, description, kind,
      timeout_seconds, grace_seconds, schedule, tz, manual_resume, methods, start_kw, success_kw, failure_kw,
      filter_subject, filter_body, filter_http_body, filter_default_fail, created_at, updated_at)
    select gen_random_uuid(), gen_random_uuid(), gen_random_uuid()::text,
      $1, 'nightly backup ' || i, 'nightly-backup-' || i, 'prod db',
      'copies the database to the other site', case when i % 5 = 0 then 'cron' else 'simple' end, 3600, 600,
      '15 4 * * *', 'Europe/Riga', false, '', '', '', '', false, false, false, false, now(), now()
    from generate_series(1, $2::int) i`,
    [projectId, count],
  );
  await admin.query(
    `insert into check_states (check_id, last_ping_at, newest_at, rate_minute_at, sweep_at, down_at,
      ping_count, coalesced_count, rate_count, last_success_n, day, day_success_count, day_fail_count,
      day_timed_count, day_duration_sum_ms, day_duration_max_ms, status)
    select id, heard, heard, heard, heard + interval '30 hours', heard + interval '30 hours', 150, 0, 1, 150,
      now()::date, 11, 0, 11, 55000, 7000, 'up'
    from (select id, date_trunc('second', now() - random() * interval '30 min') as heard
      from checks where project_id = $1) drawn`,
    [projectId],
  );
  await admin.query(
    `insert into channels (uuid, project_id, kind, name, config, created_at)
    select gen_random_uuid(), $1, 'email', 'Mail ' || i, '{}', now() from generate_series(1, 2) i`,
    [projectId],
  );
  await admin.query(
    `insert into check_channels (check_id, channel_id)
    select c.id, h.id from checks c join channels h using (project_id) where c.project_id = $1`,
    [projectId],
  );
}
