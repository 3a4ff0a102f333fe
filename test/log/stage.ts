// A server with a log for tests: a topic in a real Kafka cluster, edges, and recorders, in this process.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { loadConfig } from "../../src/config/config.ts";
import { topicSettings } from "../../src/core/log.ts";
import { KafkaTopic } from "../../src/lib/kafka.ts";
import { createLog } from "../../src/lib/log.ts";
import type { Loop } from "../../src/lib/loop.ts";
import { createMetrics } from "../../src/lib/metrics.ts";
import { startEdgeIntake } from "../../src/roles/edge-intake.ts";
import { recorderRole } from "../../src/roles/recorder.ts";
import type { StartedIntake } from "../../src/roles/started-intake.ts";
import { signal } from "../intake/scripted-ports.ts";
import type { KafkaCluster } from "../support/kafka-cluster.ts";

export type Stage = {
  topic: string;
  lines: string[];
  kafka: KafkaTopic;
  startEdge(): Promise<StartedIntake>;
  startRecorder(): Promise<Loop>;
  stopOne(one: StartedIntake | Loop): Promise<void>;
  /** Stops everything that runs. */
  stop(): Promise<void>;
};

/** Creates a topic; nothing runs yet. */
export async function stage(
  cluster: KafkaCluster,
  { url, partitions = 4 }: { url: string; partitions?: number },
): Promise<Stage> {
  const topic = `overdue-${randomUUID()}`;
  const replicas = cluster.brokerIds.length;
  const kafka = await KafkaTopic.open(cluster.address(topic));
  await kafka.create({ partitions, replicas, settings: topicSettings({ brokers: replicas }) });
  const { config } = loadConfig({
    OVERDUE_LOG: cluster.url(topic),
    OVERDUE_SIGNALS_PER_MINUTE: "0",
    OVERDUE_PING_LOG_LIMIT: "10000",
    OVERDUE_SPOOL_FOLDER: "off",
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
    startRecorder: async () => {
      const recorder = recorderRole({ ...resources(), metrics: createMetrics({ version: "test" }) });
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

/** Sends a ping with this body to a check; returns how it was answered. */
export async function ping(
  { intake }: Pick<StartedIntake, "intake">,
  uuid: string,
  word: string,
): Promise<string> {
  const accepted = signal(word, { target: { by: "uuid", uuid }, at: intake.now(), body: Buffer.from(word) });
  return (await intake.accept(accepted, { create: false, network: null })).kind;
}

const ATTEMPTS_MAX = 100;

/** Sends a ping until it is acknowledged, as a job would; returns how many attempts that took. */
export async function pingUntilAccepted(
  started: Pick<StartedIntake, "intake">,
  uuid: string,
  word: string,
): Promise<number> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const kind = await ping(started, uuid, word);
    if (kind === "recorded") return attempt;
    if (kind !== "busy") throw new Error(`the ping was answered with ${kind}`);
    await sleep(100);
  }
  throw new Error("the ping was never acknowledged");
}
