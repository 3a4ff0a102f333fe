// The state of a check and its status at an instant. Only what was observed is stored; whatever depends on
// the clock is computed. "Down" never follows from the clock alone: until a failure or a fired deadline is
// stored, a check past its deadline is in `grace`.
import type { CheckSettings } from "./check.ts";
import { type Instant, SECOND_MS } from "./instant.ts";
import { nextAfter, parseSchedule } from "./schedule/schedule.ts";

/** `grace` and `started` are never stored; they are computed. */
export type StoredStatus = "new" | "up" | "down" | "paused";

/**
 * The missed deadline since which a check is down and the status before it: enough to retract the flip. If the check
 * was down before, it is the first deadline missed since the last ping.
 */
export type Missed = { deadlineAt: Instant; from: StoredStatus };

/**
 * What thresholds need to know about the outcomes of earlier runs. Null in a state: nothing, and an alert is open
 * exactly while the check is down.
 */
export type Judged = {
  /** The last 32 outcomes, the newest in bit 0. 1: failed or missed. Absent ones count as successes. */
  outcomes: number;
  /** How many of the newest were missed in a row. */
  missed: number;
  /**
   * `tolerated`: down without an alert, because no threshold is reached. `recovering`: the alert stays open until there
   * are enough successes. A check that missed a deadline while recovering is down and keeps this value.
   */
  problem: "tolerated" | "recovering" | null;
  /** Start of the last run that ended, or its end if the start is unknown. Only if the rules limit the gap. */
  runBeganAt: Instant | null;
  /** Set while `missed` is not 0. */
  chain: MissedChain | null;
};

/** Missed deadlines in a row, as many as the threshold: enough to take back any of them. */
export type MissedChain = {
  /** `expectFromAt` of the state before the first one. */
  expectFromAt: Instant | null;
  /** The deadlines, and `expectFromAt` after each. */
  deadlines: readonly { at: Instant; expectFromAt: Instant }[];
};

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
  /** After a blind interval or a tolerated miss, expectation starts here instead of at lastPingAt. */
  expectFromAt: Instant | null;
  /** Set exactly while the check is down because a deadline passed. */
  missed: Missed | null;
  judged: Judged | null;
  /** Pings received, and the number of the newest one; the API's n_pings. */
  pingCount: number;
  /** Of these, pings without a log row, because the check exceeded the rate limit. */
  coalescedCount: number;
  /** Start of the minute that the rate limit counts, and the signals in it. */
  rateMinuteAt: Instant | null;
  rateCount: number;
};

/** Why a check flipped. `tooFast` and `tooOften`: the success of a run that breaks a rule. */
export type FlipReason = "success" | "fail" | "timeout" | "tooFast" | "tooOften";

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
  missed: null,
  judged: null,
  pingCount: 0,
  coalescedCount: 0,
  rateMinuteAt: null,
  rateCount: 0,
};

/** The settings that define when a signal is due. */
export type Timing = Pick<
  CheckSettings,
  "kind" | "timeoutSeconds" | "graceSeconds" | "schedule" | "tz" | "manualResume" | "rules"
>;

/** The settings and the state that the rules work on. */
export type WatchedCheck = { timing: Timing; state: CheckState };

/** The status shown by API, badges, metrics and dashboard. */
export type ShownStatus = "new" | "up" | "grace" | "down" | "paused";

/** A signal is due from `from` on; without one the check is down after `at`. */
export type Deadline = { from: Instant; at: Instant; cause: "missed" | "overrun" };

export function graceMs(timing: Timing): number {
  return timing.graceSeconds * SECOND_MS;
}

/** How long after the expected time a run may start; with neither limit set, end. */
export function startLimitMs({ rules, graceSeconds }: Timing): number {
  return (rules?.startWithinSeconds ?? graceSeconds) * SECOND_MS;
}

/** Whether a confirmed problem is open. Until then, a check that is down is tolerated. */
export function isAlertOpen({ status, judged }: Pick<CheckState, "status" | "judged">): boolean {
  if (status === "down") return judged?.problem !== "tolerated";
  return status === "up" && judged?.problem === "recovering";
}

