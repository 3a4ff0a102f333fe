// What the timeline shows of a check, how runs are merged, counted and predicted, and when clocks change.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from "./instant.ts";
import { TIMELINE_TROUBLE_MARKS_MAX } from "./limits.ts";
import type { Timing } from "./state.ts";
import {
  boundTrouble,
  clockChanges,
  columnLength,
  commonStop,
  firingsIn,
  LaneCounter,
  type LaneCheck,
  marksOf,
  mergeSpans,
  mergeTimes,
  observedShares,
  peakOf,
  RunningAtOnce,
  type TimelineHistory,
  type TimelineRun,
  type TimelineView,
  wholeNumbers,
} from "./timeline.ts";
import type { Mark } from "./timeline-marks.ts";

const NOON = Date.UTC(2026, 10, 16, 12);
/** A pixel is 86.4 seconds, so runs that begin within 10 minutes and 5 seconds merge. */
const DAY: TimelineView = { from: NOON - 15 * HOUR_MS, to: NOON + 9 * HOUR_MS, now: NOON, pixelMs: 86_400 };

const CRON: Timing = {
  kind: "cron",
  timeoutSeconds: 0,
  graceSeconds: 3_600,
  schedule: "0 * * * *",
  tz: "UTC",
  manualResume: false,
  rules: null,
};
const SIMPLE: Timing = { ...CRON, kind: "simple", timeoutSeconds: 3_600 };

const HISTORY: TimelineHistory = {
  timing: CRON,
  state: { status: "up", lastPingAt: NOON - HOUR_MS, lastStartAt: null, expectFromAt: null },
  isLate: false,
  lastDurationMs: null,
  runs: [],
  sums: [],
  flips: [],
  misses: [],
  pauses: [],
  changes: [],
  silences: [],
  gaps: [],
};

function run(endAt: Instant, given: Partial<TimelineRun> = {}): TimelineRun {
  return { endAt, durationMs: 5 * MINUTE_MS, outcome: "success", n: 0, ...given };
}

/** The marks of one kind, with times in minutes relative to noon. */
function shown(given: Partial<TimelineHistory>, kind: Mark["kind"], view = DAY) {
  const { marks } = marksOf({ ...HISTORY, ...given }, view, { left: 1_000 });
  return marks
    .filter((mark) => mark.kind === kind)
    .map(({ from, to, count, expectedAt }) => ({
      from: (from - NOON) / MINUTE_MS,
      to: (to - NOON) / MINUTE_MS,
      count,
      expected: (expectedAt - NOON) / MINUTE_MS,
    }));
}

