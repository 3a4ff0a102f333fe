// When failed deliveries are tried again: pauses double, wishes of receivers count within bounds, and hours later it
// is given up.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../instant.ts";
import { GIVE_UP_AFTER_MS, RETRY_MS_MAX, RETRY_MS_MIN, TRIES_MAX, TRIES_MIN } from "../limits.ts";
import { heldMs, nextTryAt } from "./backoff.ts";

const NOW = Date.UTC(2026, 10, 16, 12);

function pauseAfter(given: { attempt: number; ageMs: number; retryAfterMs?: number | null }): number | null {
  const { attempt, ageMs, retryAfterMs = null } = given;
  const at = nextTryAt({ attempt, createdAt: NOW - ageMs, now: NOW, retryAfterMs });
  return at === null ? null : at - NOW;
}

describe("the next try", () => {
  test.each([
    [1, 0, 15 * SECOND_MS],
    [2, 15 * SECOND_MS, 15 * SECOND_MS],
    [3, 45 * SECOND_MS, 45 * SECOND_MS],
    [4, 2 * MINUTE_MS, 2 * MINUTE_MS],
    [8, HOUR_MS, 32 * MINUTE_MS],
    [9, 5 * HOUR_MS, HOUR_MS],
    [30, 20 * HOUR_MS, HOUR_MS],
  ])("after try %i of a message that is %i ms old comes after %i ms", (attempt, ageMs, pauseMs) => {
    expect(pauseAfter({ attempt, ageMs })).toBe(pauseMs);
  });

  test("comes soon where nobody has tried for hours, however old the message is", () => {
    expect(pauseAfter({ attempt: 1, ageMs: 30 * HOUR_MS })).toBe(15 * SECOND_MS);
  });

  test("comes soon where many pieces of news were tried within a few minutes", () => {
    expect(pauseAfter({ attempt: 20, ageMs: 2 * MINUTE_MS })).toBe(2 * MINUTE_MS);
  });

  test("waits as long as the receiver asks, but not for ever", () => {
    expect(pauseAfter({ attempt: 1, ageMs: 0, retryAfterMs: 5 * MINUTE_MS })).toBe(5 * MINUTE_MS);
    expect(pauseAfter({ attempt: 1, ageMs: 0, retryAfterMs: SECOND_MS })).toBe(15 * SECOND_MS);
    expect(pauseAfter({ attempt: 1, ageMs: 0, retryAfterMs: DAY_MS })).toBe(HOUR_MS);
    expect([heldMs(null), heldMs(-1), heldMs(7), heldMs(Infinity)]).toEqual([0, 0, 7, HOUR_MS]);
  });
});

describe("giving up", () => {
  test.each([
    [TRIES_MIN, GIVE_UP_AFTER_MS, true],
    [TRIES_MIN, GIVE_UP_AFTER_MS - 1, false],
    [TRIES_MIN - 1, 7 * DAY_MS, false],
    [TRIES_MAX, 0, true],
  ])("after %i tries and %i ms: %s", (attempt, ageMs, isGivenUp) => {
    expect(pauseAfter({ attempt, ageMs }) === null).toBe(isGivenUp);
  });

  test("a receiver that is away from the first try on is tried for a day, and no more than forty times", () => {
    let ageMs = 0;
    for (let attempt = 1; attempt <= 40; attempt += 1) {
      const pauseMs = pauseAfter({ attempt, ageMs });
      if (pauseMs === null) {
        expect(ageMs).toBeGreaterThanOrEqual(GIVE_UP_AFTER_MS);
        return;
      }
      ageMs += pauseMs;
    }
    expect.unreachable("it was never given up");
  });
});

test("whoever is back is told after at most as long again as was waited, and within an hour", () => {
  const tries = fc.record({
    attempt: fc.integer({ min: 1, max: TRIES_MIN - 1 }),
    ageMs: fc.integer({ min: 0, max: DAY_MS }),
  });
  fc.assert(
    fc.property(tries, (given) => {
      const pauseMs = pauseAfter(given) ?? Infinity;
      expect(pauseMs).toBeLessThanOrEqual(Math.max(RETRY_MS_MIN, given.ageMs));
      expect(pauseMs).toBeLessThanOrEqual(RETRY_MS_MAX);
      expect(pauseMs).toBeGreaterThanOrEqual(RETRY_MS_MIN);
    }),
  );
});
