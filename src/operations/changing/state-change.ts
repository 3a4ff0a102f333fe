// What a command or an edit does to the running state of a locked check: asked of core, then written with its
// flips and its line in the history. A ping that waits for the lock finds all of it or nothing.
import type { Instant } from "../../core/instant.ts";
import { applyDeadline, type Notice, type Sight } from "../../core/machine/deadline.ts";
import type { CheckState, Flip } from "../../core/machine/state.ts";
import { downAt, sweepAt, type Timing, type WatchedCheck } from "../../core/machine/status.ts";
import { type StoredState, writeStates } from "../../store/checks/check-states.ts";
import { type CheckEvent, insertEvents } from "../../store/history/events.ts";
import { insertFlips } from "../../store/history/flips.ts";
import type { Tx } from "../../store/transaction.ts";

/** A state with what has to be told about how it came about. */
export type Passage = { state: CheckState; flips: readonly Flip[]; notices: readonly Notice[] };

/**
 * What the passing of time has done to a check so far, as the sweeper would have found it: an edit must not
 * depend on which of the two was quicker.
 */
export function passDeadlines({ timing, state }: WatchedCheck, sight: Sight): Passage {
  const notices: Notice[] = [];
  let reached = state;
  // Each excuse uses up a blind interval, and behind it another deadline may have passed.
  for (let excuses = 0; excuses <= sight.blind.length; excuses++) {
    const outcome = applyDeadline({ timing, state: reached }, sight);
    if (outcome.kind === "fired") return { state: outcome.state, flips: [outcome.flip], notices };
    if (outcome.kind !== "excused") break;
    reached = outcome.state;
    notices.push(outcome.notice);
  }
  return { state: reached, flips: [], notices };
}

export type StateChange = Passage & {
  /** What is stored now, and locked. */
  stored: StoredState;
  /** The settings that hold from now on. */
  timing: Timing;
  /** What was done, for the history; null when nobody did anything worth a line. */
  event: Pick<CheckEvent, "kind" | "accountId" | "detail"> | null;
  at: Instant;
};

/** Writes a changed state, its deadline under the settings that hold now, its flips and its events. */
export async function writeStateChange(tx: Tx, change: StateChange): Promise<StoredState> {
  const { stored, timing, state, flips, notices, event, at } = change;
  const { checkId } = stored;
  const deadline = downAt({ timing, state });
  const mark = sweepAt({ current: stored.sweepAt, deadline });
  const next = { ...stored, state, downAt: deadline, sweepAt: mark };
  const isSame = state === stored.state && deadline === stored.downAt && mark === stored.sweepAt;
  if (!isSame) await writeStates(tx, [next]);
  if (flips.length > 0)
    await insertFlips(
      tx,
      flips.map((flip) => ({ checkId, flip })),
    );
  const events = notices.map(({ deadline: unseen, blind }) => {
    return { checkId, at, kind: "not_observed", accountId: null, detail: { ...unseen, blind } };
  });
  const told = event === null ? events : [...events, { checkId, at, ...event }];
  if (told.length > 0) await insertEvents(tx, told);
  return next;
}
