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
  const next = nextOf(change);
  await write(tx, { changes: [{ ...change, next }], at: change.at });
  return next;
}

/** The same for several checks at one instant, in as many statements as for one. */
export async function writeStateChanges(
  tx: Tx,
  { changes, at }: { changes: readonly Omit<StateChange, "at">[]; at: Instant },
): Promise<void> {
  await write(tx, { changes: changes.map((change) => ({ ...change, next: nextOf(change) })), at });
}

function nextOf({ stored, timing, state }: Pick<StateChange, "stored" | "timing" | "state">): StoredState {
  const deadline = downAt({ timing, state });
  return { ...stored, state, downAt: deadline, sweepAt: sweepAt({ current: stored.sweepAt, deadline }) };
}

type Planned = Omit<StateChange, "at"> & { next: StoredState };

function isOther({ stored, next }: Planned): boolean {
  return next.state !== stored.state || next.downAt !== stored.downAt || next.sweepAt !== stored.sweepAt;
}

async function write(tx: Tx, { changes, at }: { changes: readonly Planned[]; at: Instant }): Promise<void> {
  const states = changes.filter(isOther).map(({ next }) => next);
  if (states.length > 0) await writeStates(tx, states);
  const flips = changes.flatMap(({ stored: { checkId }, flips: of }) =>
    of.map((flip) => ({ checkId, flip })),
  );
  if (flips.length > 0) await writeFlips(tx, { flips, at });
  const excused = changes.flatMap(({ stored: { checkId }, notices }) =>
    notices.map(({ blind }) => ({ checkId, blind })),
  );
  await planNotices(tx, excused, at);
  const events = changes.flatMap(({ stored: { checkId }, event, ...passage }) => {
    const unobserved = notObservedEvents(checkId, passage);
    return event === null ? unobserved : [...unobserved, { checkId, at, ...event }];
  });
  if (events.length > 0) await insertEvents(tx, events);
}

async function writeFlips(
  tx: Tx,
  { flips: written, at }: { flips: readonly { checkId: number; flip: Flip }[]; at: Instant },
): Promise<void> {
  const flipIds = await insertFlips(tx, written);
  await planDeliveries(
    tx,
    written.map((one, index) => ({ ...one, flipId: flipIds[index] ?? 0 })),
    at,
  );
}
