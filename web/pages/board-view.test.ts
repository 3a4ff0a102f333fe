import { expect, test } from "vitest";
import { cityOf, formatLongDay, isStale } from "./board-view.ts";

const NOW = Date.UTC(2026, 9, 25, 4, 1);

test.each([
  [{ readAt: NOW, hasFailed: false, now: NOW }, false],
  [{ readAt: NOW - 14_999, hasFailed: false, now: NOW }, false],
  [{ readAt: NOW - 15_000, hasFailed: false, now: NOW }, true],
  [{ readAt: NOW - 1, hasFailed: true, now: NOW }, true],
])("data is out of date after a failed request, or when none was received for 15 s: %o", (reading, stale) => {
  expect(isStale(reading)).toBe(stale);
});

test("the clock names the city of its zone, and the day there", () => {
  expect([cityOf("Europe/Riga"), cityOf("America/Argentina/Buenos_Aires"), cityOf("UTC")]).toEqual([
    "Riga",
    "Buenos Aires",
    "UTC",
  ]);
  expect(formatLongDay(NOW, "Europe/Riga")).toBe("Sunday 25 October");
  expect(formatLongDay(NOW, "America/Los_Angeles")).toBe("Saturday 24 October");
});
