// Measures all candidates in rounds: each once in each round, for the same time, in both databases. In one round a
// checkpoint starts in the middle of each, and the responses are compared with the records.
import { setTimeout as pause } from "node:timers/promises";
import { type PingProcess, startPingProcess } from "../../test/support/ping-process.ts";
import { freePort } from "../../test/support/ports.ts";
import { type Latency, measureLatency } from "./open-loop.ts";
import { measureBaseline, writeScript } from "./pgbench.ts";
import { type PingScale, readRecorded, recordedBetween } from "./ping-scale.ts";
import { recordAlone, startAnsweringOnly } from "./processes.ts";
import type { PingSize } from "./sizes.ts";
import { countAnswered } from "./wrk.ts";

export type Contest = { scale: PingScale; bodyBytes: number; size: PingSize; folder: string };

/** Pings per second, by round, and other observations. */
export type Measured = {
  label: string;
  ours: number[];
  /** The same with many connections. */
  oursMany: number[];
  /** The same with two processes on one port. */
  oursByTwo: number[];
  /** By the number of clients. */
  baseline: Map<number, number[]>;
  /** With batches of the size that was observed over HTTP, and with full ones. */
  recordingAlone: number[];
  recordingFull: number[];
  httpAlone: number[];
  batchSize: number;
  hotShare: number;
  /** At a steady rate: during a checkpoint, and without one. */
  latency: Latency;
  latencyBetween: Latency;
  /** How many 200 responses were compared with the database. */
  counted: number;
};

const BATCH_SIZE_MAX = 500;
const UNMEASURED: Latency = {
  count: 0,
  p50Ms: Number.NaN,
  p99Ms: Number.NaN,
  p999Ms: Number.NaN,
  maxMs: Number.NaN,
};
/** The log rows that are kept, so that trimming is part of the measurement. */
const LOG_ROWS = 100;
/** The server counts updates of its tables with this delay. */
const STATISTICS_MS = 1_500;

/** Measures both alternately. Throws when the responses and the database differ. */
export async function measureContest(contests: readonly [Contest, Contest]): Promise<[Measured, Measured]> {
  const started: Stoppable[] = [];
  try {
    const running = [await prepare(contests[0], started), await prepare(contests[1], started)] as const;
    const { rounds } = contests[0].size;
    for (const one of running) await warmUp(one);
    for (let round = 0; round < rounds; round++) {
      const hasCheckpoint = round === Math.floor(rounds / 2);
      for (const one of round % 2 === 0 ? running : running.toReversed()) await runRound(one, hasCheckpoint);
    }
    for (const one of running) {
      one.measured.latencyBetween = await steady(one, (work) => work);
      one.measured.latency = await steady(one, (work) => acrossCheckpoint(one, work));
    }
    return [running[0].measured, running[1].measured];
  } finally {
    await Promise.all(started.map((one) => one.stop()));
  }
}

type Stoppable = { stop(): Promise<void> };

type Running = Contest & {
  ours: PingProcess;
  pair: readonly PingProcess[];
  answeringOnly: { port: number; stop(): Promise<void> };
  scriptPath: string;
  measured: Measured;
};

/** Everything it starts is added to `started` immediately, so that it is stopped even if the next start fails. */
async function prepare(contest: Contest, started: Stoppable[]): Promise<Running> {
  const keep = <T extends Stoppable>(one: T): T => {
    started.push(one);
    return one;
  };
  const { scale, bodyBytes, size, folder } = contest;
  const scriptPath = await writeScript(folder, { checkCount: scale.checkCount, bodyBytes });
  const settings = { OVERDUE_PING_LOG_LIMIT: String(LOG_ROWS), OVERDUE_SIGNALS_PER_MINUTE: "0" };
  const ours = keep(await startPingProcess({ databaseUrl: scale.url, port: await freePort(), settings }));
  const shared = {
    databaseUrl: scale.url,
    port: await freePort(),
    settings: { ...settings, OVERDUE_REUSE_PORT: "true" },
  };
  const pair = [keep(await startPingProcess(shared)), keep(await startPingProcess(shared))];
  const answeringOnly = keep(await startAnsweringOnly());
  const measured: Measured = {
    label: scale.label,
    ours: [],
    oursMany: [],
    oursByTwo: [],
    baseline: new Map(size.clientCounts.map((count) => [count, []])),
    recordingAlone: [],
    recordingFull: [],
    httpAlone: [],
    batchSize: Number.NaN,
    hotShare: Number.NaN,
    latency: UNMEASURED,
    latencyBetween: UNMEASURED,
    counted: 0,
  };
  return { ...contest, ours, pair, answeringOnly, scriptPath, measured };
}

