// What becomes of checks that the sweeper has locked: asks core, and collects what has to be written. It reads and
// writes nothing itself.
import { type Instant, type Interval, MINUTE_MS } from "../../../core/instant.ts";
import type { Sight } from "../../../core/machine/deadline.ts";
import type { Flip } from "../../../core/machine/state.ts";
import type { Timing } from "../../../core/machine/status.ts";
import { sweepCheck } from "../../../core/machine/sweep.ts";
import type { StoredState } from "../../../store/checks/check-states.ts";
import type { SweepMove } from "../../../store/checks/sweeping.ts";
import type { CheckEvent } from "../../../store/history/events.ts";
import { notObservedEvents } from "../../recording/not-observed.ts";

/** A deleted check that may still be taken back is looked at so often, and nothing else happens to it. */
const DELETED_LOOK_MS = 10 * MINUTE_MS;

export type SweepMoment = { now: Instant; sight: Sight };

/** Everything that a batch of due checks writes. */
export type DueWrites = {
  states: StoredState[];
  moves: SweepMove[];
  flips: { checkId: number; flip: Flip }[];
  notices: { checkId: number; blind: Interval }[];
  events: Omit<CheckEvent, "id">[];
};

/** The deadline lies beyond what can be seen, or is none: no schedule has to be read to know that. */
export function isOnlyMoved({ downAt }: StoredState, { watermarkAt }: Sight): boolean {
  return downAt === null || watermarkAt === null || downAt >= watermarkAt;
}

/** Judges locked checks. `timings` holds those of all that are more than moved, without the deleted ones. */
export function judgeDue(
  due: readonly StoredState[],
  {
    moment,
    timings,
    sightOf,
  }: {
    moment: SweepMoment;
    timings: ReadonlyMap<number, Timing>;
    /** How far can be seen for a check, with the refusals that concern it alone. */
    sightOf: (checkId: number) => Sight;
  },
): DueWrites {
  const writes: DueWrites = { states: [], moves: [], flips: [], notices: [], events: [] };
  for (const stored of due) {
    const { checkId } = stored;
    const timing = timings.get(checkId);
    if (isOnlyMoved(stored, moment.sight)) writes.moves.push({ checkId, sweepAt: stored.downAt });
    else if (timing === undefined) {
      const lookAt = moment.now + DELETED_LOOK_MS;
      writes.moves.push({ checkId, sweepAt: lookAt, heldUntilAt: lookAt });
    } else judgeOne(writes, { stored, timing, moment: { ...moment, sight: sightOf(checkId) } });
  }
  return writes;
}

function judgeOne(
  writes: DueWrites,
  { stored, timing, moment }: { stored: StoredState; timing: Timing; moment: SweepMoment },
): void {
  const { checkId } = stored;
  const { state, flips, notices, downAt, lookAt } = sweepCheck({ timing, state: stored.state }, moment);
  if (state === stored.state) {
    // Silence would mean nothing from now on, and nobody would ever hear of it.
    if (downAt === null) throw new Error("the deadline of the check can no longer be calculated");
    if (downAt === stored.downAt) {
      const heldUntilAt = lookAt !== null && lookAt > downAt ? lookAt : null;
      writes.moves.push({ checkId, sweepAt: lookAt, heldUntilAt });
      return;
    }
  }
  // Where it has to wait beyond the next deadline, the next look moves it on.
  writes.states.push({ ...stored, state, downAt, sweepAt: downAt });
  for (const flip of flips) writes.flips.push({ checkId, flip });
  for (const { blind } of notices) writes.notices.push({ checkId, blind });
  writes.events.push(...notObservedEvents(checkId, { notices, unseen: null }));
}
