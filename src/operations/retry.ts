// A change as one transaction that is begun anew when another one was in its way. It does not know what the
// change is.
import { AppError, ERROR_TEXT } from "../core/errors.ts";
import type { Database } from "../store/db.ts";
import { postgresErrorName, type PostgresErrorName } from "../store/errors.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";

/** A try waits half a second for a lock; with so many, dozens who want the same thing at once get their turn. */
const TRIES_MAX = 5;

/** What a change had read was no longer so when it held the lock. Nothing has been written. */
export class ConflictError extends Error {
  override readonly name = "ConflictError";
}

/**
 * Runs `work` in a transaction, from the start again if others held or changed what it needs; so `work` must do
 * nothing but ask and tell the store. After a few tries the last error is thrown, which callers answer with
 * `unavailable`. A commit in doubt is never tried again.
 */
export async function inRetriedTransaction<T>(database: Database, work: (tx: Tx) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await inTransaction(database, work);
    } catch (error) {
      if (!isRetryable(error)) throw error;
      if (tries < TRIES_MAX) continue;
      throw error instanceof ConflictError ? new AppError("unavailable", ERROR_TEXT.unavailable) : error;
    }
  }
}

/** What may be gone a moment later. A channel that was deleted after it was looked up is not found by the next look. */
const RETRYABLE: readonly (PostgresErrorName | null)[] = [
  "lock_not_available",
  "deadlock_detected",
  "foreign_key_violation",
];

function isRetryable(error: unknown): boolean {
  return error instanceof ConflictError || RETRYABLE.includes(postgresErrorName(error));
}

/** Does something once more when somebody else has made the same row in that very moment: it is there now. */
export async function retryOnUniqueViolation<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (postgresErrorName(error) !== "unique_violation") throw error;
    return work();
  }
}
