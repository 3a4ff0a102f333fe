// Gets the database ready for a process that starts: waits until it answers, and brings its schema up to date
// or makes sure that it is. Nothing of the process may touch the database before.
import { setTimeout as sleep } from "node:timers/promises";
import { isTlsError, isUnreachable } from "../lib/postgres-error.ts";
import type { DatabaseOptions } from "../store/db.ts";
import { LockedTableError, type LockWait, migrate, verifyUsable } from "../store/migrate.ts";

const POLL_MS = 500;

export type PrepareOptions = {
  database: DatabaseOptions;
  /** False: a schema that is not up to date is an error instead. */
  migrate: boolean;
  /** How long a database may stay away before that is an error, too. */
  waitMs: number;
  /** How long a migration may wait for locked tables; left out: as long as `overdue migrate` does. */
  lockWaitMs?: number;
  /** Told once, when the database is away at the first try. */
  onWaiting(error: unknown): void;
  /** Told when another process migrates and this one waits for it. */
  onTurn(): void;
  /** Called after each attempt of a migration that could not lock a table. */
  onLocked(wait: LockWait): void;
  signal: AbortSignal;
};

/** Whether a process that can do without the database may start: it is unreachable, or a migration waits for a lock. */
export function isNotReadyYet(error: unknown): boolean {
  return (isUnreachable(error) && !isTlsError(error)) || error instanceof LockedTableError;
}

/** Returns the names of the migrations it applied. Throws what the last try threw, or the signal's reason. */
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
      // Encryption that fails at the start is a matter of the settings; waiting would only hide the message.
      if (!isUnreachable(error) || isTlsError(error) || performance.now() >= deadline) throw error;
      if (attempt === 1) options.onWaiting(error);
    }
    await sleep(POLL_MS, undefined, { signal: options.signal });
  }
}
