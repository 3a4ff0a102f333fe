// Waiting with an end: until a condition holds, or until it has taken too long.
import { setTimeout as sleep } from "node:timers/promises";

const POLL_MS = 50;

/** Asks again and again; false when it did not hold in time. What the question throws counts as no. */
export async function until(
  holds: () => Promise<boolean> | boolean,
  { withinMs, pollMs = POLL_MS }: { withinMs: number; pollMs?: number },
): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    try {
      if (await holds()) return true;
    } catch {
      // Not yet: most of what is asked here is away on purpose.
    }
    if (performance.now() >= deadline) return false;
    await sleep(pollMs);
  }
}

/** As above, for what must come: throws with these words when it does not. */
export async function demand(
  holds: () => Promise<boolean> | boolean,
  { withinMs, what }: { withinMs: number; what: string },
): Promise<void> {
  if (await until(holds, { withinMs })) return;
  throw new Error(`waited ${Math.round(withinMs / 1_000)} s in vain until ${what}`);
}
