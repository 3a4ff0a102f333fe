// Days, weeks and months in time zones: examples at clock changes, and properties everywhere.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DAY_MS, HOUR_MS } from "./instant.ts";
import { instantOfLocal, localDay, type PeriodLength, periodsBefore } from "./local-time.ts";
import { ZONE_NAMES } from "./schedule/zone.ts";

const iso = (at: number) => new Date(at).toISOString();
const periods = (now: string, length: PeriodLength, zone: string) =>
  periodsBefore(Date.parse(now), { length, zone, count: 2 }).map(({ from, to }) => [iso(from), iso(to)]);

describe("Periods", () => {
  test("of days are 23 and 25 hours long where clocks change", () => {
    const spring = periodsBefore(Date.parse("2026-03-30T10:00:00Z"), {
      length: "daily",
      zone: "Europe/Riga",
      count: 2,
    });
    expect(spring.map(({ from, to }) => (to - from) / HOUR_MS)).toEqual([24, 23]);
    const autumn = periodsBefore(Date.parse("2026-10-26T10:00:00Z"), {
      length: "daily",
      zone: "Europe/Riga",
      count: 2,
    });
    expect(autumn.map(({ from, to }) => (to - from) / HOUR_MS)).toEqual([24, 25]);
  });

  test("of weeks begin on Mondays, of months on their first day", () => {
    expect(periods("2026-11-15T23:30:00Z", "weekly", "UTC")).toEqual([
      ["2026-10-26T00:00:00.000Z", "2026-11-02T00:00:00.000Z"],
      ["2026-11-02T00:00:00.000Z", "2026-11-09T00:00:00.000Z"],
    ]);
    // It is already Monday there.
    expect(periods("2026-11-15T23:30:00Z", "weekly", "Asia/Tokyo").at(-1)).toEqual([
      "2026-11-08T15:00:00.000Z",
      "2026-11-15T15:00:00.000Z",
    ]);
    expect(periods("2027-01-01T07:00:00Z", "monthly", "America/New_York")).toEqual([
      ["2026-11-01T04:00:00.000Z", "2026-12-01T05:00:00.000Z"],
      ["2026-12-01T05:00:00.000Z", "2027-01-01T05:00:00.000Z"],
    ]);
  });

  test("begin with the first instant of the day where midnight itself is skipped", () => {
    // In Cairo clocks went from 23:59 to 01:00 on 24 April 2026.
    expect(iso(instantOfLocal({ year: 2026, month: 4, day: 24 }, { minutes: 0, zone: "Africa/Cairo" }))).toBe(
      "2026-04-23T22:00:00.000Z",
    );
  });

  test("in an unknown zone are those of UTC", () => {
    expect(periods("2026-11-15T23:30:00Z", "daily", "Mars/Olympus")).toEqual(
      periods("2026-11-15T23:30:00Z", "daily", "UTC"),
    );
  });

  test("adjoin, end before now, and are as long as they are called, in every zone", () => {
    const length = fc.constantFrom<PeriodLength>("daily", "weekly", "monthly");
    const days = { daily: [1, 1], weekly: [7, 7], monthly: [28, 31] };
    fc.assert(
      fc.property(
        fc.integer({ min: Date.UTC(2013, 0), max: Date.UTC(2040, 0) }),
        fc.constantFrom(...ZONE_NAMES),
        length,
        (now, zone, how) => {
          const found = periodsBefore(now, { length: how, zone, count: 3 });
          const [shortest = 0, longest = 0] = days[how];
          for (const [index, { from, to }] of found.entries()) {
            expect(to - from).toBeGreaterThanOrEqual(shortest * DAY_MS - 3 * HOUR_MS);
            expect(to - from).toBeLessThanOrEqual(longest * DAY_MS + 3 * HOUR_MS);
            if (index > 0) expect(found[index - 1]?.to).toBe(from);
          }
          const end = found.at(-1)?.to ?? Infinity;
          expect(end).toBeLessThanOrEqual(now);
          // Today is not part of it, and the next period would not be complete.
          expect(now - end).toBeLessThan((longest + 1) * DAY_MS);
          expect(localDay(end, zone)).not.toEqual(localDay(end - 1, zone));
        },
      ),
      { numRuns: 500 },
    );
  });
});
