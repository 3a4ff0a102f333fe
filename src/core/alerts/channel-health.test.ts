// What results mean for a channel, and how many messages it is given.
import { describe, expect, test } from "vitest";
import { HOUR_MS, MINUTE_MS } from "../instant.ts";
import {
  accountShare,
  allowance,
  type ChannelHealth,
  healthAfter,
  isTroubled,
  SLOW_SEND_MS,
  whoHearsOfDisabled,
} from "./channel-health.ts";
import type { FailedResult, SentResult } from "./sending.ts";

const NOW = Date.UTC(2026, 10, 16, 12);
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
  const underway = { inFlight: 0, sendsMax: 4, troubledLeft: 10 };
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
    ["nothing where the troubled ones have their part", given({ failureCount: 1 }, { troubledLeft: 0 }), 0],
    ["its rate", given({}, {}, 60), 2],
    ["nothing with an empty bucket", given({ bucketFullAt: NOW + 2_000 }, {}, 60), 0],
    ["nothing while it wants to be left alone", given({ holdUntilAt: NOW + 1 }), 0],
    ["messages again after that", given({ holdUntilAt: NOW }), 4],
    ["messages where the clock was set back", given({ holdUntilAt: NOW + 2 * HOUR_MS + 1 }), 4],
  ])("%s", (_, actual, expected) => {
    expect(actual).toBe(expected);
  });

  test("care where it fails or is slow", () => {
    expect(isTroubled(WELL)).toBe(false);
    expect(isTroubled({ ...WELL, lastNotifyDurationMs: SLOW_SEND_MS })).toBe(false);
    expect(isTroubled({ ...WELL, failureCount: 1 })).toBe(true);
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

test("that a channel was disabled is told by mail, or by all that are left", () => {
  const mail = { kind: "email", id: 1 };
  const chat = { kind: "slack", id: 2 };
  expect(whoHearsOfDisabled([chat, mail])).toEqual([mail]);
  expect(whoHearsOfDisabled([chat])).toEqual([chat]);
  expect(whoHearsOfDisabled([])).toEqual([]);
});
