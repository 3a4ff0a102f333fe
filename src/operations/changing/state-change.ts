// What a command or an edit does to the running state of a locked check: asked of core, then written with its
// flips, what is owed for them, and its line in the history. A ping that waits for the lock finds all of it or nothing.
import type { Instant } from "../../core/instant.ts";
import type { Passage } from "../../core/machine/deadline.ts";
import type { Flip } from "../../core/machine/state.ts";
import { downAt, sweepAt, type Timing } from "../../core/machine/status.ts";
import { type StoredState, writeStates } from "../../store/checks/check-states.ts";
import { type CheckEvent, insertEvents } from "../../store/history/events.ts";
import { insertFlips } from "../../store/history/flips.ts";
import { notObservedEvents } from "../recording/not-observed.ts";
import type { Tx } from "../../store/transaction.ts";
import { planDeliveries, planNotices } from "../alerts/plan-deliveries.ts";

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
  const { stored, timing, state, flips, notices, unseen, event, at } = change;
  const { checkId } = stored;
  const deadline = downAt({ timing, state });
  const mark = sweepAt({ current: stored.sweepAt, deadline });
  const next = { ...stored, state, downAt: deadline, sweepAt: mark };
  const isSame = state === stored.state && deadline === stored.downAt && mark === stored.sweepAt;
  if (!isSame) await writeStates(tx, [next]);
  if (flips.length > 0) await writeFlips(tx, { checkId, flips, at });
  const excused = notices.map(({ blind }) => ({ checkId, blind }));
  await planNotices(tx, excused, at);
  const events = notObservedEvents(checkId, { notices, unseen });
  const told = event === null ? events : [...events, { checkId, at, ...event }];
  if (told.length > 0) await insertEvents(tx, told);
  return next;
}

async function writeFlips(
  tx: Tx,
  { checkId, flips, at }: { checkId: number; flips: readonly Flip[]; at: Instant },
): Promise<void> {
  const written = flips.map((flip) => ({ checkId, flip }));
  const flipIds = await insertFlips(tx, written);
  await planDeliveries(
    tx,
    written.map((one, index) => ({ ...one, flipId: flipIds[index] ?? 0 })),
    at,
  );
}
