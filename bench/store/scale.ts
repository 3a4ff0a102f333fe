// One migrated database with a given number of checks, filled on the server. The benchmark has two of them,
// which differ in nothing but their size.
import { randomUUID } from "node:crypto";
import type pg from "pg";
import type { Instant } from "../../src/core/instant.ts";
import { type Database, openDatabase, statement } from "../../src/store/db.ts";
import { registerIntake } from "../../src/store/intakes.ts";
import { migrate } from "../../src/store/migrate.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import type { Engine } from "./engine.ts";

/** Signals in a batch: what one intake commits at a time under load. */
export const BATCH_SIZE = 500;
/** A slow disk is part of the measurement, and no reason to give up as an intake would. */
export const COMMIT_TIMEOUT_MS = 60_000;
/** The schedule of every check: a signal is due each hour, with a grace period of ten minutes. */
export const PERIOD_MINUTES = 60;
export const GRACE_MINUTES = 10;
/** The simulated moment at which every measurement begins: noon, so that no run crosses midnight. */
export const NOON: Instant = Date.UTC(2026, 0, 15, 12);
/** One check in twenty that the sweeper finds has really been silent. */
const SILENT_ONE_IN = 20;
const CHECKS_PER_PROJECT = 20;

const BACKEND_PID = statement<{ pid: number }>({ name: "bench.pid", text: "select pg_backend_pid() as pid" });

export type Scale = {
  label: string;
  checkCount: number;
  /** Exactly one connection, as an intake uses it. */
  database: Database;
  /** Process ID of that connection's server process; it changes when the pool reconnects. */
  backendPid: () => Promise<number>;
  admin: pg.Client;
  intakeId: string;
  nextSeq: () => number;
  /** All IDs, or those of the busy checks, in a random order. */
  shuffled: (which: "all" | "busy") => Int32Array;
  /** One check in this many is a busy one. */
  busyStep: number;
  close: () => Promise<void>;
};

/** Creates, migrates and fills a database; its check states are still missing (see `rebuildStates`). */
export async function createScale(
  engine: Engine,
  { checkCount, busyCheckCount }: { checkCount: number; busyCheckCount: number },
): Promise<Scale> {
  const name = `checks_${checkCount}`;
  const creator = await engine.connect("postgres");
  await creator.query(`create database ${name}`);
  await creator.end();
  const options = { url: engine.url(name), applicationName: "overdue-bench", onError: () => {} };
  await migrate(options);
  const admin = await engine.connect(name);
  await fillSettings(admin, checkCount);
  const database = openDatabase({ ...options, connectionsMax: 1 });
  const intakeId = await register(database);
  const busyStep = checkCount / busyCheckCount;
  let seq = 0;
  return {
    label: checkCount.toLocaleString("en"),
    checkCount,
    database,
    backendPid: async () => (await database.query(BACKEND_PID, [])).rows[0]?.pid ?? 0,
    admin,
    intakeId,
    nextSeq: () => ++seq,
    shuffled: (which) => (which === "all" ? shuffle(checkCount, 1) : shuffle(busyCheckCount, busyStep)),
    busyStep,
    close: async () => {
      await database.close();
      await admin.end();
    },
  };
}

async function register(database: Database): Promise<string> {
  const id = randomUUID();
  const intake = {
    id,
    name: "bench",
    startedAt: NOON,
    watermarkAt: NOON,
    leaseUntilAt: NOON,
    spoolEmpty: true,
  };
  await inTransaction(database, (tx) => registerIntake(tx, intake));
  return id;
}

function shuffle(count: number, step: number): Int32Array {
  const ids = Int32Array.from({ length: count }, (_, index) => (index + 1) * step);
  for (let place = count - 1; place > 0; place--) {
    const other = Math.floor(Math.random() * (place + 1));
    const moved = ids[place] ?? 0;
    ids[place] = ids[other] ?? 0;
    ids[other] = moved;
  }
  return ids;
}

