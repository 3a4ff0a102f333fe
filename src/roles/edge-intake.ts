// The intake of a process with a log: pings are appended to a Kafka topic. The database is needed to start, to look up
// checks that this process does not know, and to create checks.
import { randomUUID } from "node:crypto";
import { ConfigError } from "../config/config.ts";
import { ClockSteps, DatabaseClock, isPrecise, type MachineClocks } from "../core/database-clock.ts";
import { SECOND_MS } from "../core/instant.ts";
import {
  EDGE_PAUSE_MS_MAX,
  isBehind,
  LOG_BODY_BYTES_MAX,
  LOG_RETENTION_REFUSED,
  retentionMsOf,
  topicProblems,
} from "../core/log.ts";
import type { SignalTarget } from "../core/signal.ts";
import type { ClockReading } from "../core/watermark.ts";
import { openIntakeFiles } from "../intake/intake-files.ts";
import { LogIntake } from "../intake/log-intake.ts";
import type { KnownTargets } from "../intake/recorder.ts";
import { adoptSpoolFile, makeFolder, spoolNames } from "../intake/spool-file.ts";
import { type FoundTarget, TargetLookups } from "../intake/target-lookups.ts";
import { KafkaTopic, type TopicDescription } from "../lib/kafka.ts";
import type { Log } from "../lib/log.ts";
import { addFigures, counter, type Figure, type Metrics } from "../lib/metrics.ts";
import { type Loop, loopService } from "../lib/loop.ts";
import { troubleLog } from "../lib/trouble-log.ts";
import { lookAtClock } from "../operations/intakes.ts";
import { isLogLeft, openLog, RECORDER_LOST_AFTER_MS } from "../operations/log.ts";
import { findAliases } from "../operations/record-signals.ts";
import { findCheckIdsByUuids, findCheckUuids, findCheckUuidsBySlugs } from "../store/checks.ts";
import { type Database, openDatabase } from "../store/db.ts";
import { listLogPositions, listRecorders, listUnknown, type LogPosition } from "../store/log-partitions.ts";
import {
  creator,
  type IntakeResources,
  LOOKUP_CONNECTIONS_MAX,
  type StartedIntake,
} from "./started-intake.ts";

const CONNECT_TIMEOUT_MS = 2_000;
const STATEMENT_TIMEOUT_MS = 2_000;
/** How often the database's clock and unknown UUIDs are read. */
const LOOK_EVERY_MS = SECOND_MS;
/** How often the settings of the topic, and how far recorders are behind, are read. */
const EXAMINE_EVERY_MS = 10 * SECOND_MS;
const UNKNOWN_READ_MAX = 10_000;
/** Rows that are read again, because transactions commit in another order than they take numbers. */
const UNKNOWN_READ_AGAIN = 1_000;

const CLOCK_STEPPED = "the clock of this machine has changed, and that of the database is not known yet";
/** A reading takes the time limit of a statement at most. */
const CLOCK_READINGS_MAX = 10;

function machineClocks(): MachineClocks {
  return { wallMs: Date.now(), monotonicMs: performance.now() };
}

/**
 * The time of an edge never goes backwards, so it must not be ahead at the start: the order of a partition counts only
 * while the clocks of edges differ little.
 */
async function readClock(database: Database): Promise<{ clocks: MachineClocks; look: ClockReading }> {
  for (let reading = 1; reading <= CLOCK_READINGS_MAX; reading += 1) {
    const clocks = machineClocks();
    const look = await lookAtClock(database);
    if (isPrecise(look)) return { clocks, look };
  }
  throw new Error(
    "PostgreSQL takes longer than a second to return its time. Start the process again when PostgreSQL is less busy.",
  );
}

type EdgeDeps = { topic: KafkaTopic; database: Database; log: Log; metrics: Metrics };

