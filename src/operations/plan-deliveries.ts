// Inserts deliveries in the transaction that writes the flip or notice, so that no flip is without its
// deliveries. deliveries.ts sends them.
import type { Instant, Interval } from "../core/instant.ts";
import { NOTICE_FOLD_MS } from "../core/limits.ts";
import type { Flip } from "../core/state.ts";
import { isNotified } from "../core/transition.ts";
import {
  insertFlipDeliveries,
  insertNoticeDeliveries,
  insertTestDeliveries,
  retractFlipDeliveries,
} from "../store/deliveries.ts";
import type { Tx } from "../store/transaction.ts";

/**
 * Plans deliveries for flips inserted in this transaction, in order. Flips that notify no one are skipped.
 */
export async function planDeliveries(
  tx: Tx,
  flips: readonly { checkId: number; flipId: number; flip: Flip }[],
  at: Instant,
): Promise<void> {
  const notified = flips.filter(({ flip }) => isNotified(flip));
  if (notified.length > 0) await insertFlipDeliveries(tx, { flips: notified, at });
}

/** Plans notices about deadlines excused by a monitoring gap: one per channel and gap. */
export async function planNotices(
  tx: Tx,
  notices: readonly { checkId: number; blind: Interval }[],
  at: Instant,
): Promise<void> {
  if (notices.length > 0) await insertNoticeDeliveries(tx, { notices, at, notifyAt: at + NOTICE_FOLD_MS });
}

/** Withdraws unsent deliveries of retracted flips, and plans corrections for those that were sent. */
export async function retractDeliveries(tx: Tx, flipIds: readonly number[], at: Instant): Promise<void> {
  if (flipIds.length > 0) await retractFlipDeliveries(tx, { flipIds, at });
}

/** Plans a test message to a channel, or to each member of a group; returns the delivery ids. */
export function planTest(tx: Tx, test: { channelId: number; at: Instant }): Promise<number[]> {
  return insertTestDeliveries(tx, test);
}
