// A server with a log for tests: a topic in a real Kafka cluster, edges, and recorders, in this process.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { loadConfig } from "../../src/config/config.ts";
import { DAY_MS, SECOND_MS } from "../../src/core/instant.ts";
import { topicSettings } from "../../src/core/log.ts";
import type { HttpAction } from "../../src/core/signal.ts";
import { KafkaTopic } from "../../src/lib/kafka.ts";
import { createLog } from "../../src/lib/log.ts";
import type { Loop } from "../../src/lib/loop.ts";
import { createMetrics } from "../../src/lib/metrics.ts";
import { LogIntake, type LogIntakeDeps } from "../../src/intake/log-intake.ts";
import { startEdgeIntake } from "../../src/roles/edge-intake.ts";
import { recorderRole } from "../../src/roles/recorder.ts";
import type { StartedIntake } from "../../src/roles/started-intake.ts";
import type { LossTopic } from "../../src/operations/log.ts";
import { type Swept, sweepDeadlines } from "../../src/operations/sweep.ts";
import type { CheckWithState } from "../../src/store/checks.ts";
import type { Database } from "../../src/store/db.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import { readVisibility } from "../../src/store/intakes.ts";
import { signal } from "../intake/scripted-ports.ts";
import type { TestDatabase } from "../support/database.ts";
import { makeWatched, makeWorld } from "../support/sweeping.ts";
import type { KafkaCluster } from "../support/kafka-cluster.ts";

export type Stage = {
  topic: string;
  lines: string[];
  kafka: KafkaTopic;
  startEdge(): Promise<StartedIntake>;
  /** An edge without a database, whose clock is off, and which can be cut off from the log as if it was killed. */
  startBareEdge(given?: { offMs?: number }): Promise<BareEdge>;
  startRecorder(given?: { url?: string }): Promise<Loop>;
  stopOne(one: StartedIntake | Loop): Promise<void>;
  /** Stops everything that runs. */
  stop(): Promise<void>;
};

export type BareEdge = {
  intake: LogIntake;
  clock: { offMs: number };
  /** What it is called in the log. */
  edge(): string;
  cutOff(): void;
};

export type StageOptions = {
  url: string;
  partitions?: number;
  /** Settings of the topic that differ from those of `overdue log create`. */
  topicWith?: Readonly<Record<string, string>>;
  /** Further settings of the server. */
  settings?: Readonly<Record<string, string>>;
};

/** Creates a topic; nothing runs yet. */
export async function stage(
  cluster: KafkaCluster,
  { url, partitions = 4, topicWith = {}, settings = {} }: StageOptions,
): Promise<Stage> {
  const topic = `overdue-${randomUUID()}`;
  const replicas = cluster.brokerIds.length;
  const kafka = await KafkaTopic.open(cluster.address(topic));
  await kafka.create({
    partitions,
    replicas,
    settings: { ...topicSettings({ brokers: replicas }), ...topicWith },
  });
  const { config } = loadConfig({
    OVERDUE_LOG: cluster.url(topic),
    OVERDUE_SIGNALS_PER_MINUTE: "0",
    OVERDUE_PING_LOG_LIMIT: "10000",
    OVERDUE_SPOOL_FOLDER: "off",
    ...settings,
  });
  const lines: string[] = [];
  const log = createLog({ level: "info", destination: { write: (line) => lines.push(line) } });
  const databaseOptions = { url, applicationName: "overdue", onError: () => {}, requireDurable: false };
  const running = new Set<{ stop: () => Promise<unknown> }>();
  const resources = () => ({ config: { ...config, spoolFolder: null }, databaseOptions, log });
  return {
    topic,
    lines,
    kafka,
    startEdge: async () => {
      const edge = await startEdgeIntake({ ...resources(), metrics: createMetrics({ version: "test" }) });
      running.add(edge);
      await edge.start();
      return edge;
    },
    startBareEdge: async ({ offMs = 0 } = {}) => {
      let isCutOff = false;
      const clock = { offMs };
      let edge = "";
      const append: LogIntakeDeps["append"] = (given) =>
        isCutOff ? Promise.reject(new Error("cut off")) : kafka.append(given);
      const intake = new LogIntake({
        newEdge: () => (edge = randomUUID()),
        partitions,
        append,
        isBusy: (partition) => kafka.isBusy(partition),
        now: () => Date.now() + clock.offMs,
        monotonic: () => performance.now(),
        known: { knows: () => true, remember: () => {}, remove: () => {} },
        find: async () => "unknown",
        create: async () => "unknown",
        refusal: () => null,
        onError: () => {},
      });
      running.add({ stop: () => intake.leave() });
      await intake.enter();
      return { intake, clock, edge: () => edge, cutOff: () => (isCutOff = true) };
    },
    startRecorder: async (given = {}) => {
      const own = { ...resources(), databaseOptions: { ...databaseOptions, ...given } };
      const recorder = recorderRole({ ...own, metrics: createMetrics({ version: "test" }) });
      running.add(recorder);
      await recorder.start();
      return recorder;
    },
    stopOne: async (one) => {
      running.delete(one);
      await one.stop();
    },
    stop: async () => {
      for (const one of running) await one.stop();
      running.clear();
      await kafka.close();
    },
  };
}

