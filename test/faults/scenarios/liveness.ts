// More pings wait than can be stored: the database stops or stalls without a spool, the spool becomes full, or a
// client sends pipelined requests for unknown checks. Pings may be rejected; the process must keep responding, and
// recover without a restart. /healthz is requested continuously, as in every scenario: see stage/health-probe.ts.
import { randomBytes, randomUUID } from "node:crypto";
import { Agent } from "node:http";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { conclude } from "../conclusion.ts";
import { bySize, type Found, type Run, type Scenario } from "../scenario.ts";
import { isAcknowledged } from "../signals/send.ts";
import type { PingProcess } from "../stage/ping-process.ts";
import type { DatabaseProxy } from "../stage/proxy.ts";
import { onStage, type Stage } from "../stage/stage.ts";
import { warmUp } from "../stage/warm-up.ts";
import { until } from "../waiting.ts";

const CHECKS = 50;
/** A time limit. */
const RECOVERED_MS_MAX = 60_000;
const BODY_BYTES = 9_000;

type Cast = { stage: Stage; proxy: DatabaseProxy; receiver: PingProcess; complaints: string[] };
type Part = (cast: Cast) => Promise<void>;

const CONNECTIONS = { full: 700, quick: 700, tiny: 700 };
const OUTAGES_MS: Record<Run["size"], readonly number[]> = {
  full: [2_000, 3_000, 5_000, 7_000],
  quick: [2_000, 5_000],
  tiny: [2_500],
};

/** The database is stopped while 700 connections send at once. */
const databaseStopped: Part = async (cast) => {
  for (const outageMs of bySize(cast.stage.run, OUTAGES_MS)) {
    cast.proxy.cut();
    await sendFromMany(cast, { connections: bySize(cast.stage.run, CONNECTIONS), ms: outageMs });
    cast.proxy.heal();
    await recovered(cast);
  }
};

/** The database stalls under 400 pings a second. */
const databaseStalled: Part = async (cast) => {
  const { stage, receiver, proxy } = cast;
  const load = stage.ledger.startLoad({ targets: stage.targets, ports: [receiver.port], perSecond: 400 });
  await sleep(1_000);
  for (const outageMs of bySize(stage.run, OUTAGES_MS)) {
    proxy.silence();
    await sleep(outageMs);
    proxy.heal();
    await recovered(cast);
  }
  await load.stop();
};

/** The database stays unavailable until the spool is full. */
const spoolFills: Part = async (cast) => {
  const { stage, receiver, proxy, complaints } = cast;
  await warmUp(stage, [receiver]);
  proxy.cut();
  const isFull = await until(async () => (await sendTogether(cast, { count: 700 })) < 700, {
    withinMs: RECOVERED_MS_MAX,
  });
  if (!isFull) complaints.push("the spool did not become full, so the run proves nothing");
  await sendFromMany(cast, {
    connections: 700,
    ms: bySize(stage.run, { full: 7_000, quick: 4_000, tiny: 2_500 }),
  });
  proxy.heal();
};

const STRANGER = { connections: 100, perConnection: 300 };

/** 30,000 pipelined requests for checks that do not exist, on 100 connections. */
const unknownPipelines: Part = async ({ stage, receiver, complaints }) => {
  const rounds = bySize(stage.run, { full: 5, quick: 2, tiny: 1 });
  for (let round = 0; round < rounds; round += 1) {
    const answers = await Promise.all(
      Array.from({ length: STRANGER.connections }, () => pipeline(receiver.port, STRANGER.perConnection)),
    );
    const answered = answers.reduce((sum, count) => sum + count, 0);
    const sent = STRANGER.connections * STRANGER.perConnection;
    if (answered !== sent) complaints.push(`${answered} of ${sent} pipelined requests were answered`);
  }
};

