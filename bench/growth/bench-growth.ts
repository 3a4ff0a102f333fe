// The growth benchmark: measures what each part costs on this machine, simulates a day of 1, 10 and 100 million checks with
// these costs and the sizing rule of the documentation, and compares the model with a real run at the limit.
import { cpus } from "node:os";
import { isKafkaInstalled, KafkaCluster } from "../../test/support/kafka-cluster.ts";
import { createPingScale } from "../ping/ping-scale.ts";
import { onEngine } from "../store/engine.ts";
import { printTable, rounded, shown } from "../store/figures.ts";
import { reported } from "../store/meter.ts";
import { measureAlerts } from "./measure-alerts.ts";
import { type LogMeasured, measureLog } from "./measure-log.ts";
import { isHaproxyInstalled, measureRouter } from "./measure-router.ts";
import type { Outcome } from "./model.ts";
import { predictReal } from "./predict-real.ts";
import type { GrowthSize } from "./sizes.ts";
import { billOf, type Bill, type Costs, directCores, type Plan, planFor } from "./sizing.ts";
import { playDay } from "./typical-day.ts";

type Figures = Record<string, number>;

const PINGS_PER_CHECK = 2;
/** Simulated, and their names in figures. */
const SIMULATED: Simulated = [
  { checks: 1_000_000, name: "1m" },
  { checks: 10_000_000, name: "10m" },
  { checks: 100_000_000, name: "100m" },
];
/** Without a log, on one PostgreSQL: not simulated. */
const DIRECT = [200, 10_000, 100_000] as const;

type Result = { name: string; plan: Plan; bill: Bill; outcome: Outcome };

/** Prints the tables and returns the figures under flat keys. */
export async function benchGrowth(
  size: GrowthSize,
  whenInterrupted: (cleanUp: () => Promise<void>) => void,
): Promise<Figures> {
  console.log(`growth: ${size.about}`);
  if (!isKafkaInstalled || !isHaproxyInstalled) {
    throw new Error("growth needs HAProxy and Kafka; see .ci/install");
  }
  return reportGrowth(await measure(size, whenInterrupted), { cores: cpus().length, simulated: SIMULATED });
}

type Measured = { costs: Costs; log: LogMeasured };
type Simulated = readonly { checks: number; name: string }[];

/** Simulates and predicts with what was measured on a machine with this many cores. The first and last are compared. */
export function reportGrowth(
  { costs, log }: Measured,
  { cores, simulated }: { cores: number; simulated: Simulated },
): Figures {
  const predicted = predictReal(log, cores);
  const results = simulated.map(({ checks, name }): Result => {
    const plan = planFor(checks, costs);
    return { name, plan, bill: billOf(plan, costs), outcome: playDay(plan, costs) };
  });
  printCosts(costs);
  printReal(log, predicted);
  printResults(results);
  printDirect(costs);
  return figuresOf({ costs, log, predicted, results });
}

async function measure(
  size: GrowthSize,
  whenInterrupted: (cleanUp: () => Promise<void>) => void,
): Promise<Measured> {
  return onEngine(whenInterrupted, async (engine, folder) => {
    const { checkCount } = size;
    const scale = await createPingScale(engine, { checkCount, pingsPerCheck: PINGS_PER_CHECK, folder });
    try {
      const { uuidsPath } = scale;
      const router = await reported("routers measured", measureRouter(size, { uuidsPath, folder }));
      const alerts = await reported("alerts measured", measureAlerts(engine, size));
      const cluster = await KafkaCluster.start({ brokers: 3 });
      whenInterrupted(() => cluster.stop());
      try {
        const log = await reported("log measured", measureLog({ size, scale, cluster }));
        return { log, costs: { ...log.costs, ...router, ...alerts } };
      } finally {
        await cluster.stop();
      }
    } finally {
      await scale.close();
    }
  });
}