async function warmUp({ scale, size, bodyBytes, ours, pair, answeringOnly }: Running): Promise<void> {
  const { connections } = size;
  const load = { uuidsPath: scale.uuidsPath, bodyBytes, connections, seconds: size.warmUpSeconds };
  if (size.warmUpSeconds === 0) return;
  for (const { port } of [ours, ...pair.slice(0, 1), answeringOnly]) {
    await countAnswered({ ...load, url: `http://127.0.0.1:${port}` });
  }
}

async function runRound(running: Running, hasCheckpoint: boolean): Promise<void> {
  const { scale, size, bodyBytes, measured, answeringOnly, scriptPath } = running;
  const { url, uuidsPath } = scale;
  const { seconds, connections, connectionsMany } = size;
  const during: During = (work) => (hasCheckpoint ? acrossCheckpoint(running, work) : work);
  const { port } = running.ours;
  const byOne = await measureWhole(running, { port, connections, during });
  measured.ours.push(byOne.perSecond);
  measured.batchSize = byOne.batchSize;
  measured.hotShare = byOne.hotShare;
  const many = await measureWhole(running, { port, connections: connectionsMany, during });
  measured.oursMany.push(many.perSecond);
  const [first = running.ours] = running.pair;
  measured.oursByTwo.push((await measureWhole(running, { port: first.port, connections, during })).perSecond);
  for (const [clients, rates] of measured.baseline) {
    rates.push(await during(measureBaseline({ url, scriptPath, clients, seconds })));
  }
  const recording = { url, uuidsPath, bodyBytes, seconds, warmUpSeconds: size.warmUpSeconds };
  const batchSize = Math.round(measured.batchSize);
  measured.recordingAlone.push(await during(recordAlone({ ...recording, batchSize })));
  measured.recordingFull.push(await during(recordAlone({ ...recording, batchSize: BATCH_SIZE_MAX })));
  const http = { url: `http://127.0.0.1:${answeringOnly.port}`, uuidsPath, bodyBytes, connections, seconds };
  measured.httpAlone.push((await countAnswered(http)) / seconds);
}

/** What runs in parallel with the measurement. */
type During = <T>(work: Promise<T>) => Promise<T>;

type Whole = { perSecond: number; batchSize: number; hotShare: number };

async function measureWhole(
  { scale, size, bodyBytes, measured }: Running,
  { port, connections, during }: { port: number; connections: number; during: During },
): Promise<Whole> {
  const { seconds } = size;
  const before = await readRecorded(scale);
  const where = { url: `http://127.0.0.1:${port}`, uuidsPath: scale.uuidsPath };
  const answered = await during(countAnswered({ ...where, bodyBytes, connections, seconds }));
  await pause(STATISTICS_MS);
  const recorded = recordedBetween(before, await readRecorded(scale));
  // The most important check: every ping that was answered 200 is recorded, once.
  if (recorded.pings !== answered) {
    throw new Error(`${answered} signals were answered 200, and ${recorded.pings} are recorded`);
  }
  measured.counted += answered;
  return {
    perSecond: answered / seconds,
    batchSize: answered / recorded.batches,
    hotShare: recorded.hotUpdates / recorded.updates,
  };
}

/** Starts a checkpoint after a third of the time. Afterwards every page is written in full when it first changes. */
async function acrossCheckpoint<T>({ scale, size }: Running, work: Promise<T>): Promise<T> {
  const checkpoint = pause((size.seconds * 1_000) / 3).then(() => scale.admin.query("checkpoint"));
  const [result] = await Promise.all([work, checkpoint]);
  return result;
}

async function steady({ scale, size, bodyBytes, ours }: Running, during: During): Promise<Latency> {
  const load = { port: ours.port, uuidsPath: scale.uuidsPath, bodyBytes, perSecond: size.steadyPerSecond };
  const before = await readRecorded(scale);
  const latency = await during(measureLatency({ ...load, seconds: size.steadySeconds }));
  const { pings } = recordedBetween(before, await readRecorded(scale));
  if (pings !== latency.count)
    throw new Error(`${latency.count} answers 200 at a steady rate, ${pings} recorded`);
  return latency;
}
