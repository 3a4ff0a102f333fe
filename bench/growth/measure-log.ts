// What a ping costs without a log, and on its way through Kafka: real processes, each part measured alone. Then all of them
// together at the limit of the machine, to compare with what the model says.
import { setTimeout as pause } from "node:timers/promises";
import { LOG_PARTITIONS, topicSettings } from "../../src/core/log.ts";
import { decodeRecord } from "../../src/intake/log-record.ts";
import { KafkaTopic } from "../../src/lib/kafka.ts";
import type { KafkaCluster } from "../../test/support/kafka-cluster.ts";
import { type PingProcess, startPingProcess } from "../../test/support/ping-process.ts";
import { freePort } from "../../test/support/ports.ts";
import type { PingScale } from "../ping/ping-scale.ts";
import { type Answers, countAnswers } from "../ping/wrk.ts";
import {
  childrenOf,
  parentOf,
  secondsOf,
  secondsOfMachine,
  secondsOfSenders,
  secondsOfTree,
} from "./processor-time.ts";
import type { GrowthSize } from "./sizes.ts";
import type { Costs } from "./sizing.ts";

const US = 1_000_000;
/** The log rows that are kept, so that trimming is part of the measurement. */
const LOG_ROWS = 100;
const SETTINGS = { OVERDUE_PING_LOG_LIMIT: String(LOG_ROWS), OVERDUE_SIGNALS_PER_MINUTE: "0" };
const LOOK_MS = 100;
const DRAIN_MS_MAX = 180_000;
const READ_BYTES_MAX = 4 * 1024 * 1024;
/** The first part of what a recorder applies is not counted, to warm up the code. */
const WARM_UP_PART = 4;
/** Transactions of a recorder at a time. */
const APPLIERS = 2;

export type LogStage = { size: GrowthSize; scale: PingScale; cluster: KafkaCluster };

/** Processor time so far, in seconds. */
type Times = {
  node: number;
  postgres: number;
  kafka: number;
  senders: number;
  machine: number;
  atMs: number;
  walBytes: number;
};

/** Reads the processor times of a process of ours, and of everything that it uses. */
class Meter {
  readonly #scale: PingScale;
  readonly #postgres: number;
  readonly #kafka: readonly number[];

  private constructor({ scale, cluster }: LogStage, postgres: number) {
    this.#scale = scale;
    this.#postgres = postgres;
    this.#kafka = cluster.pids;
  }

  static async open(stage: LogStage): Promise<Meter> {
    const { rows } = await stage.scale.admin.query<{ pid: number }>("select pg_backend_pid() as pid");
    return new Meter(stage, parentOf(rows[0]?.pid ?? 0));
  }

