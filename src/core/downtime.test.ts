// Downtime of hand-written histories, compared with a simple count of minutes.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type CheckHistory,
  downtimesOf,
  isUnmonitoredDay,
  lifeIn,
  type ReportedDowntime,
  type StatusChange,
  unseenMs,
  upShare,
} from "./downtime.ts";
import { HOUR_MS, MINUTE_MS } from "./instant.ts";
import type { StoredStatus } from "./state.ts";

const T = Date.UTC(2026, 9, 5);
const PERIODS = [
  { from: T, to: T + 24 * HOUR_MS },
  { from: T + 24 * HOUR_MS, to: T + 48 * HOUR_MS },
];
const NOW = T + 57 * HOUR_MS;

const change = (hour: number, from: StoredStatus, to: StoredStatus, isRetracted = false): StatusChange => ({
  at: T + hour * HOUR_MS,
  from,
  to,
  isRetracted,
});

const asked = (history: Partial<CheckHistory>) =>
  downtimesOf(
    { createdAt: T - 1, status: "up", changes: [], isCut: false, ...history },
    { periods: PERIODS, now: NOW },
  );

function lasted(downtime: ReportedDowntime): number | null {
  return downtime === null || downtime === "uncounted" ? null : downtime.durationMs;
}

describe("Downtime", () => {
  test("of a check that was never down is none, in both periods", () => {
    expect(asked({})).toEqual([
      { count: 0, durationMs: 0 },
      { count: 0, durationMs: 0 },
    ]);
  });

  test("that crosses the end of a period counts in both", () => {
    const changes = [change(22, "up", "down"), change(25, "down", "up")];
    expect(asked({ changes })).toEqual([
      { count: 1, durationMs: 2 * HOUR_MS },
      { count: 1, durationMs: HOUR_MS },
    ]);
  });

  test("that began before anything that is kept fills the time until it ends", () => {
    expect(asked({ changes: [change(30, "down", "up")] })).toEqual([
      { count: 1, durationMs: 24 * HOUR_MS },
      { count: 1, durationMs: 6 * HOUR_MS },
    ]);
    expect(asked({ status: "down" })).toEqual([
      { count: 1, durationMs: 24 * HOUR_MS },
      { count: 1, durationMs: 24 * HOUR_MS },
    ]);
  });

  test("stops at a pause, and begins anew with a failure after it", () => {
    const changes = [change(1, "up", "down"), change(3, "down", "paused"), change(7, "paused", "down")];
    expect(asked({ changes: [...changes, change(8, "down", "up")] })[0]).toEqual({
      count: 2,
      durationMs: 3 * HOUR_MS,
    });
  });

  test("a retracted flip does not count, although the next flip ends it", () => {
    const changes = [change(1, "up", "down", true), change(9, "down", "up")];
    expect(asked({ changes })[0]).toEqual({ count: 0, durationMs: 0 });
  });

  test("of a period before the check was made is unknown", () => {
    expect(asked({ createdAt: T + 30 * HOUR_MS })).toEqual([null, { count: 0, durationMs: 0 }]);
  });

  test("a period that begins before the read history is unknown, the others are correct", () => {
    const changes = [change(24, "up", "down"), change(26, "down", "up")];
    expect(asked({ changes, isCut: true })).toEqual(["uncounted", { count: 1, durationMs: 2 * HOUR_MS }]);
    const late = [change(25, "up", "down"), change(26, "down", "up")];
    expect(asked({ changes: late, isCut: true })).toEqual(["uncounted", "uncounted"]);
    expect(asked({ changes: late, isCut: true, createdAt: T + 24 * HOUR_MS })[0]).toBeNull();
  });

  test("computed from part of the history is the same as from all of it, or unknown", () => {
    const status = fc.constantFrom<StoredStatus>("up", "down", "paused", "new");
    const steps = fc.array(fc.record({ minute: fc.integer({ min: 0, max: 57 * 60 - 1 }), to: status }), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(status, steps, fc.nat({ max: 11 }), (first, unsorted, cut) => {
        let from = first;
        const changes = unsorted
          .toSorted((a, b) => a.minute - b.minute)
          .map(({ minute, to }) => {
            const made = { at: T + minute * MINUTE_MS, from, to, isRetracted: false };
            from = to;
            return made;
          });
        const whole = asked({ changes, status: from });
        const read = changes.slice(-1 - cut);
        const part = asked({ changes: read, status: from, isCut: read.length < changes.length });
        for (const [index, told] of part.entries()) {
          if (told !== "uncounted") expect(told).toEqual(whole[index]);
        }
      }),
    );
  });

  test("is what counting minutes gives, whatever the history", () => {
    const status = fc.constantFrom<StoredStatus>("up", "down", "paused", "new");
    const history = fc
      .array(fc.record({ minute: fc.integer({ min: 0, max: 57 * 60 - 1 }), to: status }), { maxLength: 12 })
      .map((steps) => steps.toSorted((a, b) => a.minute - b.minute));
    fc.assert(
      fc.property(status, history, (first, steps) => {
        let from = first;
        const changes = steps.map(({ minute, to }) => {
          const made = { at: T + minute * MINUTE_MS, from, to, isRetracted: false };
          from = to;
          return made;
        });
        const isDown = (minute: number) =>
          (steps.findLast((step) => step.minute <= minute)?.to ?? first) === "down";
        const counted = PERIODS.map(({ from: begin, to }) => {
          let minutes = 0;
          for (let at = begin; at < to; at += MINUTE_MS) minutes += isDown((at - T) / MINUTE_MS) ? 1 : 0;
          return minutes * MINUTE_MS;
        });
        expect(asked({ changes, status: from }).map(lasted)).toEqual(counted);
      }),
    );
  });
});

