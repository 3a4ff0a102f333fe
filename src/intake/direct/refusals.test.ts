// Refusals as stretches of time: close ones are one, and what waits to be told is bounded.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { REFUSAL_PAUSE_MS, Refusals } from "./refusals.ts";

const NOW = Date.UTC(2026, 10, 16, 12);

describe("refusals", () => {
  test("that follow closely are one stretch, which ends with the last of them", () => {
    const refusals = new Refusals();
    for (const at of [NOW, NOW + 1_000, NOW + 5_500]) refusals.note(at);
    expect(refusals.sinceAt(NOW + 6_000)).toBe(NOW);
    expect(refusals.ended(NOW + 10_499)).toEqual([]);
    expect(refusals.ended(NOW + 10_500)).toEqual([{ from: NOW, to: NOW + 5_500 }]);
    expect(refusals.sinceAt(NOW + 10_500)).toBeNull();
    expect(refusals.count).toBe(3);
  });

  test("further apart are several, and each is told once", () => {
    const refusals = new Refusals();
    refusals.note(NOW);
    refusals.note(NOW + REFUSAL_PAUSE_MS);
    expect(refusals.ended(NOW + 60_000)).toEqual([
      { from: NOW, to: NOW },
      { from: NOW + REFUSAL_PAUSE_MS, to: NOW + REFUSAL_PAUSE_MS },
    ]);
    refusals.forget(1);
    expect(refusals.ended(NOW + 60_000)).toHaveLength(1);
  });

  test("of a signal that was received before others are not cut off", () => {
    const refusals = new Refusals();
    refusals.note(NOW + 100);
    refusals.note(NOW);
    expect(refusals.sinceAt(NOW + 200)).toBe(NOW);
    expect(refusals.ended(NOW + 60_000)).toEqual([{ from: NOW, to: NOW + 100 }]);
  });

  test("are all inside some stretch, and there is a bound to how many stretches wait", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 400 }), (pauses) => {
        const refusals = new Refusals();
        let at = NOW;
        const all = pauses.map((pauseMs) => (at += pauseMs));
        for (const one of all) refusals.note(one);
        const told = refusals.ended(at + REFUSAL_PAUSE_MS);
        expect(told.length).toBeLessThanOrEqual(100);
        for (const one of all)
          expect(told.some(({ from, to }) => from <= one && one <= (to ?? 0))).toBe(true);
      }),
    );
  });
});
