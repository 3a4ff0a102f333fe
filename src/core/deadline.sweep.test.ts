// What the sweeper does with a check, and when it has to evaluate it again.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DEFAULT_SETTINGS } from "./check.ts";
import { type Visibility, sweepCheck } from "./deadline.ts";
import { HOUR_MS, MINUTE_MS } from "./instant.ts";
import { type CheckState, downAtOf, NEW_STATE } from "./state.ts";

const NOON = Date.UTC(2026, 10, 16, 12);
const timing = { ...DEFAULT_SETTINGS, timeoutSeconds: 3_600, graceSeconds: 600 };
const UP: CheckState = { ...NEW_STATE, status: "up", lastPingAt: NOON, newestAt: NOON };
const DOWN_AT = NOON + HOUR_MS + 10 * MINUTE_MS;

const sweep = (state: CheckState, visibility: Partial<Visibility>, now = DOWN_AT) =>
  sweepCheck({ timing, state }, { visibility: { watermarkAt: null, blind: [], ...visibility }, now });

describe("a check", () => {
  test("a check whose deadline is before the watermark goes down, and is not visited again", () => {
    const swept = sweep(UP, { watermarkAt: DOWN_AT + 1 });
    expect(swept).toMatchObject({ downAt: null, lookAt: null, notices: [] });
    expect(swept.flips).toEqual([{ at: DOWN_AT, from: "up", to: "down", reason: "timeout" }]);
    expect(swept.state.status).toBe("down");
  });

  test.each([DOWN_AT, DOWN_AT - 1, null])(
    "is left alone while everything is seen until %s",
    (watermarkAt) => {
      expect(sweep(UP, { watermarkAt })).toEqual({
        state: UP,
        flips: [],
        alerts: [],
        repeated: [],
        notices: [],
        downAt: DOWN_AT,
        lookAt: DOWN_AT,
      });
    },
  );

  test("of which nothing is expected needs no look", () => {
    expect(sweep(NEW_STATE, { watermarkAt: DOWN_AT })).toMatchObject({ downAt: null, lookAt: null });
  });

  test("that has room for retries after blindness is looked at when that ends, beyond its deadline", () => {
    const blind = [{ from: DOWN_AT - MINUTE_MS, to: DOWN_AT + MINUTE_MS }];
    const swept = sweep(UP, { watermarkAt: DOWN_AT + 2 * MINUTE_MS, blind });
    expect(swept).toMatchObject({ state: UP, flips: [], downAt: DOWN_AT, lookAt: DOWN_AT + 11 * MINUTE_MS });
  });

  test("that was excused gets a new deadline from the end of the blindness", () => {
    const to = DOWN_AT + MINUTE_MS;
    const blind = [{ from: DOWN_AT - MINUTE_MS, to }];
    const swept = sweep(UP, { watermarkAt: to + 10 * MINUTE_MS + 1, blind });
    expect(swept.flips).toEqual([]);
    expect(swept.notices).toMatchObject([{ blind: blind[0] }]);
    expect(swept.lookAt).toBe(to + HOUR_MS + 10 * MINUTE_MS);
    expect(swept.state.status).toBe("up");
  });

  test("a check that was excused and missed its next deadline goes down in one sweep", () => {
    const to = DOWN_AT + MINUTE_MS;
    const blind = [{ from: DOWN_AT - MINUTE_MS, to }];
    const swept = sweep(UP, { watermarkAt: to + 2 * HOUR_MS, blind });
    expect(swept.notices).toHaveLength(1);
    expect(swept.flips).toMatchObject([{ at: to + HOUR_MS + 10 * MINUTE_MS, to: "down" }]);
  });

  test("is visited again soon while no pings can be received", () => {
    const blind = [{ from: DOWN_AT - MINUTE_MS, to: null }];
    const now = DOWN_AT + HOUR_MS;
    expect(sweep(UP, { watermarkAt: now, blind }, now)).toMatchObject({ flips: [], lookAt: now + 10_000 });
  });
});

test("what the sweeper leaves is after the watermark, so that no sweep finds it twice", () => {
  const interval = fc
    .tuple(fc.integer({ min: -600, max: 600 }), fc.integer({ min: 0, max: 200 }))
    .map(([from, length]) => ({
      from: DOWN_AT + from * MINUTE_MS,
      to: DOWN_AT + (from + length) * MINUTE_MS,
    }));
  const intervals = fc
    .array(interval, { maxLength: 6 })
    .map((some) => some.toSorted((one, other) => one.from - other.from));
  const start = fc.option(fc.integer({ min: 0, max: 100 }), { nil: null });
  fc.assert(
    fc.property(intervals, fc.integer({ min: -100, max: 900 }), start, (blind, minutes, startMinutes) => {
      const watermarkAt = DOWN_AT + minutes * MINUTE_MS;
      const state = { ...UP, lastStartAt: startMinutes === null ? null : NOON + startMinutes * MINUTE_MS };
      const swept = sweep(state, { watermarkAt, blind });
      if (swept.lookAt !== null) expect(swept.lookAt).toBeGreaterThanOrEqual(watermarkAt);
      expect(swept.downAt).toBe(downAtOf({ timing, state: swept.state }));
      // The result is the same in two sweeps as in one.
      const early = sweep(state, { watermarkAt: watermarkAt - 47 * MINUTE_MS, blind });
      const late = sweep(early.state, { watermarkAt, blind });
      expect(late.state).toEqual(swept.state);
      expect([...early.flips, ...late.flips]).toEqual(swept.flips);
    }),
  );
});
