// How far we have seen, for a process that receives nothing itself: it looks at the intakes each second. What of it
// may be believed is decided by the operation that looks.
import type { Sight } from "../core/machine/deadline.ts";
import { BEAT_EVERY_MS } from "../core/machine/watermark.ts";
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
  let sight: Sight = { watermarkAt: null, blind: [] };
  const loop = loopService(name, {
    idleMs: BEAT_EVERY_MS,
    log,
    metrics,
    tick: async () => {
      sight = (await lookAtIntakes(database)).settled;
      return "idle";
    },
  });
  return { ...loop, sight: () => sight };
}
