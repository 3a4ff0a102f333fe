// The running state of a check: what signals, commands and deadlines have made of it so far.
// Only what was observed is stored; whatever depends on the clock is asked of status.ts.
import type { CheckSettings } from "./check.ts";
import { type Instant, SECOND_MS } from "./instant.ts";
import { nextAfter, parseSchedule } from "./schedule/schedule.ts";

/** `grace` and `started` are never stored: they follow from instants. */
export type StoredStatus = "new" | "up" | "down" | "paused";

/** Why a check is down through silence, and what it was before: enough to take the flip back. */
export type Silence = { deadlineAt: Instant; from: StoredStatus };

export type CheckState = {
  status: StoredStatus;
  /** Newest success or failure. */
  lastPingAt: Instant | null;
  /** Start of the run in progress, if any, and the run id it carried. */
  lastStartAt: Instant | null;
  lastStartRid: string | null;
  lastDurationMs: number | null;
  /** Ids of the runs that ended last, the newest last: a start that arrives after its own end begins nothing. */
  endedRids: readonly string[];
  /** Newest applied signal of any kind, pause or resume: a direct signal is never dated before it. */
  newestAt: Instant | null;
  /** Newest pause or resume: a signal older than it changes nothing. */
  commandAt: Instant | null;
  /** After time in which we were blind, expectation starts anew from here instead of from lastPingAt. */
  expectFromAt: Instant | null;
  /** Set exactly while the check is down because a deadline passed. */
  silence: Silence | null;
  /** Pings received, and the number of the newest one; the API's n_pings. */
  pingCount: number;
  /** Those among them that have no log row, because the check sent too many. */
  coalescedCount: number;
  /** The minute (its first instant) that the rate limit counts, and how many signals it holds. */
  rateMinuteAt: Instant | null;
  rateCount: number;
};

/** Why a check flipped. */
export type FlipReason = "success" | "fail" | "timeout";

/** A stored change of status to up or to down. */
export type Flip = { at: Instant; from: StoredStatus; to: "up" | "down"; reason: FlipReason };

/** A check nobody has heard of yet. */
export const NEW_STATE: CheckState = {
  status: "new",
  lastPingAt: null,
  lastStartAt: null,
  lastStartRid: null,
  lastDurationMs: null,
  endedRids: [],
  newestAt: null,
  commandAt: null,
  expectFromAt: null,
  silence: null,
  pingCount: 0,
  coalescedCount: 0,
  rateMinuteAt: null,
  rateCount: 0,
};

// What can be asked of a check at an instant. Asking changes nothing. "Down" is never an answer of the
// clock: only a failure signal or a fired deadline stores it, and until then a check past its deadline
// reads `grace`.

/** The settings that decide when a signal is due. */
export type Timing = Pick<
  CheckSettings,
  "kind" | "timeoutSeconds" | "graceSeconds" | "schedule" | "tz" | "manualResume"
>;

/** A check as the rules see it: when signals are due, and what has happened so far. */
export type WatchedCheck = { timing: Timing; state: CheckState };

/** What API, badges, metrics and dashboard show. */
export type ShownStatus = "new" | "up" | "grace" | "down" | "paused";

/** From `from` on a signal was due; silence past `at` makes the check down. */
export type Deadline = { from: Instant; at: Instant; cause: "silence" | "overrun" };

export function graceMs(timing: Timing): number {
  return timing.graceSeconds * SECOND_MS;
}

/** When the next success is due; null while nothing is expected or the schedule never fires again. */
export function expectedAt({ timing, state }: WatchedCheck): Instant | null {
  if (state.status !== "up") return null;
  const base = Math.max(state.lastPingAt ?? -Infinity, state.expectFromAt ?? -Infinity);
  if (base === -Infinity) return null;
  if (timing.kind === "simple") return base + timing.timeoutSeconds * SECOND_MS;
  const schedule = parseSchedule({ text: timing.schedule, tz: timing.tz });
  return schedule === null ? null : nextAfter(schedule, base);
}

/** When the run in progress began; null when none is. */
export function startedAt({ state }: WatchedCheck): Instant | null {
  return state.lastStartAt;
}

/**
 * The instant at which silence becomes down, and what it would mean. Null while silence means nothing:
 * the check is down already, nothing is expected, or its owner silenced it until a manual resume.
 */
export function deadlineOf(check: WatchedCheck): Deadline | null {
  const { timing, state } = check;
  if (state.status === "down" || ignoresSignals(check)) return null;
  const grace = graceMs(timing);
  const expected = expectedAt(check);
  const started = startedAt(check);
  if (started !== null && (expected === null || started < expected)) {
    return { from: started, at: started + grace, cause: "overrun" };
  }
  return expected === null ? null : { from: expected, at: expected + grace, cause: "silence" };
}

/** The stored copy of the deadline, which the sweeper looks for. */
export function downAtOf(check: WatchedCheck): Instant | null {
  return deadlineOf(check)?.at ?? null;
}

/**
 * Where the sweeper has to look next, given where it was going to look. It is kept at or before the
 * deadline and moved only when it must be: a ping that postpones the deadline leaves the index alone.
 */
export function sweepAt({ current, deadline }: { current: Instant | null; deadline: Instant | null }) {
  if (deadline === null) return current;
  return current === null || current > deadline ? deadline : current;
}

/** A paused check whose owner wants to resume it by hand listens to nothing. */
export function ignoresSignals({ timing, state }: WatchedCheck): boolean {
  return state.status === "paused" && timing.manualResume;
}

/** The status to show at `now`. */
export function statusAt(check: WatchedCheck, now: Instant): ShownStatus {
  const { status } = check.state;
  const deadline = deadlineOf(check);
  if (deadline === null) return status;
  if (now > deadline.at) return "grace";
  const expected = expectedAt(check);
  return expected !== null && now >= expected ? "grace" : status;
}

/** Version 1 of the API shows a run in progress as a status of its own, whatever the stored one is. */
export function statusWithStartedAt(check: WatchedCheck, now: Instant): ShownStatus | "started" {
  const started = startedAt(check);
  if (started !== null && now < started + graceMs(check.timing)) return "started";
  return statusAt(check, now);
}

/**
 * The API's next_ping: when the next signal is due. While a run is in progress that is its start, since
 * the run must have ended by then plus grace.
 */
export function nextPingAt(check: WatchedCheck): Instant | null {
  const { status } = check.state;
  if (status === "down" || status === "paused") return null;
  const expected = expectedAt(check);
  const started = startedAt(check);
  if (expected === null || started === null) return expected ?? started;
  return Math.min(expected, started);
}

// The status of many checks at once. A schedule is read only for those whose stored deadline leaves it open: of
// ten thousand checks that are nearly none. It says exactly what status.ts says.

/**
 * Whether a check may show anything but its stored status: before grace begins nothing is late, and grace ends
 * with the deadline. The store asks the same in SQL.
 */
export function mayBeLate(
  { timing, downAt }: { timing: Timing; downAt: Instant | null },
  now: Instant,
): boolean {
  return downAt !== null && now >= downAt - graceMs(timing);
}

/** What `statusAt` says, for a check that comes with the stored copy of its deadline. */
export function quickStatusAt(check: WatchedCheck & { downAt: Instant | null }, now: Instant): ShownStatus {
  return mayBeLate(check, now) ? statusAt(check, now) : check.state.status;
}
