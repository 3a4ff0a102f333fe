// Compares ways to write the history of runs and the daily roll-ups along with a batch: rows for every signal,
// or a running day in the state and packed runs when the log is trimmed. All write the shipped log.
import { statement } from "../../src/store/db.ts";
import type { Tx } from "../../src/store/transaction.ts";
import { toTimestamp } from "../../src/store/values.ts";
import { printRecordTable, recording } from "./compare-logs.ts";
import type { Samples } from "./figures.ts";
import { takeTurns } from "./meter.ts";
import { type HistoryBatch, type Plan, SHIPPED, writeShippedHistory } from "./record.ts";
import { BATCH_SIZE, rebuildStates, type Scale } from "./scale.ts";
import type { Size } from "./sizes.ts";

/** Days that are on record before the measurement begins. */
const DAYS_FILLED = 5;

type HistoryLayout = {
  about: string;
  /** SQL that makes and fills what it needs besides the shipped tables. */
  tables: (scale: Scale) => string[];
  write: Plan["writeHistory"];
};

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

const runTables = ({ checkCount }: Scale, runsPerCheck: number) => [
  "create table bench_runs (ended_at timestamptz, check_id bigint, duration_ms bigint, outcome text)",
  `insert into bench_runs select timestamptz '2026-01-01' + k * interval '1 hour', i, 5000, 'success'
    from generate_series(1, ${runsPerCheck}) k, generate_series(1, ${checkCount}) i`,
  "create index on bench_runs (check_id)",
  "vacuum analyze bench_runs",
];

const dayTables = ({ checkCount }: Scale) => [
  `create table bench_days (check_id bigint, day date, success_count int, fail_count int,
    duration_sum_ms bigint, duration_max_ms bigint) with (fillfactor = 80)`,
  `insert into bench_days select i, date '2026-01-15' - k, 20, 0, 100000, 7000
    from generate_series(0, ${DAYS_FILLED - 1}) k, generate_series(1, ${checkCount}) i`,
  "alter table bench_days add primary key (check_id, day)",
  "vacuum analyze bench_days",
];

const candidates = ({ pingsPerCheck }: Size): readonly HistoryLayout[] => [
  {
    about: "a row for each run, a day row for each signal",
    tables: (scale) => [...runTables(scale, pingsPerCheck), ...dayTables(scale)],
    write: async (tx, batch) => {
      await insertRuns(tx, batch);
      await countDays(tx, batch);
    },
  },
  {
    about: "runs packed at trimming, a day row for each signal",
    tables: dayTables,
    write: async (tx, batch) => {
      await countDays(tx, batch);
      await writeShippedHistory(tx, { ...batch, settled: [] });
    },
  },
  {
    about: "runs packed at trimming, the day in the state (shipped)",
    tables: () => [],
    write: writeShippedHistory,
  },
];

/** Measures every candidate and prints the table. Needs the shipped log to be filled. */
export async function compareHistories(scales: readonly Scale[], size: Size): Promise<void> {
  const results: { about: string; samples: Samples[] }[] = [];
  for (const { about, tables, write } of candidates(size)) {
    for (const scale of scales) {
      await rebuildStates(scale, { pingsPerCheck: size.pingsPerCheck, busyLimit: null });
      await scale.admin.query("drop table if exists bench_runs, bench_days");
      for (const sql of tables(scale)) await scale.admin.query(sql);
    }
    const plan = { ...SHIPPED, writeHistory: write };
    results.push({ about, samples: await measure(scales, plan, size) });
  }
  results.push({
    about: "the same, first signals of another day",
    samples: await measureNewDay(scales, size),
  });
  for (const { admin } of scales) await admin.query("drop table if exists bench_runs, bench_days");
  printRecordTable(
    `Run history and daily roll-ups: record ${BATCH_SIZE}, ${size.layoutRounds} rounds`,
    results,
  );
}

function measure(scales: readonly Scale[], plan: Plan, size: Size): Promise<Samples[]> {
  return takeTurns(
    scales.map((scale) => recording(scale, plan)),
    size.layoutRounds,
  );
}

/** The dearest moment of the shipped way: every signal is the first of its check on that day. */
async function measureNewDay(scales: readonly Scale[], size: Size): Promise<Samples[]> {
  for (const scale of scales) {
    await rebuildStates(scale, { pingsPerCheck: size.pingsPerCheck, busyLimit: null });
    await scale.admin.query(`update check_states set day = day - 1; truncate check_days;
      insert into check_days select check_id, day - k, 20, 0, 20, 100000, 7000
        from generate_series(1, ${DAYS_FILLED}) k, check_states;`);
    await scale.admin.query("vacuum full analyze check_states");
    await scale.admin.query("vacuum analyze check_days");
  }
  return measure(scales, SHIPPED, size);
}
