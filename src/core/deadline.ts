// When a missed deadline takes a check down, and when a monitoring gap excuses it. The caller passes what has
// been received so far; no clock is read here.
import type { AlertChange } from "./alert.ts";
import { type Instant, type Interval, SECOND_MS } from "./instant.ts";
import { EXCUSE_CHAIN_MS_MAX, EXCUSE_MS_MAX } from "./limits.ts";
import {
  type CheckState,
  type Deadline,
  deadlineOf,
  type Flip,
  graceMs,
  startLimitMs,
  type WatchedCheck,
} from "./state.ts";
import { alertChanges, judgeMissed, NO_ALERTS } from "./tolerance.ts";

/**
 * Up to when all received signals have been applied, and when none could be received. Both parts are read in
 * one snapshot: with a watermark newer than the list, a deadline could fire that a missing interval excuses.
 */
export type Visibility = {
  /** All signals received before this instant have been applied. Null: unknown, so nothing fires. */
  watermarkAt: Instant | null;
  /**
   * Intervals in which no pings could be received ("blind"), ordered by start, back to the oldest deadline in
   * question.
   */
  blind: readonly BlindTime[];
};

export type BlindTime = Interval & {
  /**
   * Pings of this check were rejected or quarantined then. One of them may have been the missing success, so
   * the interval counts from the newest applied ping on, not only from the expected time on.
   */
  isOwn?: boolean;
};

/** The visibility of one check: adds the intervals that concern it alone. */
export function visibilityOf(visibility: Visibility, own: readonly BlindTime[]): Visibility {
  if (own.length === 0) return visibility;
  return {
    ...visibility,
    blind: [...visibility.blind, ...own].toSorted((one, other) => one.from - other.from),
  };
}

/** An excused deadline: no flip, but one notice per channel and blind interval. */
export type Notice = { deadline: Deadline; blind: Interval };

export type DeadlineOutcome =
  | { kind: "none" }
  /** Null: until pings can be received again. */
  | { kind: "waits"; untilAt: Instant | null }
  /** No flip if the check was down before. */
  | { kind: "fired"; state: CheckState; flip: Flip | null; alerts: readonly AlertChange[] }
  | { kind: "excused"; state: CheckState; notice: Notice };

/** A deadline adjusted for blind intervals. */
type ExtendedDeadline = {
  deadline: Deadline;
  /** When it fires; later than the deadline where jobs get time for retries. */
  firesAt: Instant;
  /** The blind interval that excuses the job; null if there is none. */
  excuse: Interval | null;
  /** No pings can be received right now, so a missing ping means nothing. */
  isBlindNow: boolean;
};

/**
 * The deadline of a check adjusted for blind intervals; null if nothing is expected. A blind interval between
 * expected time and deadline moves the deadline to leave time for retries; one that overlaps the retries
 * moves it again, but only up to a limit, so that an alert is sent in the end.
 */
export function extendedDeadline(check: WatchedCheck, blind: readonly BlindTime[]): ExtendedDeadline | null {
  const deadline = deadlineOf(check);
  if (deadline === null) return null;
  const retryMs = Math.min(graceMs(check.timing), EXCUSE_MS_MAX);
  const { lastPingAt, expectFromAt } = check.state;
  const answeredAt = Math.max(lastPingAt ?? -Infinity, expectFromAt ?? -Infinity);
  let firesAt = deadline.at;
  let excuse: Interval | null = null;
  let seenAgainAt = -Infinity;
  for (const interval of blind) {
    const lastChanceAt = Math.min(firesAt, deadline.at + EXCUSE_CHAIN_MS_MAX);
    if (interval.from > lastChanceAt) continue;
    if (interval.to === null) return { deadline, firesAt, excuse, isBlindNow: true };
    const isAnswer = interval.isOwn && deadline.cause !== "overrun";
    if (isAnswer ? interval.to <= answeredAt : interval.to < deadline.from) continue;
    firesAt = Math.max(firesAt, interval.to + retryMs);
    // Blind intervals of several intakes can overlap: the end of the last one counts.
    if (interval.to > seenAgainAt) {
      seenAgainAt = interval.to;
      excuse = { from: interval.from, to: interval.to };
    }
  }
  return { deadline, firesAt, excuse, isBlindNow: false };
}

/** The deadline passed without excuse: the check is down. */
export function fireDeadline(
  { timing, state }: WatchedCheck,
  deadline: Deadline,
): Extract<DeadlineOutcome, { kind: "fired" }> {
  const { at, cause } = deadline;
  const from = state.status;
  // From the missed slot on. The slots during a run that took too long were not watched.
  const expectFromAt = cause === "overrun" ? at : at - startLimitMs(timing);
  const judged = judgeMissed(state, timing.rules, { deadline, expectFromAt });
  const isRepeated = from === "down" && (state.judged?.missed ?? 0) > 0;
  const after: CheckState = {
    ...state,
    status: "down",
    missed: isRepeated && state.missed !== null ? state.missed : { deadlineAt: at, from },
    judged,
    expectFromAt: judged?.problem === "tolerated" ? expectFromAt : null,
  };
  const flip: Flip | null = from === "down" ? null : { at, from, to: "down", reason: "timeout" };
  const alerts = alertChanges({ before: state, after }, { at, flip, opens: cause, closes: "recovered" });
  return { kind: "fired", state: after, flip, alerts };
}

