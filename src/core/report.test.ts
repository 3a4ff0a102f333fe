// When reports are due, across clock changes, and their contents.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DAY_MS, HOUR_MS } from "./instant.ts";
import { localDay, type PeriodLength } from "./local-time.ts";
import {
  nextReportAt,
  planReminder,
  REPORT_CHECKS_LISTED_MAX,
  type ReportedCheck,
  reportOf,
} from "./report.ts";
import { ZONE_NAMES } from "./schedule/zone.ts";

const iso = (at: number) => new Date(at).toISOString();
const next = (now: string, length: PeriodLength, zone: string, minute = 0) =>
  iso(nextReportAt(Date.parse(now), { length, zone, minute }));

describe("The next report", () => {
  test("comes on the next morning, Monday or first of the month, never today", () => {
    expect(next("2026-11-16T03:00:00Z", "daily", "UTC")).toBe("2026-11-17T09:00:00.000Z");
    // The sixteenth is a Monday.
    expect(next("2026-11-16T03:00:00Z", "weekly", "UTC")).toBe("2026-11-23T09:00:00.000Z");
    expect(next("2026-11-01T03:00:00Z", "monthly", "UTC")).toBe("2026-12-01T09:00:00.000Z");
    expect(next("2026-12-31T23:59:59Z", "monthly", "UTC", 119)).toBe("2027-01-01T10:59:00.000Z");
  });

  test("is at nine in the time zone of the account, on either side of a clock change", () => {
    expect(next("2026-03-28T12:00:00Z", "daily", "Europe/Riga")).toBe("2026-03-29T06:00:00.000Z");
    expect(next("2026-03-27T12:00:00Z", "daily", "Europe/Riga")).toBe("2026-03-28T07:00:00.000Z");
    expect(next("2026-10-24T12:00:00Z", "daily", "Europe/Riga")).toBe("2026-10-25T07:00:00.000Z");
    // It is already the sixteenth there.
    expect(next("2026-11-15T23:00:00Z", "daily", "Asia/Tokyo")).toBe("2026-11-17T00:00:00.000Z");
  });

  test("is in the future, on the right day, between nine and eleven, in every zone and at any time", () => {
    const length = fc.constantFrom<PeriodLength>("daily", "weekly", "monthly");
    const longest = { daily: 2, weekly: 8, monthly: 32 };
    fc.assert(
      fc.property(
        fc.integer({ min: Date.UTC(2013, 0), max: Date.UTC(2040, 0) }),
        fc.constantFrom(...ZONE_NAMES),
        length,
        fc.integer({ min: 0, max: 119 }),
        (now, zone, how, minute) => {
          const at = nextReportAt(now, { length: how, zone, minute });
          expect(at).toBeGreaterThan(now);
          expect(at - now).toBeLessThan(longest[how] * DAY_MS);
          const day = localDay(at, zone);
          expect(day).not.toEqual(localDay(now, zone));
          const shown = new Intl.DateTimeFormat("en-GB", {
            timeZone: zone,
            weekday: "short",
            hour: "2-digit",
            minute: "2-digit",
          }).formatToParts(at);
          const part = (type: string) => shown.find((one) => one.type === type)?.value;
          expect(Number(part("hour")) * 60 + Number(part("minute"))).toBe(9 * 60 + minute);
          if (how === "weekly") expect(part("weekday")).toBe("Mon");
          if (how === "monthly") expect(day.day).toBe(1);
        },
      ),
      { numRuns: 500 },
    );
  });

  test("of one who gets them all is the next in line, none left out and none twice", () => {
    fc.assert(
      fc.property(fc.constantFrom(...ZONE_NAMES), fc.integer({ min: 0, max: 119 }), (zone, minute) => {
        let at = Date.UTC(2026, 2, 20);
        for (let count = 0; count < 14; count += 1) {
          const after = nextReportAt(at, { length: "daily", zone, minute });
          expect(after - at).toBeLessThanOrEqual(2 * DAY_MS);
          if (count > 0) expect(Math.abs(after - at - DAY_MS)).toBeLessThanOrEqual(3 * HOUR_MS);
          at = after;
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe("A report", () => {
  const check = (name: string, hours: number | null, projectName = "Backups"): ReportedCheck => ({
    uuid: name,
    name,
    projectName,
    status: "up",
    lastPingAt: null,
    downtimes: [null, hours === null ? null : { count: hours > 0 ? 1 : 0, durationMs: hours * HOUR_MS }],
  });
  const given = { length: "weekly" as const, periods: [], zone: "UTC" };

  test("lists projects by name, and in each the longest downtime of the last period first, then by name", () => {
    const report = reportOf(
      [check("job 10", 0), check("job 9", 0), check("bad", 3), check("new", null), check("other", 1, "Apps")],
      given,
    );
    expect(report.projects.map(({ name }) => name)).toEqual(["Apps", "Backups"]);
    expect(report.projects[1]?.checks.map(({ name }) => name)).toEqual(["bad", "job 9", "job 10", "new"]);
    expect(report.last).toEqual({ affectedCount: 2, count: 2, durationMs: 4 * HOUR_MS, uncountedCount: 0 });
    expect(report.checkCount).toBe(5);
  });

  test("puts what changed too often first, and leaves it out of its sums", () => {
    const flapping = { ...check("flapping", 0), downtimes: ["uncounted", "uncounted"] as const };
    const report = reportOf([check("bad", 3), flapping, { ...flapping, name: "also" }], given);
    expect(report.projects[0]?.checks.map(({ name }) => name)).toEqual(["also", "flapping", "bad"]);
    expect(report.last).toEqual({ affectedCount: 1, count: 1, durationMs: 3 * HOUR_MS, uncountedCount: 2 });
  });

  test("lists so many and counts the rest, the worst of all projects first", () => {
    const many = Array.from({ length: REPORT_CHECKS_LISTED_MAX }, (_, index) => check(`a ${index}`, 0, "A"));
    const report = reportOf([...many, check("worst", 9, "Z")], given);
    const [first, last] = report.projects;
    expect(last?.checks.map(({ name }) => name)).toEqual(["worst"]);
    expect(first?.checks).toHaveLength(REPORT_CHECKS_LISTED_MAX - 1);
    expect(first?.unlistedCount).toBe(1);
  });
});

// Reminders: when the timer starts, when it fires and when it stops.

const NOW = Date.UTC(2026, 10, 15, 12);
const plan = (
  nextAt: number | null,
  more: { reminders?: "off" | "hourly" | "daily"; hasDown?: boolean } = {},
) => planReminder({ reminders: "hourly", hasDown: true, now: NOW, ...more, nextAt });

describe("A reminder", () => {
  test("is planned when something is first seen down", () => {
    expect(plan(null)).toEqual({ nextAt: NOW + HOUR_MS, isDue: false });
    expect(plan(null, { reminders: "daily" })).toEqual({ nextAt: NOW + DAY_MS, isDue: false });
  });

  test("stays planned until its time has come, and is then followed by the next", () => {
    expect(plan(NOW + 1)).toEqual({ nextAt: NOW + 1, isDue: false });
    expect(plan(NOW)).toEqual({ nextAt: NOW + HOUR_MS, isDue: true });
  });

  test("is dropped when nothing is down any more, or reminders are off", () => {
    expect(plan(NOW, { hasDown: false })).toEqual({ nextAt: null, isDue: false });
    expect(plan(NOW, { reminders: "off" })).toEqual({ nextAt: null, isDue: false });
  });

  test("that could not be sent for days comes once", () => {
    expect(plan(NOW - 50 * HOUR_MS - 1)).toEqual({ nextAt: NOW + HOUR_MS - 1, isDue: true });
  });

  test("left from a daily setting does not hold up hourly ones", () => {
    expect(plan(NOW + 20 * HOUR_MS)).toEqual({ nextAt: NOW + HOUR_MS, isDue: false });
  });

  test("always has the next one ahead, and no further than one step", () => {
    fc.assert(
      fc.property(fc.option(fc.integer({ min: NOW - 90 * DAY_MS, max: NOW + 90 * DAY_MS })), (nextAt) => {
        const planned = plan(nextAt).nextAt ?? Number.NaN;
        expect(planned).toBeGreaterThan(NOW);
        expect(planned).toBeLessThanOrEqual(NOW + HOUR_MS);
      }),
    );
  });
});
