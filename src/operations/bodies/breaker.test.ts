// Three failures within a minute, and no more questions until the first of them is a minute old.
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Breaker, CLOSED_BREAKER, isOpen, noteFailure } from "./breaker.ts";

const after = (...failures: number[]): Breaker => failures.reduce(noteFailure, CLOSED_BREAKER);

test("two failures are none", () => {
  expect(isOpen(CLOSED_BREAKER, 0)).toBe(false);
  expect(isOpen(after(0, 0), 0)).toBe(false);
});

test("the third within a minute opens it, until the first is a minute old", () => {
  const breaker = after(0, 10_000, 59_999);
  expect(isOpen(breaker, 59_999)).toBe(true);
  expect(isOpen(breaker, 60_000)).toBe(false);
});

test("three failures in more than a minute do not open it", () => {
  expect(isOpen(after(0, 30_000, 60_000), 60_000)).toBe(false);
});

test("a failure after it has closed opens it again only with two younger ones", () => {
  expect(isOpen(after(0, 1, 2, 60_010), 60_010)).toBe(false);
  expect(isOpen(after(0, 1, 50_000, 60_010), 60_010)).toBe(false);
  expect(isOpen(after(0, 1_000, 50_000, 60_010), 60_010)).toBe(true);
});

test("it is open exactly while three failures lie within the minute, and remembers no more than that", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(200_000)), fc.nat(70_000), (instants, later) => {
      const failures = instants.toSorted((a, b) => a - b);
      const breaker = after(...failures);
      const now = (failures.at(-1) ?? 0) + later;
      expect(breaker.length).toBeLessThanOrEqual(3);
      expect(isOpen(breaker, now)).toBe(failures.filter((at) => now - at < 60_000).length >= 3);
    }),
  );
});
