// Flips in the two dialects.
import { Value } from "typebox/value";
import { expect, test } from "vitest";
import { flipListSchema, presentFlip } from "./pings.ts";

const NOON = Date.UTC(2026, 10, 16, 12);
const FLIPS = [
  { at: NOON + 1_999, to: "up" },
  { at: NOON, to: "down" },
] as const;
const SHOWN = [
  { timestamp: "2026-11-16T12:00:01+00:00", up: 1 },
  { timestamp: "2026-11-16T12:00:00+00:00", up: 0 },
];

test("a flip has its time, to the second, and whether it went up", () => {
  expect(FLIPS.map(presentFlip)).toEqual(SHOWN);
  expect(Value.Check(flipListSchema("array"), FLIPS.map(presentFlip))).toBe(true);
});

test("the other dialect has the same list in an object", () => {
  expect(Value.Check(flipListSchema("object"), { flips: SHOWN })).toBe(true);
  expect(Value.Check(flipListSchema("array"), { flips: SHOWN })).toBe(false);
});
