// How far an intake can confirm, which gaps are blind, which intakes are lost, and when missing pings raise alerts
// again.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  blindTimes,
  endsGap,
  hasLostBatches,
  HEARTBEAT_GAP_MS_MAX,
  isLost,
  leaseMsOf,
  mayConfirm,
  SETTLE_MS,
  settledVisibility,
  settlingOf,
  SHORT_LEASE_MS,
  watermarkOf,
  withoutAttendedTime,
} from "./watermark.ts";

const NOW = Date.UTC(2026, 10, 16, 12);

describe("the watermark of an intake", () => {
  test.each([
    { what: "nothing waits", oldestUnappliedAt: null, refusingSinceAt: null, behindMs: 1_000 },
    { what: "a signal waits", oldestUnappliedAt: NOW - 5_000, refusingSinceAt: null, behindMs: 6_000 },
    { what: "senders are refused", oldestUnappliedAt: null, refusingSinceAt: NOW - 700, behindMs: 1_700 },
    { what: "both", oldestUnappliedAt: NOW - 10, refusingSinceAt: NOW - 20, behindMs: 1_020 },
    { what: "a signal is ahead of us", oldestUnappliedAt: NOW + 9, refusingSinceAt: null, behindMs: 1_000 },
  ])("when $what, stays $behindMs ms behind", ({ oldestUnappliedAt, refusingSinceAt, behindMs }) => {
    expect(watermarkOf({ now: NOW, oldestUnappliedAt, refusingSinceAt })).toBe(NOW - behindMs);
  });
});

describe("the time before an intake was there", () => {
  const entering = { from: NOW - 20_000, to: NOW - 5_000 };
  const starting = { from: NOW - 9_000, to: NOW - 6_000 };
  const later = { from: NOW - 4_000, to: NOW - 2_000 };
  const unproven = [entering, starting, later];
  const other = { startedAt: NOW - 60_000, heartbeatAt: NOW - 800 };
  const told = (others: readonly (typeof other)[]) =>
    withoutAttendedTime(unproven, { since: entering.from, others });

  test("is blind if no other intake was receiving, or the other one has stopped", () => {
    expect(told([])).toEqual(unproven);
    expect(told([{ ...other, heartbeatAt: entering.from }])).toEqual(unproven);
    expect(told([{ ...other, heartbeatAt: entering.to - HEARTBEAT_GAP_MS_MAX - 1 }])).toEqual(unproven);
    expect(told([{ ...other, startedAt: entering.from + 1 }])).toEqual(unproven);
  });

  test("is not where another one received all the while; what the intake missed later is its own", () => {
    expect(told([other])).toEqual([later]);
    expect(told([{ ...other, heartbeatAt: entering.to - HEARTBEAT_GAP_MS_MAX }])).toEqual([later]);
  });

  test("is never left out of a later heartbeat", () => {
    expect(withoutAttendedTime(unproven, { since: null, others: [other] })).toEqual(unproven);
  });
});

describe("blind intervals since the last heartbeat", () => {
  const pause = { from: NOW - 20_000, to: NOW - 2_000 };
  const vigil = { heartbeatAt: NOW - 60_000, now: NOW, skippedMs: 0, unproven: [pause] };

  test("is where the intake did not tick", () => {
    expect(blindTimes(vigil)).toEqual([pause]);
  });

  test("there are none while heartbeats have no gap, even if a tick was late", () => {
    expect(blindTimes({ ...vigil, heartbeatAt: NOW - HEARTBEAT_GAP_MS_MAX })).toEqual([]);
    expect(blindTimes({ ...vigil, heartbeatAt: NOW - HEARTBEAT_GAP_MS_MAX - 1 })).toEqual([pause]);
  });

  test("there are none if the intake ticked all the time: the database was down, and the spool accepted everything", () => {
    expect(blindTimes({ ...vigil, unproven: [] })).toEqual([]);
  });

  test("a step of this machine's clock that the database did not see is no gap", () => {
    expect(blindTimes({ ...vigil, unproven: [{ from: NOW - 500, to: NOW - 300 }] })).toEqual([]);
  });

  test("is everything when time passed for the database and not for us", () => {
    const all = [{ from: NOW - 60_000, to: NOW }];
    expect(blindTimes({ ...vigil, skippedMs: 3_001 })).toEqual(all);
    expect(blindTimes({ ...vigil, skippedMs: 3_000, unproven: [] })).toEqual([]);
    expect(blindTimes({ ...vigil, skippedMs: -600_000, unproven: [] })).toEqual([]);
  });

  test("covers every stop of more than three seconds", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: HEARTBEAT_GAP_MS_MAX + 1, max: 1_000_000 }),
        fc.integer({ min: 0, max: 10_000 }),
        fc.integer({ min: 0, max: 10_000 }),
        (stoppedMs, beforeMs, afterMs) => {
          const stop = { from: NOW - afterMs - stoppedMs, to: NOW - afterMs };
          const blind = blindTimes({
            heartbeatAt: stop.from - beforeMs,
            now: NOW,
            skippedMs: 0,
            unproven: [stop],
          });
          expect(blind).toContainEqual(stop);
        },
      ),
    );
  });
});

