// A migrated database in which some of the checks become due within the same minute, each with one channel, and the
// counts after a sweep. Filled on the server, again before every measurement.
import type pg from "pg";
import type { Instant } from "../../src/core/instant.ts";
import { migrate } from "../../src/store/migrate.ts";
import type { Engine } from "../store/engine.ts";
import type { SweepSize } from "./sizes.ts";

const NAME = "sweep";
const CHECKS_PER_PROJECT = 20;
/** The minute in which deadlines pass, on an arbitrary day. */
const DUE_FROM: Instant = Date.UTC(2026, 0, 15, 12);
export const DUE_TO: Instant = DUE_FROM + 60_000;
const GRACE_SECONDS = 600;
/** All other checks are due within the hours after it. */
const OTHERS_HOURS = 24;

export type SweepScale = {
  size: SweepSize;
  url: string;
  admin: pg.Client;
  /** A separate session, which the caller ends. */
  connect(): Promise<pg.Client>;
  close(): Promise<void>;
};

/** Creates and migrates the database and fills the tables that a sweep does not change. */
export async function createSweepScale(engine: Engine, size: SweepSize): Promise<SweepScale> {
  const creator = await engine.connect("postgres");
  await creator.query(`create database ${NAME}`);
  await creator.end();
  const url = engine.url(NAME);
  await migrate({ url, applicationName: "overdue-bench", onError: () => {} });
  const admin = await engine.connect(NAME);
  await fillSettings(admin, size);
  return { size, url, admin, connect: () => engine.connect(NAME), close: () => admin.end() };
}

/** Half of the checks that become due have a period, the others a cron expression with a time zone. */
async function fillSettings(admin: pg.Client, { checkCount, dueCount }: SweepSize): Promise<void> {
  const every = Math.floor(checkCount / dueCount);
  const projects = Math.floor(checkCount / CHECKS_PER_PROJECT);
  await admin.query(`insert into projects (uuid, name, badge_key, created_at)
    select gen_random_uuid(), 'Backups ' || i, gen_random_uuid(), now() from generate_series(0, ${projects}) i`);
  await admin.query(`insert into channels (uuid, project_id, kind, name, config, created_at)
    select gen_random_uuid(), id, 'webhook', 'Hook', '{"url": "http://127.0.0.1/"}', now() from projects order by id`);
  await admin.query(`insert into checks (uuid, badge_uuid, unique_key,
    project_id, name, slug, tags, description, kind,
      timeout_seconds, grace_seconds, schedule, tz, manual_resume, methods, start_kw, success_kw, failure_kw,
      filter_subject, filter_body, filter_http_body, filter_default_fail, created_at, updated_at)
    select gen_random_uuid(), gen_random_uuid(), gen_random_uuid()::text,
      1 + i / ${CHECKS_PER_PROJECT}, 'nightly backup ' || i,
      'nightly-backup-' || i, 'prod db', 'copies the database to the other site',
      case when i / ${every} % 2 = 0 then 'simple' else 'cron' end, 3600, ${GRACE_SECONDS}, '50 * * * *',
      (array['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Tokyo'])[1 + i / ${every} % 4],
      false, '', '', '', '', false, false, false, false, now(), now()
    from generate_series(1, ${checkCount}) i`);
  await admin.query(`insert into check_channels (check_id, channel_id)
    select c.id, ch.id from checks c join channels ch on ch.project_id = c.project_id order by c.id`);
  await admin.query("vacuum analyze projects, channels, checks, check_channels");
}

/**
 * Gives every check a fresh state, up. Due ones are spread over the table. Deadlines of periods are spread over the
 * minute, and those of cron expressions are at its beginning, as in production.
 */
export async function resetStates({ admin, size }: SweepScale): Promise<void> {
  const { checkCount, dueCount } = size;
  const every = Math.floor(checkCount / dueCount);
  const seconds = (at: Instant) => `to_timestamp(${at / 1_000})`;
  await admin.query("truncate check_states, flips, alerts, deliveries, events, notice_checks");
  await admin.query(`insert into check_states (check_id, last_ping_at, newest_at, rate_minute_at, sweep_at,
      down_at, ping_count, coalesced_count, rate_count, last_success_n, day, day_success_count, day_fail_count,
      day_timed_count, day_duration_sum_ms, day_duration_max_ms, status)
    select i, down - interval '70 minutes', down - interval '70 minutes', down - interval '70 minutes', down, down,
      20, 0, 1, 20, date '2026-01-15', 11, 0, 11, 55000, 7000, 'up'
    from (select i, case
        when i % ${every} <> 0 then ${seconds(DUE_TO)} + random() * interval '${OTHERS_HOURS} hours'
        when i / ${every} % 2 = 0 then ${seconds(DUE_FROM)} + floor(random() * 60) * interval '1 second'
        else ${seconds(DUE_FROM)} end as down
      from generate_series(1, ${checkCount}) i) drawn`);
  await admin.query("vacuum analyze check_states");
  await admin.query("checkpoint");
}

/** `owed`: alerts, or the deliveries of the bare statement. */
export type Counted = { down: number; flips: number; owed: number };

/** The result of a sweep. */
export async function readCounts({ admin }: SweepScale): Promise<Counted> {
  const { rows } = await admin.query<{ down: string; flips: string; owed: string }>(
    `select (select count(*) from check_states where status = 'down' and sweep_at is null) as down,
      (select count(*) from flips f join check_states s on s.check_id = f.check_id and s.silence_deadline_at = f.at)
        as flips,
      (select count(*) from alerts a join flips f on f.id = a.opened_flip_id)
        + (select count(*) from deliveries d join flips f on f.id = d.flip_id where d.state = 'pending') as owed`,
  );
  const [row] = rows;
  return { down: Number(row?.down), flips: Number(row?.flips), owed: Number(row?.owed) };
}
