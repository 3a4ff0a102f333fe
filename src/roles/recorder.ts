// The role that applies pings from the log. It is loaded only with OVERDUE_LOG. Several may run: they divide the
// partitions among them.
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Config } from "../config/config.ts";
import { DatabaseClock } from "../core/database-clock.ts";
import type { ServiceState } from "../core/database-identity.ts";
import { type Instant, SECOND_MS } from "../core/instant.ts";
import { encodeSignal } from "../intake/accepted-codec.ts";
import { KafkaError, KafkaTopic } from "../lib/kafka.ts";
import type { Log } from "../lib/log.ts";
import { type Loop, loopService } from "../lib/loop.ts";
import { addFigures, counter, type Figure, type Metrics } from "../lib/metrics.ts";
import { troubleLog } from "../lib/trouble-log.ts";
import { leaveRecorder, type RecorderWatch, stopPartition, tendRecorder } from "../operations/log.ts";
import { type AppliedLog, recordLog } from "../operations/record-log.ts";
import { type Database, type DatabaseOptions, openDatabase } from "../store/db.ts";
import { listLogPartitions } from "../store/log-partitions.ts";
import { LogApplier, type LogApplierDeps } from "./log-applier.ts";

/** Transactions at a time. */
const APPLIERS = 2;
/** One for each applier, and one for heartbeats. */
export const RECORDER_CONNECTIONS_MAX = APPLIERS + 1;
const HEARTBEAT_EVERY_MS = SECOND_MS;

export type RecorderResources = {
  config: Config;
  databaseOptions: DatabaseOptions;
  log: Log;
  metrics: Metrics;
  serviceState?: () => ServiceState;
};

/** How often the topic is looked for. */
const EXAMINE_EVERY_MS = 10 * SECOND_MS;
/** Lost edges that are remembered, because each partition reports them. */
const LOST_EDGES_MAX = 1_000;

type Counts = { signals: number; batches: number; lostEdges: number; gaps: number; reported: Set<string> };

/** The role as a part of a process with a log. */
export function recorderRole(resources: RecorderResources): Loop {
  const { config, databaseOptions, log, metrics } = resources;
  const address = config.logTopic;
  if (address === null) throw new Error("there is no log");
  const database = openDatabase({
    ...databaseOptions,
    applicationName: "overdue-recorder",
    connectionsMax: RECORDER_CONNECTIONS_MAX,
    plansOnce: true,
  });
  metrics.pools.set("recorder", database.pool);
  const counts: Counts = { signals: 0, batches: 0, lostEdges: 0, gaps: 0, reported: new Set() };
  const name = { recorderId: randomUUID(), name: `${hostname()}/${process.pid}` };
  let topic: KafkaTopic | null = null;
  let appliers: LogApplier[] = [];
  let watch: RecorderWatch | null = null;
  let clock: DatabaseClock | null = null;
  const heartbeats = loopService("recorder", {
    idleMs: HEARTBEAT_EVERY_MS,
    log,
    metrics: metrics.loops,
    tick: async () => {
      const behind = appliers.flatMap((applier) => applier.behind);
      const tended = await tendRecorder(database, { ...name, behind, watch });
      const { partitions, look, lost } = tended;
      watch = tended.watch;
      if (clock === null) clock = new DatabaseClock(look, () => performance.now());
      else clock.adjust(look);
      if (lost.length > 0) log.error({ intakes: lost }, "receiving processes without the log were lost");
      for (const [index, applier] of appliers.entries()) {
        applier.setPartitions(partitions.filter((partition) => partition % APPLIERS === index));
      }
      return "idle";
    },
  });
  let unreadable: string | null = null;
  const examination = loopService("recorder-topic", {
    idleMs: EXAMINE_EVERY_MS,
    log,
    metrics: metrics.loops,
    tick: async () => {
      const before = unreadable;
      unreadable = topic === null ? null : await problemOf(topic);
      if (unreadable !== null && before === null) log.error({ reason: unreadable }, "the log cannot be read");
      return "idle";
    },
  });
  const now = () => clock?.now() ?? Date.now();
  addFigures(metrics, figures(counts, { appliers: () => appliers, now }));
  return {
    name: "recorder",
    start: async () => {
      topic = await KafkaTopic.open(address);
      const deps = applierDeps(resources, {
        database,
        topic,
        counts,
        now,
      });
      appliers = Array.from({ length: APPLIERS }, () => new LogApplier(deps));
      for (const applier of appliers) applier.start();
      await heartbeats.start();
      await examination.start();
    },
    stop: async () => {
      await examination.stop();
      await heartbeats.stop();
      await Promise.all(appliers.map((applier) => applier.stop()));
      await leaveRecorder(database, name).catch((error: unknown) =>
        log.warn({ err: error }, "could not release the partitions of the log; others take them after 5 s"),
      );
      await topic?.close();
      await database.close();
    },
    problem: () =>
      heartbeats.problem() ??
      unreadable ??
      appliers.map((applier) => applier.problem()).find((problem) => problem !== null) ??
      null,
  };
}