/** The topic, as far as continuing after a loss needs it. */
export async function lossTopicOf(kafka: KafkaTopic): Promise<LossTopic> {
  const { topicId, partitions } = (await kafka.describe()) ?? { topicId: "", partitions: [] };
  const ends = await kafka.ends([...partitions.keys()]);
  return {
    topicId,
    starts: [...ends.values()].map(({ start }) => start),
    firstSince: async (partition, at) => (await kafka.firstSince([partition], at)).get(partition) ?? 0,
  };
}

/** What a ping says, and when it was received; now by default. */
export type Sent = { action?: HttpAction; at?: number };

/** Sends a ping with this body to a check; returns how it was answered. */
export async function ping(
  { intake }: Pick<StartedIntake, "intake">,
  uuid: string,
  word: string,
  { action = "success", at = intake.now() }: Sent = {},
): Promise<string> {
  const accepted = signal(word, {
    target: { by: "uuid", uuid },
    source: { by: "http", action, method: "POST" },
    at,
    body: Buffer.from(word),
  });
  return (await intake.accept(accepted, { create: false, network: null })).kind;
}

/** What a sweeper does now, if heartbeats had no gap. */
export async function sweep(db: Database): Promise<Swept & { watermarkAt: number }> {
  const now = await readDatabaseClock(db);
  const { visibility } = await readVisibility(db, { from: now - DAY_MS, to: now + DAY_MS, gapsThrough: now });
  return { ...(await sweepDeadlines(db, { now, visibility })), watermarkAt: visibility.watermarkAt ?? 0 };
}

/** A check whose deadline is at an instant, this long after its last ping. */
export async function checkDueAt(
  database: TestDatabase,
  at: number,
  { afterSeconds = 600 } = {},
): Promise<CheckWithState> {
  const world = await makeWorld(database);
  const lastPingAt = at - afterSeconds * SECOND_MS;
  const settings = { timeoutSeconds: 1, graceSeconds: afterSeconds - 1 };
  return makeWatched(database, world, { settings, state: { lastPingAt, newestAt: lastPingAt } });
}

const ATTEMPTS_MAX = 600;

/** Sends a ping until it is acknowledged, as a job would; returns how many attempts that took. */
export async function pingUntilAccepted(
  started: Pick<StartedIntake, "intake">,
  uuid: string,
  word: string,
  sent: Sent = {},
): Promise<number> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const kind = await ping(started, uuid, word, sent);
    if (kind === "recorded") return attempt;
    if (kind !== "busy") throw new Error(`the ping was answered with ${kind}`);
    await sleep(100);
  }
  throw new Error("the ping was never acknowledged");
}
