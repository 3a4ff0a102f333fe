// The model of the growth benchmark: queues against closed forms, that no ping is lost from the count, and that higher
// costs show.
import { describe, expect, test } from "vitest";
import { reportGrowth } from "../bench/growth/bench-growth.ts";
import { FifoQueue } from "../bench/growth/fifo-queue.ts";
import type { LogMeasured } from "../bench/growth/measure-log.ts";
import { type Day, type Fleet, type Outcome, play, RETRY_SECONDS } from "../bench/growth/model.ts";
import { applierShares, cellLoads, PROJECT_CHECKS_MAX, projectSizes } from "../bench/growth/placement.ts";
import { predictReal } from "../bench/growth/predict-real.ts";
import { DAY_SECONDS, HOUR_PEAK, loadAt, MINUTE_PEAK } from "../bench/growth/profile.ts";
import { billOf, type Costs, fleetOf, type Plan, planFor } from "../bench/growth/sizing.ts";
import { dayOf } from "../bench/growth/typical-day.ts";

/** Nothing limits anything. */
const FREE: Fleet = {
  routersPerSecond: Infinity,
  edgesPerSecond: Infinity,
  clusterPerSecond: Infinity,
  cellsPerCluster: 10,
  applierPerSecond: Infinity,
  recordCores: 1,
  recordUs: 0.001,
  receiveUs: 0,
  alertsPerSecond: Infinity,
  alertUs: 0,
};

const EMPTY: Day = {
  seconds: 300,
  pingsAt: () => 0,
  loads: [1],
  applierShares: [1],
  chatty: null,
  down: null,
  silent: { at: [], alerts: 0 },
};

/** Pings per second until a second, and none after it. */
const burst =
  ({ perSecond, seconds }: { perSecond: number; seconds: number }) =>
  (second: number) =>
    second < seconds ? perSecond : 0;

function expectConserved(outcome: Outcome): void {
  const { sent, accepted, applied, notRecorded, refused, downRefused, left } = outcome;
  expect((applied + notRecorded + refused + downRefused + left) / sent).toBeCloseTo(1, 6);
  expect(accepted).toBeGreaterThanOrEqual((applied + notRecorded) * (1 - 1e-6));
}

describe("arrivals", () => {
  test("a day has the published average and peaks", () => {
    const day = Array.from({ length: DAY_SECONDS }, (_, second) => loadAt(second));
    expect(day.reduce((sum, one) => sum + one, 0) / DAY_SECONDS).toBeCloseTo(1, 9);
    expect(Math.max(...day.slice(0, 60))).toBe(HOUR_PEAK);
    expect(Math.max(...day.slice(60, 3_600))).toBe(MINUTE_PEAK);
    expect(Math.min(...day)).toBeGreaterThan(0);
  });
});

describe("a queue", () => {
  test("serves the oldest first, and only what arrived by a second", () => {
    const queue = new FifoQueue();
    queue.push(1, 10);
    queue.push(2, 10);
    expect(queue.serve(15)).toBe(15);
    expect(queue.oldest).toBe(2);
    queue.push(3, 10);
    expect(queue.serve(100, 2)).toBe(5);
    expect([queue.oldest, queue.length]).toEqual([3, 10]);
    expect(queue.serve(100)).toBe(10);
    expect([queue.oldest, queue.length]).toEqual([null, 0]);
  });

  test("obeys Little's law: its length, summed over time, is the sum of all waits", () => {
    const arrivals = (second: number) => (second % 20 === 0 ? 30 : 0);
    const perSecond = 2;
    const queue = new FifoQueue();
    const arrivedAt: number[] = [];
    let area = 0;
    let waits = 0;
    let served = 0;
    for (let second = 0; second < 2_000; second += 1) {
      queue.push(second, arrivals(second));
      for (let one = 0; one < arrivals(second); one += 1) arrivedAt.push(second);
      const now = queue.serve(perSecond);
      for (let one = 0; one < now; one += 1) {
        waits += second - (arrivedAt[served] ?? 0);
        served += 1;
      }
      area += queue.length;
    }
    expect(queue.length).toBe(0);
    expect(served).toBe(arrivedAt.length);
    expect(area).toBe(waits);
    expect(waits).toBeGreaterThan(0);
  });
});

