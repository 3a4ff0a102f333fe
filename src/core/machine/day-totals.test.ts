// Daily roll-ups: what a day counts, when it ends, and that the order of runs does not matter.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { countRun, type DayTotals, dayOf, sumTotals, totalsOf } from "./day-totals.ts";
import { DAY_MS } from "../instant.ts";

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
