// A recorder that applies a full log, and recording alone: batches of the same size without a log.
import { setTimeout as pause } from "node:timers/promises";
import { KafkaTopic } from "../../src/lib/kafka.ts";
import { type PingProcess, startPingProcess } from "../../test/support/ping-process.ts";
import { freePort } from "../../test/support/ports.ts";
import { recordAlone } from "../ping/processes.ts";
import { fillLog } from "./fill-log.ts";
import type { LogStage } from "./log-stage.ts";
import { SETTINGS } from "./measure-edge.ts";
import { processorMs, serverProcessorMs } from "./processor-time.ts";
import type { LogSize } from "./sizes.ts";

export type RecorderMeasured = {
  /** Signals per second, by round. */
  recorder: number[];
  recording: number[];
  /** Processor time per signal in microseconds, by round: of the recorder, and of PostgreSQL for it. */
  cpuUs: number[];
  postgresCpuUs: number[];
  batchSize: number;
};

const BATCH_SIZE = 500;
/** A recorder has read everything when it applied nothing for this long. */
const QUIET_MS = 3_000;
const POLL_MS = 100;
const EMPTY_MS_MAX = 300_000;

type Counts = { signals: number; batches: number };

/** Measures both alternately. The first third of a full log is for warming up. */
export async function measureRecorder(
  stage: Pick<LogStage, "scale" | "url" | "address" | "partitions" | "sessionPid">,
  size: Pick<LogSize, "rounds" | "seconds" | "warmUpSeconds" | "connections" | "filledSignals">,
): Promise<RecorderMeasured> {
  const { seconds, warmUpSeconds, rounds } = size;
  const { url, uuidsPath } = stage.scale;
  const measured: RecorderMeasured = {
    recorder: [],
    recording: [],
    cpuUs: [],
    postgresCpuUs: [],
    batchSize: Number.NaN,
  };
  const measureOurs = async () => {
    const { filledSignals } = size;
    await fillLog(stage, { signals: filledSignals, together: size.connections });
    await applyLog(stage, { warmUpSignals: filledSignals / 3, seconds, measured });
  };
  const measureAlone = async () => {
    const order = { url, uuidsPath, bodyBytes: 0, batchSize: BATCH_SIZE, warmUpSeconds, seconds };
    measured.recording.push(await recordAlone(order));
  };
  for (let round = 0; round < rounds; round += 1) {
    const turns = [measureOurs, measureAlone];
    for (const measure of round % 2 === 0 ? turns : turns.toReversed()) await measure();
  }
  return measured;
}

type Applying = { warmUpSignals: number; seconds: number; measured: RecorderMeasured };

/** Runs a recorder until it has been measured, or the log is empty. */
async function applyLog(
  stage: Pick<LogStage, "scale" | "url" | "sessionPid">,
  { warmUpSignals, seconds, measured }: Applying,
): Promise<void> {
  const recorder = await startRecorder(stage);
  try {
    const { process } = recorder;
    await until(async () => (await recorder.counts()).signals >= warmUpSignals, EMPTY_MS_MAX);
    const look = async () => ({
      ...(await recorder.counts()),
      ms: performance.now(),
      cpuMs: processorMs(process.pid),
      postgresMs: serverProcessorMs(stage.sessionPid),
    });
    const first = await look();
    let last = first;
    while (performance.now() < first.ms + seconds * 1_000) {
      await pause(POLL_MS);
      const now = await look();
      if (now.signals > last.signals) last = now;
      else if (now.ms > last.ms + QUIET_MS) break;
    }
    const signals = last.signals - first.signals;
    if (signals === 0) throw new Error("the log was empty before the recorder was measured");
    measured.recorder.push((signals * 1_000) / (last.ms - first.ms));
    measured.cpuUs.push(((last.cpuMs - first.cpuMs) * 1_000) / signals);
    measured.postgresCpuUs.push(((last.postgresMs - first.postgresMs) * 1_000) / signals);
    measured.batchSize = signals / (last.batches - first.batches);
  } finally {
    await recorder.process.stop();
  }
}

/** Applies everything that is in the log. */
export async function emptyLog(stage: Pick<LogStage, "scale" | "url" | "address">): Promise<void> {
  const topic = await KafkaTopic.open(stage.address);
  const recorder = await startRecorder(stage);
  try {
    await until(async () => (await lagOf(stage, topic)) === 0, EMPTY_MS_MAX);
  } finally {
    await recorder.process.stop();
    await topic.close();
  }
}

/** Records that are not applied yet. */
async function lagOf({ scale }: Pick<LogStage, "scale">, topic: KafkaTopic): Promise<number> {
  const { rows } = await scale.admin.query<{ partition: number; next: string }>(
    "select partition, next_offset::text as next from log_partitions",
  );
  const ends = await topic.ends(rows.map(({ partition }) => partition));
  return rows.reduce((sum, { partition, next }) => sum + (ends.get(partition)?.end ?? 0) - Number(next), 0);
}

async function startRecorder({
  scale,
  url,
}: Pick<LogStage, "scale" | "url">): Promise<{ process: PingProcess; counts: () => Promise<Counts> }> {
  const adminPort = await freePort();
  const process = await startPingProcess({
    databaseUrl: scale.url,
    port: await freePort(),
    roles: "recorder",
    settings: { ...SETTINGS, OVERDUE_LOG: url, OVERDUE_ADMIN_LISTEN: `127.0.0.1:${adminPort}` },
  });
  const counts = async () => {
    const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
    const read = (name: string) =>
      Number(new RegExp(`^overdue_recorder_${name}_total (\\d+)`, "m").exec(text)?.[1]);
    return { signals: read("signals"), batches: read("batches") };
  };
  return { process, counts };
}

async function until(isDone: () => Promise<boolean>, timeoutMs: number): Promise<void> {
  const byMs = performance.now() + timeoutMs;
  while (!(await isDone())) {
    if (performance.now() > byMs) throw new Error(`not done within ${timeoutMs / 1_000} s`);
    await pause(POLL_MS);
  }
}