/** The missing ping may be caused by our outage: expectation starts again at the end of the blind interval. */
function excuseDeadline({ state }: WatchedCheck, notice: Notice): DeadlineOutcome {
  // A run whose end may have been missed is dropped; one that began after the expected time keeps its
  // deadline.
  const run = notice.deadline.cause === "overrun" ? { lastStartAt: null, lastStartRid: null } : {};
  return { kind: "excused", state: { ...state, ...run, expectFromAt: notice.blind.to }, notice };
}

/**
 * Applies the next deadline of a check. The result does not depend on when it is called: the flip carries the
 * time of the deadline.
 *
 * @internal Only tests use it.
 */
export function applyDeadline(check: WatchedCheck, visibility: Visibility): DeadlineOutcome {
  const extended = extendedDeadline(check, visibility.blind);
  return extended === null ? { kind: "none" } : settleDeadline(check, extended, visibility.watermarkAt);
}

function settleDeadline(
  check: WatchedCheck,
  { deadline, firesAt, excuse, isBlindNow }: ExtendedDeadline,
  watermarkAt: Instant | null,
): DeadlineOutcome {
  if (isBlindNow) return { kind: "waits", untilAt: null };
  if (watermarkAt === null || firesAt >= watermarkAt) return { kind: "waits", untilAt: firesAt };
  return excuse === null ? fireDeadline(check, deadline) : excuseDeadline(check, { deadline, blind: excuse });
}

/** The deadlines of a check that passed before an instant, and the resulting state. */
export type PassedDeadlines = {
  state: CheckState;
  flips: readonly Flip[];
  alerts: readonly AlertChange[];
  notices: readonly Notice[];
  /** Deadlines that passed while the check was down: no flip, but an event in the history. */
  repeated: readonly Deadline[];
  /** A deadline before the instant whose outcome is not known yet. */
  unobserved: Deadline | null;
};

/** No deadline passed. */
export function nonePassed(state: CheckState): PassedDeadlines {
  return { state, flips: [], alerts: NO_ALERTS, notices: [], repeated: [], unobserved: null };
}

/**
 * Applies every deadline before an instant, exactly as the sweeper would have: the result must not depend on
 * whether the sweeper, a signal or an edit comes first.
 */
export function passDeadlines(
  { timing, state: before }: WatchedCheck,
  { visibility, beforeAt }: { visibility: Visibility; beforeAt: Instant },
): PassedDeadlines {
  const flips: Flip[] = [];
  const alerts: AlertChange[] = [];
  const notices: Notice[] = [];
  const repeated: Deadline[] = [];
  let state = before;
  // Each excuse ends with a blind interval, and each miss brings the alert closer, so there are at most as many rounds
  // as intervals and tolerated misses, plus one run.
  const roundsMax = visibility.blind.length + 1 + (timing.rules?.missed ?? 1);
  for (let round = 0; round <= roundsMax; round += 1) {
    const extended = extendedDeadline({ timing, state }, visibility.blind);
    if (extended === null || beforeAt <= extended.firesAt) break;
    const outcome = settleDeadline({ timing, state }, extended, visibility.watermarkAt);
    if (outcome.kind === "fired") {
      if (outcome.flip === null) repeated.push(extended.deadline);
      else flips.push(outcome.flip);
      alerts.push(...outcome.alerts);
    } else if (outcome.kind === "excused") notices.push(outcome.notice);
    else return { state, flips, alerts, notices, repeated, unobserved: extended.deadline };
    state = outcome.state;
  }
  return { state, flips, alerts, notices, repeated, unobserved: null };
}

/** While no pings can be received, the sweeper looks again after this time. */
const BLIND_LOOK_MS = 10 * SECOND_MS;

export type Sweep = Omit<PassedDeadlines, "unobserved"> & {
  /** The deadline to store; null if there is none. */
  downAt: Instant | null;
  /** When the sweeper has to look again; null: not until a deadline is written. */
  lookAt: Instant | null;
};

/** Applies all deadlines before the watermark, and returns when the sweeper has to look again. */
export function sweepCheck(
  check: WatchedCheck,
  { visibility, now }: { visibility: Visibility; now: Instant },
): Sweep {
  const { unobserved: _, ...passed } = passDeadlines(check, { visibility, beforeAt: Infinity });
  const left = extendedDeadline({ timing: check.timing, state: passed.state }, visibility.blind);
  if (left === null) return { ...passed, downAt: null, lookAt: null };
  const { deadline, firesAt, isBlindNow } = left;
  const lookAt = isBlindNow ? Math.max(firesAt, now + BLIND_LOOK_MS) : firesAt;
  return { ...passed, downAt: deadline.at, lookAt };
}
