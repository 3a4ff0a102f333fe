// When failed deliveries are tried again: pauses double, wishes of receivers count within bounds, and hours later it
// is given up.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  accountShare,
  allowance,
  type ChannelHealth,
  disabledNoticeRecipients,
  type FailedResult,
  healthAfter,
  heldMs,
  isDegraded,
  messagesLeft,
  nextTryAt,
  type SentResult,
  SLOW_SEND_MS,
  takeMessages,
} from "./delivery.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "./instant.ts";
import { GIVE_UP_AFTER_MS, RETRY_MS_MAX, RETRY_MS_MIN, TRIES_MAX, TRIES_MIN } from "./limits.ts";

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

  test("comes soon if there was no attempt for hours, however old the message is", () => {
    expect(pauseAfter({ attempt: 1, ageMs: 30 * HOUR_MS })).toBe(15 * SECOND_MS);
  });

  test("comes soon if many changes were tried within a few minutes", () => {
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

  test("a receiver that never responds is tried for a day, and at most forty times", () => {
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

test("a receiver that recovers is notified after at most the same time again, and within an hour", () => {
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

// The token bucket of a channel: a burst, and a sustained rate per minute, whatever the clock does.

const RATE = { perMinute: 6, burst: 3 };

test("a full one holds the burst, and is refilled evenly", () => {
  expect(messagesLeft(null, { rate: RATE, now: NOW })).toBe(3);
  const fullAt = takeMessages(null, { rate: RATE, now: NOW, count: 3 });
  expect(fullAt).toBe(NOW + 30_000);
  expect(messagesLeft(fullAt, { rate: RATE, now: NOW })).toBe(0);
  expect(messagesLeft(fullAt, { rate: RATE, now: NOW + 9_999 })).toBe(0);
  expect(messagesLeft(fullAt, { rate: RATE, now: NOW + 10_000 })).toBe(1);
  expect(messagesLeft(fullAt, { rate: RATE, now: NOW + 30_000 })).toBe(3);
  expect(messagesLeft(fullAt, { rate: RATE, now: NOW + MINUTE_MS })).toBe(3);
});

test("a clock that is set back empties it, and does not lock it for the hours in between", () => {
  const fullAt = takeMessages(null, { rate: RATE, now: NOW, count: 1 });
  const before = NOW - 60 * MINUTE_MS;
  expect(messagesLeft(fullAt, { rate: RATE, now: before })).toBe(0);
  const after = takeMessages(fullAt, { rate: RATE, now: before, count: 0 });
  expect(messagesLeft(after, { rate: RATE, now: before + 10_000 })).toBe(1);
});

test("over any stretch of time no more leave than the burst and what was refilled", () => {
  const rates = fc.record({
    perMinute: fc.integer({ min: 1, max: 600 }),
    burst: fc.integer({ min: 1, max: 50 }),
  });
  const steps = fc.array(fc.record({ afterMs: fc.nat(20_000), wanted: fc.nat(20) }), { minLength: 1 });
  fc.assert(
    fc.property(rates, steps, (rate, wishes) => {
      let now = NOW;
      let fullAt: number | null = null;
      let sent = 0;
      for (const { afterMs, wanted } of wishes) {
        now += afterMs;
        const count = Math.min(wanted, messagesLeft(fullAt, { rate, now }));
        fullAt = takeMessages(fullAt, { rate, now, count });
        sent += count;
        expect(sent).toBeLessThanOrEqual(rate.burst + ((now - NOW) * rate.perMinute) / MINUTE_MS);
      }
    }),
  );
});

// What results mean for a channel, and how many messages it is given.

const SENT: SentResult = { kind: "sent", summary: "POST example.org", code: 200, excerpt: null };
const FAILED: FailedResult = {
  kind: "failed",
  permanent: false,
  retryAfterMs: null,
  summary: "POST example.org",
  code: 500,
  excerpt: null,
  reason: "Received status code 500",
};
const WELL: ChannelHealth = {
  failureCount: 0,
  lastNotifyDurationMs: null,
  holdUntilAt: null,
  bucketFullAt: null,
};

describe("after a message", () => {
  test.each([
    ["success forgives failures", SENT, { failureCount: 0, holdUntilAt: null, disabledReason: null }],
    ["a failure is counted", FAILED, { failureCount: 4, holdUntilAt: null, disabledReason: null }],
    [
      "a wish to be left alone is kept",
      { ...FAILED, retryAfterMs: MINUTE_MS },
      { failureCount: 4, holdUntilAt: NOW + MINUTE_MS, disabledReason: null },
    ],
    [
      "the longest wish is an hour",
      { ...FAILED, retryAfterMs: 100 * HOUR_MS },
      { failureCount: 4, holdUntilAt: NOW + HOUR_MS, disabledReason: null },
    ],
    [
      "an error for good disables it, with the reason",
      { ...FAILED, permanent: true },
      { failureCount: 4, holdUntilAt: null, disabledReason: "Received status code 500" },
    ],
    [
      "unless it asks to be kept",
      { ...FAILED, permanent: true, keepsChannel: true as const },
      { failureCount: 4, holdUntilAt: null, disabledReason: null },
    ],
  ])("%s", (_, result, change) => {
    expect(healthAfter(result, { failureCount: 3, now: NOW })).toEqual(change);
  });
});

describe("a channel is given", () => {
  const underway = { inFlight: 0, sendsMax: 4, degradedLeft: 10 };
  const given = (health: Partial<ChannelHealth>, more: Partial<typeof underway> = {}, perMinute = 0) =>
    allowance(
      { ...WELL, ...health },
      {
        rate: perMinute === 0 ? null : { perMinute, burst: 2 },
        now: NOW,
        underway: { ...underway, ...more },
      },
    );

  test.each([
    ["a few at a time", given({}), 4],
    ["no more than are not under way already", given({}, { inFlight: 3 }), 1],
    ["nothing while as many are under way", given({}, { inFlight: 4 }), 0],
    ["one at a time while it fails", given({ failureCount: 1 }), 1],
    ["nothing more while that one is under way", given({ failureCount: 1 }, { inFlight: 1 }), 0],
    [
      "nothing more when it began to fail with several under way",
      given({ failureCount: 1 }, { inFlight: 3 }),
      0,
    ],
    ["one at a time while it is slow", given({ lastNotifyDurationMs: SLOW_SEND_MS + 1 }), 1],
    ["nothing where the troubled ones have their part", given({ failureCount: 1 }, { degradedLeft: 0 }), 0],
    ["its rate", given({}, {}, 60), 2],
    ["nothing with an empty bucket", given({ bucketFullAt: NOW + 2_000 }, {}, 60), 0],
    ["nothing while it wants to be left alone", given({ holdUntilAt: NOW + 1 }), 0],
    ["messages again after that", given({ holdUntilAt: NOW }), 4],
    ["messages where the clock was set back", given({ holdUntilAt: NOW + 2 * HOUR_MS + 1 }), 4],
  ])("%s", (_, actual, expected) => {
    expect(actual).toBe(expected);
  });

  test("care where it fails or is slow", () => {
    expect(isDegraded(WELL)).toBe(false);
    expect(isDegraded({ ...WELL, lastNotifyDurationMs: SLOW_SEND_MS })).toBe(false);
    expect(isDegraded({ ...WELL, failureCount: 1 })).toBe(true);
  });
});

describe("senders of one account", () => {
  test.each([
    ["half of them when nobody else sends", { held: 0, free: 256 }, 128],
    ["no more when it holds as many as are free", { held: 128, free: 128 }, 0],
    ["as many again as end", { held: 100, free: 128 }, 14],
    ["one when few are free", { held: 0, free: 1 }, 1],
    ["none when none is free", { held: 0, free: 0 }, 0],
    ["none while it holds more than are free", { held: 5, free: 3 }, 0],
  ])("%s", (_, given, expected) => {
    expect(accountShare(given)).toBe(expected);
  });
});

test("that a channel was disabled is sent by email, or by all remaining channels", () => {
  const mail = { kind: "email", id: 1 };
  const chat = { kind: "slack", id: 2 };
  expect(disabledNoticeRecipients([chat, mail])).toEqual([mail]);
  expect(disabledNoticeRecipients([chat])).toEqual([chat]);
  expect(disabledNoticeRecipients([])).toEqual([]);
});
