// How far we have seen, for a process that receives nothing itself: it looks at the intakes each second, and
// believes what it sees once that has been fresh for a while.
import type { Sight } from "../core/machine/deadline.ts";
import { BEAT_EVERY_MS, settle, settledSight, type Settling } from "../core/machine/watermark.ts";
import type { Log } from "../lib/log.ts";
import { type Loop, loopService } from "../lib/loop.ts";
import type { LoopMetrics } from "../lib/metrics.ts";
import { lookAtIntakes } from "../operations/intake-beat.ts";
import type { Database } from "../store/db.ts";

export type Watching = Loop & {
  /** Nothing can be told before the first look. */
  sight(): Sight;
};

/** A loop that looks. `name` tells it apart from those of other roles. */
export function watchIntakes(
  name: string,
  { database, log, metrics }: { database: Database; log: Log; metrics: LoopMetrics },
): Watching {
  let settling: Settling | null = null;
  let sight: Sight = { watermarkAt: null, blind: [] };
  const loop = loopService(name, {
    idleMs: BEAT_EVERY_MS,
    log,
    metrics,
    tick: async () => {
      const look = await lookAtIntakes(database);
      settling = settle(settling, look);
      sight = settledSight(settling, look.sight);
      return "idle";
    },
  });
  return { ...loop, sight: () => sight };
}
