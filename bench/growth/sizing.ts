// What an operator runs for a number of checks: the rule of docs/operate/scaling.md. It is the same for every size, and
// only the measured costs decide how many cores it asks for.
import { LOG_PARTITIONS, LOG_REPLICAS } from "../../src/core/log.ts";
import type { Fleet } from "./model.ts";
import { HOUR_PEAK, MINUTE_PEAK, PINGS_PER_CHECK } from "./profile.ts";

/** Measured on this machine, in the same run. Microseconds are of processor time. */
export type Costs = {
  /** A ping on a new TLS connection, without exceptions, and how much longer it takes with them. */
  tlsUs: number;
  routeUs: { none: number; hundredThousand: number; million: number };
  edgeUs: number;
  /** All brokers together. */
  kafkaUs: number;
  /** A ping from the log: the recorder, PostgreSQL for it, and the disk at each commit, divided by its pings. */
  recorderUs: number;
  postgresUs: number;
  commitUs: number;
  /** A ping without a log. */
  directUs: number;
  directPostgresUs: number;
  /** An alert: its flip and its notification, and PostgreSQL for both. */
  sweepUs: number;
  deliverUs: number;
  alertPostgresUs: number;
  /** Of an edge without pings, in each second. */
  heartbeatEdgeUs: number;
  heartbeatKafkaUs: number;
  heartbeatRecorderUs: number;
  heartbeatPostgresUs: number;
  logBytes: number;
  walBytes: number;
};

export type Plan = {
  checks: number;
  cells: number;
  routers: number;
  clusters: number;
  brokers: number;
  /** Of one cell. */
  edges: number;
  recorders: number;
  postgresCores: number;
  alertCores: number;
  /** Of one router and one broker. */
  routerCores: number;
  brokerCores: number;
};

/** Checks for which a cell is sized. */
export const CELL_CHECKS = 1_000_000;
/** How busy a processor is at most at the rate that its part is sized for. */
const BUSY_MAX = 0.6;
/** Recorders and PostgreSQL are sized for this many times the average; the log keeps the rest of a peak. */
const RECORD_PEAK = 4;
const ROUTER_CORES = 8;
const CELLS_PER_CLUSTER = 10;
/** For pages, the API, backups and vacuum: not measured here. */
const POSTGRES_OTHER_CORES = 2;
const POSTGRES_CORES_MIN = 2;
/** PostgreSQL and its synchronous standby. */
const POSTGRES_SERVERS = 2;
/** Of each role, so that one may fail. */
const PROCESSES_MIN = 2;
const BROKER_CORES = 8;
/** Transactions of a recorder at a time. */
const APPLIERS = 2;
/** Checks whose ids do not begin with their slot, for example because they were imported. */
const EXCEPTIONS_SHARE = 0.01;
const US = 1_000_000;

/** Prices for a month: an order of magnitude, for a rented core with its memory, and for a terabyte of NVMe. */
const EUR_PER_CORE = 6.5;
const EUR_PER_TB = 40;
/** How long Kafka keeps records, and what a stored ping takes in PostgreSQL. */
const LOG_DAYS = 7;
const STORED_PINGS_PER_CHECK = 1_000;
const STORED_PING_BYTES = 130;
const DAY_SECONDS = 86_400;
const TB = 1e12;

/** The rule. */
export function planFor(checks: number, costs: Costs): Plan {
  const cells = Math.ceil(checks / CELL_CHECKS);
  // Every cell is sized for a full one.
  const mean = CELL_CHECKS * PINGS_PER_CHECK;
  const coresFor = (work: number) => Math.ceil(work / BUSY_MAX);
  const processesFor = (work: number) => Math.max(PROCESSES_MIN, coresFor(work));
  const routing = (checks * PINGS_PER_CHECK * MINUTE_PEAK * routerUs(checks, costs)) / US;
  const edges = processesFor((mean * HOUR_PEAK * costs.edgeUs + costs.heartbeatEdgeUs) / US);
  const appending = (mean * HOUR_PEAK * costs.kafkaUs + edges * costs.heartbeatKafkaUs) / US;
  const applying = (mean * RECORD_PEAK) / recorderRate(costs) + (edges * costs.heartbeatRecorderUs) / US;
  const recording = (mean * RECORD_PEAK * costs.postgresUs + edges * costs.heartbeatPostgresUs) / US;
  const clusters = Math.ceil(cells / CELLS_PER_CLUSTER);
  const brokerCores = coresFor(appending * Math.min(cells, CELLS_PER_CLUSTER));
  return {
    checks,
    cells,
    // One more, so that one may fail.
    routers: Math.max(PROCESSES_MIN, Math.ceil(coresFor(routing) / ROUTER_CORES)) + 1,
    routerCores: ROUTER_CORES,
    clusters,
    brokers: clusters * Math.max(LOG_REPLICAS, Math.ceil(brokerCores / BROKER_CORES)),
    brokerCores: BROKER_CORES,
    edges,
    recorders: processesFor(applying),
    postgresCores: Math.max(POSTGRES_CORES_MIN, coresFor(recording)) + POSTGRES_OTHER_CORES,
    // Sweepers, notifiers, pages and the API: two processes with each role.
    alertCores: 2 * PROCESSES_MIN,
  };
}

