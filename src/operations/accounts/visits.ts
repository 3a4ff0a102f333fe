// Remembers when a member had the page of a project open, so that the next visit begins with what has changed.
import type { Instant } from "../../core/instant.ts";
import { findVisit, type Visitor, writeVisit } from "../../store/accounts/visits.ts";
import type { Database } from "../../store/db.ts";
import { inTransaction } from "../../store/transaction.ts";

/** Visits that are so close to each other are one, and not written again. */
const SAME_VISIT_MS = 60_000;

/** Notes a visit; returns when the one before it was, null when there was none. */
export async function noteVisit(
  database: Database,
  { at, ...visitor }: Visitor & { at: Instant },
): Promise<Instant | null> {
  const before = await findVisit(database, visitor);
  if (before === null || at - before >= SAME_VISIT_MS) {
    await inTransaction(database, (tx) => writeVisit(tx, { ...visitor, at }));
  }
  return before;
}
