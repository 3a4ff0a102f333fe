// What the sweeper makes of a check that it has locked: everything that has become due, and where to look again. It
// only asks deadline.ts; a signal that comes first finds the same.
import type { Instant } from "../instant.ts";
import { SECOND_MS } from "../instant.ts";
import { extendedDeadline, type Passage, passDeadlines, type Sight } from "./deadline.ts";
import type { WatchedCheck } from "./status.ts";

/** While nobody can receive, nobody can say until when: the sweeper looks again after this. */
const BLIND_LOOK_MS = 10 * SECOND_MS;

export type Sweep = Pick<Passage, "state" | "flips" | "notices"> & {
  /** The stored copy of the deadline; null: silence means nothing any more. */
  downAt: Instant | null;
  /** When the sweeper has to look again; null: not before somebody writes a deadline. */
  lookAt: Instant | null;
};

/** Lets every deadline pass that may, as far as can be seen. What is left lies beyond that, or is null. */
export function sweepCheck(check: WatchedCheck, { sight, now }: { sight: Sight; now: Instant }): Sweep {
  const { state, flips, notices } = passDeadlines(check, { sight, beforeAt: Infinity });
  const left = extendedDeadline({ timing: check.timing, state }, sight.blind);
  if (left === null) return { state, flips, notices, downAt: null, lookAt: null };
  const { deadline, firesAt, isBlindNow } = left;
  const lookAt = isBlindNow ? Math.max(firesAt, now + BLIND_LOOK_MS) : firesAt;
  return { state, flips, notices, downAt: deadline.at, lookAt };
}