/** The part of a state that the shown status and the next ping depend on. */
type ObservedState = Pick<CheckState, "status" | "lastPingAt" | "lastStartAt" | "expectFromAt">;
type ObservedCheck = { timing: Timing; state: ObservedState };

/** When the next success is due; null if nothing is expected or the schedule never fires again. */
export function expectedAt({ timing, state }: ObservedCheck): Instant | null {
  return state.status === "up" ? slotAfter(timing, state) : null;
}

/** The expected time after a signal, and not before the end of a blind interval; null if there is none. */
function slotAfter(
  timing: Timing,
  { lastPingAt, expectFromAt }: Pick<CheckState, "lastPingAt" | "expectFromAt">,
): Instant | null {
  const base = Math.max(lastPingAt ?? -Infinity, expectFromAt ?? -Infinity);
  if (base === -Infinity) return null;
  if (timing.kind === "simple") return base + timing.timeoutSeconds * SECOND_MS;
  const schedule = parseSchedule({ text: timing.schedule, tz: timing.tz });
  if (schedule === null) return null;
  const next = nextAfter(schedule, base);
  const earlyMs = (timing.rules?.earlySeconds ?? 0) * SECOND_MS;
  if (next === null || earlyMs === 0 || lastPingAt === null || next - lastPingAt > earlyMs) return next;
  // In the second half of the gap before it, so that a signal in time never satisfies the next slot, too.
  return nextAfter(schedule, 2 * lastPingAt - next) === next ? nextAfter(schedule, next) : next;
}

/** Start of the run in progress; null if there is none. */
export function startedAt({ state }: ObservedCheck): Instant | null {
  return state.lastStartAt;
}

/**
 * The instant after which a check without pings is down. Null if there is none: the check is down already and its
 * problem is not tolerated, nothing is expected, or it is paused until a manual resume.
 */
export function deadlineOf(check: WatchedCheck): Deadline | null {
  const { timing, state } = check;
  if (state.status !== "down") return deadlineAfter(check, expectedAt(check));
  if (isAlertOpen(state)) return null;
  const { missed, lastStartAt, expectFromAt } = state;
  // A run is counted once: after that, the next one is expected.
  const countedAt = Math.max(
    state.judged?.chain?.deadlines.at(-1)?.at ?? -Infinity,
    expectFromAt ?? -Infinity,
  );
  const isCounted = missed !== null && lastStartAt !== null && lastStartAt <= countedAt;
  const run = isCounted && timing.rules?.maxRunSeconds !== 0 ? { ...state, lastStartAt: null } : state;
  return deadlineAfter({ timing, state: run }, slotAfter(timing, state));
}

function deadlineAfter(check: ObservedCheck, expected: Instant | null): Deadline | null {
  const { timing, state } = check;
  if (ignoresSignals(check)) return null;
  const started = startedAt(check);
  if (started === null) return missedAfter(expected, startLimitMs(timing));
  const maxRun = timing.rules?.maxRunSeconds ?? null;
  if (maxRun === 0) {
    const { lastPingAt, expectFromAt } = state;
    const lastSignalAt = Math.max(lastPingAt ?? started, started);
    return missedAfter(slotAfter(timing, { lastPingAt: lastSignalAt, expectFromAt }), startLimitMs(timing));
  }
  if (maxRun !== null || expected === null || started < expected) {
    return { from: started, at: started + runLimitMs(timing), cause: "overrun" };
  }
  return missedAfter(expected, graceMs(timing));
}

function missedAfter(expected: Instant | null, limitMs: number): Deadline | null {
  return expected === null ? null : { from: expected, at: expected + limitMs, cause: "missed" };
}

/** The longest run; with a limit of 0, which is none, the grace period. */
export function runLimitMs(timing: Timing): number {
  return (timing.rules?.maxRunSeconds || timing.graceSeconds) * SECOND_MS;
}

