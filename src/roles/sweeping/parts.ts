// What the sweeper's loops share: what they are made of, and what the sweeper has seen and done. Only types.
import type { Config } from "../../config.ts";
import type { Instant } from "../../core/instant.ts";
import type { Log } from "../../lib/log.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { IntakeLook } from "../../operations/intake-beat.ts";
import type { Database } from "../../store/db.ts";

/** What the sweeper has seen and done, for those who watch it. */
export type SweeperState = {
  look: IntakeLook | null;
  /** When everything that was due had been looked at; null: not yet. */
  sweptAt: Instant | null;
  /** Since when silence has not been believed; null: it is. */
  unsettledSinceAt: Instant | null;
  /** Since when checks have been due and held by somebody else. */
  locked: ReadonlyMap<number, Instant>;
  lagMs: number | null;
  counts: { looked: number; fired: number; excused: number; moved: number; poisoned: number };
};

export type SweeperParts = {
  config: Config;
  database: Database;
  log: Log;
  metrics: Metrics;
  state: SweeperState;
};
