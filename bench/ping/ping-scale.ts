// One migrated database with a given number of checks that are up and were pinged recently, and the counts before and
// after a measurement. Filled on the server; the benchmark has two of them.
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import type pg from "pg";
import { migrate } from "../../src/store/migrate.ts";
import type { Engine } from "../store/engine.ts";

const CHECKS_PER_PROJECT = 20;
const UUIDS_READ_AT_A_TIME = 50_000;
/** Every state counts its pings from here on, so that one ping in a hundred trims a log, as in production. */
const PING_COUNT_MIN = 100;

export type PingScale = {
  label: string;
  checkCount: number;
  url: string;
  admin: pg.Client;
  /** One UUID per line, in random order. */
  uuidsPath: string;
  close(): Promise<void>;
};

export type PingScaleOptions = {
  checkCount: number;
  pingsPerCheck: number;
  folder: string;
  /** Of the database. */
  name?: string;
  /** Migrates the database; of another version than this one, if a benchmark compares them. */
  migrateBy?: (url: string) => Promise<unknown>;
};

/** Creates, migrates and fills a database; its files are in the folder. */
export async function createPingScale(
  engine: Engine,
  {
    checkCount,
    pingsPerCheck,
    folder,
    name = `pings_${checkCount}`,
    migrateBy = (url) => migrate({ url, applicationName: "overdue-bench", onError: () => {} }),
  }: PingScaleOptions,
): Promise<PingScale> {
  const creator = await engine.connect("postgres");
  await creator.query(`create database ${name}`);
  await creator.end();
  const url = engine.url(name);
  await migrateBy(url);
  const admin = await engine.connect(name);
  await fillChecks(admin, checkCount);
  await fillLog(admin, { checkCount, pingsPerCheck });
  await admin.query("vacuum analyze");
  const uuidsPath = join(folder, `${name}.txt`);
  await writeUuids(admin, uuidsPath);
  const label = checkCount.toLocaleString("en");
  return { label, checkCount, url, admin, uuidsPath, close: () => admin.end() };
}

async function fillChecks(admin: pg.Client, checkCount: number): Promise<void> {
  await admin.query(`insert into projects (uuid, name, badge_key, created_at)
    select gen_random_uuid(), 'Backups ' || i, gen_random_uuid(), now()
    from generate_series(0, ${Math.floor(checkCount / CHECKS_PER_PROJECT)}) i`);
  await admin.query(`insert into checks (uuid, badge_uuid, unique_key,
    project_id, name, slug, tags, description, kind,
      timeout_seconds, grace_seconds, schedule, tz, manual_resume, methods, start_kw, success_kw, failure_kw,
      filter_subject, filter_body, filter_http_body, filter_default_fail, created_at, updated_at)
    select gen_random_uuid(), gen_random_uuid(), gen_random_uuid()::text,
      1 + i / ${CHECKS_PER_PROJECT}, 'nightly backup ' || i,
      'nightly-backup-' || i, 'prod db', 'copies the database to the other site', 'simple', 3600, 600,
      '* * * * *', 'UTC', false, '', '', '', '', false, false, false, false, now(), now()
    from generate_series(1, ${checkCount}) i`);
  // Whole seconds, as the rules write whole milliseconds: an index entry is unchanged if the value is the same.
  await admin.query(`insert into check_states (check_id, last_ping_at, newest_at, rate_minute_at, sweep_at, down_at,
      ping_count, coalesced_count, rate_count, last_success_n, day, day_success_count, day_fail_count,
      day_timed_count, day_duration_sum_ms, day_duration_max_ms, status)
    select i, heard, heard, heard, heard + interval '70 minutes', heard + interval '70 minutes', count, 0, 1, count,
      now()::date, 11, 0, 11, 55000, 7000, 'up'
    from (select i, ${PING_COUNT_MIN} + i * 37 % 100 as count,
        date_trunc('second', now() - random() * interval '30 min') as heard
      from generate_series(1, ${checkCount}) i) drawn`);
}

/** The newest pings of each check, in order of time. */
async function fillLog(
  admin: pg.Client,
  { checkCount, pingsPerCheck }: { checkCount: number; pingsPerCheck: number },
): Promise<void> {
  await admin.query(`insert into pings (at, check_id, n, kind, scheme, method, remote_addr, ua)
    select now() - (${pingsPerCheck} - back) * interval '1 hour', i,
      ${PING_COUNT_MIN} + i * 37 % 100 - ${pingsPerCheck} + back, 's', 'http', 'GET', '127.0.0.1', 'curl/8.5.0'
    from generate_series(1, ${pingsPerCheck}) back, generate_series(1, ${checkCount}) i`);
}

async function writeUuids(admin: pg.Client, path: string): Promise<void> {
  const file = createWriteStream(path);
  await admin.query("begin");
  await admin.query("declare every no scroll cursor for select uuid from checks order by uuid");
  for (;;) {
    const { rows } = await admin.query<{ uuid: string }>(`fetch ${UUIDS_READ_AT_A_TIME} from every`);
    if (rows.length === 0) break;
    file.write(rows.map(({ uuid }) => `${uuid}\n`).join(""));
  }
  await admin.query("commit");
  file.end();
  await finished(file);
}

/** What has been recorded so far: pings that count, and their batches. */
export type Recorded = { pings: number; batches: number; updates: number; hotUpdates: number };

/** Reads the counts. The statistics are a second late, so wait before the first and after the last ping. */
export async function readRecorded({ admin }: PingScale): Promise<Recorded> {
  const { rows } = await admin.query<{ pings: string; batches: string; updates: string; hot: string }>(
    `select (select sum(ping_count) from check_states) as pings,
      (select coalesce(sum(last_seq), 0) from intake_lanes) as batches,
      n_tup_upd as updates, n_tup_hot_upd as hot
    from pg_stat_user_tables where relname = 'check_states'`,
  );
  const [row] = rows;
  return {
    pings: Number(row?.pings),
    batches: Number(row?.batches),
    updates: Number(row?.updates),
    hotUpdates: Number(row?.hot),
  };
}

/** The counts between two readings. */
export function recordedBetween(before: Recorded, after: Recorded): Recorded {
  return {
    pings: after.pings - before.pings,
    batches: after.batches - before.batches,
    updates: after.updates - before.updates,
    hotUpdates: after.hotUpdates - before.hotUpdates,
  };
}