/** Registers in every partition, and is then ready to accept pings. */
export async function startEdgeIntake(
  resources: IntakeResources & { metrics: Metrics },
): Promise<StartedIntake> {
  const { config, databaseOptions, log, metrics } = resources;
  if (config.logTopic === null) throw new Error("there is no log");
  if (config.spoolFolder !== null && holdsPings(config.spoolFolder)) {
    throw new ConfigError([
      "The spool folder holds pings of a process without OVERDUE_LOG that are not recorded yet. Run the process without OVERDUE_LOG until they are recorded.",
    ]);
  }
  if (config.pingBodyLimitBytes > LOG_BODY_BYTES_MAX) {
    throw new ConfigError([
      `OVERDUE_PING_BODY_LIMIT is ${config.pingBodyLimitBytes}, but the maximum with OVERDUE_LOG is ${LOG_BODY_BYTES_MAX}. Lower it.`,
    ]);
  }
  let intake: LogIntake | null = null;
  const topic = await KafkaTopic.open(config.logTopic, { onIdle: () => intake?.noteIdle() });
  const database = openDatabase({
    ...databaseOptions,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    applicationName: "overdue-edge",
    connectionsMax: LOOKUP_CONNECTIONS_MAX,
  });
  metrics.pools.set("intake-lookups", database.pool);
  const files = openIntakeFiles({ folder: config.spoolFolder, bytesMax: config.spoolBytesMax });
  const close = async () => {
    await topic.close();
    await files.close({ hasLeft: true });
    await database.close();
  };
  try {
    const found = await usableTopic(topic);
    const numbers = [...found.partitions.keys()];
    const ends = await topic.ends(numbers);
    await openLog(database, {
      topicId: found.topicId,
      ends: numbers.map((partition) => ends.get(partition)?.end ?? 0),
    });
    const { clocks, look } = await readClock(database);
    const clock = new DatabaseClock(look, () => performance.now());
    const steps = new ClockSteps(clocks);
    const known = await files.openKnown(Date.now());
    const onError = troubleLog(log, "receiving pings failed");
    const lookups = targetLookups(database);
    const watch = topicWatch({ topic, database, log, metrics }, { topicId: found.topicId });
    const refusal = () => watch.refusal() ?? (steps.hasStepped(machineClocks()) ? CLOCK_STEPPED : null);
    const edge = new LogIntake({
      newEdge: () => {
        const id = randomUUID();
        // Recorders name it, if it is lost.
        log.info({ edge: id }, "appending pings to the log");
        return id;
      },
      partitions: found.partitions.length,
      append: async (given) => {
        const offset = await topic.append(given);
        watch.noteConfirmed();
        return offset;
      },
      isBusy: (partition) => topic.isBusy(partition),
      now: () => clock.now(),
      monotonic: () => performance.now(),
      known,
      find: (target) => lookups.find(target),
      create: creator(database, { checkLimitDefault: config.checkLimit, now: () => clock.now() }),
      refusal,
      onError,
    });
    await edge.enter({ isListening: false });
    intake = edge;
    // From now on, it cannot be left without noticing this process.
    await watch.look();
    if (watch.refusal() !== null) throw new ConfigError([LEFT]);
    const loops = [lookLoop({ topic, database, log, metrics }, { clock, steps, known, watch }), watch.loop];
    for (const loop of loops) await loop.start();
    addFigures(metrics, figures(edge));
    return {
      intake: edge,
      start: async () => edge.listen(),
      stopAccepting: () => edge.stopListening(),
      problem: () => problemOf(edge, refusal()),
      stop: async () => {
        // Loops may wait for the database.
        const [isConfirmed] = await Promise.all([edge.leave(), ...loops.map((loop) => loop.stop())]);
        if (!isConfirmed)
          log.error(
            "the log did not confirm that this process has ended; alerts wait until it is declared lost",
          );
        await close();
      },
    };
  } catch (error) {
    // Otherwise alerts would wait until it is declared lost.
    await intake?.leave();
    await close();
    throw error;
  }
}

/** Whether a process that is gone has left pings in the folder. Only one that records without the log replays them. */
function holdsPings(folder: string): boolean {
  makeFolder(folder);
  return spoolNames(folder).some((name) => {
    const found = adoptSpoolFile({ folder, name, now: Date.now() });
    if (found.kind !== "adopted") return found.kind === "lost";
    const { batches } = found.file;
    found.file.close();
    return batches > 0;
  });
}

