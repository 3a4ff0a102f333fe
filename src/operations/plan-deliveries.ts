// Writes what has to be notified, in the transaction of the change: alerts with their flips, from which the planner
// creates deliveries (plan-alerts.ts), and deliveries of notices and tests.
import type { AlertChange } from "../core/alert.ts";
import type { Instant, Interval } from "../core/instant.ts";
import { NOTICE_FOLD_MS } from "../core/limits.ts";
import type { Flip } from "../core/state.ts";
import { type SweptTimes, writeAlerts } from "../store/alerts.ts";
import { insertFlips, retractFlip } from "../store/flips.ts";
import { insertNoticeDeliveries, insertTestDeliveries } from "../store/planning.ts";
import type { Tx } from "../store/transaction.ts";

export type StatusChanges = {
  flips: readonly { checkId: number; flip: Flip }[];
  alerts: readonly { checkId: number; change: AlertChange }[];
  /** Deadlines whose flip a signal has retracted. */
  retracted?: readonly { checkId: number; deadlineAt: Instant; at: Instant }[];
  /** Only from the sweeper. */
  swept?: SweptTimes;
};

/** Writes flips and alerts of checks that this transaction has locked. */
export async function writeStatusChanges(
  tx: Tx,
  { flips, alerts, retracted = [], swept }: StatusChanges,
): Promise<void> {
  // Sent together. A batch may retract a flip that it has inserted itself.
  const [flipIds, retractedIds] = await Promise.all([
    flips.length > 0 ? insertFlips(tx, flips) : [],
    Promise.all(retracted.map((flip) => retractFlip(tx, flip))),
  ]);
  if (alerts.length === 0) return;
  const idOf = new Map(flips.map(({ flip }, index) => [flip, flipIds[index] ?? null]));
  const retractedOf = new Map(retracted.map(({ checkId }, index) => [checkId, retractedIds[index] ?? null]));
  const written = alerts.map(({ checkId, change }) => {
    const isTakenBack = change.kind === "closed" && change.cause === "takenBack";
    const flipId = change.flip === null ? null : (idOf.get(change.flip) ?? null);
    return { checkId, change, flipId: isTakenBack ? (retractedOf.get(checkId) ?? null) : flipId };
  });
  await writeAlerts(tx, written, swept ?? null);
}

/** Plans notices about deadlines excused by a monitoring gap: one per channel and gap. */
export async function planNotices(
  tx: Tx,
  notices: readonly { checkId: number; blind: Interval }[],
  at: Instant,
): Promise<void> {
  if (notices.length > 0) await insertNoticeDeliveries(tx, { notices, at, notifyAt: at + NOTICE_FOLD_MS });
}

/** Plans a test message to a channel, or to each member of a group; returns the delivery ids. */
export function planTest(tx: Tx, test: { channelId: number; at: Instant }): Promise<number[]> {
  return insertTestDeliveries(tx, test);
}