describe("the marks of a check", () => {
  test("a run is drawn from its start to its end, with its number", () => {
    const { marks } = marksOf({ ...HISTORY, runs: [run(NOON - 50 * MINUTE_MS, { n: 7 })] }, DAY, { left: 9 });
    const at = NOON - 55 * MINUTE_MS;
    expect(marks[0]).toEqual({
      kind: "ran",
      from: at,
      to: NOON - 50 * MINUTE_MS,
      count: 1,
      expectedAt: at,
      n: 7,
    });
  });

  test("runs that begin close together are one ribbon; a longer distance begins another", () => {
    const every5 = Array.from({ length: 10 }, (_, index) => run(NOON - (100 - index * 5) * MINUTE_MS));
    const runs = [...every5, run(NOON - 40 * MINUTE_MS)];
    expect(shown({ runs, timing: { ...CRON, schedule: "*/5 * * * *" } }, "ran")).toEqual([
      { from: -105, to: -55, count: 10, expected: -105 },
      { from: -45, to: -40, count: 1, expected: -45 },
    ]);
  });

  test("a failure among them stays a mark of its own", () => {
    const runs = [0, 1, 2, 3].map((index) =>
      run(NOON - (60 - index * 5) * MINUTE_MS, index === 1 ? { outcome: "fail", n: 3 } : {}),
    );
    const timing = { ...CRON, schedule: "*/5 * * * *" };
    expect(shown({ runs, timing }, "failed")).toEqual([{ from: -60, to: -55, count: 1, expected: -60 }]);
    expect(shown({ runs, timing }, "ran")).toEqual([{ from: -65, to: -45, count: 3, expected: -65 }]);
  });

  test("a run that began late leads in from its expected time", () => {
    const runs = [run(NOON - 175 * MINUTE_MS), run(NOON - 80 * MINUTE_MS)];
    expect(shown({ runs }, "late")).toEqual([{ from: -85, to: -80, count: 1, expected: -120 }]);
  });

  test.each([
    ["a pause", { pauses: [{ from: NOON - 170 * MINUTE_MS, to: NOON - 130 * MINUTE_MS }] }],
    ["a monitoring gap", { gaps: [{ from: NOON - 130 * MINUTE_MS, to: NOON - 110 * MINUTE_MS }] }],
    ["another schedule", { changes: [NOON - 110 * MINUTE_MS] }],
    ["a missed run", { misses: [NOON - 120 * MINUTE_MS] }],
  ])("after %s, no run is late", (_, given) => {
    const runs = [run(NOON - 175 * MINUTE_MS), run(NOON - 80 * MINUTE_MS)];
    expect(shown({ runs, ...given }, "late")).toEqual([]);
  });

  test("without a budget left, no run is late", () => {
    const runs = [run(NOON - 175 * MINUTE_MS), run(NOON - 80 * MINUTE_MS)];
    const { marks } = marksOf({ ...HISTORY, runs }, DAY, { left: 0 });
    expect(marks.filter(({ kind }) => kind === "late")).toEqual([]);
  });

  test("each run that did not come is a mark at its expected time, until the check is up again", () => {
    const flips = [
      { at: NOON - 5 * HOUR_MS, to: "down", reason: "timeout" },
      { at: NOON - 121 * MINUTE_MS, to: "up", reason: "success" },
    ] as const;
    expect(shown({ flips }, "missed").map(({ from }) => from)).toEqual([-360, -300, -240]);
  });

  test("a check that is down has missed every run since its last ping", () => {
    const state = { ...HISTORY.state, status: "down", lastPingAt: NOON - 200 * MINUTE_MS } as const;
    expect(shown({ state }, "missed").map(({ from }) => from)).toEqual([-180, -120]);
  });

  test("runs are predicted with their usual duration, and none of a paused check", () => {
    const runs = [1, 2, 3]
      .map((hour) => run(NOON - hour * HOUR_MS, { durationMs: hour * MINUTE_MS }))
      .toReversed();
    const ahead = shown({ runs }, "ahead");
    expect(ahead).toHaveLength(9);
    expect(ahead[1]).toEqual({ from: 60, to: 62, count: 1, expected: 60 });
    expect(shown({ state: { ...HISTORY.state, status: "paused" } }, "ahead")).toEqual([]);
  });

  test("a frequent check is predicted as one ribbon over the whole time", () => {
    const [ribbon, ...others] = shown({ timing: { ...CRON, schedule: "* * * * *" } }, "ahead");
    expect(others).toEqual([]);
    expect(ribbon).toMatchObject({ from: 0, count: 540 });
  });

  test("a check that is late now leads to now", () => {
    const state = { ...HISTORY.state, lastPingAt: NOON - 90 * MINUTE_MS };
    expect(shown({ state, isLate: true }, "late")).toEqual([{ from: 0, to: 0, count: 0, expected: -60 }]);
  });

  test("a run in progress lasts until now", () => {
    const state = { ...HISTORY.state, lastStartAt: NOON - 10 * MINUTE_MS };
    expect(shown({ state }, "running")).toEqual([{ from: -10, to: 0, count: 1, expected: -10 }]);
  });

  test("a silence is named by its index", () => {
    const silences = [{ from: NOON, to: NOON + HOUR_MS, index: 3 }];
    const { marks } = marksOf({ ...HISTORY, silences }, DAY, { left: 9 });
    expect(marks.find(({ kind }) => kind === "silenced")).toMatchObject({
      n: 3,
      from: NOON,
      to: NOON + HOUR_MS,
    });
  });

  test("no success is lost by merging, and the number of marks is bounded by the width", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 15 * 3_600 - 600 }), { maxLength: 3_000 }), (ages) => {
        const runs = ages
          .map((age) => run(NOON - age * SECOND_MS, { durationMs: 1_000 }))
          .toSorted((one, other) => one.endAt - other.endAt);
        const { marks } = marksOf({ ...HISTORY, runs, timing: SIMPLE }, DAY, { left: 1e6 });
        const past = marks.filter(({ kind }) => kind === "ran" || kind === "late");
        expect(past.reduce((sum, { count }) => sum + count, 0)).toBe(runs.length);
        expect(past.filter(({ kind }) => kind === "ran").length).toBeLessThanOrEqual(1_000 / 7 + 1);
      }),
      { numRuns: 50 },
    );
  });
});

