// Which pings of a list have a duration, and which one.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DEFAULT_SETTINGS } from "./check.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "./instant.ts";
import {
  countRun,
  dayOf,
  type DayTotals,
  dueAfter,
  isLateRun,
  latenessMs,
  type PairedPing,
  runDurations,
  sumTotals,
  totalsOf,
  usualOf,
} from "./run.ts";
import type { SignalKind } from "./signal.ts";

const AN_HOUR_MS = 3_600_000;

/** In the order of arrival, a second apart; `start:a` is a start of the run `a`. */
function durationsOf(...texts: string[]): [number, number][] {
  const pings = texts.map((text, index): PairedPing => {
    const [kind = "", rid = null] = text.split(":");
    return { n: index + 1, at: index * 1_000, kind: kind as SignalKind, rid, durationMs: null };
  });
  return [...runDurations(pings.toReversed())];
}

describe("a duration", () => {
  test("is known for a success and for a failure after a start", () => {
    expect(durationsOf("start", "success")).toEqual([[2, 1_000]]);
    expect(durationsOf("start", "fail")).toEqual([[2, 1_000]]);
  });

  test("is unknown for anything else, and without a start", () => {
    expect(durationsOf("start", "log", "ign", "start")).toEqual([]);
    expect(durationsOf("success", "fail", "success")).toEqual([]);
  });

  test("counts from the latest start", () => {
    expect(durationsOf("start", "start", "success")).toEqual([[3, 1_000]]);
  });

  test("is taken by the first end: a second one has none", () => {
    expect(durationsOf("start", "fail", "success")).toEqual([[2, 1_000]]);
  });

  test("looks past log lines, ignored signals and other runs", () => {
    expect(durationsOf("start", "log", "ign", "start:b", "success:b", "success")).toEqual([
      [5, 1_000],
      [6, 5_000],
    ]);
  });

  test("needs the same run id, and no id is one too", () => {
    expect(durationsOf("start:a", "start", "success", "success:a", "success:c")).toEqual([
      [3, 1_000],
      [4, 3_000],
    ]);
  });

  test("of zero is known as well", () => {
    const at = { at: 5, rid: null, durationMs: null };
    expect([
      ...runDurations([
        { n: 2, kind: "success", ...at },
        { n: 1, kind: "start", ...at },
      ]),
    ]).toEqual([[2, 0]]);
  });

  test("is known up to 72 hours and not beyond", () => {
    const after = (ms: number) =>
      runDurations([
        { n: 2, at: ms, kind: "success", rid: null, durationMs: ms },
        { n: 1, at: 0, kind: "start", rid: null, durationMs: null },
      ]).get(2);
    expect(after(72 * AN_HOUR_MS)).toBe(72 * AN_HOUR_MS);
    expect(after(72 * AN_HOUR_MS + 1)).toBeUndefined();
  });

  test("is unknown if the start is newer, which a replay can cause", () => {
    const pings: PairedPing[] = [
      { n: 2, at: 0, kind: "success", rid: null, durationMs: null },
      { n: 1, at: 9, kind: "start", rid: null, durationMs: null },
    ];
    expect(runDurations(pings).size).toBe(0);
  });

  test("is what was measured where the list ends before anything of the run", () => {
    const end = { n: 7, at: 90_000, kind: "success", rid: null, durationMs: 60_000 } as const;
    expect(runDurations([end]).get(7)).toBe(60_000);
    expect(runDurations([{ ...end, durationMs: 72 * AN_HOUR_MS + 1 }]).get(7)).toBeUndefined();
    // A start in the list takes precedence over the measured duration.
    const start = { n: 6, at: 80_000, kind: "start", rid: null, durationMs: null } as const;
    expect(runDurations([end, start]).get(7)).toBe(10_000);
  });

  test("of a late end is the one that it reports, not the time until it was logged", () => {
    const start = { n: 6, at: 0, kind: "start", rid: "a", durationMs: null } as const;
    const end = { n: 7, at: 3_600_000, kind: "success", rid: "a", durationMs: 5_000 } as const;
    expect(runDurations([end, start]).get(7)).toBe(5_000);
  });
});

test("whatever the list, a duration is never negative nor longer than 72 hours, and belongs to an end", () => {
  const ping = fc.record({
    at: fc.integer({ min: 0, max: 100 * AN_HOUR_MS }),
    kind: fc.constantFrom<SignalKind>("start", "success", "fail", "log", "ign"),
    rid: fc.constantFrom(null, "a", "b"),
    durationMs: fc.option(fc.nat(100 * AN_HOUR_MS)),
  });
  fc.assert(
    fc.property(fc.array(ping), (list) => {
      const pings = list.map((one, index) => ({ ...one, n: list.length - index }));
      for (const [n, durationMs] of runDurations(pings)) {
        expect(durationMs).toBeGreaterThanOrEqual(0);
        expect(durationMs).toBeLessThanOrEqual(72 * AN_HOUR_MS);
        expect(["success", "fail"]).toContain(pings.find((one) => one.n === n)?.kind);
      }
    }),
  );
});

// The usual range, by examples and by properties.

test("a hundred runs have their tenths where one would look for them", () => {
  const durations = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect(usualOf(durations)).toEqual({ count: 100, lowMs: 10, highMs: 90, medianMs: 50, p95Ms: 95 });
});

