// Packing runs is lossless and compact.
import fc from "fast-check";
import { expect, test } from "vitest";
import { type EndedRun, packRuns, unpackRuns } from "./runs.ts";

const MINUTE = 60_000;

test("runs come back as they were packed, whatever their order, times and durations", () => {
  const run: fc.Arbitrary<EndedRun> = fc.record({
    endAt: fc.integer({ min: 0, max: 4_102_444_800_000 }),
    outcome: fc.constantFrom("success", "fail"),
    durationMs: fc.option(fc.integer({ min: 0, max: 366 * 86_400_000 })),
  });
  fc.assert(
    fc.property(fc.array(run), (runs) => {
      expect(unpackRuns(packRuns(runs))).toEqual(runs);
    }),
  );
});

test("a hundred runs of a job that runs every minute take under 800 bytes", () => {
  const runs = Array.from(
    { length: 100 },
    (_, i): EndedRun => ({
      endAt: 1_793_448_000_000 + i * MINUTE + ((i * 7919) % 1_000),
      outcome: i % 10 === 0 ? "fail" : "success",
      durationMs: 1_200 + ((i * 104_729) % 900),
    }),
  );
  expect(packRuns(runs).length).toBeLessThan(800);
});

test("bytes that were cut are refused", () => {
  const packed = packRuns([{ endAt: 1_793_448_000_000, outcome: "fail", durationMs: 5_000 }]);
  expect(() => unpackRuns(packed.subarray(0, -1))).toThrow("middle of a number");
});