describe("much trouble", () => {
  const failed = (count: number, everyMs: number) =>
    Array.from({ length: count }, (_, index): Mark => {
      const from = NOON + index * everyMs;
      return { kind: "failed", from, to: from, count: 1, expectedAt: from, n: index };
    });

  test("up to a limit, each is a mark", () => {
    expect(boundTrouble(failed(TIMELINE_TROUBLE_MARKS_MAX, 1), HOUR_MS)).toHaveLength(
      TIMELINE_TROUBLE_MARKS_MAX,
    );
  });

  test("beyond it, they are counted per column, and none is lost", () => {
    const marks = boundTrouble(failed(600, MINUTE_MS), HOUR_MS);
    expect(marks).toHaveLength(10);
    expect(marks.every(({ count, n }) => count === 60 && n === 0)).toBe(true);
  });
});

test("times that are too close together are one mark", () => {
  const times = [0, 5, 10, 30].map((minute) => NOON + minute * MINUTE_MS);
  const merged = mergeTimes(times, { kind: "ahead", lengthMs: MINUTE_MS, gapMs: 6 * MINUTE_MS });
  expect(merged.map(({ from, to, count }) => [from - NOON, to - NOON, count])).toEqual([
    [0, 11 * MINUTE_MS, 3],
    [30 * MINUTE_MS, 31 * MINUTE_MS, 1],
  ]);
});

describe("firings", () => {
  const state = { lastPingAt: NOON - 10 * MINUTE_MS, expectFromAt: null };
  const span = { from: NOON, to: NOON + DAY_MS };

  test("of a period begin with the last ping", () => {
    const firings = firingsIn({ timing: SIMPLE, state }, span, 10);
    expect(firings).toHaveLength(24);
    expect(firings[0]).toBe(NOON + 50 * MINUTE_MS);
    expect(firingsIn({ timing: SIMPLE, state: { lastPingAt: null, expectFromAt: null } }, span, 10)).toEqual(
      [],
    );
  });

  test("beyond a number continue at the same distance", () => {
    const every10 = { timing: { ...CRON, schedule: "*/10 * * * *" }, state };
    expect(firingsIn(every10, span, 10)).toEqual(firingsIn(every10, span, 1_000));
    expect(firingsIn(every10, span, 1_000)).toHaveLength(144);
  });

  test("a local time that clocks repeat fires as the schedule says", () => {
    const riga = { ...CRON, schedule: "30 3 * * *", tz: "Europe/Riga" };
    const sunday = { from: Date.UTC(2026, 9, 24, 21), to: Date.UTC(2026, 9, 25, 22) };
    expect(firingsIn({ timing: riga, state }, sunday, 10)).toEqual([Date.UTC(2026, 9, 25, 0, 30)]);
  });

  test("of an invalid schedule there are none", () => {
    expect(firingsIn({ timing: { ...CRON, schedule: "never" }, state }, span, 10)).toEqual([]);
  });
});

describe("runs at once", () => {
  test("overlapping runs add up; touching ones do not", () => {
    const load = new RunningAtOnce(DAY);
    load.add({ from: NOON - 60 * MINUTE_MS, to: NOON - 30 * MINUTE_MS });
    load.add({ from: NOON - 40 * MINUTE_MS, to: NOON - 20 * MINUTE_MS });
    load.add({ from: NOON - 20 * MINUTE_MS, to: NOON - 10 * MINUTE_MS });
    const counts = load.columns(10 * MINUTE_MS);
    expect(counts.slice(84, 90)).toEqual([1, 1, 2, 1, 1, 0]);
    expect(peakOf(counts, { from: DAY.from, columnMs: 10 * MINUTE_MS, span: DAY })).toEqual({
      at: NOON - 40 * MINUTE_MS,
      count: 2,
    });
    expect(load.means(HOUR_MS)[14]).toBe(1);
  });

  test("are counted as by looking at every minute", () => {
    const spans = fc.array(
      fc.tuple(fc.integer({ min: -100, max: 1_600 }), fc.integer({ min: 0, max: 300 })),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(spans, (runs) => {
        const load = new RunningAtOnce(DAY);
        for (const [begin, length] of runs) {
          load.add({ from: DAY.from + begin * MINUTE_MS, to: DAY.from + (begin + length) * MINUTE_MS });
        }
        const counts = load.columns(MINUTE_MS);
        for (const minute of [0, 1, 99, 700, 1_439]) {
          const expected = runs.filter(
            ([begin, length]) => begin <= minute && minute < begin + length,
          ).length;
          expect(counts[minute]).toBe(expected);
        }
      }),
      { numRuns: 200 },
    );
  });

  test("nothing that ran has no peak", () => {
    expect(peakOf([0, 0], { from: NOON, columnMs: HOUR_MS, span: DAY })).toBeNull();
  });
});

