// How far we have seen, for a process that receives nothing itself: it looks at the intakes each second. What of it
// may be believed is decided by the operation that looks.
import type { Visibility } from "../core/deadline.ts";
import type { Instant } from "../core/instant.ts";
import { HEARTBEAT_EVERY_MS } from "../core/watermark.ts";
import type { Log } from "../lib/log.ts";
import { type Loop, loopService } from "../lib/loop.ts";
import type { LoopMetrics } from "../lib/metrics.ts";
import type { Database } from "../store/db.ts";
import { readIntakes } from "./intakes.ts";

export type WatermarkLoop = Loop & {
  /** Nothing can be told before the first look. */
  visibility(): Visibility;
  /** The database's clock, carried on since the last look; before the first one, our own. */
  now(): Instant;
};

/** A loop that looks. `name` tells it apart from those of other roles. */
export function watermarkLoop(
  name: string,
  { database, log, metrics }: { database: Database; log: Log; metrics: LoopMetrics },
): WatermarkLoop {
  let visibility: Visibility = { watermarkAt: null, blind: [] };
  let aheadMs: number | null = null;
  const loop = loopService(name, {
    idleMs: HEARTBEAT_EVERY_MS,
    log,
    metrics,
    tick: async () => {
      const look = await readIntakes(database);
      visibility = look.settled;
      aheadMs = look.now - performance.now();
      return "idle";
    },
  });
  return {
    ...loop,
    visibility: () => visibility,
    now: () => (aheadMs === null ? Date.now() : Math.floor(performance.now() + aheadMs)),
  };
}
