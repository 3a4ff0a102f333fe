// The sweeper role: every second it reads the watermark and processes due deadlines. The health monitor and the
// external heartbeat run next to it.
import type { Config } from "../config/config.ts";
import { type Instant, MINUTE_MS, SECOND_MS } from "../core/instant.ts";
import { type HealthProblem, healthProblemsOf, isMoving, stillHeld } from "../core/server-health.ts";
import type { Log } from "../lib/log.ts";
import { type Loop, loopService } from "../lib/loop.ts";
import { addFigures, type Figure, type Metrics } from "../lib/metrics.ts";
import { type GuardedHttp, guardedHttp } from "../lib/outgoing-http.ts";
import { whileInService } from "../operations/database-identity.ts";
import { notifyAdmin, observeServer } from "../operations/server-health.ts";
import { type IntakesView, readIntakes } from "../operations/intakes.ts";
import { sweepDeadlines, type Swept } from "../operations/sweep.ts";
import { type Database, type DatabaseOptions, openDatabase } from "../store/db.ts";
import { readDatabaseClock } from "../store/instance.ts";

const SWEEP_EVERY_MS = SECOND_MS;
/** One for each half of a sweep, and one for the health monitor. */
export const SWEEPER_CONNECTIONS_MAX = 3;
/** After this many batches the watermark is read again. */
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
  metrics.pools.set("sweeper", database.pool);
  const deps = { config, database, log, metrics, state };
  const sweeping = sweepLoop(deps);
  const watch = healthLoop(deps);
  const loops = [sweeping, watch, ...heartbeatLoop({ ...deps, problems: () => watch.problems() })];
  return {
    name: "sweeper",
    start: async () => {
      for (const loop of loops) await loop.start();
    },
    stop: async () => {
      for (const loop of loops.toReversed()) await loop.stop();
      await database.close();
    },
    problem: () => loops.map((loop) => loop.problem()).find((problem) => problem !== null) ?? null,
  };
}