test.each([
  [6 * HOUR_MS, 170, 5 * MINUTE_MS],
  [DAY_MS, 170, 10 * MINUTE_MS],
  [7 * DAY_MS, 170, HOUR_MS],
  [98 * DAY_MS, 10, DAY_MS],
])("%i ms in at most %i columns: columns of %i ms", (lengthMs, max, columnMs) => {
  expect(columnLength({ from: NOON, to: NOON + lengthMs }, max)).toBe(columnMs);
});

describe("lanes", () => {
  const COLUMNS = { from: NOON - 4 * HOUR_MS, to: NOON + 2 * HOUR_MS, now: NOON, columnMs: HOUR_MS };
  const UP: LaneCheck = {
    lane: 0,
    timing: CRON,
    state: { status: "up", lastPingAt: NOON - HOUR_MS, expectFromAt: null },
    createdAt: null,
    durationMs: 0,
    flips: [],
  };

  function counted(checks: readonly Partial<LaneCheck>[]) {
    const counter = new LaneCounter(COLUMNS, { laneCount: 2, budget: { left: 1_000 } });
    for (const check of checks) counter.add({ ...UP, ...check });
    const { lanes, load } = counter.finish();
    const numbers = (list: Float64Array | undefined) =>
      Array.from(list ?? [], (value) => Math.round(value * 10) / 10);
    const [first, second] = lanes.map(({ ran, failed, missed, ahead }) => ({
      ran: numbers(ran),
      failed: numbers(failed),
      missed: numbers(missed),
      ahead: numbers(ahead),
    }));
    return { first, second, load: load.columns(HOUR_MS) };
  }

  test("checks with the same schedule are counted together, by lane", () => {
    const { first, second } = counted([{}, {}, { lane: 1 }]);
    expect(first?.ran).toEqual([2, 2, 2, 2, 0, 0]);
    expect(first?.ahead).toEqual([0, 0, 0, 0, 2, 2]);
    expect(second?.ran).toEqual([1, 1, 1, 1, 0, 0]);
  });

  test("a check that was down missed its runs, from the expected time on", () => {
    const flips = [
      { at: NOON - 2 * HOUR_MS, to: "down", reason: "timeout" },
      { at: NOON - 90 * MINUTE_MS, to: "up", reason: "success" },
    ] as const;
    const { first } = counted([{ flips }]);
    expect(first?.ran).toEqual([1, 0, 0, 1, 0, 0]);
    expect(first?.missed).toEqual([0, 1, 1, 0, 0, 0]);
  });

  test("a failed run counts at its expected time", () => {
    const flips = [
      { at: NOON - 170 * MINUTE_MS, to: "down", reason: "fail" },
      { at: NOON - 110 * MINUTE_MS, to: "up", reason: "success" },
    ] as const;
    const { first } = counted([{ flips }]);
    expect(first?.failed).toEqual([0, 1, 1, 0, 0, 0]);
    expect(first?.ran).toEqual([1, 0, 0, 1, 0, 0]);
  });

  test("a new check counts from its creation, a paused one until its last ping, without a future", () => {
    expect(counted([{ createdAt: NOON - 2 * HOUR_MS - 1 }]).first?.ran).toEqual([0, 0, 1, 1, 0, 0]);
    const paused = { status: "paused", lastPingAt: NOON - 3 * HOUR_MS, expectFromAt: null } as const;
    const { first } = counted([{ state: paused }]);
    expect(first?.ran).toEqual([1, 1, 0, 0, 0, 0]);
    expect(first?.ahead).toEqual([0, 0, 0, 0, 0, 0]);
  });

  test("a frequent check without a schedule is spread evenly", () => {
    const { first } = counted([{ timing: { ...SIMPLE, timeoutSeconds: 300 } }]);
    expect(first?.ran).toEqual([12, 12, 12, 12, 0, 0]);
    expect(first?.ahead).toEqual([0, 0, 0, 0, 12, 12]);
  });

  test("how many run at once follows from the last duration", () => {
    const { load } = counted([{ durationMs: 30 * MINUTE_MS }, { durationMs: 30 * MINUTE_MS }, {}]);
    expect(load).toEqual([2, 2, 2, 2, 2, 2]);
  });

  test("counted together or one by one, the result is the same", () => {
    const schedules = fc.constantFrom("*/7 * * * *", "0 * * * *", "15 9 * * *", "*/30 9-11 * * *");
    fc.assert(
      fc.property(fc.array(schedules, { maxLength: 20 }), (texts) => {
        const checks = texts.map((schedule) => ({ timing: { ...CRON, schedule } }));
        const together = counted(checks);
        // A creation in the distant past counts nothing less, but is looked at for each check.
        const single = counted(checks.map((check) => ({ ...check, createdAt: 0 })));
        expect(single).toEqual(together);
      }),
      { numRuns: 50 },
    );
  });

  test("columns in a monitoring gap count for the observed part", () => {
    const gaps = [{ from: NOON - 210 * MINUTE_MS, to: NOON - 2 * HOUR_MS }];
    expect([...observedShares(COLUMNS, gaps)]).toEqual([0.5, 0, 1, 1, 1, 1]);
  });
});

