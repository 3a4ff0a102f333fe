// How fast messages are sent: the real notifier, with webhooks, to a receiver on the same machine. Spread over a
// minute, it measures the delay from the commit of each flip; all at once, the messages per second.
import { setTimeout as sleep } from "node:timers/promises";
import { type PingProcess, startPingProcess } from "../../test/support/ping-process.ts";
import { freePort } from "../../test/support/ports.ts";
import { type Engine, startEngine } from "../store/engine.ts";
import { mean, printTable, quantile, rounded, shown } from "../store/figures.ts";
import { createDeliverScale, type DeliverScale } from "./deliver-scale.ts";
import { type BenchReceiver, startBenchReceiver } from "./receiver.ts";
import type { DeliverSize } from "./sizes.ts";

type Figures = Record<string, number>;

const SPREAD_STEP_MS = 50;
const LAST_MS_MAX = 120_000;
/** A first round that is not counted, to warm up the code. */
const WARM_UP_COUNT = 200;

/** Measures and prints; throws when a message is missing or a duplicate. */
export async function benchDeliver(
  size: DeliverSize,
  whenInterrupted: (cleanUp: () => Promise<void>) => void,
): Promise<Figures> {
  const engine = await startEngine();
  const receiver = await startBenchReceiver();
  const cleanUp = async () => {
    await receiver.stop();
    await engine.stop();
  };
  whenInterrupted(cleanUp);
  try {
    return await measure({ engine, receiver, size });
  } finally {
    await cleanUp();
  }
}

type Contest = { scale: DeliverScale; receiver: BenchReceiver; size: DeliverSize };

async function measure(given: {
  engine: Engine;
  receiver: BenchReceiver;
  size: DeliverSize;
}): Promise<Figures> {
  const { engine, receiver, size } = given;
  const scale = await createDeliverScale(engine, { size, receiverUrl: receiver.url });
  try {
    const notifier = await startNotifier(scale.url);
    try {
      return await takeTurns({ scale, receiver, size });
    } finally {
      await notifier.stop();
    }
  } finally {
    await scale.close();
  }
}

async function takeTurns(contest: Contest): Promise<Figures> {
  const { size } = contest;
  await warmUp(contest);
  const latencies = await spread(contest);
  const rates: number[] = [];
  for (let round = 0; round < size.burstRounds; round += 1) rates.push(await burst(contest, round));
  await requireComplete(contest);
  return report({ size, latencies, rates });
}

async function startNotifier(databaseUrl: string): Promise<PingProcess> {
  return startPingProcess({
    databaseUrl,
    port: await freePort(),
    roles: "notifier",
    settings: { OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS: "true" },
  });
}

async function warmUp({ scale, receiver }: Contest): Promise<void> {
  const checks = scale.checks.slice(0, WARM_UP_COUNT);
  for (const to of ["down", "up"] as const) {
    await scale.flip(checks, to);
    await untilReceived(receiver, checks.length);
  }
}

/** Seconds from the commit of each flip until its message arrived. */
async function spread({ scale, receiver, size }: Contest): Promise<number[]> {
  const owedAtMs = new Map<string, number>();
  const stepCount = Math.ceil((size.spreadSeconds * 1_000) / SPREAD_STEP_MS);
  const beginMs = performance.now();
  for (let step = 0; step < stepCount; step += 1) {
    const from = Math.floor((step * size.deliveries) / stepCount);
    const checks = scale.checks.slice(from, Math.floor(((step + 1) * size.deliveries) / stepCount));
    if (checks.length > 0) {
      await scale.flip(checks, "down");
      for (const { uuid } of checks) owedAtMs.set(uuid, performance.now());
    }
    await sleep(Math.max(0, beginMs + (step + 1) * SPREAD_STEP_MS - performance.now()));
  }
  const arrivals = await untilReceived(receiver, size.deliveries);
  return [...owedAtMs].map(([uuid, atMs]) => Math.max(0, (arrivals.get(uuid) ?? Infinity) - atMs) / 1_000);
}

/** Messages per second, from the commit of all flips until the last message arrived. */
async function burst({ scale, receiver, size }: Contest, round: number): Promise<number> {
  await scale.flip(scale.checks, round % 2 === 0 ? "up" : "down");
  const beginMs = performance.now();
  const arrivals = await untilReceived(receiver, size.deliveries);
  return (size.deliveries * 1_000) / (Math.max(...arrivals.values()) - beginMs);
}

async function untilReceived(receiver: BenchReceiver, count: number): Promise<Map<string, number>> {
  const late = sleep(LAST_MS_MAX, "late" as const, { ref: false });
  if ((await Promise.race([receiver.untilCount(count), late])) === "late") {
    throw new Error(
      `only ${receiver.arrivals.size} of ${count} messages came within ${LAST_MS_MAX / 1_000} s`,
    );
  }
  const arrivals = new Map(receiver.arrivals);
  receiver.clear();
  return arrivals;
}

async function requireComplete({ scale, receiver, size }: Contest): Promise<void> {
  // The last ones may arrive before they are marked as settled.
  const warmUpCount = 2 * Math.min(WARM_UP_COUNT, scale.checks.length);
  const owed = warmUpCount + size.deliveries * (1 + size.burstRounds);
  const deadlineMs = performance.now() + LAST_MS_MAX;
  for (;;) {
    const states = await scale.states();
    if (states["sent"] === owed && Object.keys(states).length === 1 && receiver.repeats() === 0) return;
    if (performance.now() > deadlineMs) {
      throw new Error(`owed ${owed}, repeated ${receiver.repeats()}: ${JSON.stringify(states)}`);
    }
    await sleep(SPREAD_STEP_MS);
  }
}

function report(measured: {
  size: DeliverSize;
  latencies: readonly number[];
  rates: readonly number[];
}): Figures {
  const { size, latencies, rates } = measured;
  const figures = {
    p50_s: quantile(latencies, 0.5),
    p99_s: quantile(latencies, 0.99),
    max_s: Math.max(...latencies),
    burst_per_second: mean(rates),
  };
  const owed = size.deliveries.toLocaleString("en");
  printTable(`${owed} messages to ${size.channels} channels, each told once`, [
    ["", `spread over ${size.spreadSeconds} s`],
    ["seconds from the flip to the receiver: p50", shown(figures.p50_s, 3)],
    ["p99", shown(figures.p99_s, 3)],
    ["longest", shown(figures.max_s, 3)],
    ["all at once, messages a second", shown(figures.burst_per_second, 0)],
  ]);
  console.log(`  by round: ${rates.map((rate) => shown(rate, 0)).join(", ")}`);
  return Object.fromEntries(
    Object.entries(figures).map(([name, value]) => [
      `deliver.${name}`,
      name === "burst_per_second" ? Math.round(value) : rounded(value),
    ]),
  );
}