test("two runs have no usual range, three have one", () => {
  expect(usualOf([1, 2])).toBeNull();
  expect(usualOf([3, 1, 2])).toEqual({ count: 3, lowMs: 1, highMs: 3, medianMs: 2, p95Ms: 3 });
});

test("its figures are durations that occurred, in order", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(), { minLength: 3 }), (durations) => {
      const { lowMs, medianMs, highMs, p95Ms } = usualOf(durations) ?? expect.fail();
      for (const figure of [lowMs, medianMs, highMs, p95Ms]) expect(durations).toContain(figure);
      expect(lowMs <= medianMs && medianMs <= highMs && highMs <= p95Ms).toBe(true);
    }),
  );
});

// Which runs are shown as late: those that used more than half of their grace period.

const T = Date.UTC(2026, 5, 1, 3);
const DAILY = { ...DEFAULT_SETTINGS, kind: "cron" as const, schedule: "0 3 * * *", graceSeconds: 3_600 };

test.each([
  ["in time", { startAt: null, endAt: T + DAY_MS }, 0, false],
  ["early", { startAt: null, endAt: T + 23 * HOUR_MS }, 0, false],
  ["a moment after its time", { startAt: null, endAt: T + DAY_MS + MINUTE_MS }, MINUTE_MS, false],
  ["after half of its grace", { startAt: null, endAt: T + DAY_MS + 31 * MINUTE_MS }, 31 * MINUTE_MS, true],
  ["long, but begun in time", { startAt: T + DAY_MS, endAt: T + DAY_MS + 50 * MINUTE_MS }, 0, false],
])("a run that came %s", (_what, run, late, isLate) => {
  const placed = { ...run, previousEndAt: T };
  expect(latenessMs(DAILY, placed)).toBe(late);
  expect(isLateRun(DAILY, placed)).toBe(isLate);
});

test("a period counts from the end of the run before", () => {
  const hourly = { ...DAILY, kind: "simple" as const, timeoutSeconds: 3_600 };
  expect(dueAfter(hourly, T)).toBe(T + HOUR_MS);
});

test("a run is never late if the schedule never fires again", () => {
  const once = { ...DAILY, kind: "oncalendar" as const, schedule: "2026-01-01 00:00" };
  expect(latenessMs(once, { previousEndAt: T, startAt: null, endAt: T + DAY_MS })).toBe(0);
});

// Daily totals: what a day counts, when it ends, and that the order of runs does not matter.

const MIDNIGHT = Date.UTC(2026, 10, 16);
const success = (endAt: number, durationMs: number | null = null) =>
  ({ endAt, outcome: "success", durationMs }) as const;
const fail = (endAt: number) => ({ endAt, outcome: "fail", durationMs: null }) as const;

describe("a day", () => {
  test("begins at midnight UTC", () => {
    expect(dayOf(MIDNIGHT)).toBe("2026-11-16");
    expect(dayOf(MIDNIGHT - 1)).toBe("2026-11-15");
  });

  test("counts runs by outcome, and times those whose duration is known", () => {
    let today: DayTotals | null = null;
    for (const run of [
      success(MIDNIGHT, 50),
      fail(MIDNIGHT + 1),
      success(MIDNIGHT + 2),
      success(MIDNIGHT + 3, 70),
    ]) {
      ({ today } = countRun(today, run));
    }
    expect(today).toEqual({
      day: "2026-11-16",
      successCount: 3,
      failCount: 1,
      timedCount: 2,
      durationSumMs: 120,
      durationMaxMs: 70,
    });
  });

  test("ends with the first run of a later one", () => {
    const yesterday = totalsOf(success(MIDNIGHT - 1));
    expect(countRun(yesterday, fail(MIDNIGHT))).toEqual({
      today: totalsOf(fail(MIDNIGHT)),
      settled: yesterday,
    });
  });

  test("is not disturbed by a late run of an older one", () => {
    const today = totalsOf(success(MIDNIGHT));
    const late = fail(MIDNIGHT - DAY_MS);
    expect(countRun(today, late)).toEqual({ today, settled: totalsOf(late) });
  });
});

test("in whatever order runs come, the days add up to the same", () => {
  const run = fc.record({
    endAt: fc.integer({ min: 0, max: 5 }).map((day) => MIDNIGHT + day * DAY_MS),
    outcome: fc.constantFrom("success" as const, "fail" as const),
    durationMs: fc.option(fc.integer({ min: 0, max: 1_000 })),
  });
  const addedUp = (runs: Parameters<typeof totalsOf>[0][]) => {
    const days = new Map<string, DayTotals>();
    const add = (totals: DayTotals) => {
      const known = days.get(totals.day);
      days.set(totals.day, known === undefined ? totals : sumTotals(known, totals));
    };
    let today: DayTotals | null = null;
    for (const one of runs) {
      const counted: ReturnType<typeof countRun> = countRun(today, one);
      today = counted.today;
      if (counted.settled !== null) add(counted.settled);
    }
    if (today !== null) add(today);
    return days;
  };
  fc.assert(
    fc.property(fc.array(run), (runs) => {
      const inOrder = runs.toSorted((a, b) => a.endAt - b.endAt);
      expect(addedUp(runs)).toEqual(addedUp(inOrder));
    }),
  );
});
