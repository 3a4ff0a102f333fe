// Owes messages, inside the transaction of what they are about: whoever writes a flip calls this, so that there is
// never a flip without its deliveries. Sending is deliver.ts.
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

/** Owes flips that were written in this transaction, in their order. Those that are no news cost nothing. */
export async function planDeliveries(
  tx: Tx,
  flips: readonly { checkId: number; flipId: number; flip: Flip }[],
  at: Instant,
): Promise<void> {
  const notified = flips.filter(({ flip }) => isNotified(flip));
  if (notified.length > 0) await insertFlipDeliveries(tx, { flips: notified, at });
}

/** Owes the notices of deadlines that our blindness excused: one for each channel and blind time. */
export async function planNotices(
  tx: Tx,
  notices: readonly { checkId: number; blind: Interval }[],
  at: Instant,
): Promise<void> {
  if (notices.length > 0) await insertNoticeDeliveries(tx, { notices, at, notifyAt: at + NOTICE_FOLD_MS });
}

/** Flips that were taken back in this transaction are told no more; who was told is owed a correction. */
export async function retractDeliveries(tx: Tx, flipIds: readonly number[], at: Instant): Promise<void> {
  if (flipIds.length > 0) await retractFlipDeliveries(tx, { flipIds, at });
}

/** Owes a test message to a channel, or to each member of a group; returns the ids of the deliveries. */
export function planTest(tx: Tx, test: { channelId: number; at: Instant }): Promise<number[]> {
  return insertTestDeliveries(tx, test);
}