function printCosts(costs: Costs): void {
  const { routeUs } = costs;
  const row = (about: string, us: number) => [about, shown(us, 1)];
  printTable("Processor time in microseconds, measured", [
    row("router, kept connection, no exceptions", routeUs.none),
    row("  some exceptions", routeUs.hundredThousand),
    row("  many exceptions", routeUs.million),
    row("router, new TLS connection", costs.tlsUs),
    row("edge, a ping", costs.edgeUs),
    row("Kafka, a ping, all brokers", costs.kafkaUs),
    row("recorder, a ping", costs.recorderUs),
    row("PostgreSQL, a ping from the log", costs.postgresUs),
    row("waiting in a transaction, a ping", costs.commitUs),
    row("without a log: process, a ping", costs.directUs),
    row("without a log: PostgreSQL, a ping", costs.directPostgresUs),
    row("sweeper, an alert", costs.sweepUs),
    row("notifier, an alert", costs.deliverUs),
    row("PostgreSQL, an alert", costs.alertPostgresUs),
    row("an edge without pings, a second: edge", costs.heartbeatEdgeUs),
    row("  Kafka", costs.heartbeatKafkaUs),
    row("  recorder", costs.heartbeatRecorderUs),
    row("  PostgreSQL", costs.heartbeatPostgresUs),
    ["bytes in the log, a ping", shown(costs.logBytes, 0)],
    ["bytes of WAL, a ping", shown(costs.walBytes, 0)],
  ]);
}

function printReal({ real }: LogMeasured, predicted: { backlog: number; totalSeconds: number }): void {
  const all = real.waiting + real.accepted;
  printTable("At the limit of the machine: one edge, Kafka, one recorder, PostgreSQL", [
    ["", "real", "model"],
    ["pings accepted while the recorder was stopped", String(real.waiting), ""],
    ["pings accepted after that", String(real.accepted), ""],
    ["pings refused", String(real.refused), ""],
    ["seconds of sending after that", shown(real.sentSeconds, 1), ""],
    ["seconds until all were applied", shown(real.totalSeconds, 1), shown(predicted.totalSeconds, 1)],
    ["pings applied per second", shown(all / real.totalSeconds, 0), shown(all / predicted.totalSeconds, 0)],
    ["cores used by other programs", shown(real.otherCores, 2), ""],
  ]);
}

function printResults(results: readonly Result[]): void {
  const row = (about: string, value: (of: Result) => number, digits = 0) => [
    about,
    ...results.map((one) =>
      value(one).toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: digits }),
    ),
  ];
  printTable("A day, simulated with these costs", [
    ["checks", ...results.map(({ plan }) => plan.checks.toLocaleString("en"))],
    row("cells", ({ plan }) => plan.cells),
    row("routers", ({ plan }) => plan.routers),
    row("brokers", ({ plan }) => plan.brokers),
    row("edges", ({ plan }) => plan.cells * plan.edges),
    row("recorders", ({ plan }) => plan.cells * plan.recorders),
    row("cores", ({ bill }) => bill.allCores),
    row("  PostgreSQL with standby", ({ bill }) => bill.cores.postgres),
    row("  edges", ({ bill }) => bill.cores.edges),
    row("  recorders", ({ bill }) => bill.cores.recorders),
    row("  sweepers, notifiers, pages", ({ bill }) => bill.cores.alerts),
    row("  routers", ({ bill }) => bill.cores.routers),
    row("  Kafka", ({ bill }) => bill.cores.kafka),
    row("disk writes, MB/s, mean", ({ bill }) => bill.bytesPerSecond / 1e6, 1),
    row("disk writes, MB/s, hour", ({ bill }) => bill.hourBytesPerSecond / 1e6, 1),
    row("disk writes, TB a day", ({ bill }) => bill.bytesPerDay / 1e12, 2),
    row("stored, TB", ({ bill }) => bill.storedTb, 1),
    row("million pings sent", ({ outcome }) => outcome.sent / 1e6),
    row("refused", ({ outcome }) => outcome.refused),
    row("cell that is down: answers 503", ({ outcome }) => outcome.downAnswers),
    row("  pings never accepted", ({ outcome }) => outcome.downRefused),
    row("  seconds until its alerts were sent", ({ outcome }) => outcome.downAlertDelaySeconds),
    row("longest wait for a router, s", ({ outcome }) => outcome.routerWaitSeconds, 1),
    row("longest lag, s", ({ outcome }) => outcome.lagSeconds),
    row("alerts owed", ({ outcome }) => outcome.alertsOwed),
    row("alerts sent", ({ outcome }) => outcome.alertsSent),
    row("longest delay of an alert, s", ({ outcome }) => outcome.alertDelaySeconds),
    row("EUR a month", ({ bill }) => bill.eurPerMonth),
    row("EUR a month for 1,000 checks", ({ bill }) => bill.eurPerThousand, 2),
  ]);
}

