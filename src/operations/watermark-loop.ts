// Reads the watermark each second, for processes that receive no pings themselves.
import { DatabaseClock } from "../core/database-clock.ts";
import type { Visibility } from "../core/deadline.ts";
import type { Instant } from "../core/instant.ts";
import { HEARTBEAT_EVERY_MS } from "../core/watermark.ts";
import type { Log } from "../lib/log.ts";
import { type Loop, loopService } from "../lib/loop.ts";
import type { LoopMetrics } from "../lib/metrics.ts";
import type { Database } from "../store/db.ts";
import { readIntakes } from "./intakes.ts";

export type WatermarkLoop = Loop & {
  /** Without a watermark before the first read. */
  visibility(): Visibility;
  /** The database's clock, extrapolated from the last read; before the first read, the local clock. */
  now(): Instant;
};

/** `name` distinguishes the loops of different roles. */
export function watermarkLoop(
  name: string,
  { database, log, metrics }: { database: Database; log: Log; metrics: LoopMetrics },
): WatermarkLoop {
  let visibility: Visibility = { watermarkAt: null, blind: [] };
  let clock: DatabaseClock | null = null;
  const loop = loopService(name, {
    idleMs: HEARTBEAT_EVERY_MS,
    log,
    metrics,
    tick: async () => {
      const look = await readIntakes(database);
      visibility = look.settled;
      if (clock === null) clock = new DatabaseClock(look.clock, () => performance.now());
      else clock.adjust(look.clock);
      return "idle";
    },
  });
  return {
    ...loop,
    visibility: () => visibility,
    now: () => clock?.now() ?? Date.now(),
  };
}
