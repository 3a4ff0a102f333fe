// Prepares the database at the start of a process: waits until it answers, and applies or checks migrations.
import { setTimeout as sleep } from "node:timers/promises";
import { isTlsError, isUnreachable } from "../lib/postgres-error.ts";
import type { DatabaseOptions } from "../store/db.ts";
import { LockedTableError, type LockWait, migrate, verifyUsable } from "../store/migrate.ts";

const POLL_MS = 500;

export type PrepareOptions = {
  database: DatabaseOptions;
  /** False: an outdated schema is an error. */
  migrate: boolean;
  /** How long to wait for the database. */
  waitMs: number;
  /** How long a migration may wait for locked tables; absent: as long as in `overdue migrate`. */
  lockWaitMs?: number;
  /** Called once if the database is unreachable at first. */
  onWaiting(error: unknown): void;
  /** Called if another process is migrating. */
  onTurn(): void;
  /** Called after each attempt of a migration that could not lock a table. */
  onLocked(wait: LockWait): void;
  signal: AbortSignal;
};

/**
 * Whether a process that can run without the database may start: it is unreachable, or a migration waits for a lock.
 */
export function isNotReadyYet(error: unknown): boolean {
  return (isUnreachable(error) && !isTlsError(error)) || error instanceof LockedTableError;
}

/** Returns the names of the migrations it applied. Throws the error of the last attempt, or the signal's reason. */
export async function prepareDatabase(options: PrepareOptions): Promise<string[]> {
  const deadline = performance.now() + options.waitMs;
  for (let attempt = 1; ; attempt++) {
    options.signal.throwIfAborted();
    try {
      if (options.migrate) {
        const { signal, lockWaitMs } = options;
        return await migrate({
          ...options.database,
          onTurn: () => options.onTurn(),
          onLocked: (wait) => options.onLocked(wait),
          ...(lockWaitMs !== undefined && { lockWaitMs }),
          signal,
        });
      }
      await verifyUsable(options.database);
      return [];
    } catch (error) {
      // A TLS error at the start is a configuration error; waiting would hide the message.
      if (!isUnreachable(error) || isTlsError(error) || performance.now() >= deadline) throw error;
      if (attempt === 1) options.onWaiting(error);
    }
    await sleep(POLL_MS, undefined, { signal: options.signal });
  }
}
