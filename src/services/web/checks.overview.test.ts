// Whether we could not receive, as pages tell it: while it lasts, for an hour after it, and the newest of several.
import { expect, test } from "vitest";
import { HOUR_MS, type Interval, MINUTE_MS } from "../../core/instant.ts";
import { receivingOutage } from "./checks.ts";

const NOW = 1_800_000_000_000;
const outage = (...blind: Interval[]) =>
  receivingOutage({ visibility: () => ({ watermarkAt: NOW, blind }) }, NOW);

test("nothing is told of times that are long over, or were not yet", () => {
  expect(outage()).toBeNull();
  expect(outage({ from: NOW - 3 * HOUR_MS, to: NOW - HOUR_MS - 1 })).toBeNull();
  expect(outage({ from: NOW + 1, to: null })).toBeNull();
});

test("trouble that lasts is told with its beginning, and one that is over for an hour more", () => {
  expect(outage({ from: NOW - 9 * HOUR_MS, to: null })).toEqual({ fromAt: NOW - 9 * HOUR_MS, toAt: null });
  const over = { from: NOW - 2 * HOUR_MS, to: NOW - HOUR_MS };
  expect(outage(over)).toEqual({ fromAt: over.from, toAt: over.to });
});

test("of several the one that began last is told", () => {
  const first = { from: NOW - 50 * MINUTE_MS, to: NOW - 40 * MINUTE_MS };
  const second = { from: NOW - 20 * MINUTE_MS, to: NOW - 10 * MINUTE_MS };
  expect(outage(second, first)).toEqual({ fromAt: second.from, toAt: second.to });
});
