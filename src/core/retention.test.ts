// What may be deleted: pings by number, other records by age.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DAY_MS } from "./instant.ts";
import { HISTORY_DAYS_MIN } from "./limits.ts";
import {
  DAYS_KEPT,
  DEFAULT_RETENTION,
  isPingKept,
  isTrimDue,
  keptFrom,
  pingsListed,
  trimmedThrough,
} from "./retention.ts";

describe("pings", () => {
  test.each([
    [0, 100, 0],
    [99, 100, 0],
    [100, 100, 0],
    [101, 100, 1],
    [1234, 100, 1134],
    [1234, 1000, 234],
  ])("of %i pings with a log of %i, those through number %i may go", (pingCount, rowsMax, through) => {
    expect(trimmedThrough({ pingCount, rowsMax })).toBe(through);
  });

  test("a ping beyond the log is not shown, even while its row is still there", () => {
    const log = { pingCount: 150, rowsMax: 100 };
    expect(isPingKept(50, log)).toBe(false);
    expect(isPingKept(51, log)).toBe(true);
    expect(isPingKept(150, log)).toBe(true);
    expect(isPingKept(151, log)).toBe(false);
    expect(isPingKept(0, { pingCount: 3, rowsMax: 100 })).toBe(false);
  });

  test("exactly as many pings are kept as the log is long, once there are enough", () => {
    fc.assert(
      fc.property(fc.nat(500), fc.integer({ min: 1, max: 300 }), (pingCount, rowsMax) => {
        const kept = Array.from({ length: pingCount }, (_, i) => i + 1).filter((n) =>
          isPingKept(n, { pingCount, rowsMax }),
        );
        expect(kept.length).toBe(Math.min(pingCount, rowsMax));
      }),
    );
  });

  test("no list shows more than 1000, however long the log is", () => {
    expect([100, 1000, 5000].map(pingsListed)).toEqual([100, 1000, 1000]);
  });

  test.each([
    [98, 99, false],
    [99, 100, true],
    [100, 101, false],
    [100, 199, false],
    [95, 105, true],
    [0, 1000, true],
    [100, 100, false],
  ])("a log that grows from %i to %i is to be trimmed: %s", (before, after, due) => {
    expect(isTrimDue({ before, after })).toBe(due);
  });

  test("however a log grows, it is trimmed before it is two hundreds beyond its length", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 99 })), (steps) => {
        let before = 0;
        let trimmedAt = 0;
        for (const step of steps) {
          const after = before + step;
          if (isTrimDue({ before, after })) trimmedAt = after;
          expect(after - trimmedAt).toBeLessThan(200);
          before = after;
        }
      }),
    );
  });
});

test("flips of the current month and of the two full ones before it are always kept", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: Date.UTC(2200, 0) }), (now) => {
      const today = new Date(now);
      const monthAt = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - 2, 1);
      expect(keptFrom(HISTORY_DAYS_MIN, now)).toBeLessThanOrEqual(monthAt);
    }),
  );
});

describe("records with an age", () => {
  test("a deleted check can be restored for seven days", () => {
    const now = Date.UTC(2026, 0, 8);
    expect(keptFrom(DAYS_KEPT.deletedCheck, now)).toBe(Date.UTC(2026, 0, 1));
  });

  test("each sort has its own days", () => {
    expect(DAYS_KEPT).toEqual({
      deletedCheck: 7,
      run: 93,
      incident: 93,
      silence: 93,
      deletedStatusPage: 7,
      statusPost: 365,
      unconfirmedSubscriber: 2,
      blindInterval: 93,
      refusedInterval: 30,
      rejectedSignal: 30,
      nearMiss: 30,
      idempotencyKey: 1,
      session: 30,
      accessToken: 30,
      signIn: 180,
    });
  });

  test("the periods that settings can change have these defaults", () => {
    expect(DEFAULT_RETENTION).toEqual({ ping: null, flip: 93, event: 93, delivery: 93, auditEntry: 365 });
    expect(keptFrom(10, 1000 * DAY_MS)).toBe(990 * DAY_MS);
  });
});
