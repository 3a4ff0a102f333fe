// The short way to a status must never say anything else than the long one.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { MINUTE_MS } from "../instant.ts";
import { quickStatusAt } from "./quick-status.ts";
import { type CheckState, NEW_STATE } from "./state.ts";
import { downAt, statusAt, type Timing, type WatchedCheck } from "./status.ts";

const NOON = Date.UTC(2026, 10, 16, 12);
/** Within three days around noon, so that periods, graces and instants meet. */
const instant = fc.integer({ min: -2_160, max: 2_160 }).map((minutes) => NOON + minutes * MINUTE_MS);
const maybe = fc.option(instant);

const timing: fc.Arbitrary<Timing> = fc.record({
  kind: fc.constantFrom("simple", "cron", "oncalendar"),
  timeoutSeconds: fc.integer({ min: 60, max: 90_000 }),
  graceSeconds: fc.integer({ min: 60, max: 90_000 }),
  schedule: fc.constantFrom("*/20 * * * *", "0 3 * * *", "12:30", "2019-01-01"),
  tz: fc.constantFrom("UTC", "Europe/Riga"),
  manualResume: fc.boolean(),
});
const state: fc.Arbitrary<CheckState> = fc
  .record({
    status: fc.constantFrom("new", "up", "down", "paused"),
    lastPingAt: maybe,
    lastStartAt: maybe,
    expectFromAt: maybe,
  })
  .map((given) => ({ ...NEW_STATE, ...given }));
const check: fc.Arbitrary<WatchedCheck> = fc.record({ timing, state });

test("with the stored deadline at hand the status is the same", () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(check, instant, (watched, now) => {
      const status = statusAt(watched, now);
      seen.add(status);
      expect(quickStatusAt({ ...watched, downAt: downAt(watched) }, now)).toBe(status);
    }),
    { numRuns: 5_000 },
  );
  // Otherwise nothing was compared.
  expect([...seen].toSorted()).toEqual(["down", "grace", "new", "paused", "up"]);
});

test("the moment at which grace begins counts as late", () => {
  const up = { ...NEW_STATE, status: "up", lastPingAt: NOON } as const;
  const hourly = {
    kind: "simple",
    timeoutSeconds: 3_600,
    graceSeconds: 600,
    schedule: "",
    tz: "UTC",
    manualResume: false,
  } as const;
  const watched = { timing: hourly, state: up, downAt: NOON + 70 * MINUTE_MS };
  expect(quickStatusAt(watched, NOON + 60 * MINUTE_MS - 1)).toBe("up");
  expect(quickStatusAt(watched, NOON + 60 * MINUTE_MS)).toBe("grace");
});