describe("a cell", () => {
  test.each([
    { perSecond: 150, seconds: 60, capacity: 100 },
    { perSecond: 1_000, seconds: 5, capacity: 100 },
    { perSecond: 101, seconds: 200, capacity: 100 },
  ])("over its capacity, $perSecond instead of $capacity, is behind by the difference", (given) => {
    const { perSecond, seconds, capacity } = given;
    const day = { ...EMPTY, pingsAt: burst({ perSecond, seconds }) };
    const outcome = play({ ...FREE, applierPerSecond: capacity }, day);
    const backlog = (perSecond - capacity) * seconds;
    expect(outcome.backlog).toBeCloseTo(backlog, 3);
    // The last ping waits until everything before it is applied.
    const lag = backlog / capacity;
    expect(outcome.lagSeconds).toBeGreaterThanOrEqual(Math.floor(lag));
    expect(outcome.lagSeconds).toBeLessThanOrEqual(Math.ceil(lag) + 1);
    expect(outcome.drainedAt).toBeCloseTo(Math.ceil((perSecond * seconds) / capacity), 0);
    expectConserved(outcome);
  });

  test("below its capacity, nothing waits", () => {
    const day = { ...EMPTY, pingsAt: burst({ perSecond: 99, seconds: 200 }) };
    const outcome = play({ ...FREE, applierPerSecond: 100 }, day);
    expect([outcome.backlog, outcome.lagSeconds, outcome.drainedAt]).toEqual([0, 0, null]);
  });

  test("records as fast as the processors of PostgreSQL allow, whatever appliers could do", () => {
    const day = { ...EMPTY, pingsAt: burst({ perSecond: 150, seconds: 60 }), applierShares: [0.5, 0.5] };
    const outcome = play({ ...FREE, recordCores: 2, recordUs: 20_000 }, day);
    expect(outcome.backlog).toBeCloseTo(50 * 60, 3);
  });

  test("that shares its processors with receiving records what is left", () => {
    const day = { ...EMPTY, pingsAt: burst({ perSecond: 100, seconds: 60 }) };
    // 100 pings take 1 of 2 cores to receive, and the other one records 50 of them.
    const outcome = play({ ...FREE, recordCores: 2, recordUs: 20_000, receiveUs: 10_000 }, day);
    expect(outcome.backlog).toBeCloseTo(50 * 60, 3);
    expect(outcome.drainedAt).toBe(90);
  });

  test("with one hot partition is behind in this one alone", () => {
    const day = {
      ...EMPTY,
      pingsAt: burst({ perSecond: 100, seconds: 60 }),
      applierShares: [0.7, 0.1, 0.1, 0.1],
    };
    const outcome = play({ ...FREE, applierPerSecond: 50 }, day);
    expect(outcome.backlog).toBeCloseTo((70 - 50) * 60, 3);
  });

  test("refuses what its edges or its Kafka cluster cannot take", () => {
    const pingsAt = burst({ perSecond: 150, seconds: 60 });
    const byEdges = play({ ...FREE, edgesPerSecond: 100 }, { ...EMPTY, pingsAt });
    // Some wait for the next second; all others are refused.
    expect(byEdges.refused).toBeGreaterThan(50 * 60 - 100);
    expect(byEdges.refused).toBeLessThanOrEqual(50 * 60);
    expectConserved(byEdges);
    const shared = { ...FREE, clusterPerSecond: 200, cellsPerCluster: 2 };
    const byCluster = play(shared, { ...EMPTY, pingsAt, loads: [1, 1, 0.1] });
    expect(byCluster.refused).toBeGreaterThan(100 * 60 - 200);
    expectConserved(byCluster);
    expect(play({ ...shared, clusterPerSecond: 300 }, { ...EMPTY, pingsAt, loads: [1, 1] }).refused).toBe(0);
  });

  test("answers a check that sends too often, and records only some of its pings", () => {
    const chatty = { cell: 0, from: 10, to: 20, sentPerSecond: 1_000, recordedPerSecond: 100 };
    const outcome = play(FREE, { ...EMPTY, chatty });
    expect([outcome.accepted, outcome.applied, outcome.notRecorded]).toEqual([10_000, 1_000, 9_000]);
    expectConserved(outcome);
  });
});

describe("routers", () => {
  test("make clients wait for the difference, divided by what they can do", () => {
    const day = { ...EMPTY, pingsAt: burst({ perSecond: 200, seconds: 5 }) };
    const outcome = play({ ...FREE, routersPerSecond: 125 }, day);
    expect(outcome.routerWaitSeconds).toBeCloseTo((75 * 5) / 125, 6);
    expect(outcome.refused).toBe(0);
    expectConserved(outcome);
  });

  test("lose what waits longer than clients do", () => {
    const outcome = play(
      { ...FREE, routersPerSecond: 100 },
      { ...EMPTY, pingsAt: burst({ perSecond: 200, seconds: 30 }) },
    );
    expect(outcome.routerWaitSeconds).toBeCloseTo(10, 6);
    expect(outcome.refused).toBeCloseTo(100 * 30 - 10 * 100, 3);
    expectConserved(outcome);
  });
});

