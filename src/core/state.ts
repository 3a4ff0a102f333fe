// The state of a check and its status at an instant. Only what was observed is stored; whatever depends on
// the clock is computed. "Down" never follows from the clock alone: until a failure or a fired deadline is
// stored, a check past its deadline is in `grace`.
import type { CheckSettings } from "./check.ts";
import { type Instant, SECOND_MS } from "./instant.ts";
import { nextAfter, parseSchedule } from "./schedule/schedule.ts";

/** `grace` and `started` are never stored; they are computed. */
export type StoredStatus = "new" | "up" | "down" | "paused";

/** The missed deadline that took a check down and the status before it: enough to retract the flip. */
export type Silence = { deadlineAt: Instant; from: StoredStatus };

export type CheckState = {
  status: StoredStatus;
  /** Newest success or failure. */
  lastPingAt: Instant | null;
  /** Start of the run in progress and its run id, if any. */
  lastStartAt: Instant | null;
  lastStartRid: string | null;
  lastDurationMs: number | null;
  /**
   * Ids of the runs that ended last, newest last: a start that arrives after the end of its run is ignored.
   */
  endedRids: readonly string[];
  /** Newest applied signal of any kind, pause or resume: a direct signal is never dated before it. */
  newestAt: Instant | null;
  /** Newest pause or resume: a signal older than it changes nothing. */
  commandAt: Instant | null;
  /** After a blind interval, expectation starts here instead of at lastPingAt. */
  expectFromAt: Instant | null;
  /** Set exactly while the check is down because a deadline passed. */
  silence: Silence | null;
  /** Pings received, and the number of the newest one; the API's n_pings. */
  pingCount: number;
  /** Of these, pings without a log row, because the check exceeded the rate limit. */
  coalescedCount: number;
  /** Start of the minute that the rate limit counts, and the signals in it. */
  rateMinuteAt: Instant | null;
  rateCount: number;
};

/** Why a check flipped. */
export type FlipReason = "success" | "fail" | "timeout";

/** A stored status change to up or down. */
export type Flip = { at: Instant; from: StoredStatus; to: "up" | "down"; reason: FlipReason };

/** The state of a check without pings. */
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

/** The settings that define when a signal is due. */
export type Timing = Pick<
  CheckSettings,
  "kind" | "timeoutSeconds" | "graceSeconds" | "schedule" | "tz" | "manualResume"
>;

/** The settings and the state that the rules work on. */
export type WatchedCheck = { timing: Timing; state: CheckState };

/** The status shown by API, badges, metrics and dashboard. */
export type ShownStatus = "new" | "up" | "grace" | "down" | "paused";

/** A signal is due from `from` on; without one the check is down after `at`. */
export type Deadline = { from: Instant; at: Instant; cause: "silence" | "overrun" };

export function graceMs(timing: Timing): number {
  return timing.graceSeconds * SECOND_MS;
}

/** The part of a state that the shown status and the next ping depend on. */
type ObservedState = Pick<CheckState, "status" | "lastPingAt" | "lastStartAt" | "expectFromAt">;
type ObservedCheck = { timing: Timing; state: ObservedState };

/** When the next success is due; null if nothing is expected or the schedule never fires again. */
export function expectedAt({ timing, state }: ObservedCheck): Instant | null {
  if (state.status !== "up") return null;
  const base = Math.max(state.lastPingAt ?? -Infinity, state.expectFromAt ?? -Infinity);
  if (base === -Infinity) return null;
  if (timing.kind === "simple") return base + timing.timeoutSeconds * SECOND_MS;
  const schedule = parseSchedule({ text: timing.schedule, tz: timing.tz });
  return schedule === null ? null : nextAfter(schedule, base);
}

/** Start of the run in progress; null if there is none. */
export function startedAt({ state }: ObservedCheck): Instant | null {
  return state.lastStartAt;
}