test("a day is not monitored if a ping was due in the gap, or after an hour, but not because of a restart", () => {
  expect(isUnmonitoredDay({ unseenMs: 4_000, isSignalMissed: false })).toBe(false);
  expect(isUnmonitoredDay({ unseenMs: 4_000, isSignalMissed: true })).toBe(true);
  expect(isUnmonitoredDay({ unseenMs: HOUR_MS - 1, isSignalMissed: false })).toBe(false);
  expect(isUnmonitoredDay({ unseenMs: HOUR_MS, isSignalMissed: false })).toBe(true);
});

describe("what was not observed", () => {
  const day = { from: T, to: T + 24 * HOUR_MS };
  const blind = [
    { from: T + HOUR_MS, to: T + 3 * HOUR_MS },
    { from: T + 2 * HOUR_MS, to: T + 4 * HOUR_MS },
  ];

  test("counts once where several could not receive", () => {
    expect(unseenMs(blind, day)).toBe(3 * HOUR_MS);
  });

  test("does not concern a check that was created after it", () => {
    const life = (createdAt: number) => lifeIn(day, { createdAt, now: NOW });
    expect(unseenMs(blind, life(T + 4 * HOUR_MS))).toBe(0);
    expect(unseenMs(blind, life(T + 3.5 * HOUR_MS))).toBe(HOUR_MS / 2);
    expect(unseenMs(blind, life(T - HOUR_MS))).toBe(3 * HOUR_MS);
  });
});

describe("the share of time up", () => {
  const over = (hours: number, given: { downMs?: number; unseenMs?: number } = {}) =>
    upShare({ from: T, to: T + hours * HOUR_MS }, { downMs: 0, unseenMs: 0, ...given });

  test("is shown after a monitored day, and not before", () => {
    expect(over(2 / 60, { downMs: 45_000 })).toBeNull();
    expect(over(23.99)).toBeNull();
    expect(over(24, { unseenMs: 1 })).toBeNull();
    expect(over(24)).toBe(1);
    expect(over(48, { downMs: 12 * HOUR_MS })).toBe(0.75);
    expect(over(50, { downMs: 12 * HOUR_MS, unseenMs: 2 * HOUR_MS })).toBe(0.75);
  });
});