describe("a cell that is down", () => {
  const attempts = RETRY_SECONDS.length + 1;
  const patience = RETRY_SECONDS.reduce((sum, one) => sum + one, 0);
  const day: Day = {
    ...EMPTY,
    seconds: 600,
    pingsAt: burst({ perSecond: 100, seconds: 500 }),
    loads: [1, 1, 1],
    silent: { at: [150], alerts: 50 },
  };
  const down = { cell: 1, from: 100, to: 300 };

  test("has its pings repeated, loses those of clients that give up, and nothing else", () => {
    const outcome = play(FREE, { ...day, down });
    expect(outcome.refused).toBe(0);
    expect(outcome.downRefused).toBeCloseTo((down.to - down.from - patience) * 100, 3);
    expect(outcome.downAnswers).toBeGreaterThan(outcome.downRefused * attempts * 0.99);
    expect(outcome.left).toBeCloseTo(0, 6);
    expectConserved(outcome);
  });

  test("sends its alerts after it is back; those of others are not delayed", () => {
    const outcome = play(FREE, { ...day, down });
    expect(outcome.alertsOwed).toBe(150);
    expect(outcome.alertsSent).toBe(150);
    expect(outcome.alertDelaySeconds).toBe(1);
    expect(outcome.downAlertDelaySeconds).toBe(down.to - 150 + 1);
  });

  test("takes routers away from others by its repeated pings", () => {
    const fleet = { ...FREE, routersPerSecond: 310 };
    expect(play(fleet, day).routerWaitSeconds).toBe(0);
    const outcome = play(fleet, { ...day, down });
    expect(outcome.routerWaitSeconds).toBeGreaterThan(1);
    expectConserved(outcome);
  });
});

test("alerts wait for pings that were received before their deadline", () => {
  const day = { ...EMPTY, pingsAt: burst({ perSecond: 300, seconds: 10 }), silent: { at: [9], alerts: 5 } };
  const outcome = play({ ...FREE, applierPerSecond: 100 }, day);
  // Everything that arrived before second 9 is applied after 27 seconds.
  expect(outcome.alertDelaySeconds).toBe(27 + 1 - 9);
  expect(outcome.alertsSent).toBe(5);
});

describe("uneven load", () => {
  test("projects have as many checks as there are, and a largest size", () => {
    for (const checks of [1_000_000, 10_000_000]) {
      const sizes = projectSizes(checks);
      expect(sizes.reduce((sum, one) => sum + one, 0) / checks).toBeCloseTo(1, 1);
      expect(Math.max(...sizes.slice(0, 10))).toBeLessThanOrEqual(PROJECT_CHECKS_MAX);
    }
  });

  test("cells differ, always in the same way", () => {
    const loads = cellLoads({ checks: 10_000_000, cells: 10 });
    expect(loads.reduce((sum, one) => sum + one, 0) / 10).toBeCloseTo(1, 9);
    expect(Math.max(...loads)).toBeGreaterThan(1.05);
    expect(cellLoads({ checks: 10_000_000, cells: 10 })).toEqual(loads);
    expect(cellLoads({ checks: 1_000_000, cells: 1 })).toEqual([1]);
  });

  test("appliers get about the same share of the partitions", () => {
    const shares = applierShares({ checks: 100_000, appliers: 4 });
    expect(shares.reduce((sum, one) => sum + one, 0)).toBeCloseTo(1, 9);
    expect(Math.max(...shares)).toBeLessThan(0.3);
    expect(new Set(shares).size).toBe(4);
  });
});

const COSTS: Costs = {
  tlsUs: 500,
  routeUs: { none: 50, hundredThousand: 51, million: 53 },
  edgeUs: 60,
  kafkaUs: 100,
  recorderUs: 25,
  postgresUs: 45,
  commitUs: 20,
  directUs: 40,
  directPostgresUs: 45,
  sweepUs: 50,
  deliverUs: 2_000,
  alertPostgresUs: 800,
  heartbeatEdgeUs: 10_000,
  heartbeatKafkaUs: 30_000,
  heartbeatRecorderUs: 10_000,
  heartbeatPostgresUs: 10_000,
  logBytes: 110,
  walBytes: 500,
};

