import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TREND_DAYS_MIN } from "./limits.ts";
import { type DayDuration, isSlower, type Trend, trendOf } from "./trend.ts";

const SEEDS = { numRuns: 100 };

/** So many days of a line, with something added to each. */
function line(
  count: number,
  { startMs, endMs, added = () => 0 }: { startMs: number; endMs: number; added?: (day: number) => number },
): DayDuration[] {
  return Array.from({ length: count }, (_, day) => ({
    day,
    averageMs: startMs + ((endMs - startMs) * day) / (count - 1) + added(day),
  }));
}

function trend(days: readonly DayDuration[]): Trend {
  const found = trendOf(days);
  if (found === null) throw new Error("there is no trend");
  return found;
}

const isFound = (days: readonly DayDuration[]) => {
  const found = trendOf(days);
  return found !== null && isSlower(found);
};

describe("a trend", () => {
  test("is the line itself, if there is nothing else", () => {
    const found = trend(line(30, { startMs: 60_000, endMs: 90_000 }));
    expect(found).toMatchObject({ dayCount: 30, startMs: 60_000, endMs: 90_000, slowerShare: 1 });
    expect(found.rise).toBeCloseTo(0.5, 6);
    expect(found.z).toBeGreaterThan(7);
  });

  test("of a constant is none", () => {
    expect(trend(line(30, { startMs: 5_000, endMs: 5_000 }))).toEqual({
      dayCount: 30,
      startMs: 5_000,
      endMs: 5_000,
      rise: 0,
      slowerShare: 0,
      z: 0,
    });
  });

  test("does not depend on the order of the days, nor on days without runs", () => {
    const days = line(40, { startMs: 10_000, endMs: 20_000 }).filter(({ day }) => day % 3 !== 1);
    expect(trend(days.toReversed())).toEqual(trend(days));
    expect(trend(days)).toMatchObject({ startMs: 10_000, endMs: 20_000, dayCount: 27 });
  });

  test.each([
    ["20 %", 60_000, 72_000, true],
    ["just below 20 %", 60_000, 71_900, false],
    ["half a second", 1_000, 1_500, false],
    ["exactly a second", 1_000, 2_000, true],
    ["a fall", 72_000, 60_000, false],
  ])("is reported from 20 % and a second on: %s", (_, startMs, endMs, expected) => {
    expect(isFound(line(30, { startMs, endMs }))).toBe(expected);
  });

  test("needs enough days", () => {
    expect(trendOf(line(TREND_DAYS_MIN - 1, { startMs: 1_000, endMs: 9_000 }))).toBeNull();
    expect(isFound(line(TREND_DAYS_MIN, { startMs: 1_000, endMs: 9_000 }))).toBe(true);
    expect(trendOf([])).toBeNull();
  });

  test("of a job that takes no time is none", () => {
    expect(trend(line(30, { startMs: 0, endMs: 0 })).rise).toBe(0);
  });
});

describe("for any durations", () => {
  const noise = (share: number) =>
    fc.array(fc.double({ min: -share, max: share, noNaN: true }), { minLength: 60, maxLength: 60 });

  test("a planted rise of half is found in noise of 10 %", () => {
    fc.assert(
      fc.property(noise(0.1), fc.integer({ min: 10_000, max: 3_600_000 }), (shares, startMs) => {
        const added = (day: number) => startMs * (shares[day] ?? 0);
        expect(isFound(line(60, { startMs, endMs: startMs * 1.5, added }))).toBe(true);
      }),
      SEEDS,
    );
  });

  test("outliers on a fifth of the days neither hide a rise nor make one", () => {
    const outliers = fc.uniqueArray(fc.integer({ min: 0, max: 59 }), { maxLength: 12 });
    fc.assert(
      fc.property(outliers, (hit) => {
        const added = (day: number) => (hit.includes(day) ? 100_000_000 : 0);
        const rising = trend(line(60, { startMs: 60_000, endMs: 120_000, added }));
        expect(rising.rise).toBeGreaterThan(0.5);
        const flat = trend(line(60, { startMs: 60_000, endMs: 60_000, added }));
        expect(flat.rise).toBe(0);
        expect(isSlower(flat)).toBe(false);
      }),
      SEEDS,
    );
  });

  test("one day of any length changes nothing that is reported", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 59 }), fc.integer({ min: 0, max: 1e12 }), (hit, averageMs) => {
        const days = line(60, { startMs: 60_000, endMs: 60_000 });
        expect(isFound(days.map((one) => (one.day === hit ? { ...one, averageMs } : one)))).toBe(false);
      }),
      SEEDS,
    );
  });

  test("numbers stay within their bounds", () => {
    const any = fc.array(fc.integer({ min: 0, max: 1e9 }), { minLength: TREND_DAYS_MIN, maxLength: 90 });
    fc.assert(
      fc.property(any, (values) => {
        const found = trend(values.map((averageMs, day) => ({ day, averageMs })));
        expect(found.slowerShare).toBeGreaterThanOrEqual(0);
        expect(found.slowerShare).toBeLessThanOrEqual(1);
        expect([found.startMs, found.endMs, found.rise, found.z].every(Number.isFinite)).toBe(true);
      }),
      SEEDS,
    );
  });
});

test("noise without a rise is reported for few checks of a thousand", () => {
  // A linear congruential generator, so that the number is always the same.
  let state = 42;
  const random = () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
  let reported = 0;
  for (let check = 0; check < 1_000; check += 1) {
    const days = line(30, { startMs: 60_000, endMs: 60_000, added: () => 60_000 * (random() - 0.5) });
    if (isFound(days)) reported += 1;
  }
  expect(reported).toBeLessThanOrEqual(10);
});
