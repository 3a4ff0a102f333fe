// Transactions that are retried after conflicts with other transactions.
import { AppError, ERROR_TEXT } from "../core/errors.ts";
import type { Database } from "../store/db.ts";
import { postgresErrorName, type PostgresErrorName } from "../store/errors.ts";
import { inTransaction, type TransactionOptions, type Tx } from "../store/transaction.ts";

/**
 * A try waits half a second for a lock; this many let dozens of concurrent requests for the same row succeed.
 */
const TRIES_MAX = 5;

/** The data that a change was based on had changed when it got the lock. Nothing was written. */
export class ConflictError extends Error {
  override readonly name = "ConflictError";
}

/**
 * Runs `work` in a transaction, and again from the start after a conflict, so `work` must have no side
 * effects outside the database. After the last try the error is thrown, which callers report as
 * `unavailable`. A commit in doubt is never retried.
 */
export async function inRetriedTransaction<T>(
  database: Database,
  work: (tx: Tx) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await inTransaction(database, work, options);
    } catch (error) {
      if (!isRetryable(error)) throw error;
      if (tries < TRIES_MAX) continue;
      throw error instanceof ConflictError ? new AppError("unavailable", ERROR_TEXT.unavailable) : error;
    }
  }
}

/**
 * Errors after which a retry can succeed. After a foreign key violation, the retry does not find the deleted
 * channel.
 */
const RETRYABLE: readonly (PostgresErrorName | null)[] = [
  "lock_not_available",
  "deadlock_detected",
  "foreign_key_violation",
];

function isRetryable(error: unknown): boolean {
  return error instanceof ConflictError || RETRYABLE.includes(postgresErrorName(error));
}

/** Retries once if a concurrent transaction inserted the same row: it exists now. */
export async function retryOnUniqueViolation<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (postgresErrorName(error) !== "unique_violation") throw error;
    return work();
  }
}