function printDirect(costs: Costs): void {
  printTable("Without a log, cores for pings at the start of an hour", [
    ["checks", ...DIRECT.map((checks) => checks.toLocaleString("en"))],
    ["cores", ...DIRECT.map((checks) => shown(directCores(checks, costs), 3))],
  ]);
}

function figuresOf(given: {
  costs: Costs;
  log: LogMeasured;
  predicted: { backlog: number; totalSeconds: number };
  results: readonly Result[];
}): Figures {
  const { costs, log, predicted, results } = given;
  const { routeUs, ...flat } = costs;
  const [first, last] = [results.at(0), results.at(-1)];
  const perThousand = (of: Result | undefined) => of?.bill.eurPerThousand ?? Number.NaN;
  const figures: Figures = {
    refused: Math.max(...results.map(({ outcome }) => outcome.refused)),
    lag_s: Math.max(...results.map(({ outcome }) => outcome.lagSeconds)),
    cost_100m_over_1m: perThousand(last) / perThousand(first),
    model_over_real: predicted.totalSeconds / log.real.totalSeconds,
    router_million_over_none: routeUs.million / routeUs.none,
    route_us: routeUs.none,
    route_100k_us: routeUs.hundredThousand,
    route_1m_us: routeUs.million,
    edge_per_second: log.edgePerSecond,
    recorder_per_second: log.recorderPerSecond,
    real_per_second: (log.real.waiting + log.real.accepted) / log.real.totalSeconds,
  };
  for (const [name, value] of Object.entries(flat)) figures[snakeCase(name)] = value;
  for (const { name, plan, bill, outcome } of results) {
    const own = {
      cells: plan.cells,
      routers: plan.routers,
      brokers: plan.brokers,
      cores: bill.allCores,
      ...Object.fromEntries(Object.entries(bill.cores).map(([part, count]) => [`${part}_cores`, count])),
      disk_bytes_per_second: bill.bytesPerSecond,
      disk_hour_bytes_per_second: bill.hourBytesPerSecond,
      disk_tb_per_day: bill.bytesPerDay / 1e12,
      stored_tb: bill.storedTb,
      refused: outcome.refused,
      lag_s: outcome.lagSeconds,
      router_wait_s: outcome.routerWaitSeconds,
      alert_delay_s: outcome.alertDelaySeconds,
      alerts_lost: Math.round(outcome.alertsOwed - outcome.alertsSent),
      down_answers_503: outcome.downAnswers,
      down_never_accepted: outcome.downRefused,
      down_alert_delay_s: outcome.downAlertDelaySeconds,
      eur_per_month: bill.eurPerMonth,
      eur_per_thousand_checks: bill.eurPerThousand,
    };
    for (const [key, value] of Object.entries(own)) figures[`${name}.${key}`] = value;
  }
  return Object.fromEntries(Object.entries(figures).map(([key, value]) => [`growth.${key}`, rounded(value)]));
}

/** "edgeUs" → "edge_us". */
function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
