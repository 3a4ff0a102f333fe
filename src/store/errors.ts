// The errors of PostgreSQL that somebody above the store has to tell apart, by name instead of by code,
// and the store's own. What follows from them is decided by the operations.
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

/** The five-character SQLSTATE of an error that the server sent, or null for any other error. */
export function sqlStateOf(error: unknown): string | null {
  if (!(error instanceof Error) || !("code" in error) || !("severity" in error)) return null;
  return typeof error.code === "string" && /^[0-9A-Z]{5}$/.test(error.code) ? error.code : null;
}

/** The name of an error that the server sent, or null when it is none of those we tell apart. */
export function postgresErrorName(error: unknown): PostgresErrorName | null {
  const code = sqlStateOf(error);
  return code !== null && code in NAMES_BY_CODE ? NAMES_BY_CODE[code as keyof typeof NAMES_BY_CODE] : null;
}

/** True when the server refused a value itself (SQLSTATE classes 22 and 23): trying again cannot help. */
export function isRefusedValue(error: unknown): boolean {
  return /^2[23]/.test(sqlStateOf(error) ?? "");
}

/** The database cannot be used as it is set up; the message says what to change. */
export class UnusableDatabaseError extends Error {
  override readonly name = "UnusableDatabaseError";
}

/** COMMIT was sent and not confirmed as durable: the work may be there or not. */
export class CommitInDoubtError extends Error {
  override readonly name = "CommitInDoubtError";
}

/** The time that a transaction was given was over before it was committed: nothing of it was done. */
export class OutOfTimeError extends Error {
  override readonly name = "OutOfTimeError";
}

/** True when neither the database nor the way to it is the cause: an error of our own code. Trying again rarely helps. */
export function isOwnFault(error: unknown): boolean {
  if (error instanceof CommitInDoubtError || error instanceof OutOfTimeError) return false;
  return sqlStateOf(error) === null && !isUnreachable(error);
}

/** Somebody else holds what is needed, it took too long, a standby has not taken over yet, or the server has no room. */
const PASSING: readonly PostgresErrorName[] = [
  "lock_not_available",
  "deadlock_detected",
  "query_canceled",
  "read_only_transaction",
  "disk_full",
  "out_of_memory",
];

/** True when the same request may succeed later; whether a commit in doubt was done, the next look tells. */
export function isDatabaseAway(error: unknown): boolean {
  if (error instanceof CommitInDoubtError || isUnreachable(error)) return true;
  const name = postgresErrorName(error);
  return name !== null && PASSING.includes(name);
}
