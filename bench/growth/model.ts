// Plays a day of pings through routers, cells and alerts, second by second. A pure function: what arrives, how much each
// part can do in a second, and where a queue ends are arguments. Amounts are fractions of pings: there is no chance in it.
import { FifoQueue } from "./fifo-queue.ts";

/** What the parts can do. All cells are alike. */
export type Fleet = {
  /** Pings per second of all routers together. */
  routersPerSecond: number;
  /** Pings per second of the receiving processes of a cell. */
  edgesPerSecond: number;
  /** Pings per second of a Kafka cluster, and the cells that share it. */
  clusterPerSecond: number;
  cellsPerCluster: number;
  /** Applies a share of the partitions of a cell, in order. */
  applierPerSecond: number;
  /** Processors for recording in a cell, and the microseconds that one ping takes of them. */
  recordCores: number;
  recordUs: number;
  /** What receiving a ping takes of the same processors: 0 if it has others. */
  receiveUs: number;
  /** Alerts per second of a cell, and what one takes of the processors for recording. */
  alertsPerSecond: number;
  alertUs: number;
};

/** What happens. A second is one of the day. */
export type Day = {
  seconds: number;
  /** Pings in a second of a cell whose load is 1. */
  pingsAt: (second: number) => number;
  /** Of each cell. */
  loads: readonly number[];
  /** The share of a cell's pings that each applier gets. */
  applierShares: readonly number[];
  /** One check that sends far too often. Its pings beyond a limit are received, but not recorded. */
  chatty: { cell: number; from: number; to: number; sentPerSecond: number; recordedPerSecond: number } | null;
  /** A cell that does not answer: routers respond 503, and clients repeat. */
  down: { cell: number; from: number; to: number } | null;
  /** Seconds in which deadlines of many checks pass: alerts in each cell, in proportion to its load. */
  silent: { at: readonly number[]; alerts: number };
};

/** What concerns the cell that is down, while it is, is counted apart. */
export type Outcome = {
  /** Different pings, however often they were sent. */
  sent: number;
  /** Answered 200. */
  accepted: number;
  applied: number;
  /** Accepted and beyond the limit of a check. */
  notRecorded: number;
  /** Answered 503, or not in time, by a cell that is up. */
  refused: number;
  /** Of the cell that is down: answers 503, and pings that were never accepted. */
  downAnswers: number;
  downRefused: number;
  /** In queues at the end. */
  left: number;
  /** The longest time that a client waited for a router. */
  routerWaitSeconds: number;
  /** The longest time between receiving and recording, and the most pings that waited for it in a cell. */
  lagSeconds: number;
  backlog: number;
  /** When everything was recorded for the first time after it was not; null if that was never so. */
  drainedAt: number | null;
  alertsOwed: number;
  alertsSent: number;
  /** The longest time between a deadline and its alert, and the same if its cell was down at the deadline. */
  alertDelaySeconds: number;
  downAlertDelaySeconds: number;
};

/** How long a client waits for an answer: the limit in the commands that the documentation recommends. */
const CLIENT_WAIT_SECONDS = 10;
/** A receiving process rejects what the log has not confirmed by then. */
const CONFIRM_SECONDS = 1.5;
/** When a client repeats, in seconds after an answer 503; then it gives up. */
export const RETRY_SECONDS = [1, 2, 4, 8, 16] as const;
const US = 1_000_000;

type Cell = {
  atRouter: number;
  atEdges: number;
  appliers: FifoQueue[];
  alerts: FifoQueue;
};

/** Plays the day. */
export function play(fleet: Fleet, day: Day): Outcome {
  const cells = day.loads.map(
    (): Cell => ({
      atRouter: 0,
      atEdges: 0,
      appliers: day.applierShares.map(() => new FifoQueue()),
      alerts: new FifoQueue(),
    }),
  );
  const outcome: Outcome = {
    sent: 0,
    accepted: 0,
    applied: 0,
    notRecorded: 0,
    refused: 0,
    downAnswers: 0,
    downRefused: 0,
    left: 0,
    routerWaitSeconds: 0,
    lagSeconds: 0,
    backlog: 0,
    drainedAt: null,
    alertsOwed: 0,
    alertsSent: 0,
    alertDelaySeconds: 0,
    downAlertDelaySeconds: 0,
  };
  const retries = new Retries();
  for (let second = 0; second < day.seconds; second += 1) {
    const isDown = (cell: number) =>
      day.down !== null && cell === day.down.cell && second >= day.down.from && second < day.down.to;
    send(second, { fleet, day, cells, outcome, retries });
    route(second, { fleet, day, cells, outcome, retries, isDown });
    const received = receive({ fleet, cells, outcome, isDown });
    let isBehind = false;
    for (const [number, cell] of cells.entries()) {
      append(second, { cell, number, day, outcome, amount: received[number] ?? 0 });
      if (isDown(number)) continue;
      const alertWork = alert(second, { cell, number, fleet, day, outcome });
      const cores = fleet.recordCores - ((received[number] ?? 0) * fleet.receiveUs) / US - alertWork;
      isBehind = record(second, { cell, fleet, outcome, cores }) || isBehind;
    }
    if (isBehind) outcome.drainedAt = null;
    else outcome.drainedAt ??= outcome.backlog > 0 ? second + 1 : null;
  }
  outcome.left = retries.waiting;
  for (const { atRouter, atEdges, appliers } of cells) {
    outcome.left += atRouter + atEdges + appliers.reduce((sum, { length }) => sum + length, 0);
  }
  return outcome;
}

