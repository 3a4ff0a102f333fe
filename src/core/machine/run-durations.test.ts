// Which pings of a list show a duration, and which one.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SignalKind } from "../signal.ts";
import { type PairedPing, runDurations } from "./run-durations.ts";

const HOUR_MS = 3_600_000;

/** In the order in which they came, a second apart; `start:a` is a start of the run `a`. */
function durationsOf(...texts: string[]): [number, number][] {
  const pings = texts.map((text, index): PairedPing => {
    const [kind = "", rid = null] = text.split(":");
    return { n: index + 1, at: index * 1_000, kind: kind as SignalKind, rid, durationMs: null };
  });
  return [...runDurations(pings.toReversed())];
}

describe("a duration", () => {
  test("is told of a success and of a failure that follows a start", () => {
    expect(durationsOf("start", "success")).toEqual([[2, 1_000]]);
    expect(durationsOf("start", "fail")).toEqual([[2, 1_000]]);
  });

  test("is not told of anything else, nor without a start", () => {
    expect(durationsOf("start", "log", "ign", "start")).toEqual([]);
    expect(durationsOf("success", "fail", "success")).toEqual([]);
  });

  test("counts from the latest start", () => {
    expect(durationsOf("start", "start", "success")).toEqual([[3, 1_000]]);
  });

  test("is taken by the first end: a second one has none", () => {
    expect(durationsOf("start", "fail", "success")).toEqual([[2, 1_000]]);
  });

  test("looks past log lines, ignored signals and other runs", () => {
    expect(durationsOf("start", "log", "ign", "start:b", "success:b", "success")).toEqual([
      [5, 1_000],
      [6, 5_000],
    ]);
  });

  test("needs the same run id, and no id is one too", () => {
    expect(durationsOf("start:a", "start", "success", "success:a", "success:c")).toEqual([
      [3, 1_000],
      [4, 3_000],
    ]);
  });

  test("of zero is known as well", () => {
    const at = { at: 5, rid: null, durationMs: null };
    expect([
      ...runDurations([
        { n: 2, kind: "success", ...at },
        { n: 1, kind: "start", ...at },
      ]),
    ]).toEqual([[2, 0]]);
  });

  test("is told of up to 72 hours and not beyond", () => {
    const after = (ms: number) =>
      runDurations([
        { n: 2, at: ms, kind: "success", rid: null, durationMs: ms },
        { n: 1, at: 0, kind: "start", rid: null, durationMs: null },
      ]).get(2);
    expect(after(72 * HOUR_MS)).toBe(72 * HOUR_MS);
    expect(after(72 * HOUR_MS + 1)).toBeUndefined();
  });

  test("is not told where the start is the younger one, which replays can bring about", () => {
    const pings: PairedPing[] = [
      { n: 2, at: 0, kind: "success", rid: null, durationMs: null },
      { n: 1, at: 9, kind: "start", rid: null, durationMs: null },
    ];
    expect(runDurations(pings).size).toBe(0);
  });

  test("is what was measured where the list ends before anything of the run", () => {
    const end = { n: 7, at: 90_000, kind: "success", rid: null, durationMs: 60_000 } as const;
    expect(runDurations([end]).get(7)).toBe(60_000);
    expect(runDurations([{ ...end, durationMs: 72 * HOUR_MS + 1 }]).get(7)).toBeUndefined();
    // A start in the list knows better than what was measured.
    const start = { n: 6, at: 80_000, kind: "start", rid: null, durationMs: null } as const;
    expect(runDurations([end, start]).get(7)).toBe(10_000);
  });
});

test("whatever the list, a duration is never negative nor longer than 72 hours, and belongs to an end", () => {
  const ping = fc.record({
    at: fc.integer({ min: 0, max: 100 * HOUR_MS }),
    kind: fc.constantFrom<SignalKind>("start", "success", "fail", "log", "ign"),
    rid: fc.constantFrom(null, "a", "b"),
    durationMs: fc.option(fc.nat(100 * HOUR_MS)),
  });
  fc.assert(
    fc.property(fc.array(ping), (list) => {
      const pings = list.map((one, index) => ({ ...one, n: list.length - index }));
      for (const [n, durationMs] of runDurations(pings)) {
        expect(durationMs).toBeGreaterThanOrEqual(0);
        expect(durationMs).toBeLessThanOrEqual(72 * HOUR_MS);
        expect(["success", "fail"]).toContain(pings.find((one) => one.n === n)?.kind);
      }
    }),
  );
});
