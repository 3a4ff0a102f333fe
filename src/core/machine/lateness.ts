// How late a run was, told after the event from its neighbours in history. The machine itself knows only the deadline;
// this is for drawing, and decides nothing.
import type { Instant } from "../instant.ts";
import { NEW_STATE } from "./state.ts";
import { expectedAt, graceMs, type Timing } from "./status.ts";

/** The run in question, and when the run before it had ended. */
export type PlacedRun = { previousEndAt: Instant; startAt: Instant | null; endAt: Instant };

/** How long after the expected time the run began, or ended where nobody told its beginning; never below zero. */
export function latenessMs(timing: Timing, { previousEndAt, startAt, endAt }: PlacedRun): number {
  const expected = dueAfter(timing, previousEndAt);
  return expected === null ? 0 : Math.max(0, (startAt ?? endAt) - expected);
}

/** Late is what has used more than half of its grace: a job that takes a moment is not late every time. */
export function isLateRun(timing: Timing, run: PlacedRun): boolean {
  return latenessMs(timing, run) > graceMs(timing) / 2;
}

/** When the next success is due after a success at an instant; null: never again. */
export function dueAfter(timing: Timing, at: Instant): Instant | null {
  return expectedAt({ timing, state: { ...NEW_STATE, status: "up", lastPingAt: at } });
}
