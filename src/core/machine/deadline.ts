// What silence does to a check: when a deadline may fire, when our own blindness excuses the job, and
// what each of the two leaves behind. The caller says how far it has seen; no clock is read here.
import { HOUR_MS, type Instant, type Interval } from "../instant.ts";
import type { CheckState, Flip } from "./state.ts";
import { type Deadline, deadlineOf, graceMs, type WatchedCheck } from "./status.ts";

/** Jobs get this long for retries after we could not receive, or their grace if that is shorter. */
export const EXCUSE_MS_MAX = HOUR_MS;

/** How far we have seen: the caller reads it from the intakes. */
export type Sight = {
  /** Everything received before this instant has been applied. Null: nobody can tell, nothing fires. */
  watermarkAt: Instant | null;
  /** Times in which we could not receive, oldest first. */
  blind: readonly Interval[];
};

/** We could not watch: no flip, but people are told once per channel and blind interval. */
export type Notice = { deadline: Deadline; blind: Interval };

export type DeadlineOutcome =
  | { kind: "none" }
  | { kind: "waits"; untilAt: Instant }
  | { kind: "fired"; state: CheckState; flip: Flip }
  | { kind: "excused"; state: CheckState; notice: Notice };

type Extended = { at: Instant; blind: Interval | null; open: boolean };

/**
 * The deadline after excuses. A blind interval that touches the time between expectation and deadline
 * moves the deadline to give room for retries; one that touches the retries moves it again.
 */
function extend(deadline: Deadline, grace: number, blind: readonly Interval[]): Extended {
  let at = deadline.at;
  let last: Interval | null = null;
  for (const interval of blind) {
    if (interval.from > at) continue;
    if (interval.to === null) return { at, blind: interval, open: true };
    if (interval.to < deadline.from) continue;
    at = Math.max(at, interval.to + Math.min(grace, EXCUSE_MS_MAX));
    last = interval;
  }
  return { at, blind: last, open: false };
}

/** The deadline of a check with our own blindness taken into account; null when nothing is awaited. */
export function extendedDeadline(check: WatchedCheck, blind: readonly Interval[]) {
  const deadline = deadlineOf(check);
  if (deadline === null) return null;
  return { deadline, ...extend(deadline, graceMs(check.timing), blind) };
}

/** Silence has passed the deadline and nothing in it can be blamed on us: the check is down. */
function fire({ state }: WatchedCheck, deadline: Deadline): DeadlineOutcome {
  const from = state.status;
  return {
    kind: "fired",
    state: { ...state, status: "down", silence: { deadlineAt: deadline.at, from }, expectFromAt: null },
    flip: { at: deadline.at, from, to: "down", reason: "timeout" },
  };
}

/** Silence that we may have caused ourselves: expect anew from when we could see again. */
function excuse({ state }: WatchedCheck, notice: Notice): DeadlineOutcome {
  // A run whose end we may have missed is forgotten; one that began later keeps its own deadline.
  const run = notice.deadline.cause === "overrun" ? { lastStartAt: null, lastStartRid: null } : {};
  return { kind: "excused", state: { ...state, ...run, expectFromAt: notice.blind.to }, notice };
}

/**
 * What the passing of time has done to a check, as far as we can see. Calling it again, earlier or
 * later, changes nothing: the flip carries the deadline's own time.
 */
export function applyDeadline(check: WatchedCheck, sight: Sight): DeadlineOutcome {
  const extended = extendedDeadline(check, sight.blind);
  if (extended === null) return { kind: "none" };
  const { deadline, at, blind, open } = extended;
  if (open || sight.watermarkAt === null || at >= sight.watermarkAt) return { kind: "waits", untilAt: at };
  return blind === null ? fire(check, deadline) : excuse(check, { deadline, blind });
}
