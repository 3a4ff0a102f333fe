// Which errors mean that the database could not do it now, and may do it a little later; and an end to waiting for
// it, because a link that is silent gives no error at all.
import { AppError, ERROR_TEXT } from "../../core/errors.ts";
import { isUnreachable } from "../../lib/connection-trouble.ts";
import { CommitInDoubtError, postgresErrorName, type PostgresErrorName } from "../../store/errors.ts";

/** Somebody else holds what is needed, it took too long, or a standby has not taken over yet. */
const PASSING: readonly PostgresErrorName[] = [
  "lock_not_available",
  "deadlock_detected",
  "query_canceled",
  "read_only_transaction",
];

/** True when the same request may succeed later; whether a commit in doubt was done, the next look tells. */
export function isDatabaseAway(error: unknown): boolean {
  if (error instanceof CommitInDoubtError || isUnreachable(error)) return true;
  const name = postgresErrorName(error);
  return name !== null && PASSING.includes(name);
}

/** What `work` comes to, or AppError `unavailable` when that takes too long; the work itself is left to its fate. */
export async function inTime<T>(work: Promise<T>, limitMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new AppError("unavailable", ERROR_TEXT.unavailable)), limitMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
