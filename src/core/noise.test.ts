import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MINUTE_MS } from "./instant.ts";
import { NOISE_MINUTES_MAX, NOISY_CHECKS_LISTED_MAX } from "./limits.ts";
import { endedByItself, noiseOf, type RankedAlert } from "./noise.ts";

function alert(checkId: number, given: Partial<RankedAlert> & { minutes?: number } = {}): RankedAlert {
  const { minutes = 5, ...rest } = given;
  return {
    checkId,
    openedAt: 0,
    closedAt: minutes * MINUTE_MS,
    closeCause: "recovered",
    isAcknowledged: false,
    isEdited: false,
    ...rest,
  };
}

test.each([
  ["recovered soon", {}, true],
  ["recovered at the limit", { minutes: NOISE_MINUTES_MAX }, true],
  ["recovered late", { closedAt: NOISE_MINUTES_MAX * MINUTE_MS + 1 }, false],
  ["is open", { closedAt: null, closeCause: null }, false],
  ["was acknowledged", { isAcknowledged: true }, false],
  ["its check was edited", { isEdited: true }, false],
  ["its check was paused", { closeCause: "paused" as const }, false],
  ["was resolved by a user", { closeCause: "resolved" as const }, false],
  ["was taken back", { closeCause: "takenBack" as const }, false],
])("an alert that %s: %o, noise: %s", (_, given, isNoise) => {
  expect(endedByItself(alert(1, given))).toBe(isNoise);
});

describe("the ranking", () => {
  test("puts the noisiest first; among equals, the one whose alerts are noise most often", () => {
    const alerts = [
      alert(1),
      alert(1),
      alert(1, { minutes: 600 }),
      alert(2),
      alert(2),
      alert(3),
      alert(3, { minutes: 7 }),
      alert(3, { minutes: 9 }),
    ];
    expect(noiseOf(alerts)).toEqual({
      checks: [
        { checkId: 3, alertCount: 3, noiseCount: 3, medianRecoveryMs: 7 * MINUTE_MS },
        { checkId: 2, alertCount: 2, noiseCount: 2, medianRecoveryMs: 5 * MINUTE_MS },
        { checkId: 1, alertCount: 3, noiseCount: 2, medianRecoveryMs: 5 * MINUTE_MS },
      ],
      unlistedCount: 0,
      alertCount: 8,
      noiseCount: 7,
    });
  });

  test("leaves out a check with a single such alert", () => {
    expect(noiseOf([alert(1), alert(2, { minutes: 90 })])).toMatchObject({ checks: [], noiseCount: 1 });
  });

  test("lists a limited number of checks and counts the others", () => {
    const alerts = Array.from({ length: 60 }, (_, id) => [alert(id), alert(id)]).flat();
    const { checks, unlistedCount } = noiseOf(alerts);
    expect([checks.length, unlistedCount]).toEqual([NOISY_CHECKS_LISTED_MAX, 60 - NOISY_CHECKS_LISTED_MAX]);
  });

  test("does not depend on the order of the alerts", () => {
    const any = fc.array(
      fc.record({ checkId: fc.integer({ min: 1, max: 5 }), minutes: fc.integer({ min: 0, max: 60 }) }),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(any, (given) => {
        const alerts = given.map(({ checkId, minutes }) => alert(checkId, { minutes }));
        expect(noiseOf(alerts.toReversed())).toEqual(noiseOf(alerts));
        const { noiseCount, alertCount, checks } = noiseOf(alerts);
        expect(noiseCount).toBeLessThanOrEqual(alertCount);
        expect(checks.every((check) => check.noiseCount <= check.alertCount)).toBe(true);
      }),
    );
  });
});
