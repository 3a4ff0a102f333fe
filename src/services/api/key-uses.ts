// When keys were last used: noted in memory by every request, written now and then and many at once, so that no
// request waits for it. What is in memory when a process dies is lost, and that is all right.
import type { Instant } from "../../core/instant.ts";
import type { Log } from "../../lib/log.ts";
import { type Loop, loopService } from "../../lib/loop.ts";
import type { LoopMetrics } from "../../lib/metrics.ts";
import { type KeyUse, recordKeyUses } from "../../operations/api-key.ts";
import type { Database } from "../../store/db.ts";

/** More keys than this in use between two writings, and those that come last are not noted. */
const KEYS_MAX = 10_000;
const WRITTEN_AT_ONCE_MAX = 1_000;
const IDLE_MS = 5_000;

/** Key by key the newest use that has not been written yet. */
export class KeyUses {
  readonly #uses = new Map<number, Instant>();
  readonly #keysMax: number;

  constructor({ keysMax = KEYS_MAX }: { keysMax?: number } = {}) {
    this.#keysMax = keysMax;
  }

  note({ keyId, at }: KeyUse): void {
    const known = this.#uses.get(keyId);
    if (known === undefined && this.#uses.size >= this.#keysMax) return;
    if (known === undefined || known < at) this.#uses.set(keyId, at);
  }

  /** Takes out those noted first, at most `limit`. */
  take(limit: number): KeyUse[] {
    const taken: KeyUse[] = [];
    for (const [keyId, at] of this.#uses) {
      if (taken.length >= limit) break;
      taken.push({ keyId, at });
    }
    for (const { keyId } of taken) this.#uses.delete(keyId);
    return taken;
  }
}

export type KeyUseWriting = { uses: KeyUses; database: Database };

/** Writes a part of what was noted; "again" when there is more. What could not be written is noted again. */
export async function writeKeyUses({ uses, database }: KeyUseWriting): Promise<"again" | "idle"> {
  const taken = uses.take(WRITTEN_AT_ONCE_MAX);
  if (taken.length === 0) return "idle";
  try {
    await recordKeyUses(database, taken);
  } catch (error) {
    for (const use of taken) uses.note(use);
    throw error;
  }
  return taken.length < WRITTEN_AT_ONCE_MAX ? "idle" : "again";
}

/** Writes all the time, and once more when it is stopped. */
export function keyUseLoop({
  log,
  metrics,
  ...writing
}: KeyUseWriting & { log: Log; metrics: LoopMetrics }): Loop {
  const loop = loopService("key-uses", { idleMs: IDLE_MS, log, metrics, tick: () => writeKeyUses(writing) });
  return {
    ...loop,
    stop: async () => {
      await loop.stop();
      try {
        while ((await writeKeyUses(writing)) === "again");
      } catch (error) {
        log.warn({ err: error }, "could not save when some API keys were last used");
      }
    },
  };
}