/** Sends requests without waiting; resolves with the number of responses before the connection ended. */
function pipeline(port: number, count: number): Promise<number> {
  const requests = Array.from(
    { length: count },
    (_, at) =>
      `GET /ping/${randomUUID()} HTTP/1.1\r\nHost: x\r\n${at === count - 1 ? "Connection: close\r\n" : ""}\r\n`,
  );
  return new Promise((resolve) => {
    let said = "";
    const socket = connect({ host: "127.0.0.1", port }, () => socket.write(requests.join("")));
    socket.setEncoding("latin1").on("data", (text: string) => (said += text));
    socket.setTimeout(RECOVERED_MS_MAX, () => socket.destroy());
    socket.on("error", () => {});
    socket.on("close", () => resolve(said.split("HTTP/1.1 ").length - 1));
  });
}

/** Keeps this many pings in flight for a while. */
async function sendFromMany(
  cast: Cast,
  { connections, ms }: { connections: number; ms: number },
): Promise<void> {
  const untilMs = performance.now() + ms;
  do await sendTogether(cast, { count: connections });
  while (performance.now() < untilMs);
}

/** Sends pings on this many connections; returns how many were acknowledged. */
async function sendTogether({ stage, receiver }: Cast, { count }: { count: number }): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: count });
  const { maker } = stage.ledger;
  const body = randomBytes(BODY_BYTES);
  const entries = await Promise.all(
    Array.from({ length: count }, (_, at) => {
      const target = stage.targets[at % stage.targets.length];
      if (target === undefined) throw new Error("there are no checks");
      return stage.ledger.send(maker.make(target, { kind: "s", body }), receiver.port, agent);
    }),
  );
  agent.destroy();
  return entries.filter(isAcknowledged).length;
}

/** The process accepts a ping again without having been restarted. */
async function recovered(cast: Cast): Promise<void> {
  const isBack = await until(async () => (await sendTogether(cast, { count: 1 })) === 1, {
    withinMs: RECOVERED_MS_MAX,
  });
  if (!isBack) cast.complaints.push("pings are rejected although the database is back");
}

/** Runs one part on a stage, and evaluates the pings. */
async function play(stage: Stage, { part, spool }: { part: Part; spool: boolean }): Promise<Found> {
  const proxy = await stage.proxy();
  const receiver = await stage.receiver({
    name: "receiver",
    databaseUrl: proxy.urlFor(stage.url),
    ...(spool ? { environment: { OVERDUE_SPOOL_BYTES: String(4 * 1024 ** 2) } } : { spool: null }),
  });
  await receiver.start();
  const { pid } = receiver;
  const complaints: string[] = [];
  const cast = { stage, proxy, receiver, complaints };
  await part(cast);
  await recovered(cast);
  if (!receiver.isRunning || receiver.pid !== pid)
    complaints.push(`the process has ended:\n${receiver.logTail()}`);
  // With hundreds of senders on the same machine, the sender is slow, too.
  const found = await conclude(stage, { complaints, mayRefuse: () => true, mayBeSlow: true });
  const code = await receiver.terminate();
  if (code !== 0) found.complaints.push(`the process stopped with exit code ${code}`);
  return found;
}

/** By the name of the scenario; also for the short version. */
export const LIVENESS: Readonly<Record<string, { about: string; play: (stage: Stage) => Promise<Found> }>> = {
  "connections-stopped": {
    about: "the database stopped for seconds while 700 connections send, and no spool",
    play: (stage) => play(stage, { part: databaseStopped, spool: false }),
  },
  "load-stalled": {
    about: "the database stalled for seconds under 400 pings a second, and no spool",
    play: (stage) => play(stage, { part: databaseStalled, spool: false }),
  },
  "spool-fills": {
    about: "the spool becomes full while 700 connections send",
    play: (stage) => play(stage, { part: spoolFills, spool: true }),
  },
  "unknown-uuids": {
    about: "30,000 pipelined pings for unknown UUIDs on 100 connections",
    play: (stage) => play(stage, { part: unknownPipelines, spool: false }),
  },
};

export const LIVENESS_CHECKS = CHECKS;

export const livenessScenarios: readonly Scenario[] = Object.entries(LIVENESS).map(([name, one]) => ({
  name,
  about: one.about,
  run: (run) => onStage(run, { checks: CHECKS }, one.play),
}));
