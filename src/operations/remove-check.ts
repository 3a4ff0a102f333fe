// Removes a check for good, with everything that was recorded about it. No table of the history has a foreign
// key, so this is the one place that knows them all.
import type { Instant } from "../core/instant.ts";
import { keptFrom } from "../core/retention.ts";
import { deleteDaysOfCheck } from "../store/history/check-days.ts";
import { findChecksDeletedBefore } from "../store/checks/check-search.ts";
import { lockStates } from "../store/checks/check-states.ts";
import { deleteCheck } from "../store/checks/checks.ts";
import { deletePoisonOfCheck } from "../store/checks/sweeping.ts";
import type { Database } from "../store/db.ts";
import { deleteDeliveriesOfCheck } from "../store/alerts/deliveries.ts";
import { deleteEventsOfCheck } from "../store/history/events.ts";
import { deleteFlipsOfCheck } from "../store/history/flips.ts";
import { deleteBodiesOfCheck } from "../store/history/ping-bodies.ts";
import { deletePingsOfCheck } from "../store/history/pings.ts";
import { deleteRunChunksOfCheck } from "../store/history/run-chunks.ts";
import { deleteRefusedOfCheck } from "../store/intakes/refused-intervals.ts";
import { deleteRejectedOfCheck } from "../store/intakes/rejected-signals.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";

/** In this order: deliveries are found by their flips, so they go before them. */
const HISTORY: readonly ((tx: Tx, checkId: number) => Promise<void>)[] = [
  deleteDeliveriesOfCheck,
  deleteFlipsOfCheck,
  deleteEventsOfCheck,
  deleteBodiesOfCheck,
  deletePingsOfCheck,
  deleteRunChunksOfCheck,
  deleteDaysOfCheck,
  deletePoisonOfCheck,
  deleteRefusedOfCheck,
  deleteRejectedOfCheck,
];

/** Forgets everything that was recorded about a check, whose state the caller has locked. */
export async function forgetHistory(tx: Tx, checkId: number): Promise<void> {
  for (const remove of HISTORY) await remove(tx, checkId);
}

/** Removes one check inside the caller's transaction. False: it was gone already. */
export async function removeCheck(tx: Tx, checkId: number): Promise<boolean> {
  // Every writer locks the state first; a signal that comes meanwhile finds no check afterwards.
  await lockStates(tx, [checkId]);
  await forgetHistory(tx, checkId);
  return deleteCheck(tx, checkId);
}

/**
 * Removes at most `limit` checks whose days of grace are over; returns how many. They cannot be taken back any
 * more by then, so nobody can be doing so at the same moment.
 */
export async function removeDeletedChecks(
  database: Database,
  { now, limit }: { now: Instant; limit: number },
): Promise<number> {
  const before = keptFrom("deletedCheck", now);
  const checkIds = await findChecksDeletedBefore(database, { before, limit });
  for (const checkId of checkIds) await inTransaction(database, (tx) => removeCheck(tx, checkId));
  return checkIds.length;
}