test("rounded counts have the same sum", () => {
  expect(wholeNumbers(Float64Array.of(0.5, 0.5, 0.5, 0.5))).toEqual([1, 0, 1, 0]);
  const counts = fc.array(fc.float({ min: 0, max: 50, noNaN: true }), { maxLength: 200 });
  fc.assert(
    fc.property(counts, (given) => {
      const whole = wholeNumbers(Float64Array.from(given));
      const sum = (list: readonly number[]) => list.reduce((all, one) => all + one, 0);
      expect(Math.abs(sum(whole) - sum(given))).toBeLessThan(0.51);
      expect(whole.every((count) => Number.isInteger(count) && count >= 0)).toBe(true);
    }),
  );
});

describe("checks that stopped together", () => {
  const at = (lastMinute: number, everyMinutes: number) => ({
    lastPingAt: NOON + lastMinute * MINUTE_MS,
    expectedAt: NOON + (lastMinute + everyMinutes) * MINUTE_MS,
  });

  test("with different periods: the last ping of any of them", () => {
    expect(commonStop([at(-2, 5), at(-30, 60), at(0, 5), at(-500, 60)])).toEqual({ at: NOON, count: 3 });
  });

  test("fewer than three, or at different times, are a coincidence", () => {
    expect(commonStop([at(0, 5), at(0, 5)])).toBeNull();
    expect(commonStop([at(0, 5), at(100, 5), at(200, 5)])).toBeNull();
  });
});

describe("clock changes", () => {
  const october = { from: Date.UTC(2026, 9, 1), to: Date.UTC(2026, 10, 1) };

  test("in October, clocks go back", () => {
    expect(clockChanges("Europe/Riga", october)).toEqual([
      { at: Date.UTC(2026, 9, 25, 1), zone: "Europe/Riga", offsetBefore: 10_800, offsetAfter: 7_200 },
    ]);
  });

  test("a year has two, a zone without summer time none, an unknown zone none", () => {
    const year = { from: Date.UTC(2026, 0, 1), to: Date.UTC(2027, 0, 1) };
    expect(clockChanges("America/New_York", year)).toHaveLength(2);
    expect(clockChanges("Asia/Kolkata", year)).toEqual([]);
    expect(clockChanges("UTC", year)).toEqual([]);
    expect(clockChanges("Mars/Olympus", year)).toEqual([]);
  });
});

test("overlapping times are one", () => {
  const spans = [
    { from: 5, to: 9 },
    { from: 0, to: 3 },
    { from: 2, to: 4 },
    { from: 9, to: 10 },
  ];
  expect(mergeSpans(spans)).toEqual([
    { from: 0, to: 4 },
    { from: 5, to: 10 },
  ]);
});
