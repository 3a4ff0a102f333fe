// Which monitoring gap pages show: for an hour after its end, and the newest of several.
import { expect, test } from "vitest";
import { HOUR_MS, type Interval, MINUTE_MS } from "../../core/instant.ts";
import { recentMonitoringGap } from "./checks.ts";

const NOW = 1_800_000_000_000;
const shownGap = (...blind: Interval[]) =>
  recentMonitoringGap({ visibility: () => ({ watermarkAt: NOW, blind }) }, NOW);

test("a gap that ended long ago or lies in the future is not shown", () => {
  expect(shownGap()).toBeNull();
  expect(shownGap({ from: NOW - 3 * HOUR_MS, to: NOW - HOUR_MS - 1 })).toBeNull();
  expect(shownGap({ from: NOW + 1, to: NOW + HOUR_MS })).toBeNull();
});

test("a gap is shown for an hour after its end", () => {
  const over = { from: NOW - 2 * HOUR_MS, to: NOW - HOUR_MS };
  expect(shownGap(over)).toEqual({ fromAt: over.from, toAt: over.to });
});

test("of several gaps, the one that began last is shown", () => {
  const first = { from: NOW - 50 * MINUTE_MS, to: NOW - 40 * MINUTE_MS };
  const second = { from: NOW - 20 * MINUTE_MS, to: NOW - 10 * MINUTE_MS };
  expect(shownGap(second, first)).toEqual({ fromAt: second.from, toAt: second.to });
});
