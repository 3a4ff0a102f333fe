// The extrapolated clock: as exact as the readings of the database's clock allow, and never backwards.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ClockSteps, isPrecise, DatabaseClock } from "./database-clock.ts";

const T = Date.UTC(2026, 10, 16, 12);

function clockAt(databaseAt: number) {
  let ms = 1_000;
  const look = (at: number, tripMs = 0) => ({ databaseAt: at, sentAtMs: ms - tripMs, receivedAtMs: ms });
  const clock = new DatabaseClock(look(databaseAt), () => ms);
  const pass = (by: number) => {
    ms += by;
  };
  return { clock, look, pass };
}

describe("the database's clock", () => {
  test("is carried by the monotonic one", () => {
    const { clock, pass } = clockAt(T);
    expect(clock.now()).toBe(T);
    pass(1_234.7);
    expect(clock.now()).toBe(T + 1_234);
  });

  test("is taken to be read in the middle of the first round trip", () => {
    const clock = new DatabaseClock({ databaseAt: T, sentAtMs: 0, receivedAtMs: 100 }, () => 100);
    expect(clock.now()).toBe(T + 50);
  });

  test("is corrected by a look that contradicts it, as far as the look is sure", () => {
    const { clock, look, pass } = clockAt(T);
    pass(1_000);
    clock.adjust(look(T + 3_000, 10));
    expect(clock.now()).toBe(T + 3_000);
  });

  test("is not disturbed by a slow look that does not contradict it", () => {
    const { clock, look, pass } = clockAt(T);
    pass(1_000);
    clock.adjust(look(T + 200, 900));
    expect(clock.now()).toBe(T + 1_000);
  });

  test("stops if the database's clock went back, until that has caught up", () => {
    const { clock, look, pass } = clockAt(T);
    pass(1_000);
    expect(clock.now()).toBe(T + 1_000);
    clock.adjust(look(T - 300_000));
    expect(clock.now()).toBe(T + 1_000);
    pass(300_500);
    expect(clock.now()).toBe(T + 1_000);
    pass(1_000);
    expect(clock.now()).toBe(T + 1_500);
  });

  test("says by how much the database's is ahead", () => {
    const { clock, look, pass } = clockAt(T);
    pass(1_000);
    expect(clock.aheadMs(look(T + 601_000))).toBe(600_000);
    expect(clock.aheadMs(look(T - 299_000))).toBe(-300_000);
  });

  test("never goes backwards and stays within the bounds of every look, whatever the looks are", () => {
    const step = fc.record({
      passMs: fc.integer({ min: 0, max: 5_000 }),
      errorMs: fc.integer({ min: -400_000, max: 400_000 }),
      tripMs: fc.integer({ min: 0, max: 2_000 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const { clock, look, pass } = clockAt(T);
        let truth = T;
        let last = clock.now();
        for (const { passMs, errorMs, tripMs } of steps) {
          pass(passMs + tripMs);
          truth += passMs + tripMs + errorMs;
          clock.adjust(look(truth, tripMs));
          const now = clock.now();
          expect(now).toBeGreaterThanOrEqual(last);
          if (now > last) expect(Math.abs(now - truth)).toBeLessThanOrEqual(tripMs + 1);
          last = now;
        }
      }),
    );
  });
});

test("a suspended machine and a changed clock are steps until the database's clock is read precisely", () => {
  const steps = new ClockSteps({ wallMs: T, monotonicMs: 0 });
  expect(steps.hasStepped({ wallMs: T + 60_500, monotonicMs: 60_000 })).toBe(false);
  const after = { wallMs: T + 660_000, monotonicMs: 60_000 };
  expect(steps.hasStepped(after)).toBe(true);
  expect(steps.hasStepped({ wallMs: T - 660_000, monotonicMs: 60_000 })).toBe(true);
  const taking = (ms: number) => ({ databaseAt: T, sentAtMs: 0, receivedAtMs: ms });
  expect([isPrecise(taking(1_000)), isPrecise(taking(1_001))]).toEqual([true, false]);
  steps.noteReading(after, taking(1_001));
  expect(steps.hasStepped(after)).toBe(true);
  steps.noteReading(after, taking(1_000));
  expect(steps.hasStepped(after)).toBe(false);
});
