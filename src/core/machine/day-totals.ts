// Daily roll-ups: how many runs of a check ended on a day, how, and how long they took. The running day is
// carried along with the state; this file decides when it is over and where a late run belongs.
import { DAY_MS, type Instant } from "../instant.ts";

/** What one check did on one day. */
export type DayTotals = {
  /** `YYYY-MM-DD`, in UTC: the same day for everyone who looks. */
  day: string;
  successCount: number;
  failCount: number;
  /** Runs whose duration is known; the two values below speak of these. */
  timedCount: number;
  durationSumMs: number;
  durationMaxMs: number;
};

type EndedRun = { endAt: Instant; outcome: "success" | "fail"; durationMs: number | null };

/** The day that was asked for last: under load it is the same for every signal. */
let lastDay = { from: 0, to: 0, text: "" };

/** The UTC day that an instant lies in. */
export function dayOf(at: Instant): string {
  if (!(at >= lastDay.from && at < lastDay.to)) {
    const from = at - (((at % DAY_MS) + DAY_MS) % DAY_MS);
    lastDay = { from, to: from + DAY_MS, text: new Date(at).toISOString().slice(0, 10) };
  }
  return lastDay.text;
}

/** The totals of a single run. */
export function totalsOf({ endAt, outcome, durationMs }: EndedRun): DayTotals {
  return {
    day: dayOf(endAt),
    successCount: outcome === "success" ? 1 : 0,
    failCount: outcome === "fail" ? 1 : 0,
    timedCount: durationMs === null ? 0 : 1,
    durationSumMs: durationMs ?? 0,
    durationMaxMs: durationMs ?? 0,
  };
}

/** The totals of the same day taken together. */
export function sumTotals(one: DayTotals, other: DayTotals): DayTotals {
  return {
    day: one.day,
    successCount: one.successCount + other.successCount,
    failCount: one.failCount + other.failCount,
    timedCount: one.timedCount + other.timedCount,
    durationSumMs: one.durationSumMs + other.durationSumMs,
    durationMaxMs: Math.max(one.durationMaxMs, other.durationMaxMs),
  };
}

/**
 * Counts a run. `today` is the running day after it; `settled` are totals to be added to the stored days: the
 * day that has ended, or the older day that a late run belongs to.
 */
export function countRun(
  today: DayTotals | null,
  run: EndedRun,
): { today: DayTotals; settled: DayTotals | null } {
  const totals = totalsOf(run);
  if (today === null) return { today: totals, settled: null };
  if (totals.day === today.day) return { today: sumTotals(today, totals), settled: null };
  return totals.day > today.day ? { today: totals, settled: today } : { today, settled: totals };
}
