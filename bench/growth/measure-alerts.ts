// What an alert costs: sweeping a deadline that has passed, and sending its notification to a webhook.
import { setTimeout as sleep } from "node:timers/promises";
import { sweepDeadlines } from "../../src/operations/sweep.ts";
import { openDatabase } from "../../src/store/db.ts";
import { startPingProcess } from "../../test/support/ping-process.ts";
import { freePort } from "../../test/support/ports.ts";
import { createDeliverScale } from "../deliver/deliver-scale.ts";
import { startBenchReceiver } from "../deliver/receiver.ts";
import type { Engine } from "../store/engine.ts";
import { createSweepScale, DUE_TO, readCounts, resetStates } from "../sweep/sweep-scale.ts";
import { parentOf, secondsOf, secondsOfTree } from "./processor-time.ts";
import type { GrowthSize } from "./sizes.ts";
import type { Costs } from "./sizing.ts";

const US = 1_000_000;
/** Of all checks, those whose deadlines pass. */
const DUE_EVERY = 5;
const CHANNELS = 100;
/** A first part that is not counted, to warm up the code. */
const WARM_UP_MESSAGES = 100;
const RECEIVED_MS_MAX = 180_000;

/** Microseconds of processor time for an alert. */
export async function measureAlerts(
  engine: Engine,
  size: GrowthSize,
): Promise<Pick<Costs, "sweepUs" | "deliverUs" | "alertPostgresUs">> {
  const postgres = await postmasterOf(engine);
  const sweep = await measureSweep(engine, { size, postgres });
  const deliver = await measureDeliver(engine, { size, postgres });
  return {
    sweepUs: sweep.us,
    deliverUs: deliver.us,
    alertPostgresUs: sweep.postgresUs + deliver.postgresUs,
  };
}

type Measured = { us: number; postgresUs: number };
type Measuring = { size: GrowthSize; postgres: number };

async function postmasterOf(engine: Engine): Promise<number> {
  const client = await engine.connect("postgres");
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  const pid = parentOf(rows[0]?.pid ?? 0);
  await client.end();
  return pid;
}

async function measureSweep(engine: Engine, { size, postgres }: Measuring): Promise<Measured> {
  const dueCount = size.deadlines;
  const scale = await createSweepScale(engine, {
    about: "",
    checkCount: dueCount * DUE_EVERY,
    dueCount,
    rounds: 1,
  });
  await resetStates(scale);
  const database = openDatabase({
    url: scale.url,
    applicationName: "overdue-bench",
    plansOnce: true,
    onError: () => {},
  });
  const before = secondsOfTree(postgres);
  const ownBefore = process.cpuUsage();
  for (;;) {
    const visibility = { watermarkAt: DUE_TO, blind: [] };
    const { isComplete } = await sweepDeadlines(database, { now: DUE_TO + 1_000, visibility });
    if (isComplete) break;
  }
  const own = process.cpuUsage(ownBefore);
  const postgresSeconds = secondsOfTree(postgres) - before;
  const { down } = await readCounts(scale);
  await database.close();
  await scale.close();
  if (down !== dueCount) throw new Error(`${down} of ${dueCount} deadlines were swept`);
  return { us: (own.user + own.system) / dueCount, postgresUs: (postgresSeconds * US) / dueCount };
}

async function measureDeliver(engine: Engine, { size, postgres }: Measuring): Promise<Measured> {
  const receiver = await startBenchReceiver();
  const deliverSize = { about: "", deliveries: size.messages, channels: CHANNELS };
  const scale = await createDeliverScale(engine, {
    size: { ...deliverSize, spreadSeconds: 0, burstRounds: 1 },
    receiverUrl: receiver.url,
  });
  const notifier = await startPingProcess({
    databaseUrl: scale.url,
    port: await freePort(),
    roles: "notifier",
    settings: { OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS: "true" },
  });
  try {
    const received = async (count: number) => {
      const late = sleep(RECEIVED_MS_MAX, "late" as const, { ref: false });
      if ((await Promise.race([receiver.untilCount(count), late])) === "late") {
        throw new Error(`only ${receiver.arrivals.size} of ${count} messages came in time`);
      }
      receiver.clear();
    };
    const first = scale.checks.slice(0, WARM_UP_MESSAGES);
    await scale.flip(first, "down");
    await received(first.length);
    const rest = scale.checks.slice(WARM_UP_MESSAGES);
    const before = { own: secondsOf([notifier.pid]), postgres: secondsOfTree(postgres) };
    await scale.flip(rest, "down");
    await received(rest.length);
    const us = (seconds: number) => (seconds * US) / rest.length;
    return {
      us: us(secondsOf([notifier.pid]) - before.own),
      postgresUs: us(secondsOfTree(postgres) - before.postgres),
    };
  } finally {
    await notifier.stop();
    await scale.close();
    await receiver.stop();
  }
}