/** The topic, if pings that it confirms are safe. */
async function usableTopic(topic: KafkaTopic): Promise<TopicDescription> {
  const found = await topic.describe();
  if (found === null) {
    throw new ConfigError(["The topic of OVERDUE_LOG does not exist. Create it with: overdue log create"]);
  }
  const problems = topicProblems(found);
  if (problems.length === 0) return found;
  throw new ConfigError([
    `The topic of OVERDUE_LOG could lose confirmed pings: ${problems.join("; ")}. Change its settings.`,
  ]);
}

function problemOf(intake: LogIntake, refusal: string | null): string | null {
  if (refusal !== null) return `pings are rejected: ${refusal}`;
  return intake.state().isBlocked ? "pings are rejected: the log does not confirm them" : null;
}

function targetLookups(database: Database): TargetLookups {
  return new TargetLookups({
    find: async (targets) => {
      const uuids = targets.flatMap((target) => (target.by === "uuid" ? [target.uuid] : []));
      const pairs = targets.flatMap((target) => (target.by === "slug" ? [target] : []));
      const [byUuid, bySlug] = await Promise.all([
        findCheckIdsByUuids(database, uuids),
        findCheckUuidsBySlugs(database, pairs),
      ]);
      const slugs = new Map(pairs.map((pair, index) => [pair, bySlug[index] ?? "unknown"]));
      const found = targets.map((target) => {
        if (target.by === "slug") return slugs.get(target) ?? "unknown";
        return byUuid.has(target.uuid) ? { uuid: target.uuid } : "unknown";
      });
      return found.includes("unknown") ? withAliases(database, targets, found) : found;
    },
    monotonic: () => performance.now(),
  });
}

/** The same with the checks that unknown targets are aliases of. */
async function withAliases(
  database: Database,
  targets: readonly SignalTarget[],
  found: readonly FoundTarget[],
): Promise<FoundTarget[]> {
  const missed = targets.filter((_, index) => found[index] === "unknown");
  const ids = await findAliases(database, missed);
  const uuids = await findCheckUuids(
    database,
    ids.filter((id) => id !== null),
  );
  const aliases = new Map(missed.map((target, index) => [target, uuids.get(ids[index] ?? -1)]));
  return targets.map((target, index) => {
    const uuid = aliases.get(target);
    return uuid === undefined ? (found[index] ?? "unknown") : { uuid };
  });
}

/** Nobody applies what this process would append. */
const LEFT =
  "The command overdue log leave was run while this process was using the log. Restart the process without OVERDUE_LOG.";

type TopicWatch = {
  loop: Loop;
  /** Why pings are rejected; null if they are not. */
  refusal: () => string | null;
  /** A record was confirmed. After a long time without any, the log may have been left. */
  noteConfirmed: () => void;
  /** Finds out whether the log was left. */
  look: () => Promise<void>;
};

type Looked = {
  clock: DatabaseClock;
  steps: ClockSteps;
  known: KnownTargets;
  watch: TopicWatch;
};

/** Follows the database's clock, and forgets checks that recorders did not find. */
function lookLoop({ database, log, metrics }: EdgeDeps, { clock, steps, known, watch }: Looked): Loop {
  let afterId = 0;
  let hasStepped = false;
  return loopService("edge-look", {
    idleMs: LOOK_EVERY_MS,
    log,
    metrics: metrics.loops,
    tick: async () => {
      // Before: the machine may be suspended after the database has answered.
      const clocks = machineClocks();
      const look = await lookAtClock(database);
      clock.adjust(look);
      steps.noteReading(clocks, look);
      const hadStepped = hasStepped;
      hasStepped = steps.hasStepped(clocks);
      if (hasStepped && !hadStepped) log.error({ reason: CLOCK_STEPPED }, "pings are rejected");
      await watch.look();
      const unknown = await listUnknown(database, {
        afterId: afterId - UNKNOWN_READ_AGAIN,
        limit: UNKNOWN_READ_MAX,
      });
      for (const { id, uuid } of unknown) {
        known.remove({ by: "uuid", uuid } satisfies SignalTarget);
        afterId = id;
      }
      return unknown.length === UNKNOWN_READ_MAX ? "again" : "idle";
    },
  });
}

