// The compact run history (runs that have left the ping log, a hundred per row) and daily totals.
import type { Instant } from "../core/instant.ts";
import type { DayTotals } from "../core/run.ts";
import { type Db, statement } from "./db.ts";
import type { Tx } from "./transaction.ts";
import { toTimestamp } from "./values.ts";

/** Runs of one check that leave the log together; at least one. */
export type RunChunk = { checkId: number; runs: readonly EndedRun[] };

const INSERT_RUN_CHUNKS = statement({
  name: "run_chunks.insert",
  text: `insert into run_chunks (check_id, from_at, to_at, run_count, runs)
    select * from unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::int[], $5::bytea[])`,
});

/** Adds chunks to the history. */
export async function insertRunChunks(tx: Tx, chunks: readonly RunChunk[]): Promise<void> {
  await tx.query(INSERT_RUN_CHUNKS, [
    chunks.map((chunk) => chunk.checkId),
    chunks.map(({ runs }) => toTimestamp(Math.min(...runs.map((run) => run.endAt)))),
    chunks.map(({ runs }) => toTimestamp(Math.max(...runs.map((run) => run.endAt)))),
    chunks.map(({ runs }) => runs.length),
    chunks.map(({ runs }) => packRuns(runs)),
  ]);
}

const LIST_PACKED_RUNS = statement<{ runs: Buffer }>({
  name: "run_chunks.list",
  text: `select runs from (
      select runs, from_at, sum(run_count) over (order by to_at desc, from_at desc) - run_count as newer_count
      from run_chunks where check_id = $1 and to_at >= $2
    ) as chunk
    where newer_count < $3 order by from_at`,
});

/**
 * The newest runs of a check that ended since an instant and have left the log, at most `limit`, oldest first. A
 * check that is pinged every second has millions of them; only the requested ones are unpacked.
 */
export async function listPackedRuns(
  db: Db,
  { checkId, from, limit }: { checkId: number; from: Instant; limit: number },
): Promise<EndedRun[]> {
  const { rows } = await db.query(LIST_PACKED_RUNS, [checkId, toTimestamp(from), limit]);
  const runs = rows.flatMap((row) => unpackRuns(row.runs)).filter((run) => run.endAt >= from);
  return runs.toSorted((a, b) => a.endAt - b.endAt).slice(-limit);
}

const TRIM_RUN_CHUNKS = statement({
  name: "run_chunks.trim",
  text: "delete from run_chunks where check_id = any ($1::bigint[]) and to_at < $2",
});

/** Deletes the chunks of these checks that ended before an instant. Called whenever they get a new one. */
export async function trimRunChunks(
  tx: Tx,
  { checkIds, before }: { checkIds: readonly number[]; before: Instant },
): Promise<void> {
  await tx.query(TRIM_RUN_CHUNKS, [checkIds, toTimestamp(before)]);
}

const PRUNE_RUN_CHUNKS = statement({
  name: "run_chunks.prune",
  text: `delete from run_chunks
    where ctid = any (array(
      select ctid from run_chunks where check_id = any ($1::bigint[]) and to_at < $2
      for update skip locked
    ))`,
});

/** The same for checks that get no new ones; returns how many. Skips rows locked by others. */
export async function pruneRunChunks(
  tx: Tx,
  { checkIds, before }: { checkIds: readonly number[]; before: Instant },
): Promise<number> {
  return (await tx.query(PRUNE_RUN_CHUNKS, [checkIds, toTimestamp(before)])).count;
}

const DELETE_RUN_CHUNKS_OF_CHECK = statement({
  name: "run_chunks.delete_of_check",
  text: "delete from run_chunks where check_id = $1",
});

/** Deletes the run history of a check. */
export async function deleteRunChunksOfCheck(tx: Tx, checkId: number): Promise<void> {
  await tx.query(DELETE_RUN_CHUNKS_OF_CHECK, [checkId]);
}

/** A finished run. Its start is its end minus its duration, if known. */
export type EndedRun = { endAt: Instant; outcome: "success" | "fail"; durationMs: number | null };

const FAILED = 1;
const TIMED = 2;
const FLAG_COUNT = 4;

/**
 * Packs runs in order. Each is a number made of the outcome, whether a duration follows, and the (zigzag-encoded)
 * distance to the end of the previous run; then the duration.
 */
export function packRuns(runs: readonly EndedRun[]): Buffer {
  const bytes: number[] = [];
  let before = 0;
  for (const { endAt, outcome, durationMs } of runs) {
    const distance = endAt - before;
    // A replayed run may end before the previous one, so the sign is folded into the number.
    const folded = distance >= 0 ? distance * 2 : -distance * 2 - 1;
    const flags = (outcome === "fail" ? FAILED : 0) + (durationMs === null ? 0 : TIMED);
    writeNumber(bytes, folded * FLAG_COUNT + flags);
    if (durationMs !== null) writeNumber(bytes, durationMs);
    before = endAt;
  }
  return Buffer.from(bytes);
}