/** Why the topic cannot be read. Not fatal: other roles of the process do not need it. */
async function problemOf(topic: KafkaTopic): Promise<string | null> {
  try {
    const isThere = (await topic.describe()) !== null;
    return isThere ? null : "the topic of OVERDUE_LOG does not exist; create it with: overdue log create";
  } catch (error) {
    if (error instanceof KafkaError) return error.message;
    throw error;
  }
}

type Parts = { database: Database; topic: KafkaTopic; counts: Counts; now: () => Instant };

function applierDeps(
  { config, log, serviceState = () => "normal" }: RecorderResources,
  { database, topic, counts, now: readClock }: Parts,
): LogApplierDeps {
  const onError = troubleLog(log, "applying pings from the log failed");
  const rules = { ratePerMinute: config.signalsPerMinute };
  return {
    read: (given) => topic.read(given),
    load: () => listLogPartitions(database),
    record: (parts, { unreadable, quarantinesFailed }) => {
      const now = readClock();
      return recordLog(database, parts, {
        rules,
        pingLogRows: config.pingLogLimit,
        routerRepeats: config.logRouterRepeats,
        now,
        quarantinesFailed,
        isInService: serviceState() === "normal",
        unreadable: unreadable.map((one) => ({ ...one, at: now })),
        encode: (signal) => Buffer.from(encodeSignal(signal)),
        onFault: (error) => onError(error, "a ping was quarantined"),
      });
    },
    stopPartition: async (given) => {
      if (await stopPartition(database, given)) {
        log.error(given, "a partition of the log is stopped, and alerts wait; run `overdue log status`");
      }
    },
    onApplied: (applied) => noteApplied(applied, { counts, log }),
    onError,
  };
}

function noteApplied(
  { signalCount, lost, blind, isIncomplete }: AppliedLog,
  { counts, log }: { counts: Counts; log: Log },
): void {
  counts.signals += signalCount;
  counts.batches += 1;
  counts.gaps += blind.length;
  const edges = lost.filter((edge) => !counts.reported.has(edge));
  if (counts.reported.size > LOST_EDGES_MAX) counts.reported.clear();
  for (const edge of edges) counts.reported.add(edge);
  counts.lostEdges += edges.length;
  if (edges.length > 0) log.error({ edges }, "receiving processes were lost");
  if (isIncomplete) log.error({ blind }, "the log lost confirmed pings; recorded a monitoring gap");
}

function figures(
  counts: Counts,
  { appliers, now }: { appliers: () => readonly LogApplier[]; now: () => Instant },
): Figure[] {
  return [
    {
      name: "overdue_recorder_partitions",
      help: "Partitions of the log that this process reads.",
      kind: "gauge",
      read: () => appliers().reduce((sum, { count }) => sum + count, 0),
    },
    {
      name: "overdue_recorder_lag_seconds",
      help: "Time since everything in the log was applied; of the partition that is furthest behind.",
      kind: "gauge",
      read: () => {
        const watermarks = appliers().flatMap(({ watermarkAt }) =>
          watermarkAt === null ? [] : [watermarkAt],
        );
        return watermarks.length === 0 ? null : Math.max(0, now() - Math.min(...watermarks)) / SECOND_MS;
      },
    },
    counter("recorder_signals", "Pings applied from the log.", () => counts.signals),
    counter("recorder_batches", "Transactions that applied pings from the log.", () => counts.batches),
    counter("recorder_lost_edges", "Receiving processes that were declared lost.", () => counts.lostEdges),
    counter("recorder_gaps", "Monitoring gaps reported by the log.", () => counts.gaps),
  ];
}
