// Compares ways to write the history of runs and the daily roll-ups along with a batch: rows for every signal,
// or a running day in the state and packed runs when the log is trimmed. All write the shipped log.
import { statement } from "../../src/store/db.ts";
import type { Tx } from "../../src/store/transaction.ts";
import { toTimestamp } from "../../src/store/values.ts";
import type { Aim } from "./aim.ts";
import { reported } from "./meter.ts";
import { type Pair, printResults, race } from "./race.ts";
import { type HistoryBatch, SHIPPED, writeShippedHistory } from "./record.ts";
import { BATCH_SIZE, rebuildStates, type Scale } from "./scale.ts";
import type { Size } from "./sizes.ts";

/** Days that are on record before the measurement begins. */
const DAYS_FILLED = 5;

const INSERT_RUNS = statement({
  name: "bench.insert_runs",
  text: `insert into bench_runs (check_id, ended_at, duration_ms, outcome)
    select * from unnest($1::bigint[], $2::timestamptz[], $3::bigint[], $4::text[])`,
});

const COUNT_DAYS = statement({
  name: "bench.count_days",
  text: `insert into bench_days as d (check_id, day, success_count, fail_count, duration_sum_ms, duration_max_ms)
    select u.check_id, $2::date, 1, 0, u.duration_ms, u.duration_ms
    from unnest($1::bigint[], $3::bigint[]) as u (check_id, duration_ms)
    on conflict (check_id, day) do update set success_count = d.success_count + 1,
      duration_sum_ms = d.duration_sum_ms + excluded.duration_sum_ms,
      duration_max_ms = greatest(d.duration_max_ms, excluded.duration_max_ms)`,
});

async function insertRuns(tx: Tx, { runs }: HistoryBatch): Promise<void> {
  await tx.query(INSERT_RUNS, [
    runs.map(({ checkId }) => checkId),
    runs.map(({ run }) => toTimestamp(run.endAt)),
    runs.map(({ run }) => run.durationMs),
    runs.map(({ run }) => run.outcome),
  ]);
}

async function countDays(tx: Tx, { at, runs }: HistoryBatch): Promise<void> {
  await tx.query(COUNT_DAYS, [
    runs.map(({ checkId }) => checkId),
    toTimestamp(at),
    runs.map(({ run }) => run.durationMs ?? 0),
  ]);
}

async function writeRunsAndDays(tx: Tx, batch: HistoryBatch): Promise<void> {
  await insertRuns(tx, batch);
  await countDays(tx, batch);
}

async function writeDays(tx: Tx, batch: HistoryBatch): Promise<void> {
  await countDays(tx, batch);
  await writeShippedHistory(tx, { ...batch, settled: [] });
}

/** Checks whose current day is over: the most expensive case of the current layout. */
const YESTERDAY: Aim = { key: "yesterday", tables: { check_states: "states_yesterday" } };

async function makeTables(scale: Scale, { pingsPerCheck }: Size): Promise<void> {
  const { admin, checkCount } = scale;
  const checks = `generate_series(1, ${checkCount}) i`;
  await admin.query(`create table bench_runs (ended_at timestamptz, check_id bigint, duration_ms bigint, outcome text);
    create table bench_days (check_id bigint, day date, success_count int, fail_count int,
      duration_sum_ms bigint, duration_max_ms bigint) with (fillfactor = 80);
    create table states_yesterday (like check_states including all) with (fillfactor = 70);
    truncate check_days`);
  for (let k = 1; k <= pingsPerCheck; k++) {
    await admin.query(`insert into bench_runs
      select timestamptz '2026-01-14' + interval '1 hour' * ${k}, i, 5000, 'success' from ${checks}`);
  }
  for (let k = 0; k < DAYS_FILLED; k++) {
    await admin.query(`insert into bench_days
      select i, date '2026-01-15' - ${k}, 20, 0, 100000, 7000 from ${checks}`);
    await admin.query(`insert into check_days (check_id, day, success_count, fail_count, timed_count,
        duration_sum_ms, duration_max_ms)
      select i, date '2026-01-13' - ${k}, 20, 0, 20, 100000, 7000 from ${checks}`);
  }
  await admin.query("create index on bench_runs (check_id)");
  await admin.query("alter table bench_days add primary key (check_id, day)");
  await admin.query(`insert into states_yesterday select * from check_states;
    update states_yesterday set day = day - 1`);
  await admin.query("vacuum full states_yesterday");
  for (const table of ["bench_runs", "bench_days", "check_days", "states_yesterday"]) {
    await admin.query(`vacuum analyze ${table}`);
  }
}

/** Measures every candidate and prints the table. Needs a filled log. */
export async function compareHistories(scales: Pair, size: Size): Promise<void> {
  const { pingsPerCheck, layoutRounds: rounds } = size;
  for (const scale of scales) {
    await rebuildStates(scale, { pingsPerCheck, busyLimit: null });
    await makeTables(scale, size);
  }
  const candidates = [
    { about: "a row for each run, a day row for each signal", write: writeRunsAndDays },
    { about: "runs packed at trimming, a day row for each signal", write: writeDays },
    { about: "runs packed at trimming, the day in the state (shipped)", write: writeShippedHistory },
  ].map(({ about, write }) => ({ about, plan: { ...SHIPPED, writeHistory: write } }));
  const newDay = { about: "the same, first signal of another day", plan: { ...SHIPPED, aim: YESTERDAY } };
  const racing = race(scales, [...candidates, newDay], { rounds });
  const results = await reported("raced: history", racing);
  printResults(`Run history and daily roll-ups: record ${BATCH_SIZE}, ${rounds} rounds`, results);
  for (const { admin } of scales) await admin.query("drop table bench_runs, bench_days, states_yesterday");
}