/**
 * A stored deadline with its beginning and cause, which follow from the run in progress without evaluating the
 * schedule. The store has the same rule in SQL.
 */
export function storedDeadline(
  timing: Timing,
  { downAt, lastStartAt }: { downAt: Instant; lastStartAt: Instant | null },
): Deadline {
  const maxRun = timing.rules?.maxRunSeconds ?? null;
  if (lastStartAt !== null && maxRun !== 0 && downAt === lastStartAt + runLimitMs(timing)) {
    return { from: lastStartAt, at: downAt, cause: "overrun" };
  }
  const limitMs = lastStartAt !== null && maxRun === null ? graceMs(timing) : startLimitMs(timing);
  return { from: downAt - limitMs, at: downAt, cause: "missed" };
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
   * When the next signal is due. During a run that is its start, because the run must end within a limit after it.
   */
  nextPingAt: Instant | null;
  /** The status stays the same before this instant, unless settings or state change. Infinity: for good. */
  until: Instant;
};

/** What to show at `now`. Evaluates the schedule once, which is most of the work. */
export function viewAt(check: ObservedCheck, now: Instant): View {
  const { status } = check.state;
  if (status === "down") return { status, nextPingAt: null, until: Infinity };
  const expected = expectedAt(check);
  const deadline = deadlineAfter(check, expected);
  const nextPingAt = nextPingAfter(check, expected);
  if (deadline === null) return { status, nextPingAt, until: Infinity };
  const lateAt = lateAfter(check, { expected, deadline });
  if (now > deadline.at || (lateAt !== null && now >= lateAt)) {
    return { status: "grace", nextPingAt, until: Infinity };
  }
  return { status, nextPingAt, until: Math.min(deadline.at + 1, lateAt ?? Infinity) };
}

/** When the check becomes late; null: not before its deadline. With a limit for runs, a start is enough. */
function lateAfter(
  check: ObservedCheck,
  { expected, deadline }: { expected: Instant | null; deadline: Deadline },
): Instant | null {
  if (!isRunLimited(check)) return expected;
  return deadline.cause === "missed" && check.state.status === "up" ? deadline.from : null;
}

/** Whether a run is in progress that has its own limit, or explicitly none, instead of the grace period. */
function isRunLimited(check: ObservedCheck): boolean {
  return startedAt(check) !== null && (check.timing.rules?.maxRunSeconds ?? null) !== null;
}

/** API version 1 shows a run in progress as a separate status, whatever the stored one is. */
export function viewWithStartedAt(check: ObservedCheck, now: Instant): View<ShownStatus | "started"> {
  const view = viewAt(check, now);
  const until = startedUntil(check);
  return now < until ? { ...view, status: "started", until } : view;
}

function startedUntil(check: ObservedCheck): Instant {
  const started = startedAt(check);
  if (started === null) return -Infinity;
  if (check.timing.rules?.maxRunSeconds !== 0) return started + runLimitMs(check.timing);
  if (check.state.status === "down") return -Infinity;
  return deadlineAfter(check, expectedAt(check))?.at ?? Infinity;
}

function nextPingAfter(check: ObservedCheck, expected: Instant | null): Instant | null {
  if (check.state.status === "paused") return null;
  const started = startedAt(check);
  if (expected === null || started === null || isRunLimited(check)) return started ?? expected;
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
  { timing, state, downAt }: { timing: Timing; state: Pick<CheckState, "status">; downAt: Instant | null },
  now: Instant,
): boolean {
  return (
    downAt !== null &&
    state.status !== "down" &&
    now >= downAt - Math.max(graceMs(timing), startLimitMs(timing))
  );
}

/**
 * Same as `statusAt`, but evaluates the schedule only if the stored deadline requires it: for few of ten
 * thousand checks.
 */
export function quickStatusAt(check: WatchedCheck & { downAt: Instant | null }, now: Instant): ShownStatus {
  return mayBeLate(check, now) ? statusAt(check, now) : check.state.status;
}
