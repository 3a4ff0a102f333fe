// Daily roll-ups of days that are over. The running day lies in the state of its check.
import type { DayTotals } from "../../core/machine/day-totals.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";

type DayRow = {
  day: string;
  success_count: number;
  fail_count: number;
  timed_count: number;
  duration_sum_ms: number;
  duration_max_ms: number;
};

const ADD = statement({
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

/** Adds totals to the stored days of checks; a day that was not there begins with them. */
export async function addDayTotals(
  tx: Tx,
  days: readonly { checkId: number; totals: DayTotals }[],
): Promise<void> {
  await tx.query(ADD, [
    days.map((one) => one.checkId),
    days.map(({ totals }) => totals.day),
    days.map(({ totals }) => totals.successCount),
    days.map(({ totals }) => totals.failCount),
    days.map(({ totals }) => totals.timedCount),
    days.map(({ totals }) => totals.durationSumMs),
    days.map(({ totals }) => totals.durationMaxMs),
  ]);
}

const LIST = statement<DayRow>({
  name: "check_days.list",
  text: `select day, success_count, fail_count, timed_count, duration_sum_ms, duration_max_ms
    from check_days where check_id = $1 and day >= $2 order by day`,
});

/** The stored days of a check from a day on, oldest first. Days without a run are not there. */
export async function listDays(
  db: Db,
  { checkId, fromDay }: { checkId: number; fromDay: string },
): Promise<DayTotals[]> {
  const { rows } = await db.query(LIST, [checkId, fromDay]);
  return rows.map((row) => ({
    day: row.day,
    successCount: row.success_count,
    failCount: row.fail_count,
    timedCount: row.timed_count,
    durationSumMs: row.duration_sum_ms,
    durationMaxMs: row.duration_max_ms,
  }));
}

const TRIM = statement({
  name: "check_days.trim",
  text: "delete from check_days where check_id = any ($1::bigint[]) and day < $2",
});

/** Forgets the days of these checks before one. Called whenever they get a new one. */
export async function trimDays(
  tx: Tx,
  { checkIds, beforeDay }: { checkIds: readonly number[]; beforeDay: string },
): Promise<void> {
  await tx.query(TRIM, [checkIds, beforeDay]);
}

const PRUNE = statement({
  name: "check_days.prune",
  text: `delete from check_days
    where (check_id, day) in (
      select check_id, day from check_days where check_id = any ($1::bigint[]) and day < $2
      for update skip locked
    )`,
});

/**
 * Forgets the days of these checks before one, for checks that get no new ones; returns how many. What somebody
 * else is about to remove is left to him.
 */
export async function pruneDays(
  tx: Tx,
  { checkIds, beforeDay }: { checkIds: readonly number[]; beforeDay: string },
): Promise<number> {
  return (await tx.query(PRUNE, [checkIds, beforeDay])).count;
}

const DELETE_OF_CHECK = statement({
  name: "check_days.delete_of_check",
  text: "delete from check_days where check_id = $1",
});

/** Removes the days of a check that is deleted for good, or whose history is cleared. */
export async function deleteDaysOfCheck(tx: Tx, checkId: number): Promise<void> {
  await tx.query(DELETE_OF_CHECK, [checkId]);
}
