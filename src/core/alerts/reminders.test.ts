// Reminders: when the clock starts, when it strikes and when it stops.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DAY_MS, HOUR_MS } from "../instant.ts";
import { planReminder } from "./reminders.ts";

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

  test("is dropped when nothing is down any more, or nobody wants it", () => {
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