/**
 * The instant after which a check without pings is down. Null if there is none: the check is down already,
 * nothing is expected, or it is paused until a manual resume.
 */
export function deadlineOf(check: ObservedCheck): Deadline | null {
  return deadlineAfter(check, expectedAt(check));
}

function deadlineAfter(check: ObservedCheck, expected: Instant | null): Deadline | null {
  const { timing, state } = check;
  if (state.status === "down" || ignoresSignals(check)) return null;
  const grace = graceMs(timing);
  const started = startedAt(check);
  if (started !== null && (expected === null || started < expected)) {
    return { from: started, at: started + grace, cause: "overrun" };
  }
  return expected === null ? null : { from: expected, at: expected + grace, cause: "silence" };
}

/** The deadline as stored for the sweeper. */
export function downAtOf(check: WatchedCheck): Instant | null {
  return deadlineOf(check)?.at ?? null;
}

/**
 * When the sweeper has to evaluate the check next. It stays at or before the deadline and is moved only if necessary,
 * so that a ping that postpones the deadline does not touch the index.
 */
export function sweepAt({ current, deadline }: { current: Instant | null; deadline: Instant | null }) {
  if (deadline === null) return current;
  return current === null || current > deadline ? deadline : current;
}

/** A paused check with manual resume ignores signals. */
export function ignoresSignals({ timing, state }: ObservedCheck): boolean {
  return state.status === "paused" && timing.manualResume;
}

/** What the API shows of a check at an instant. */
export type View<Status = ShownStatus> = {
  status: Status;
  /**
   * When the next signal is due. During a run that is its start, because the run must end within the grace time
   * after it.
   */
  nextPingAt: Instant | null;
  /** The status stays the same before this instant, unless settings or state change. Infinity: for good. */
  until: Instant;
};

/** What to show at `now`. Evaluates the schedule once, which is most of the work. */
export function viewAt(check: ObservedCheck, now: Instant): View {
  const { status } = check.state;
  const expected = expectedAt(check);
  const deadline = deadlineAfter(check, expected);
  const nextPingAt = nextPingAfter(check, expected);
  if (deadline === null) return { status, nextPingAt, until: Infinity };
  if (now > deadline.at || (expected !== null && now >= expected)) {
    return { status: "grace", nextPingAt, until: Infinity };
  }
  return { status, nextPingAt, until: Math.min(deadline.at + 1, expected ?? Infinity) };
}

/** API version 1 shows a run in progress as a separate status, whatever the stored one is. */
export function viewWithStartedAt(check: ObservedCheck, now: Instant): View<ShownStatus | "started"> {
  const view = viewAt(check, now);
  const started = startedAt(check);
  const until = started === null ? -Infinity : started + graceMs(check.timing);
  return now < until ? { ...view, status: "started", until } : view;
}

function nextPingAfter(check: ObservedCheck, expected: Instant | null): Instant | null {
  const { status } = check.state;
  if (status === "down" || status === "paused") return null;
  const started = startedAt(check);
  if (expected === null || started === null) return expected ?? started;
  return Math.min(expected, started);
}

/** The status to show at `now`. */
export function statusAt(check: ObservedCheck, now: Instant): ShownStatus {
  return viewAt(check, now).status;
}

/**
 * Whether a check may have a status other than the stored one: nothing is late before the expected time, and grace
 * ends with the deadline. The store has the same condition in SQL.
 */
export function mayBeLate(
  { timing, downAt }: { timing: Timing; downAt: Instant | null },
  now: Instant,
): boolean {
  return downAt !== null && now >= downAt - graceMs(timing);
}

/**
 * Same as `statusAt`, but evaluates the schedule only if the stored deadline requires it: for few of ten
 * thousand checks.
 */
export function quickStatusAt(check: WatchedCheck & { downAt: Instant | null }, now: Instant): ShownStatus {
  return mayBeLate(check, now) ? statusAt(check, now) : check.state.status;
}
