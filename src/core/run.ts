// Durations of runs, their usual range, lateness, and daily totals.
import { DAY_MS, HOUR_MS, type Instant } from "./instant.ts";
import { RUN_PAIRING_HOURS_MAX } from "./limits.ts";
import type { SignalKind } from "./signal.ts";
import { expectedAt, graceMs, NEW_STATE, type Timing } from "./state.ts";

/** The input of pairing. `durationMs` was measured when the signal was applied. */
export type PairedPing = {
  n: number;
  at: Instant;
  kind: SignalKind;
  rid: string | null;
  durationMs: number | null;
};

/**
 * The durations of the pings of a list, by number; unknown ones are missing. A success or failure is paired with the
 * nearest earlier start, success or failure with the same run ID (no ID counts as an ID); only a start gives a
 * duration. Log entries, ignored pings and other runs in between do not matter. If the list contains nothing earlier
 * of the run, or the run ended before the ping, the duration recorded with the ping is used.
 */
export function runDurations(newestFirst: readonly PairedPing[]): Map<number, number> {
  const durations = new Map<number, number>();
  const before = new Map<string | null, PairedPing>();
  for (const ping of newestFirst.toReversed()) {
    if (ping.kind === "log" || ping.kind === "ign") continue;
    if (ping.kind !== "start") {
      const durationMs = durationOf(ping, before.get(ping.rid));
      if (durationMs !== null && durationMs <= RUN_PAIRING_HOURS_MAX * HOUR_MS) {
        durations.set(ping.n, durationMs);
      }
    }
    before.set(ping.rid, ping);
  }
  return durations;
}

function durationOf(ping: PairedPing, earlier: PairedPing | undefined): number | null {
  if (earlier === undefined) return ping.durationMs;
  // A replayed ping is listed where it was logged, and may be older than those before it.
  if (earlier.kind !== "start" || earlier.at > ping.at) return null;
  // A late end was logged after its run had ended: the recorded duration is shorter.
  return Math.min(ping.at - earlier.at, ping.durationMs ?? Infinity);
}

export type Usual = {
  /** Number of runs evaluated. */
  count: number;
  /** The 10th and 90th percentile. */
  lowMs: number;
  highMs: number;
  medianMs: number;
  p95Ms: number;
};

/** Minimum number of runs for a usual range. */
const USUAL_RUNS_MIN = 3;

/** The usual range; null if too few runs were measured. The order does not matter. */
export function usualOf(durationsMs: readonly number[]): Usual | null {
  if (durationsMs.length < USUAL_RUNS_MIN) return null;
  const sorted = durationsMs.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
  return {
    count: sorted.length,
    lowMs: at(0.1),
    highMs: at(0.9),
    medianMs: at(0.5),
    p95Ms: at(0.95),
  };
}

/** The run in question, and when the run before it had ended. */
export type PlacedRun = { previousEndAt: Instant; startAt: Instant | null; endAt: Instant };

/** How long after the expected time the run began, or ended if its start is unknown; at least zero. */
export function latenessMs(timing: Timing, { previousEndAt, startAt, endAt }: PlacedRun): number {
  const expected = dueAfter(timing, previousEndAt);
  return expected === null ? 0 : Math.max(0, (startAt ?? endAt) - expected);
}

/**
 * A run is late if it has used more than half of its grace period: a job that takes a moment is not late every time.
 */
export function isLateRun(timing: Timing, run: PlacedRun): boolean {
  return latenessMs(timing, run) > graceMs(timing) / 2;
}

/** When the next success is due after a success at an instant; null: never again. */
export function dueAfter(timing: Timing, at: Instant): Instant | null {
  return expectedAt({ timing, state: { ...NEW_STATE, status: "up", lastPingAt: at } });
}

/** Totals of one check and day. */
export type DayTotals = {
  /** `YYYY-MM-DD`, in UTC: the same day for everyone who looks. */
  day: string;
  successCount: number;
  failCount: number;
  /** Runs with a known duration; the two values below refer to these. */
  timedCount: number;
  durationSumMs: number;
  durationMaxMs: number;
};

type EndedRun = { endAt: Instant; outcome: "success" | "fail"; durationMs: number | null };

/** The last requested day: under load it is the same for every signal. */
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
