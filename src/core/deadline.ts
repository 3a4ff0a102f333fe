// What silence does to a check: when a deadline may fire, when our own blindness excuses the job, and
// what each of the two leaves behind. The caller says how far it has seen; no clock is read here.
import { type Instant, type Interval, SECOND_MS } from "./instant.ts";
import { EXCUSE_CHAIN_MS_MAX, EXCUSE_MS_MAX } from "./limits.ts";
import {
  type CheckState,
  type Deadline,
  deadlineOf,
  type Flip,
  graceMs,
  type WatchedCheck,
} from "./state.ts";

/**
 * How far we have seen: the caller reads it from the intakes, both parts in one snapshot, because a watermark
 * that is newer than the list would let a deadline fire that a missing interval excuses.
 */
export type Visibility = {
  /** Everything received before this instant has been applied. Null: nobody can tell, nothing fires. */
  watermarkAt: Instant | null;
  /** Times in which we could not receive, oldest beginning first, back to the oldest deadline in question. */
  blind: readonly BlindTime[];
};

export type BlindTime = Interval & {
  /**
   * Pings of this very check were refused or quarantined then. One of them may have been the success that is missing,
   * so it counts from the newest applied ping on, and not only from the expected time on.
   */
  isOwn?: boolean;
};

/** The sight of one check: what nobody could receive, and what was not received for this check alone. */
export function visibilityOf(visibility: Visibility, own: readonly BlindTime[]): Visibility {
  if (own.length === 0) return visibility;
  return {
    ...visibility,
    blind: [...visibility.blind, ...own].toSorted((one, other) => one.from - other.from),
  };
}

/** We could not watch: no flip, but people are told once per channel and blind interval. */
export type Notice = { deadline: Deadline; blind: Interval };

export type DeadlineOutcome =
  | { kind: "none" }
  /** Null: until we can receive again. */
  | { kind: "waits"; untilAt: Instant | null }
  | { kind: "fired"; state: CheckState; flip: Flip }
  | { kind: "excused"; state: CheckState; notice: Notice };

/** A deadline with our own blindness taken into account. */
type ExtendedDeadline = {
  deadline: Deadline;
  /** When it fires; later than the deadline itself where jobs get room for retries. */
  firesAt: Instant;
  /** The blind interval that excuses the job; null: it has no excuse. */
  excuse: Interval | null;
  /** We cannot receive right now, so nothing can be said about silence. */
  isBlindNow: boolean;
};

/**
 * The deadline of a check after excuses; null when nothing is awaited. A blind interval that touches the time
 * between expectation and deadline moves the deadline to give room for retries; one that touches the retries
 * moves it again, but not for ever: somebody has to be told in the end.
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
    // Intakes can be blind at the same time: what counts is when the last of them could see again.
    if (interval.to > seenAgainAt) {
      seenAgainAt = interval.to;
      excuse = { from: interval.from, to: interval.to };
    }
  }
  return { deadline, firesAt, excuse, isBlindNow: false };
}

/** Silence has passed the deadline and nothing in it can be blamed on us: the check is down. */
function fireDeadline({ state }: WatchedCheck, deadline: Deadline): DeadlineOutcome {
  const from = state.status;
  return {
    kind: "fired",
    state: { ...state, status: "down", silence: { deadlineAt: deadline.at, from }, expectFromAt: null },
    flip: { at: deadline.at, from, to: "down", reason: "timeout" },
  };
}

/** Silence that we may have caused ourselves: expect anew from when we could see again. */
function excuseDeadline({ state }: WatchedCheck, notice: Notice): DeadlineOutcome {
  // A run whose end we may have missed is forgotten; one that began after the expected time keeps its deadline.
  const run = notice.deadline.cause === "overrun" ? { lastStartAt: null, lastStartRid: null } : {};
  return { kind: "excused", state: { ...state, ...run, expectFromAt: notice.blind.to }, notice };
}

/**
 * What the passing of time has done to a check, as far as we can see: one deadline at a time. Asked earlier or
 * later, the answer is the same: the flip carries the deadline's own time.
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

/** What a check has been through by an instant. */
export type PassedDeadlines = {
  state: CheckState;
  flips: readonly Flip[];
  notices: readonly Notice[];
  /** A deadline that lies before the instant, but of which we cannot tell yet whether it was kept. */
  unobserved: Deadline | null;
};

/**
 * Every deadline that lies before an instant, as the sweeper would have found them one by one: nothing may
 * depend on who was quicker, the sweeper, a signal or an edit.
 */
export function passDeadlines(
  { timing, state: before }: WatchedCheck,
  { visibility, beforeAt }: { visibility: Visibility; beforeAt: Instant },
): PassedDeadlines {
  const notices: Notice[] = [];
  let state = before;
  // An excuse ends where a blind interval ends, so there are at most as many as intervals, and one run more.
  for (let round = 0; round <= visibility.blind.length + 1; round += 1) {
    const extended = extendedDeadline({ timing, state }, visibility.blind);
    if (extended === null || beforeAt <= extended.firesAt) break;
    const outcome = settleDeadline({ timing, state }, extended, visibility.watermarkAt);
    if (outcome.kind === "fired") {
      return { state: outcome.state, flips: [outcome.flip], notices, unobserved: null };
    }
    if (outcome.kind !== "excused") return { state, flips: [], notices, unobserved: extended.deadline };
    state = outcome.state;
    notices.push(outcome.notice);
  }
  return { state, flips: [], notices, unobserved: null };
}

// What the sweeper makes of a check that it has locked: everything that has become due, and where to look again. It
// only asks deadline.ts; a signal that comes first finds the same.

/** While nobody can receive, nobody can say until when: the sweeper looks again after this. */
const BLIND_LOOK_MS = 10 * SECOND_MS;

export type Sweep = Pick<PassedDeadlines, "state" | "flips" | "notices"> & {
  /** The stored copy of the deadline; null: silence means nothing any more. */
  downAt: Instant | null;
  /** When the sweeper has to look again; null: not before somebody writes a deadline. */
  lookAt: Instant | null;
};

/** Lets every deadline pass that may, as far as can be seen. What is left lies beyond that, or is null. */
export function sweepCheck(
  check: WatchedCheck,
  { visibility, now }: { visibility: Visibility; now: Instant },
): Sweep {
  const { state, flips, notices } = passDeadlines(check, { visibility, beforeAt: Infinity });
  const left = extendedDeadline({ timing: check.timing, state }, visibility.blind);
  if (left === null) return { state, flips, notices, downAt: null, lookAt: null };
  const { deadline, firesAt, isBlindNow } = left;
  const lookAt = isBlindNow ? Math.max(firesAt, now + BLIND_LOOK_MS) : firesAt;
  return { state, flips, notices, downAt: deadline.at, lookAt };
}