/** A recorder is one process, and waits for its transactions. */
function recorderRate({ recorderUs, postgresUs, commitUs }: Costs): number {
  return Math.min(US / recorderUs, (APPLIERS * US) / (recorderUs + postgresUs + commitUs));
}

/** The work of a router for a ping on a new connection. Exceptions make its tables larger. */
function routerUs(checks: number, { tlsUs, routeUs }: Costs): number {
  const { none, hundredThousand, million } = routeUs;
  const exceptions = exceptionsOf(checks);
  const longer = exceptions <= 0 ? 0 : exceptions <= 100_000 ? hundredThousand - none : million - none;
  return tlsUs + Math.max(0, longer);
}

/** With one cell there is nothing to look up. */
function exceptionsOf(checks: number): number {
  return checks <= CELL_CHECKS ? 0 : checks * EXCEPTIONS_SHARE;
}

/** Appliers of a cell. A partition has one, so more recorders would not help. */
export function appliersOf({ recorders }: Plan): number {
  return Math.min(LOG_PARTITIONS, recorders * APPLIERS);
}

/** What the parts of a plan can do. One router is missing: it may always fail. */
export function fleetOf(plan: Plan, costs: Costs): Fleet {
  const { cells, clusters, edges, recorders, brokerCores } = plan;
  const cellsPerCluster = Math.min(cells, CELLS_PER_CLUSTER);
  const heartbeats = (us: number) => (edges * us) / US;
  const kafkaCores =
    (brokerCores * plan.brokers) / clusters - cellsPerCluster * heartbeats(costs.heartbeatKafkaUs);
  const recorderShare = 1 - heartbeats(costs.heartbeatRecorderUs) / recorders;
  return {
    routersPerSecond: ((plan.routers - 1) * plan.routerCores * US) / routerUs(plan.checks, costs),
    edgesPerSecond: (edges * (US - costs.heartbeatEdgeUs)) / costs.edgeUs,
    clusterPerSecond: (kafkaCores * US) / costs.kafkaUs,
    cellsPerCluster,
    applierPerSecond: (recorderRate(costs) / APPLIERS) * Math.max(0, recorderShare),
    recordCores: plan.postgresCores - POSTGRES_OTHER_CORES - heartbeats(costs.heartbeatPostgresUs),
    recordUs: costs.postgresUs,
    receiveUs: 0,
    // Half of the processes sweep and send; the others serve pages.
    alertsPerSecond: (PROCESSES_MIN * US) / (costs.sweepUs + costs.deliverUs),
    alertUs: costs.alertPostgresUs,
  };
}

export type Bill = {
  /** Cores by part. */
  cores: {
    postgres: number;
    edges: number;
    recorders: number;
    alerts: number;
    routers: number;
    kafka: number;
  };
  allCores: number;
  /** Written to disks, all copies: on average, at the hour, and in a day. */
  bytesPerSecond: number;
  hourBytesPerSecond: number;
  bytesPerDay: number;
  storedTb: number;
  eurPerMonth: number;
  /** For 1,000 checks. */
  eurPerThousand: number;
};

/** What a plan costs. */
export function billOf(plan: Plan, costs: Costs): Bill {
  const { checks, cells } = plan;
  const cores = {
    postgres: cells * plan.postgresCores * POSTGRES_SERVERS,
    edges: cells * plan.edges,
    recorders: cells * plan.recorders,
    alerts: cells * plan.alertCores,
    routers: plan.routers * plan.routerCores,
    kafka: plan.brokers * plan.brokerCores,
  };
  const allCores = Object.values(cores).reduce((sum, one) => sum + one, 0);
  const perPing = costs.logBytes * LOG_REPLICAS + costs.walBytes * POSTGRES_SERVERS;
  const bytesPerSecond = checks * PINGS_PER_CHECK * perPing;
  const logTb = (checks * PINGS_PER_CHECK * costs.logBytes * LOG_REPLICAS * DAY_SECONDS * LOG_DAYS) / TB;
  const pingsTb = (checks * STORED_PINGS_PER_CHECK * STORED_PING_BYTES * POSTGRES_SERVERS) / TB;
  const eurPerMonth = allCores * EUR_PER_CORE + (logTb + pingsTb) * EUR_PER_TB;
  return {
    cores,
    allCores,
    bytesPerSecond,
    // The log takes all of a peak, and PostgreSQL what recorders are sized for.
    hourBytesPerSecond:
      checks *
      PINGS_PER_CHECK *
      (HOUR_PEAK * costs.logBytes * LOG_REPLICAS + RECORD_PEAK * costs.walBytes * POSTGRES_SERVERS),
    bytesPerDay: bytesPerSecond * DAY_SECONDS,
    storedTb: logTb + pingsTb,
    eurPerMonth,
    eurPerThousand: (eurPerMonth / checks) * 1_000,
  };
}

/** Cores that receive and record pings without a log, at the start of an hour. */
export function directCores(checks: number, { directUs, directPostgresUs }: Costs): number {
  return (checks * PINGS_PER_CHECK * HOUR_PEAK * (directUs + directPostgresUs)) / US;
}
