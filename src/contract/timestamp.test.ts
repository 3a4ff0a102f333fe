// The two formats of instants in responses.
import fc from "fast-check";
import { expect, test } from "vitest";
import { isoMicroseconds, isoSeconds } from "./timestamp.ts";

const NOON = Date.UTC(2026, 10, 16, 12);

test("seconds are truncated, not rounded, and the offset is written out", () => {
  expect(isoSeconds(NOON)).toBe("2026-11-16T12:00:00+00:00");
  expect(isoSeconds(NOON + 999)).toBe("2026-11-16T12:00:00+00:00");
});

test("a fraction has six digits, also where it is zero", () => {
  expect(isoMicroseconds(NOON)).toBe("2026-11-16T12:00:00.000000+00:00");
  expect(isoMicroseconds(NOON + 7)).toBe("2026-11-16T12:00:00.007000+00:00");
});

test("both can be parsed back to the original instant", () => {
  const instant = fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) });
  fc.assert(
    fc.property(instant, (at) => {
      expect(Date.parse(isoMicroseconds(at))).toBe(at);
      expect(Date.parse(isoSeconds(at))).toBe(Math.floor(at / 1_000) * 1_000);
    }),
  );
});
