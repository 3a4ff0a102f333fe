// What is usual, by hand and by properties.
import fc from "fast-check";
import { expect, test } from "vitest";
import { usualOf } from "./usual-duration.ts";

test("a hundred runs have their tenths where one would look for them", () => {
  const durations = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect(usualOf(durations)).toEqual({ count: 100, lowMs: 10, highMs: 90, medianMs: 50, p95Ms: 95 });
});

test("two runs say nothing, three are told", () => {
  expect(usualOf([1, 2])).toBeNull();
  expect(usualOf([3, 1, 2])).toEqual({ count: 3, lowMs: 1, highMs: 3, medianMs: 2, p95Ms: 3 });
});

test("its figures are durations that occurred, in order", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(), { minLength: 3 }), (durations) => {
      const { lowMs, medianMs, highMs, p95Ms } = usualOf(durations) ?? expect.fail();
      for (const figure of [lowMs, medianMs, highMs, p95Ms]) expect(durations).toContain(figure);
      expect(lowMs <= medianMs && medianMs <= highMs && highMs <= p95Ms).toBe(true);
    }),
  );
});
