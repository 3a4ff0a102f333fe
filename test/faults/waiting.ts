// Waiting with a time limit for a condition.
import { setTimeout as sleep } from "node:timers/promises";

const POLL_MS = 50;

/** Polls; false if the condition did not hold in time. Errors count as false. */
export async function until(
  holds: () => Promise<boolean> | boolean,
  { withinMs, pollMs = POLL_MS }: { withinMs: number; pollMs?: number },
): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    try {
      if (await holds()) return true;
    } catch {
      // Not yet: most of the systems queried here are down on purpose.
    }
    if (performance.now() >= deadline) return false;
    await sleep(pollMs);
  }
}

/** The same, but throws with this text if the condition does not hold in time. */
export async function demand(
  holds: () => Promise<boolean> | boolean,
  { withinMs, what }: { withinMs: number; what: string },
): Promise<void> {
  if (await until(holds, { withinMs })) return;
  throw new Error(`waited ${Math.round(withinMs / 1_000)} s in vain until ${what}`);
}