describe("an intake without heartbeats", () => {
  const silence = { lastSignAt: NOW - 10_001, leaseMs: 10_000, watchingSinceAt: NOW - 3_600_000, now: NOW };

  test("is lost when its lease is over", () => {
    expect(isLost(silence)).toBe(true);
    expect(isLost({ ...silence, lastSignAt: NOW - 10_000 })).toBe(false);
  });

  test("is not lost because of time in which no intake could send heartbeats", () => {
    expect(isLost({ ...silence, lastSignAt: NOW - 900_000, watchingSinceAt: NOW - 9_000 })).toBe(false);
    expect(isLost({ ...silence, lastSignAt: NOW - 900_000, watchingSinceAt: null })).toBe(false);
  });

  test("has the long lease only where a spool may hold something", () => {
    expect(leaseMsOf({ hasSpool: true, lostAfterMs: 600_000 })).toBe(600_000);
    expect(leaseMsOf({ hasSpool: false, lostAfterMs: 600_000 })).toBe(SHORT_LEASE_MS);
    expect(leaseMsOf({ hasSpool: false, lostAfterMs: 5_000 })).toBe(5_000);
  });

  test("stops acknowledging before others may declare it lost, unless it is the only one", () => {
    const lease = { leaseMs: 600_000, isAlone: false };
    expect(mayConfirm({ ...lease, sinceHeartbeatMs: 569_999 })).toBe(true);
    expect(mayConfirm({ ...lease, sinceHeartbeatMs: 570_000 })).toBe(false);
    expect(mayConfirm({ ...lease, sinceHeartbeatMs: 10_000_000, isAlone: true })).toBe(true);
    expect(mayConfirm({ leaseMs: 10_000, isAlone: false, sinceHeartbeatMs: 7_500 })).toBe(false);
  });

  test("never acknowledges when another one may have declared it lost", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1_000, max: 3_600_000 }),
        fc.integer({ min: 0, max: 7_200_000 }),
        (leaseMs, sinceHeartbeatMs) => {
          const mayBeLost = isLost({
            lastSignAt: NOW - sinceHeartbeatMs,
            leaseMs,
            watchingSinceAt: 0,
            now: NOW,
          });
          expect(mayBeLost && mayConfirm({ sinceHeartbeatMs, leaseMs, isAlone: false })).toBe(false);
        },
      ),
    );
  });
});