  /** The processes of PostgreSQL. */
  get postgres(): readonly number[] {
    return [this.#postgres, ...childrenOf(this.#postgres)];
  }

  async read(pids: readonly number[]): Promise<Times> {
    const { rows } = await this.#scale.admin.query<{ at: string }>(
      "select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::text as at",
    );
    return {
      node: secondsOf(pids),
      postgres: secondsOfTree(this.#postgres),
      kafka: secondsOf(this.#kafka),
      senders: secondsOfSenders(),
      machine: secondsOfMachine(),
      atMs: performance.now(),
      walBytes: Number(rows[0]?.at),
    };
  }

  /** What the work took. */
  async over(pids: readonly number[], work: () => Promise<unknown>): Promise<Times> {
    const before = await this.read(pids);
    await work();
    const after = await this.read(pids);
    const names = Object.keys(before) as (keyof Times)[];
    return Object.fromEntries(names.map((name) => [name, after[name] - before[name]])) as Times;
  }
}

export type LogMeasured = {
  costs: Omit<Costs, "tlsUs" | "routeUs" | "sweepUs" | "deliverUs" | "alertPostgresUs">;
  /** Of the program that sends pings, and of brokers for appending and reading: microseconds. */
  senderUs: number;
  appendUs: number;
  readUs: number;
  /** Pings per second of an edge and of a recorder, each without the other. */
  edgePerSecond: number;
  recorderPerSecond: number;
  real: RealRun;
};

/** The run at the limit. */
export type RealRun = {
  /** Accepted while the recorder was stopped. */
  waiting: number;
  /** How long pings were sent after that, and how many were accepted; refused: in both. */
  sentSeconds: number;
  accepted: number;
  refused: number;
  /** From when the recorder went on until all were applied. */
  totalSeconds: number;
  /** Cores that other programs of the machine used. */
  otherCores: number;
};

type Running = { edge: PingProcess; recorder: Recorder; meter: Meter };

/** Measures each part, then all together. */
export async function measureLog(stage: LogStage): Promise<LogMeasured> {
  const { size, scale, cluster } = stage;
  const meter = await Meter.open(stage);
  const direct = await measureDirect(stage, meter);
  const address = cluster.address();
  const topic = await KafkaTopic.open(address);
  const replicas = cluster.brokerIds.length;
  await topic.create({
    partitions: LOG_PARTITIONS,
    replicas,
    settings: topicSettings({ brokers: replicas }),
  });
  const settings = { ...SETTINGS, OVERDUE_LOG: cluster.url(address.topic) };
  const started: { stop(): Promise<void> }[] = [];
  try {
    const edge = await startPingProcess({ databaseUrl: scale.url, port: await freePort(), settings });
    started.push(edge);
    const { accepted: warmUp } = await send(stage, edge, size.warmUpSeconds);
    let answered = 0;
    const receiving = await meter.over([edge.pid], async () => {
      ({ accepted: answered } = await send(stage, edge, size.seconds));
    });
    const recorder = await startRecorder(scale, settings);
    started.push(recorder.process);
    const applied = await recorder.untilSignals((warmUp + answered) / WARM_UP_PART);
    let recorded = 0;
    const recording = await meter.over([recorder.process.pid], async () => {
      recorded = (await recorder.untilSignals(warmUp + answered)) - applied;
    });
    const idle = await meter.over([edge.pid], () => pause(size.idleSeconds * 1_000));
    const idleRecorder = await meter.over([recorder.process.pid], () => pause(size.idleSeconds * 1_000));
    const us = (seconds: number, count: number) => (seconds * US) / count;
    const perSecond = ({ atMs }: Times, seconds: number) => (seconds * US * 1_000) / atMs;
    const [recorderUs, postgresUs] = [us(recording.node, recorded), us(recording.postgres, recorded)];
    const [appendUs, readUs] = [us(receiving.kafka, answered), us(recording.kafka, recorded)];
    return {
      costs: {
        edgeUs: us(receiving.node, answered),
        kafkaUs: appendUs + readUs,
        recorderUs,
        postgresUs,
        // The time of two transactions at a time that neither the recorder nor PostgreSQL computed.
        commitUs: Math.max(0, (APPLIERS * recording.atMs * 1_000) / recorded - recorderUs - postgresUs),
        ...direct,
        heartbeatEdgeUs: perSecond(idle, idle.node),
        heartbeatKafkaUs: perSecond(idle, idle.kafka),
        heartbeatRecorderUs: perSecond(idleRecorder, idleRecorder.node),
        heartbeatPostgresUs: perSecond(idle, idle.postgres),
        logBytes: await bytesPerPing(topic),
        walBytes: recording.walBytes / recorded,
      },
      senderUs: us(receiving.senders, answered),
      appendUs,
      readUs,
      edgePerSecond: answered / size.seconds,
      recorderPerSecond: (recorded * 1_000) / recording.atMs,
      real: await runAtLimit(stage, { edge, recorder, meter }),
    };
  } finally {
    for (const one of started.toReversed()) await one.stop();
    await topic.close();
  }
}

async function measureDirect(
  stage: LogStage,
  meter: Meter,
): Promise<Pick<Costs, "directUs" | "directPostgresUs">> {
  const { size, scale } = stage;
  const settings = SETTINGS;
  const process = await startPingProcess({ databaseUrl: scale.url, port: await freePort(), settings });
  try {
    await send(stage, process, size.warmUpSeconds);
    let answered = 0;
    const used = await meter.over([process.pid], async () => {
      ({ accepted: answered } = await send(stage, process, size.seconds));
    });
    return { directUs: (used.node * US) / answered, directPostgresUs: (used.postgres * US) / answered };
  } finally {
    await process.stop();
  }
}

/** On a machine that is busy with something else, some are refused, which is printed. */
function send({ size, scale }: LogStage, { port }: PingProcess, seconds: number): Promise<Answers> {
  const load = { url: `http://127.0.0.1:${port}`, uuidsPath: scale.uuidsPath, bodyBytes: 0 };
  return countAnswers({ ...load, connections: size.connections, seconds });
}

type Recorder = {
  process: PingProcess;
  signals(): Promise<number>;
  /** Resolves when it has applied this many. */
  untilSignals(count: number): Promise<number>;
};

async function startRecorder(
  scale: PingScale,
  settings: Readonly<Record<string, string>>,
): Promise<Recorder> {
  const adminPort = await freePort();
  const process = await startPingProcess({
    databaseUrl: scale.url,
    port: await freePort(),
    roles: "recorder",
    settings: { ...settings, OVERDUE_ADMIN_LISTEN: `127.0.0.1:${adminPort}` },
  });
  const signals = async () => {
    const response = await fetch(`http://127.0.0.1:${adminPort}/metrics`);
    const found = /^overdue_recorder_signals_total (\d+)/m.exec(await response.text());
    return Number(found?.[1] ?? 0);
  };
  const untilSignals = async (count: number) => {
    const byMs = performance.now() + DRAIN_MS_MAX;
    for (;;) {
      const now = await signals();
      if (now >= count) return now;
      if (performance.now() > byMs) throw new Error(`${now} of ${count} pings were applied in time`);
      await pause(LOOK_MS);
    }
  };
  return { process, signals, untilSignals };
}

/** Bytes in the log for a ping, from what is in its first partition. */
async function bytesPerPing(topic: KafkaTopic): Promise<number> {
  const topicId = (await topic.describe())?.topicId ?? "";
  const read = await topic.read({ topicId, partition: 0, offset: 0, waitMs: 0, bytesMax: READ_BYTES_MAX });
  if (read.kind !== "records") throw new Error("the log cannot be read");
  let [bytes, signals] = [0, 0];
  for (const { value } of read.records) {
    const decoded = decodeRecord(value);
    bytes += value.length;
    signals += decoded.ok ? decoded.record.signals.length : 0;
  }
  return bytes / signals;
}

/**
 * Pings as fast as they are accepted: first while the recorder is stopped, then while it catches up, and then until all
 * are applied.
 */
async function runAtLimit(stage: LogStage, { edge, recorder, meter }: Running): Promise<RealRun> {
  const { limitSeconds, catchUpSeconds } = stage.size;
  const before = await recorder.signals();
  process.kill(recorder.process.pid, "SIGSTOP");
  const waiting = await send(stage, edge, limitSeconds).finally(() =>
    process.kill(recorder.process.pid, "SIGCONT"),
  );
  const beginMs = performance.now();
  let sent: Answers = { accepted: 0, refused: 0 };
  const looks: { ms: number; signals: number }[] = [];
  const used = await meter.over([edge.pid, recorder.process.pid], async () => {
    const isOver = new AbortController();
    const watch = async () => {
      while (!isOver.signal.aborted) {
        looks.push({ signals: (await recorder.signals()) - before, ms: performance.now() });
        await pause(LOOK_MS);
      }
    };
    const watching = watch();
    sent = await send(stage, edge, catchUpSeconds);
    await recorder.untilSignals(before + waiting.accepted + sent.accepted);
    isOver.abort();
    await watching;
  });
  const all = waiting.accepted + sent.accepted;
  const drainedMs = looks.find(({ signals }) => signals >= all)?.ms ?? performance.now();
  const ours = used.node + used.postgres + used.kafka + used.senders;
  return {
    waiting: waiting.accepted,
    sentSeconds: catchUpSeconds,
    accepted: sent.accepted,
    refused: waiting.refused + sent.refused,
    totalSeconds: (drainedMs - beginMs) / 1_000,
    otherCores: Math.max(0, ((used.machine - ours) * 1_000) / used.atMs),
  };
}
