// The role that applies pings from the log. It is loaded only with OVERDUE_LOG. Several may run: they divide the
// partitions among them.
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Config } from "../config/config.ts";
import type { ServiceState } from "../core/database-identity.ts";
import { SECOND_MS } from "../core/instant.ts";
import { encodeSignal } from "../intake/accepted-codec.ts";
import { KafkaTopic } from "../lib/kafka.ts";
import type { Log } from "../lib/log.ts";
import { type Loop, loopService } from "../lib/loop.ts";
import { addFigures, type Figure, type Metrics } from "../lib/metrics.ts";
import { troubleLog } from "../lib/trouble-log.ts";
import { leaveRecorder, stopPartition, tendRecorder } from "../operations/log.ts";
import { type AppliedLog, recordLog } from "../operations/record-log.ts";
import { type WatermarkLoop, watermarkLoop } from "../operations/watermark-loop.ts";
import { type Database, type DatabaseOptions, openDatabase } from "../store/db.ts";
import { listLogPartitions } from "../store/log-partitions.ts";
import { LogApplier, type LogApplierDeps } from "./log-applier.ts";

/** Transactions at a time. */
const APPLIERS = 2;
/** One for each applier, one for heartbeats, and one for the watermark. */
export const RECORDER_CONNECTIONS_MAX = APPLIERS + 2;
const HEARTBEAT_EVERY_MS = SECOND_MS;

export type RecorderResources = {
  config: Config;
  databaseOptions: DatabaseOptions;
  log: Log;
  metrics: Metrics;
  serviceState?: () => ServiceState;
};

type Counts = { signals: number; batches: number; lostEdges: number; gaps: number };

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
  const watermark = watermarkLoop("recorder-sight", { database, log, metrics: metrics.loops });
  const counts: Counts = { signals: 0, batches: 0, lostEdges: 0, gaps: 0 };
  const name = { recorderId: randomUUID(), name: `${hostname()}/${process.pid}` };
  let topic: KafkaTopic | null = null;
  let appliers: LogApplier[] = [];
  const heartbeats = loopService("recorder", {
    idleMs: HEARTBEAT_EVERY_MS,
    log,
    metrics: metrics.loops,
    tick: async () => {
      const partitions = await tendRecorder(database, name);
      for (const [index, applier] of appliers.entries()) {
        applier.setPartitions(partitions.filter((partition) => partition % APPLIERS === index));
      }
      return "idle";
    },
  });
  addFigures(
    metrics,
    figures(counts, () => appliers),
  );
  return {
    name: "recorder",
    start: async () => {
      topic = await KafkaTopic.open(address);
      const deps = applierDeps(resources, { database, topic, watermark, counts });
      appliers = Array.from({ length: APPLIERS }, () => new LogApplier(deps));
      await watermark.start();
      for (const applier of appliers) applier.start();
      await heartbeats.start();
    },
    stop: async () => {
      await heartbeats.stop();
      await Promise.all(appliers.map((applier) => applier.stop()));
      await leaveRecorder(database, name).catch((error: unknown) =>
        log.warn({ err: error }, "could not release the partitions of the log; others take them after 5 s"),
      );
      await watermark.stop();
      await topic?.close();
      await database.close();
    },
    problem: () => heartbeats.problem() ?? watermark.problem(),
  };
}

type Parts = { database: Database; topic: KafkaTopic; watermark: WatermarkLoop; counts: Counts };

function applierDeps(
  { config, log, serviceState = () => "normal" }: RecorderResources,
  { database, topic, watermark, counts }: Parts,
): LogApplierDeps {
  const onError = troubleLog(log, "applying pings from the log failed");
  const rules = { ratePerMinute: config.signalsPerMinute };
  return {
    read: (given) => topic.read(given),
    load: () => listLogPartitions(database),
    record: (parts, { unreadable, quarantinesFailed, watermarkAt }) => {
      const now = watermark.now();
      return recordLog(database, parts, {
        rules,
        pingLogRows: config.pingLogLimit,
        routerRepeats: config.logRouterRepeats,
        now,
        quarantinesFailed,
        visibility: {
          watermarkAt: serviceState() === "normal" ? watermarkAt : null,
          blind: watermark.visibility().blind,
        },
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
  counts.lostEdges += lost.length;
  counts.gaps += blind.length;
  if (lost.length > 0) log.error({ edges: lost }, "receiving processes were lost");
  if (isIncomplete) log.error({ blind }, "the log lost confirmed pings; recorded a monitoring gap");
}

function figures(counts: Counts, appliers: () => readonly LogApplier[]): Figure[] {
  const counter = (name: string, help: string, read: () => number): Figure => ({
    name: `overdue_recorder_${name}_total`,
    help,
    kind: "counter",
    read,
  });
  return [
    {
      name: "overdue_recorder_partitions",
      help: "Partitions of the log that this process reads.",
      kind: "gauge",
      read: () => appliers().reduce((sum, { count }) => sum + count, 0),
    },
    counter("signals", "Pings applied from the log.", () => counts.signals),
    counter("batches", "Transactions that applied pings from the log.", () => counts.batches),
    counter("lost_edges", "Receiving processes that were declared lost.", () => counts.lostEdges),
    counter("gaps", "Monitoring gaps reported by the log.", () => counts.gaps),
  ];
}