function sweepLoop({ database, log, metrics, state }: SweeperDeps): Loop {
  return loopService("sweeper", {
    idleMs: SWEEP_EVERY_MS,
    log,
    metrics: metrics.loops,
    tick: whileInService(database, async () => {
      const look = await readIntakes(database);
      const { now, settled: visibility } = look;
      state.look = look;
      state.unsettledSinceAt = visibility.watermarkAt === null ? (state.unsettledSinceAt ?? now) : null;
      const swept = await sweepDeadlines(database, { now, visibility, batchesMax: BATCHES_MAX });
      note(state, swept, now);
      for (const { checkId, reason } of swept.quarantined) {
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
  counts.poisoned += swept.quarantined.length;
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
    const since = look === null ? null : (look.visibility.watermarkAt ?? look.lastHeartbeatAt);
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

/** What the sweeper has observed, for the health monitor. */
export type SweeperState = {
  look: IntakesView | null;
  /** When all due checks had been processed; null: not yet. */
  sweptAt: Instant | null;
  /** Since when missing pings have raised no alerts; null: they do. */
  unsettledSinceAt: Instant | null;
  /** Since when due checks have been locked by another process. */
  locked: ReadonlyMap<number, Instant>;
  lagMs: number | null;
  counts: { looked: number; fired: number; excused: number; moved: number; poisoned: number };
};

export type SweeperDeps = {
  config: Config;
  database: Database;
  log: Log;
  metrics: Metrics;
  state: SweeperState;
};

// The health monitor, with or without a sweeper in the process: health problems are logged, counted, and reported to
// the admin channel when they begin and when they end.

const OBSERVE_EVERY_MS = 5 * SECOND_MS;

export type HealthLoop = Loop & {
  /** The current health problems, as of the last check; null before the first check. */
  problems(): readonly HealthProblem[] | null;
};

/** The sweep data of a process without a sweeper. */
const NO_SWEEPER: WatchedState = { unsettledSinceAt: null, locked: new Map() };

type WatchedState = Pick<SweeperDeps["state"], "unsettledSinceAt" | "locked">;
type HealthLoopDeps = Omit<SweeperDeps, "state"> & { state?: WatchedState };

export function healthLoop({
  config,
  database,
  log,
  metrics,
  state = NO_SWEEPER,
}: HealthLoopDeps): HealthLoop {
  let problems: readonly HealthProblem[] | null = null;
  addFigures(metrics, [
    {
      name: "overdue_troubles",
      help: "Current health problems of the server by kind.",
      kind: "gauge",
      label: "trouble",
      readEach: () => countByKind(problems ?? []),
    },
  ]);
  const loop = loopService("operator-watch", {
    idleMs: OBSERVE_EVERY_MS,
    log,
    metrics: metrics.loops,
    // A copy notifies its admin once, and sends nothing else.
    tick: whileInService(database, async () => {
      const { unsettledSinceAt, locked } = state;
      const look = await readIntakes(database);
      const channelUuid = config.adminChannel;
      const own = { look, unsettledSinceAt, locked, channelUuid };
      problems = healthProblemsOf(await observeServer(database, own));
      for (const message of await notifyAdmin(database, { problems, now: look.now, channelUuid })) {
        const { trouble, isOver, since, title, text } = message;
        const fields = { trouble, since: new Date(since).toISOString(), text };
        if (isOver) log.info(fields, title);
        else log.warn(fields, title);
      }
      return "idle";
    }),
  });
  return { ...loop, problems: () => problems };
}

function countByKind(problems: readonly HealthProblem[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind } of problems) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

// Calls an external URL every minute, but only while deadlines are processed, the watermark moves, and messages are sent,
// so that the external monitor alerts when this server stops working.

const CALL_EVERY_MS = MINUTE_MS;
/** How often to check whether a request is due, and whether it must be withheld. */
const ASK_EVERY_MS = SECOND_MS;
const CALL_MS_MAX = 10 * SECOND_MS;
const OK_FROM = 200;
const OK_BELOW = 300;

export type HeartbeatDeps = SweeperDeps & { problems: () => readonly HealthProblem[] | null };

/** The loop that sends the request; none without a URL. */
function heartbeatLoop({ config, database, log, metrics, state, problems }: HeartbeatDeps): Loop[] {
  const url = config.heartbeatUrl;
  if (url === null) return [];
  const beats = { sent: 0, failed: 0, isWithheld: false, lastAt: null as Instant | null };
  addHeartbeatFigures(metrics, beats);
  // The operator has chosen the URL, and it may be a second server in the same network.
  const http = guardedHttp({ allowPrivate: true, userAgent: "Overdue", proxyUrl: config.outgoingProxy });
  const tick = async () => {
    const now = await readDatabaseClock(database);
    const known = problems();
    // Before the first check the state is unknown, so no request is sent or withheld.
    if (known === null || (beats.lastAt !== null && Math.abs(now - beats.lastAt) < CALL_EVERY_MS)) return;
    const isWithheld = !isMoving(known, { sweptAt: state.sweptAt, now });
    if (isWithheld && !beats.isWithheld) {
      log.warn(
        { problems: known.map(({ kind }) => kind) },
        "the external heartbeat is withheld because of health problems",
      );
    }
    beats.isWithheld = isWithheld;
    if (isWithheld) return;
    beats.lastAt = now;
    const problem = await call(http, url);
    if (problem === null) beats.sent += 1;
    else {
      beats.failed += 1;
      log.warn({ problem }, "the external heartbeat request failed");
    }
  };
  const loop = loopService("heartbeat", {
    idleMs: ASK_EVERY_MS,
    log,
    metrics: metrics.loops,
    // The external monitor must notice if only a copy is left.
    tick: whileInService(database, async () => {
      await tick();
      return "idle";
    }),
  });
  return [
    {
      ...loop,
      stop: async () => {
        await http.close();
        await loop.stop();
      },
    },
  ];
}

function addHeartbeatFigures(
  metrics: SweeperDeps["metrics"],
  beats: { sent: number; failed: number; isWithheld: boolean },
): void {
  addFigures(metrics, [
    {
      name: "overdue_heartbeats_total",
      help: "Requests to OVERDUE_HEARTBEAT_URL by result.",
      kind: "counter",
      label: "result",
      readEach: () => ({ sent: beats.sent, failed: beats.failed }),
    },
    {
      name: "overdue_heartbeat_withheld",
      help: "1 while the external heartbeat is withheld because of health problems.",
      kind: "gauge",
      read: () => Number(beats.isWithheld),
    },
  ]);
}

/** Why the request failed, or null. Contains nothing of the URL. */
async function call(http: GuardedHttp, url: string): Promise<string | null> {
  try {
    const { status } = await http.send({ method: "GET", url, timeoutMs: CALL_MS_MAX });
    return status >= OK_FROM && status < OK_BELOW ? null : `HTTP ${status}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