type Playing = { fleet: Fleet; day: Day; cells: readonly Cell[]; outcome: Outcome; retries: Retries };
type IsDown = (cell: number) => boolean;

/** New pings and repeated ones arrive at the routers, and deadlines pass. */
function send(second: number, { day, cells, outcome, retries }: Playing): void {
  const pings = day.pingsAt(second);
  for (const [number, cell] of cells.entries()) {
    const load = day.loads[number] ?? 0;
    let sent = pings * load;
    if (isChatting(second, number, day.chatty)) sent += day.chatty?.sentPerSecond ?? 0;
    outcome.sent += sent;
    cell.atRouter += sent;
    if (day.silent.at.includes(second)) {
      cell.alerts.push(second, day.silent.alerts * load);
      outcome.alertsOwed += day.silent.alerts * load;
    }
  }
  const repeating = day.down === null ? undefined : cells[day.down.cell];
  if (repeating !== undefined) repeating.atRouter += retries.arrive(second);
}

function isChatting(second: number, number: number, chatty: Day["chatty"]): boolean {
  return chatty !== null && chatty.cell === number && second >= chatty.from && second < chatty.to;
}

/** All cells share the routers; what waits longer than clients do is lost. */
function route(
  second: number,
  { fleet, day, cells, outcome, retries, isDown }: Playing & { isDown: IsDown },
): void {
  const waiting = cells.reduce((sum, { atRouter }) => sum + atRouter, 0);
  if (waiting === 0) return;
  const share = Math.min(1, fleet.routersPerSecond / waiting);
  const kept = fleet.routersPerSecond * CLIENT_WAIT_SECONDS;
  const lost = Math.max(0, waiting * (1 - share) - kept) / waiting;
  const left = waiting * (1 - share - lost);
  if (left > 0) {
    outcome.routerWaitSeconds = Math.max(outcome.routerWaitSeconds, left / fleet.routersPerSecond);
  }
  for (const [number, cell] of cells.entries()) {
    const routed = cell.atRouter * share;
    outcome.refused += cell.atRouter * lost;
    cell.atRouter -= routed + cell.atRouter * lost;
    if (isDown(number)) {
      outcome.downAnswers += routed;
      outcome.downRefused += retries.refuse(second, routed);
    } else {
      if (number === day.down?.cell) retries.settle();
      cell.atEdges += routed;
    }
  }
}

/** How many pings of each cell are confirmed; the cells of a cluster share it. */
function receive({
  fleet,
  cells,
  outcome,
  isDown,
}: Pick<Playing, "fleet" | "cells" | "outcome"> & { isDown: IsDown }): number[] {
  const wanted = cells.map(({ atEdges }, number) =>
    isDown(number) ? 0 : Math.min(atEdges, fleet.edgesPerSecond),
  );
  const received: number[] = [];
  for (let first = 0; first < cells.length; first += fleet.cellsPerCluster) {
    const ofCluster = wanted.slice(first, first + fleet.cellsPerCluster);
    const sum = ofCluster.reduce((total, one) => total + one, 0);
    const share = sum <= fleet.clusterPerSecond ? 1 : fleet.clusterPerSecond / sum;
    received.push(...ofCluster.map((one) => one * share));
  }
  for (const [number, cell] of cells.entries()) {
    const taken = received[number] ?? 0;
    outcome.accepted += taken;
    // What is left waits for the next second, as long as it can still be confirmed in time.
    const kept = Math.min(cell.atEdges - taken, taken * (CONFIRM_SECONDS - 1));
    outcome.refused += cell.atEdges - taken - kept;
    cell.atEdges = kept;
  }
  return received;
}

