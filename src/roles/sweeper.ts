// The role that lets deadlines fire: it looks each second how far can be seen, and sweeps what is due. Beside it run
// the watch over the installation and the heartbeat to the outside, which only know what it has seen.
import type { Config } from "../config.ts";
import { stillHeld } from "../core/alerts/operator.ts";
import { type Instant, SECOND_MS } from "../core/instant.ts";
import type { Log } from "../lib/log.ts";
import { type Loop, loopService } from "../lib/loop.ts";
import { addFigures, type Figure, type Metrics } from "../lib/metrics.ts";
import { type Swept, sweepDeadlines } from "../operations/alerts/sweep-deadlines.ts";
import { lookAtIntakes } from "../operations/intake-beat.ts";
import { type DatabaseOptions, openDatabase } from "../store/db.ts";
import { heartbeatLoop } from "./sweeping/heartbeat.ts";
import { operatorLoop } from "./sweeping/operator-watch.ts";
import type { SweeperParts, SweeperState } from "./sweeping/parts.ts";
import { whileInService } from "./in-service.ts";

const SWEEP_EVERY_MS = SECOND_MS;
/** One for each half of a sweep, and one for the watch. */
export const SWEEPER_CONNECTIONS_MAX = 3;
/** After so many batches the watermark is looked at again. */
const BATCHES_MAX = 50;

export type SweeperResources = {
  config: Config;
  databaseOptions: DatabaseOptions;
  log: Log;
  metrics: Metrics;
};

/** The role as a part of a process. Several may run, also on one machine. */
export function sweeperRole({ config, databaseOptions, log, metrics }: SweeperResources): Loop {
  const state: SweeperState = {
    look: null,
    sweptAt: null,
    unsettledSinceAt: null,
    locked: new Map(),
    lagMs: null,
    counts: { looked: 0, fired: 0, excused: 0, moved: 0, poisoned: 0 },
  };
  addFigures(metrics, figures(state));
  const database = openDatabase({
    ...databaseOptions,
    applicationName: "overdue-sweeper",
    connectionsMax: SWEEPER_CONNECTIONS_MAX,
    plansOnce: true,
  });
  const parts = { config, database, log, metrics, state };
  const sweeping = sweepLoop(parts);
  const watch = operatorLoop(parts);
  const loops = [sweeping, watch, ...heartbeatLoop({ ...parts, troubles: () => watch.troubles() })];
  return {
    name: "sweeper",
    start: async () => {
      for (const loop of loops) await loop.start();
    },
    stop: async () => {
      for (const loop of loops.toReversed()) await loop.stop();
      await database.close();
    },
    trouble: () => loops.map((loop) => loop.trouble()).find((trouble) => trouble !== null) ?? null,
  };
}

function sweepLoop({ database, log, metrics, state }: SweeperParts): Loop {
  return loopService("sweeper", {
    idleMs: SWEEP_EVERY_MS,
    log,
    metrics: metrics.loops,
    tick: whileInService(database, async () => {
      const look = await lookAtIntakes(database);
      const { now, settled: sight } = look;
      state.look = look;
      state.unsettledSinceAt = sight.watermarkAt === null ? (state.unsettledSinceAt ?? now) : null;
      const swept = await sweepDeadlines(database, { now, sight, batchesMax: BATCHES_MAX });
      note(state, swept, now);
      for (const { checkId, reason } of swept.poisoned) {
        log.error({ checkId, reason }, "could not evaluate the deadline of a check; retrying in an hour");
      }
      if (swept.fired + swept.excused > 0) {
        const { fired, excused, lagMs } = swept;
        log.info({ fired, excused, lagMs }, "deadlines passed");
      }
      return swept.isComplete ? "idle" : "again";
    }),
  });
}

function note(state: SweeperState, swept: Swept, now: Instant): void {
  const { counts } = state;
  counts.looked += swept.looked;
  counts.fired += swept.fired;
  counts.excused += swept.excused;
  counts.moved += swept.moved;
  counts.poisoned += swept.poisoned.length;
  state.lagMs = swept.lagMs;
  if (!swept.isComplete) return;
  state.sweptAt = now;
  state.locked = stillHeld(state.locked, { checkIds: swept.locked, now });
}

function figures(state: SweeperState): Figure[] {
  const seconds = (ms: number | null) => (ms === null ? null : ms / SECOND_MS);
  const gauge = (name: string, help: string, read: () => number | null): Figure => ({
    name: `overdue_${name}`,
    help,
    kind: "gauge",
    read,
  });
  const counter = (name: keyof SweeperState["counts"], help: string): Figure => ({
    name: `overdue_sweep_${name}_total`,
    help,
    kind: "counter",
    read: () => state.counts[name],
  });
  const heldMs = () => {
    const { look } = state;
    const since = look === null ? null : (look.sight.watermarkAt ?? look.lastBeatAt);
    return look === null || since === null ? null : look.now - since;
  };
  return [
    counter("looked", "Checks examined by the sweeper."),
    counter("moved", "Checks whose deadline had moved or was postponed."),
    counter("fired", "Checks that went down because of a missed deadline."),
    counter("excused", "Missed deadlines without an alert because of a monitoring gap."),
    counter("poisoned", "Failures to evaluate the deadline of a check."),
    gauge("deadline_lag_seconds", "Age of the oldest deadline in the last sweep.", () =>
      seconds(state.lagMs ?? (state.sweptAt === null ? null : 0)),
    ),
    gauge("watermark_held_seconds", "Lag of the watermark across all receiving processes.", () =>
      seconds(heldMs()),
    ),
    gauge("sight_settled", "1 if missing pings raise alerts, 0 for some time after a monitoring gap.", () =>
      state.look === null ? null : Number(state.unsettledSinceAt === null),
    ),
    gauge("sweep_locked", "Due checks locked by another session in the last sweep.", () => state.locked.size),
  ];
}
