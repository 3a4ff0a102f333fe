// PostgreSQL errors that operations distinguish, by name, and the errors of the store.
import { isUnreachable } from "../lib/postgres-error.ts";

const NAMES_BY_CODE = {
  "23505": "unique_violation",
  "23503": "foreign_key_violation",
  "55P03": "lock_not_available",
  "40P01": "deadlock_detected",
  "57014": "query_canceled",
  "25006": "read_only_transaction",
  "53100": "disk_full",
  "53200": "out_of_memory",
} as const;

export type PostgresErrorName = (typeof NAMES_BY_CODE)[keyof typeof NAMES_BY_CODE];

/** The five-character SQLSTATE of a server error, or null for any other error. */
export function sqlStateOf(error: unknown): string | null {
  if (!(error instanceof Error) || !("code" in error) || !("severity" in error)) return null;
  return typeof error.code === "string" && /^[0-9A-Z]{5}$/.test(error.code) ? error.code : null;
}

/** The name of a server error, or null if it is not one of those listed. */
export function postgresErrorName(error: unknown): PostgresErrorName | null {
  const code = sqlStateOf(error);
  return code !== null && code in NAMES_BY_CODE ? NAMES_BY_CODE[code as keyof typeof NAMES_BY_CODE] : null;
}

/** True if the server rejected a value (SQLSTATE classes 22 and 23): a retry cannot help. */
export function isRefusedValue(error: unknown): boolean {
  return /^2[23]/.test(sqlStateOf(error) ?? "");
}

/** The database cannot be used with its current configuration; the message says what to change. */
export class UnusableDatabaseError extends Error {
  override readonly name = "UnusableDatabaseError";
}

/** COMMIT was sent but not confirmed: the changes may or may not be durable. */
export class CommitInDoubtError extends Error {
  override readonly name = "CommitInDoubtError";
}

/** The time limit of a transaction was reached before the commit: nothing was changed. */
export class OutOfTimeError extends Error {
  override readonly name = "OutOfTimeError";
}

/** True for an error in our own code rather than in the database or the connection. A retry rarely helps. */
export function isOwnFault(error: unknown): boolean {
  if (error instanceof CommitInDoubtError || error instanceof OutOfTimeError) return false;
  return sqlStateOf(error) === null && !isUnreachable(error);
}

/** Lock conflicts, timeouts, a standby that has not taken over yet, or a full server. */
const PASSING: readonly PostgresErrorName[] = [
  "lock_not_available",
  "deadlock_detected",
  "query_canceled",
  "read_only_transaction",
  "disk_full",
  "out_of_memory",
];

/** True if a retry may succeed; it also reveals whether a commit in doubt was done. */
export function isDatabaseAway(error: unknown): boolean {
  if (error instanceof CommitInDoubtError || isUnreachable(error)) return true;
  const name = postgresErrorName(error);
  return name !== null && PASSING.includes(name);
}