/** Into the partitions. */
function append(
  second: number,
  given: { cell: Cell; number: number; day: Day; outcome: Outcome; amount: number },
): void {
  const { cell, number, day, outcome, amount } = given;
  let even = amount;
  const { chatty } = day;
  if (chatty !== null && isChatting(second, number, chatty)) {
    const ofChatty = Math.min(amount, chatty.sentPerSecond);
    const recorded = Math.min(ofChatty, chatty.recordedPerSecond);
    outcome.notRecorded += ofChatty - recorded;
    even -= ofChatty;
    cell.appliers[0]?.push(second, recorded);
  }
  for (const [index, applier] of cell.appliers.entries()) {
    applier.push(second, even * (day.applierShares[index] ?? 0));
  }
}

/** Applies the partitions as fast as appliers and processors can; true if something waits. */
function record(
  second: number,
  given: { cell: Cell; fleet: Fleet; outcome: Outcome; cores: number },
): boolean {
  const { cell, fleet, outcome, cores } = given;
  const wanted = cell.appliers.map(({ length }) => Math.min(length, fleet.applierPerSecond));
  const sum = wanted.reduce((total, one) => total + one, 0);
  const possible = (Math.max(0, cores) * US) / fleet.recordUs;
  const share = sum <= possible ? 1 : possible / sum;
  let backlog = 0;
  for (const [index, applier] of cell.appliers.entries()) {
    outcome.applied += applier.serve((wanted[index] ?? 0) * share);
    backlog += applier.length;
    const { oldest } = applier;
    if (oldest !== null) outcome.lagSeconds = Math.max(outcome.lagSeconds, second + 1 - oldest);
  }
  outcome.backlog = Math.max(outcome.backlog, backlog);
  return backlog > 0;
}

/** Sends alerts whose deadlines lie before everything that waits to be applied; returns the processors it took. */
function alert(
  second: number,
  given: { cell: Cell; number: number; fleet: Fleet; day: Day; outcome: Outcome },
): number {
  const { cell, number, fleet, day, outcome } = given;
  const { oldest } = cell.alerts;
  if (oldest === null) return 0;
  const watermark = Math.min(second, ...cell.appliers.map((applier) => applier.oldest ?? second));
  const sent = cell.alerts.serve(fleet.alertsPerSecond, watermark);
  outcome.alertsSent += sent;
  const delay = second + 1 - oldest;
  const { down } = day;
  if (down !== null && number === down.cell && oldest >= down.from && oldest < down.to) {
    outcome.downAlertDelaySeconds = Math.max(outcome.downAlertDelaySeconds, delay);
  } else {
    outcome.alertDelaySeconds = Math.max(outcome.alertDelaySeconds, delay);
  }
  return (sent * fleet.alertUs) / US;
}

/** Clients of the cell that is down: each repeats a few times and then gives up. */
class Retries {
  /** By second and attempt. */
  readonly #planned = new Map<number, number[]>();
  /** At the routers: how many were sent so often before. */
  readonly #atRouter = noAttempts();
  waiting = 0;

  /** Those that repeat in this second. */
  arrive(second: number): number {
    const planned = this.#planned.get(second) ?? [];
    this.#planned.delete(second);
    let sum = 0;
    for (const [attempt, amount] of planned.entries()) {
      this.#atRouter[attempt] = (this.#atRouter[attempt] ?? 0) + amount;
      sum += amount;
    }
    this.waiting -= sum;
    return sum;
  }

  /** Of pings that were answered 503, plans the next attempt; returns how many gave up. */
  refuse(second: number, amount: number): number {
    const repeated = this.#atRouter.reduce((sum, one) => sum + one, 0);
    // At routers with a queue, repeated pings wait like others.
    const share = repeated === 0 ? 0 : Math.min(1, amount / repeated);
    let givenUp = 0;
    let old = 0;
    for (const [attempt, waiting] of this.#atRouter.entries()) {
      const answered = waiting * share;
      old += answered;
      this.#atRouter[attempt] = waiting - answered;
      if (attempt >= RETRY_SECONDS.length) givenUp += answered;
      else this.#plan(second, attempt, answered);
    }
    this.#plan(second, 0, amount - old);
    return givenUp;
  }

  /** The cell is up again: repeated pings are received like others. */
  settle(): void {
    this.#atRouter.fill(0);
  }

  #plan(second: number, attempt: number, amount: number): void {
    if (amount <= 0) return;
    const at = second + (RETRY_SECONDS[attempt] ?? 0);
    const planned = this.#planned.get(at) ?? noAttempts();
    planned[attempt + 1] = (planned[attempt + 1] ?? 0) + amount;
    this.#planned.set(at, planned);
    this.waiting += amount;
  }
}

function noAttempts(): number[] {
  return Array.from({ length: RETRY_SECONDS.length + 1 }, () => 0);
}