describe("settling", () => {
  const visibility = { watermarkAt: NOW - 2_000, blind: [] };

  type Beats = { newestHeartbeatAt: number | null; gapEndedAt: number | null };
  type Given = Partial<{ lookedAt: number; isBehind: boolean }>;

  /** The state of the database after a heartbeat of any intake. */
  function beat(before: Beats, now: number, given: Given = {}): Beats {
    const { newestHeartbeatAt } = before;
    const isGap = endsGap({ now, newestHeartbeatAt, lookedAt: null, isBehind: false, ...given });
    return { newestHeartbeatAt: now, gapEndedAt: isGap ? now : before.gapEndedAt };
  }

  /** Heartbeats this far apart, starting at NOW; returns the state of the database and the time of the last one. */
  function beatAfter(pausesMs: readonly number[]): Beats & { now: number } {
    let now = NOW;
    let beats = beat({ newestHeartbeatAt: null, gapEndedAt: null }, now);
    for (const pauseMs of pausesMs) {
      now += pauseMs;
      beats = beat(beats, now);
    }
    return { ...beats, now };
  }

  const isSettled = (look: Beats & { now: number }) =>
    settledVisibility(settlingOf(look), visibility).watermarkAt !== null;

  const everySecond = (count: number) => Array.from({ length: count }, () => 1_000);

  test("takes a minute of fresh heartbeats", () => {
    expect(isSettled(beatAfter(everySecond(59)))).toBe(false);
    expect(isSettled(beatAfter(everySecond(60)))).toBe(true);
  });

  test("is the same for a process that has just started", () => {
    const { newestHeartbeatAt, gapEndedAt, now } = beatAfter(everySecond(60));
    expect(isSettled({ newestHeartbeatAt, gapEndedAt, now: now + 500 })).toBe(true);
    expect(isSettled({ newestHeartbeatAt: null, gapEndedAt, now })).toBe(false);
    expect(isSettled({ newestHeartbeatAt, gapEndedAt: null, now })).toBe(false);
  });

  test("restarts when all heartbeats stopped, also for a process that starts during the gap", () => {
    const settled = beatAfter(everySecond(100));
    expect(isSettled({ ...settled, now: settled.now + 3_000 })).toBe(true);
    expect(isSettled({ ...settled, now: settled.now + 3_001 })).toBe(false);
    expect(isSettled(beatAfter([...everySecond(100), 3_000]))).toBe(true);
    expect(isSettled(beatAfter([...everySecond(100), 3_001]))).toBe(false);
    expect(isSettled(beatAfter([...everySecond(100), 20_000, ...everySecond(59)]))).toBe(false);
    expect(isSettled(beatAfter([...everySecond(100), 20_000, ...everySecond(60)]))).toBe(true);
  });

  test("begins anew when the database's clock went back", () => {
    const settled = beatAfter(everySecond(100));
    const now = settled.now - 300_000;
    expect(isSettled({ ...beat(settled, now, { lookedAt: settled.now }), now })).toBe(false);
    const nearly = settled.now - 1_000;
    expect(isSettled({ ...beat(settled, nearly, { lookedAt: settled.now }), now: nearly })).toBe(true);
  });

  test("begins anew when the database lacks what it had confirmed", () => {
    const settled = beatAfter(everySecond(100));
    const now = settled.now + 1_000;
    expect(isSettled({ ...beat(settled, now, { isBehind: true }), now })).toBe(false);
  });

  test("nothing is settled within a minute of any gap, whatever else happened", () => {
    const pause = fc.oneof(fc.constant(1_000), fc.integer({ min: 0, max: 6_000 }));
    fc.assert(
      fc.property(fc.array(pause, { minLength: 1, maxLength: 200 }), (pauses) => {
        const gap = pauses.findLastIndex((one) => one > HEARTBEAT_GAP_MS_MAX);
        const sinceGapMs = pauses.slice(gap + 1).reduce((sum, one) => sum + one, 0);
        expect(isSettled(beatAfter(pauses))).toBe(sinceGapMs >= SETTLE_MS);
      }),
    );
  });

  test("keeps the blind times, which only make more careful", () => {
    const blind = [{ from: 1, to: 2 }];
    expect(settledVisibility({ lookedAt: NOW, freshSinceAt: null }, { ...visibility, blind })).toEqual({
      watermarkAt: null,
      blind,
    });
  });
});

test.each([
  { lastSeqs: [3, 0, 7, 1], confirmedSeqs: [3, 0, 7, 1], isLost: false },
  { lastSeqs: [4, 1, 8, 1], confirmedSeqs: [3, 0, 7, 1], isLost: false },
  { lastSeqs: [9, 0, 6, 9], confirmedSeqs: [3, 0, 7, 1], isLost: true },
  { lastSeqs: [], confirmedSeqs: [0, 0, 1, 0], isLost: true },
  { lastSeqs: [], confirmedSeqs: [], isLost: false },
])("batches are lost if a lane is behind: $lastSeqs after $confirmedSeqs", (given) => {
  expect(hasLostBatches(given.lastSeqs, given.confirmedSeqs)).toBe(given.isLost);
});