/** Ten times a cost. */
function planted(name: Exclude<keyof Costs, "routeUs">): Costs {
  return { ...COSTS, [name]: COSTS[name] * 10 };
}

/** Two hours around noon, to be quick. */
function noonOf(plan: Plan): Day {
  const day = dayOf(plan);
  const from = 11 * 3_600;
  const shifted = (second: number) => second - from;
  return {
    ...day,
    seconds: 2 * 3_600,
    chatty: null,
    down: day.down && { ...day.down, from: shifted(day.down.from), to: shifted(day.down.to) },
    silent: { ...day.silent, at: day.silent.at.map(shifted) },
  };
}

describe("the sizing rule", () => {
  test("keeps its promises with ordinary costs, and costs as much for each check", () => {
    const bills = [1_000_000, 10_000_000].map((checks) => {
      const plan = planFor(checks, COSTS);
      const outcome = play(fleetOf(plan, COSTS), noonOf(plan));
      expect(outcome.refused).toBeLessThan(0.001);
      expect(outcome.lagSeconds).toBeLessThanOrEqual(60);
      expectConserved(outcome);
      return billOf(plan, COSTS).eurPerThousand;
    });
    expect((bills[1] ?? 0) / (bills[0] ?? 1)).toBeLessThan(1.1);
  });

  test.each(["tlsUs", "edgeUs", "kafkaUs", "recorderUs", "postgresUs"] as const)(
    "ten times %s takes more cores, or pings are refused or wait",
    (name) => {
      const plan = planFor(1_000_000, COSTS);
      const costs = planted(name);
      expect(billOf(planFor(1_000_000, costs), costs).allCores).toBeGreaterThan(billOf(plan, COSTS).allCores);
      const ordinary = play(fleetOf(plan, COSTS), noonOf(plan));
      const outcome = play(fleetOf(plan, costs), noonOf(plan));
      expect(outcome.refused > 1 || outcome.lagSeconds > 2 * ordinary.lagSeconds).toBe(true);
    },
  );

  test("a slow notifier delays alerts", () => {
    const plan = planFor(1_000_000, COSTS);
    const delay = (costs: Costs) =>
      play(fleetOf(plan, costs), { ...noonOf(plan), down: null }).alertDelaySeconds;
    expect(delay(planted("deliverUs"))).toBeGreaterThan(delay(COSTS) * 5);
  });
});

const LOG: LogMeasured = {
  costs: { ...COSTS, recorderUs: 40, postgresUs: 50 },
  senderUs: 20,
  appendUs: 40,
  readUs: 10,
  edgePerSecond: 10_000,
  recorderPerSecond: 50_000,
  real: {
    waiting: 0,
    sentSeconds: 10,
    accepted: 100_000,
    refused: 0,
    totalSeconds: 12,
    otherCores: 0.5,
  },
};

test("the report has every figure, and with ordinary costs the rule keeps its promises for a whole day", () => {
  const simulated = [
    { checks: 1_000_000, name: "1m" },
    { checks: 5_000_000, name: "5m" },
  ];
  const figures = reportGrowth({ costs: COSTS, log: LOG }, { cores: 2, simulated });
  expect(figures["growth.refused"]).toBe(0);
  expect(figures["growth.lag_s"]).toBeLessThanOrEqual(60);
  expect(figures["growth.cost_100m_over_1m"]).toBeLessThanOrEqual(1.1);
  expect(figures["growth.5m.cells"]).toBe(5);
  expect(figures["growth.5m.alerts_lost"]).toBe(0);
  for (const name of ["model_over_real", "edge_us", "1m.cores", "1m.routers", "5m.eur_per_month"]) {
    expect(figures[`growth.${name}`], name).toBeGreaterThan(0);
  }
});

test("the prediction of a real run is the work, divided by the cores that are left", () => {
  // Receiving takes 1.2 of 1.5 cores for ten seconds; recording takes 100 microseconds for each ping.
  const { backlog, totalSeconds } = predictReal(LOG, 2);
  expect(backlog).toBeCloseTo(100_000 - (0.3 * 10) / 100e-6, -3);
  expect(totalSeconds).toBeCloseTo((100_000 * (120 + 100)) / 1e6 / 1.5, 0);
  // A recorder that cannot use them takes longer.
  expect(predictReal({ ...LOG, recorderPerSecond: 5_000 }, 2).totalSeconds).toBeCloseTo(
    10 + 70_000 / 5_000,
    0,
  );
});