/** Unpacks runs, in the same order. Throws if the bytes were not made by `packRuns`. */
export function unpackRuns(bytes: Uint8Array): EndedRun[] {
  const runs: EndedRun[] = [];
  const from = { offset: 0 };
  let before = 0;
  while (from.offset < bytes.length) {
    const number = readNumber(bytes, from);
    const flags = number % FLAG_COUNT;
    const folded = Math.floor(number / FLAG_COUNT);
    before += folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2;
    runs.push({
      endAt: before,
      outcome: (flags & FAILED) === 0 ? "success" : "fail",
      durationMs: (flags & TIMED) === 0 ? null : readNumber(bytes, from),
    });
  }
  return runs;
}

/**
 * Seven bits per byte, lowest first; the eighth bit means that more follow. Uses division, because numbers exceed 32
 * bits.
 */
function writeNumber(bytes: number[], value: number): void {
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
}

function readNumber(bytes: Uint8Array, from: { offset: number }): number {
  let value = 0;
  for (let factor = 1; ; factor *= 128) {
    const byte = bytes[from.offset++];
    if (byte === undefined) throw new Error("packed runs end in the middle of a number");
    value += (byte % 128) * factor;
    if (byte < 128) return value;
  }
}

type DayRow = {
  day: string;
  success_count: number;
  fail_count: number;
  timed_count: number;
  duration_sum_ms: number;
  duration_max_ms: number;
};

const ADD_DAY_TOTALS = statement({
  name: "check_days.add",
  text: `insert into check_days as d (check_id, day, success_count, fail_count, timed_count,
      duration_sum_ms, duration_max_ms)
    select check_id, day, sum(success_count), sum(fail_count), sum(timed_count), sum(duration_sum_ms),
      max(duration_max_ms)
    from unnest($1::bigint[], $2::date[], $3::int[], $4::int[], $5::int[], $6::bigint[], $7::bigint[])
      as n (check_id, day, success_count, fail_count, timed_count, duration_sum_ms, duration_max_ms)
    group by check_id, day order by check_id, day
    on conflict (check_id, day) do update set
      success_count = d.success_count + excluded.success_count,
      fail_count = d.fail_count + excluded.fail_count,
      timed_count = d.timed_count + excluded.timed_count,
      duration_sum_ms = d.duration_sum_ms + excluded.duration_sum_ms,
      duration_max_ms = greatest(d.duration_max_ms, excluded.duration_max_ms)`,
});

/** Adds totals to the stored days of checks; missing days are created. */
export async function addDayTotals(
  tx: Tx,
  days: readonly { checkId: number; totals: DayTotals }[],
): Promise<void> {
  await tx.query(ADD_DAY_TOTALS, [
    days.map((one) => one.checkId),
    days.map(({ totals }) => totals.day),
    days.map(({ totals }) => totals.successCount),
    days.map(({ totals }) => totals.failCount),
    days.map(({ totals }) => totals.timedCount),
    days.map(({ totals }) => totals.durationSumMs),
    days.map(({ totals }) => totals.durationMaxMs),
  ]);
}

const LIST_DAYS = statement<DayRow>({
  name: "check_days.list",
  text: `select day, success_count, fail_count, timed_count, duration_sum_ms, duration_max_ms
    from check_days where check_id = $1 and day >= $2 order by day`,
});

/** The stored days of a check from a day on, oldest first. Days without a run are missing. */
export async function listDays(
  db: Db,
  { checkId, fromDay }: { checkId: number; fromDay: string },
): Promise<DayTotals[]> {
  const { rows } = await db.query(LIST_DAYS, [checkId, fromDay]);
  return rows.map((row) => ({
    day: row.day,
    successCount: row.success_count,
    failCount: row.fail_count,
    timedCount: row.timed_count,
    durationSumMs: row.duration_sum_ms,
    durationMaxMs: row.duration_max_ms,
  }));
}

const TRIM_DAYS = statement({
  name: "check_days.trim",
  text: "delete from check_days where check_id = any ($1::bigint[]) and day < $2",
});

/** Deletes the daily totals of these checks before a day. Called whenever they get a new one. */
export async function trimDays(
  tx: Tx,
  { checkIds, beforeDay }: { checkIds: readonly number[]; beforeDay: string },
): Promise<void> {
  await tx.query(TRIM_DAYS, [checkIds, beforeDay]);
}

const PRUNE_DAYS = statement({
  name: "check_days.prune",
  text: `delete from check_days
    where (check_id, day) in (
      select check_id, day from check_days where check_id = any ($1::bigint[]) and day < $2
      for update skip locked
    )`,
});

/** The same for checks that get no new ones; returns how many. Skips rows locked by others. */
export async function pruneDays(
  tx: Tx,
  { checkIds, beforeDay }: { checkIds: readonly number[]; beforeDay: string },
): Promise<number> {
  return (await tx.query(PRUNE_DAYS, [checkIds, beforeDay])).count;
}

const DELETE_DAYS_OF_CHECK = statement({
  name: "check_days.delete_of_check",
  text: "delete from check_days where check_id = $1",
});

/** Deletes the daily totals of a check. */
export async function deleteDaysOfCheck(tx: Tx, checkId: number): Promise<void> {
  await tx.query(DELETE_DAYS_OF_CHECK, [checkId]);
}
