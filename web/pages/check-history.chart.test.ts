// Scales with round numbers.
import fc from "fast-check";
import { expect, test } from "vitest";
import { namedBars, scaleFor, tickText } from "./check-history.tsx";

test("lines lie at round durations", () => {
  expect(scaleFor(15.4 * 60_000).ticksMs.map((ms) => ms / 60_000)).toEqual([0, 5, 10, 15]);
  expect(scaleFor(320).ticksMs).toEqual([0, 100, 200, 300]);
});

test("whatever the highest bar is, it fits, and there are at most five lines", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000_000_000 }), (highest) => {
      const { topMs, ticksMs } = scaleFor(highest);
      expect(topMs).toBeGreaterThanOrEqual(highest);
      expect(ticksMs.length).toBeLessThanOrEqual(5);
      expect(ticksMs.at(-1)).toBeLessThanOrEqual(topMs);
    }),
  );
});

test("the axis is labelled in one unit", () => {
  expect(tickText(600_000, 300_000)).toBe("10 m");
  expect(tickText(7_200_000, 3_600_000)).toBe("2 h");
  expect(tickText(200, 100)).toBe("200 ms");
  expect([0, 500, 1_000].map((ms) => tickText(ms, 500))).toEqual(["0 s", "0.5 s", "1 s"]);
});

test("the first and the last bar have labels", () => {
  expect(namedBars(60, 5)).toEqual([0, 15, 30, 44, 59]);
  expect(namedBars(1, 5)).toEqual([0]);
  expect(namedBars(0, 5)).toEqual([]);
  expect(namedBars(2, 1)).toEqual([0]);
});
