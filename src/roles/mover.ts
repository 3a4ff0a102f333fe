// The role that moves large bodies to the object store and deletes unused ones. Errors of the store are logged and
// counted, but the process stays ready: no ping depends on it.
import type { Config } from "../config/config.ts";
import { objectStoreOf } from "../config/connections.ts";
import { type Instant, MINUTE_MS, SECOND_MS } from "../core/instant.ts";
import type { Log } from "../lib/log.ts";
import { type Loop, loopService } from "../lib/loop.ts";
import { addFigures, type Metrics } from "../lib/metrics.ts";
import type { ObjectStore } from "../lib/object-store.ts";
import { whileInService } from "../operations/database-identity.ts";
import { moveBodies, type Moved } from "../operations/ping-bodies.ts";
import type { Database } from "../store/db.ts";
import { readDatabaseClock } from "../store/instance.ts";

const IDLE_MS = 3 * SECOND_MS;
/** While a store is unavailable, every operation fails: log one line in this time. */
const TROUBLE_LOG_PAUSE_MS = 5 * MINUTE_MS;
/** A tick takes up to a minute to begin, two calls after it, and as much again for deletions. */
const PIECE_CALLS_MAX = 4;
const PIECE_MINUTES_MAX = 5;

export type MoverResources = { config: Config; database: Database; log: Log; metrics: Metrics };

type Counts = { moved: number; removed: number; problems: number; isFailing: boolean };

/** The role as a part of a process. Without a configured store it does nothing and reports no problem. */
export function moverRole(resources: MoverResources): Loop {
  const stopping = new AbortController();
  const objects = objectStoreOf(resources.config, { signal: stopping.signal });
  if (objects === null) {
    return { name: "mover", start: async () => {}, stop: async () => {}, problem: () => null };
  }
  const loop = movingLoop(resources, objects);
  return {
    ...loop,
    stop: () => {
      stopping.abort();
      return loop.stop();
    },
  };
}

function movingLoop({ config, database, log, metrics }: MoverResources, objects: ObjectStore): Loop {
  const callMsMax = config.s3TimeoutSeconds * SECOND_MS;
  const counts: Counts = { moved: 0, removed: 0, problems: 0, isFailing: false };
  addCounts(metrics, counts);
  const logProblem = objectStoreErrorLog(log);
  return loopService("mover", {
    idleMs: IDLE_MS,
    staleMs: PIECE_MINUTES_MAX * MINUTE_MS + PIECE_CALLS_MAX * callMsMax,
    log,
    metrics: metrics.loops,
    // A copy shares its bucket with the server in service, and must not delete objects there.
    tick: whileInService(database, async (signal) => {
      const now = await readDatabaseClock(database);
      const done = await moveBodies(database, { objects, now, bytesMin: config.s3BodyBytesMin, callMsMax });
      count(counts, done);
      // Stopping aborts the running calls, which is not an error.
      if (!signal.aborted) logProblem(done.problem, now);
      return done.isComplete || done.problem !== null ? "idle" : "again";
    }),
  });
}

function count(counts: Counts, { moved, removed, problem }: Moved): void {
  counts.moved += moved;
  counts.removed += removed;
  counts.isFailing = problem !== null;
  if (problem !== null) counts.problems += 1;
}

function objectStoreErrorLog(log: Log): (problem: string | null, now: Instant) => void {
  let logged: { problem: string; at: Instant } | null = null;
  return (problem, now) => {
    if (problem === null) {
      if (logged !== null) log.info("the object store works again");
      logged = null;
    } else if (logged?.problem !== problem || now - logged.at >= TROUBLE_LOG_PAUSE_MS) {
      log.error({ problem }, "the object store is failing; ping bodies stay in the database");
      logged = { problem, at: now };
    }
  };
}

function addCounts(metrics: Metrics, counts: Counts): void {
  addFigures(metrics, [
    {
      name: "overdue_bodies_moved_total",
      help: "Ping bodies moved to the object store.",
      kind: "counter",
      read: () => counts.moved,
    },
    {
      name: "overdue_objects_removed_total",
      help: "Objects deleted from the object store.",
      kind: "counter",
      read: () => counts.removed,
    },
    {
      name: "overdue_object_store_troubles_total",
      help: "Failed object store operations.",
      kind: "counter",
      read: () => counts.problems,
    },
    {
      name: "overdue_object_store_trouble",
      help: "1 while the object store is failing.",
      kind: "gauge",
      read: () => (counts.isFailing ? 1 : 0),
    },
  ]);
}