async function fillSettings(admin: pg.Client, checkCount: number): Promise<void> {
  await admin.query(`insert into projects (uuid, name, badge_key, created_at)
    select gen_random_uuid(), 'Backups ' || i, gen_random_uuid(), now()
    from generate_series(0, ${Math.floor(checkCount / CHECKS_PER_PROJECT)}) i`);
  await admin.query(`insert into checks (uuid, badge_uuid, unique_key,
    project_id, name, slug, tags, description, kind,
      timeout_seconds, grace_seconds, schedule, tz, manual_resume, methods, start_kw, success_kw, failure_kw,
      filter_subject, filter_body, filter_http_body, filter_default_fail, created_at, updated_at)
    select gen_random_uuid(), gen_random_uuid(), gen_random_uuid()::text,
      1 + i / ${CHECKS_PER_PROJECT}, 'nightly backup ' || i,
      'nightly-backup-' || i, 'prod db', 'copies the database to the other site', 'simple', ${PERIOD_MINUTES * 60},
      ${GRACE_MINUTES * 60},
      '* * * * *', 'UTC', false, '', '', '', '', false, false, false, false, now(), now()
    from generate_series(1, ${checkCount}) i`);
  await admin.query("vacuum analyze checks");
}

/** A range of minutes from which a random time is chosen. */
type Minutes = readonly [from: number, to: number];

export type States = {
  pingsPerCheck: number;
  /** Busy checks have as many pings as their log holds, and up to 99 more. Null: there are none. */
  busyLimit: number | null;
  /** The time since the last signal of checks. */
  heardAgo?: Minutes;
  /** The time of their next sweep. */
  sweepIn?: Minutes;
  table?: string;
};

/**
 * Gives every check a fresh state: up, and due for the sweeper at a random time. Most have had a signal since that time
 * was set, so that the sweeper would only move them on.
 */
export async function rebuildStates(
  { admin, checkCount, busyStep }: Pick<Scale, "admin" | "checkCount" | "busyStep">,
  { pingsPerCheck, busyLimit, heardAgo = [0, 30], sweepIn = [0, 60], table = "check_states" }: States,
): Promise<void> {
  // Whole seconds, as the rules write whole milliseconds: an index entry is unchanged if the value is the same.
  const moment = (sign: "+" | "-", [from, to]: Minutes) =>
    `date_trunc('second', to_timestamp(${NOON / 1_000})
      ${sign} (${from} + random() * ${to - from}) * interval '1 minute')`;
  const busy = `${busyLimit} + ${busyCount(busyStep)}`;
  const pingCount =
    busyLimit === null
      ? String(pingsPerCheck)
      : `case when i % ${busyStep} = 0 then ${busy} else ${pingsPerCheck} end`;
  await admin.query(`truncate ${table}`);
  await admin.query(`insert into ${table} (check_id, last_ping_at, newest_at, rate_minute_at, sweep_at,
      down_at, ping_count, coalesced_count, rate_count, last_success_n, day, day_success_count, day_fail_count,
      day_timed_count, day_duration_sum_ms, day_duration_max_ms, status)
    select i, heard, heard, heard, sweep, sweep + case when random() * ${SILENT_ONE_IN} < 1
        then interval '0' else interval '1 hour' end,
      count, 0, 1, count, date '2026-01-15', 11, 0, 11, 55000, 7000, 'up'
    from (select i, ${pingCount} as count, ${moment("-", heardAgo)} as heard, ${moment("+", sweepIn)} as sweep
      from generate_series(1, ${checkCount}) i) drawn`);
  await admin.query(`vacuum analyze ${table}`);
}

/** SQL for how far beyond a multiple of a hundred the count of busy check `i` is: spread evenly. */
export function busyCount(busyStep: number): string {
  return `(i / ${busyStep}) * 37 % 100`;
}
