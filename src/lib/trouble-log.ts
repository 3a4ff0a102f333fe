// Logs errors that repeat with every request or batch: one line for each kind of error in a while.
import type { Log } from "./log.ts";

const PAUSE_MS = 10_000;

/** Returns a function that logs an error with what failed. */
export function troubleLog(log: Log, message: string): (error: unknown, what: string) => void {
  const lastMs = new Map<string, number>();
  return (error, what) => {
    const nowMs = performance.now();
    if (nowMs - (lastMs.get(what) ?? Number.NEGATIVE_INFINITY) < PAUSE_MS) return;
    lastMs.set(what, nowMs);
    log.warn({ err: error, what }, message);
  };
}
