// Packing of marks: to the second, in order of their start.
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Mark, MARK_KINDS, packMarks, unpackMarks } from "./timeline-marks.ts";

const FROM = Date.UTC(2026, 10, 16, 12);
const seconds = fc.integer({ min: 0, max: 90 * 86_400 });

const anyMark = fc
  .record({
    kind: fc.constantFrom(...MARK_KINDS),
    start: fc.integer({ min: -86_400, max: 98 * 86_400 }),
    length: seconds,
    count: fc.nat(10_000),
    lead: seconds,
    n: fc.nat(1_000_000),
  })
  .map(({ kind, start, length, count, lead, n }): Mark => {
    const from = FROM + start * 1_000;
    return { kind, from, to: from + length * 1_000, count, expectedAt: from - lead * 1_000, n };
  });

test("unpacked marks are those that were packed, ordered by their start", () => {
  fc.assert(
    fc.property(fc.array(anyMark, { maxLength: 50 }), (marks) => {
      const unpacked = unpackMarks({ from: FROM }, { marks: packMarks(marks, FROM) });
      expect(unpacked).toEqual(marks.toSorted((one, other) => one.from - other.from));
    }),
  );
});

test("times are rounded to the second, without adding up", () => {
  const marks = Array.from({ length: 100 }, (_, index): Mark => {
    const from = FROM + index * 1_400;
    return { kind: "ran", from, to: from + 400, count: 1, expectedAt: from, n: 0 };
  });
  const unpacked = unpackMarks({ from: FROM }, { marks: packMarks(marks, FROM) });
  for (const [index, { from }] of unpacked.entries()) {
    expect(Math.abs(from - (marks[index]?.from ?? 0))).toBeLessThanOrEqual(500);
  }
});

test("the numbers of the kinds are part of the API", () => {
  expect(MARK_KINDS).toEqual([
    "ran",
    "late",
    "failed",
    "missed",
    "running",
    "ahead",
    "silenced",
    "paused",
    "changed",
  ]);
});