/** Rejects pings while the topic could lose them. */
function topicWatch(
  { topic, database, log, metrics }: EdgeDeps,
  { topicId }: { topicId: string },
): TopicWatch {
  let refusal: string | null = null;
  let hasLeft = false;
  let confirmedMs = performance.now();
  /** How often no record was confirmed for a while, and how many of these times were before the last look. */
  let pauses = 0;
  let pausesSeen = 0;
  let isAlone = false;
  const loop = loopService("edge-topic", {
    idleMs: EXAMINE_EVERY_MS,
    log,
    metrics: metrics.loops,
    tick: async () => {
      const found = await topic.describe();
      const next =
        found === null || found.topicId !== topicId
          ? "the topic was deleted"
          : (topicProblems(found)[0] ?? (await retentionProblem({ topic, database }, found)));
      if (next !== null && next !== refusal)
        log.error({ reason: next }, "pings are rejected because of the log");
      refusal = next;
      const wasAlone = isAlone;
      isAlone = await isWithoutRecorder(database);
      if (isAlone && !wasAlone) {
        log.warn(
          "no process with the role recorder is running: pings are accepted, but not applied, and alerts wait",
        );
      }
      return "idle";
    },
  });
  return {
    loop,
    refusal: () => {
      if (hasLeft) return LEFT;
      return pauses === pausesSeen ? refusal : "it is not known yet whether the log is still in use";
    },
    noteConfirmed: () => {
      const nowMs = performance.now();
      if (nowMs - confirmedMs > EDGE_PAUSE_MS_MAX) pauses += 1;
      confirmedMs = nowMs;
    },
    look: async () => {
      const before = pauses;
      hasLeft = await isLogLeft(database, { topicId });
      pausesSeen = before;
    },
  };
}

/** False if the database cannot be reached: then nothing is known. */
async function isWithoutRecorder(database: Database): Promise<boolean> {
  try {
    const { databaseAt: now } = await lookAtClock(database);
    return (await listRecorders(database)).every(({ seenAt }) => now - seenAt > RECORDER_LOST_AFTER_MS);
  } catch {
    return false;
  }
}

/** Records that are deleted before they are applied would be lost. */
async function retentionProblem(
  { topic, database }: Pick<EdgeDeps, "topic" | "database">,
  { settings }: TopicDescription,
): Promise<string | null> {
  const retentionMs = retentionMsOf(settings);
  if (retentionMs === null) return null;
  let positions: readonly LogPosition[];
  try {
    positions = await listLogPositions(database);
  } catch {
    // Without the database nothing is known; it is away, not the log.
    return null;
  }
  // Brokers set the times of records.
  const at = Date.now() - retentionMs * LOG_RETENTION_REFUSED;
  if (!isBehind(positions, await topic.firstSince([...positions.keys()], at))) return null;
  return "recorders are so far behind that Kafka would soon delete pings before they are applied";
}

function figures(intake: LogIntake): Figure[] {
  return [
    {
      name: "overdue_intake_queued",
      help: "Pings waiting for a batch.",
      kind: "gauge",
      read: () => intake.state().queued,
    },
    counter("intake_taken", "Accepted pings.", () => intake.state().takenCount),
    counter("intake_refused", "Rejected pings.", () => intake.state().refusedCount),
    counter(
      "intake_thinned",
      "Accepted pings beyond 100 per second of a check, which are not recorded.",
      () => intake.state().thinnedCount,
    ),
    counter(
      "log_appended",
      "Records that the log confirmed, with heartbeats.",
      () => intake.state().confirmedCount,
    ),
    counter(
      "log_unconfirmed",
      "Records that the log did not confirm in time.",
      () => intake.state().unconfirmedCount,
    ),
  ];
}
