// Which runs are drawn as late, by hand: those that came after more than half of their grace.
import { expect, test } from "vitest";
import { DEFAULT_SETTINGS } from "../check.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../instant.ts";
import { dueAfter, isLateRun, latenessMs } from "./lateness.ts";

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

test("what never fires again makes nobody late", () => {
  const once = { ...DAILY, kind: "oncalendar" as const, schedule: "2026-01-01 00:00" };
  expect(latenessMs(once, { previousEndAt: T, startAt: null, endAt: T + DAY_MS })).toBe(0);
});
