// How long a check was down within periods of time, from what is kept of its history. A downtime that crosses the end
// of a period counts in both.
import type { Instant, Interval } from "./instant.ts";
import { UNMONITORED_DAY_MS_MIN, UP_SHARE_MS_MIN } from "./limits.ts";
import type { StoredStatus } from "./state.ts";

/** A period for statistics: from its first instant up to, but without, its end. */
export type Period = { from: Instant; to: Instant };

/** A change of the stored status: a flip, a pause or a resume. */
export type StatusChange = {
  at: Instant;
  from: StoredStatus;
  to: StoredStatus;
  /** It was retracted and has no effect. */
  isRetracted: boolean;
};

export type Downtime = { count: number; durationMs: number };

/** Downtime of a period; null: the check did not exist yet; "uncounted": it changed too often. */
export type ReportedDowntime = Downtime | "uncounted" | null;

export type CheckHistory = {
  createdAt: Instant;
  /** Now. */
  status: StoredStatus;
  /** The newest since the beginning of the first period, oldest first. */
  changes: readonly StatusChange[];
  /** There were more before the first of them than are read: see STATUS_CHANGES_READ_MAX. */
  isCut: boolean;
};

/**
 * Whether a day counts as not monitored: a ping was due during a monitoring gap, or the gap was long. A
 * restart of seconds in which nothing was due does not count.
 */
export function isUnmonitoredDay(day: { unseenMs: number; isSignalMissed: boolean }): boolean {
  return day.isSignalMissed || day.unseenMs >= UNMONITORED_DAY_MS_MIN;
}

/** The part of a period in which the check existed. What happened before it was created does not concern it. */
export function lifeIn(period: Period, { createdAt, now }: { createdAt: Instant; now: Instant }): Period {
  return { from: Math.max(period.from, createdAt), to: Math.min(period.to, now) };
}

/** How much of a period was blind, by intervals in the order of their beginning. What overlaps counts once. */
export function unseenMs(blind: readonly Interval[], { from, to }: Period): number {
  let sum = 0;
  let countedTo = from;
  for (const interval of blind) {
    const start = Math.max(interval.from, countedTo);
    const end = Math.min(interval.to ?? to, to);
    if (end <= start) continue;
    sum += end - start;
    countedTo = end;
  }
  return sum;
}

/** The share of the monitored time in which a check was not down; null: there is not enough history. */
export function upShare({ from, to }: Period, lost: Record<"downMs" | "unseenMs", number>): number | null {
  const seenMs = to - from - lost.unseenMs;
  return seenMs < UP_SHARE_MS_MIN ? null : Math.max(0, 1 - lost.downMs / seenMs);
}

/** The downtime in each of the periods. Nothing after `now` counts. */
export function downtimesOf(
  history: CheckHistory,
  { periods, now }: { periods: readonly Period[]; now: Instant },
): ReportedDowntime[] {
  const spells = downSpells(history, now);
  const knownFrom = history.isCut ? (history.changes[0]?.at ?? now) : -Infinity;
  return periods.map(({ from, to }) => {
    if (history.createdAt >= to) return null;
    if (from < knownFrom) return "uncounted";
    const inside = spells
      .map((spell) => Math.min(spell.to, to) - Math.max(spell.from, from))
      .filter((durationMs) => durationMs > 0);
    return { count: inside.length, durationMs: inside.reduce((sum, durationMs) => sum + durationMs, 0) };
  });
}

/** The periods in which the check was down, in order; one that began before the first change has no start. */
export function downSpells(
  { changes, status }: Pick<CheckHistory, "changes" | "status">,
  now: Instant,
): Period[] {
  const spells: Period[] = [];
  let downSince: Instant | null = (changes[0]?.from ?? status) === "down" ? -Infinity : null;
  for (const { at, to, isRetracted } of changes) {
    if (isRetracted) continue;
    if (to === "down") downSince ??= at;
    else if (downSince !== null) {
      spells.push({ from: downSince, to: at });
      downSince = null;
    }
  }
  return downSince === null ? spells : [...spells, { from: downSince, to: now }];
}
