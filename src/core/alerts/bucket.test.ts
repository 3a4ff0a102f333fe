// The bucket of a channel: so many messages at once, so many a minute in the long run, whatever the clock does.
import fc from "fast-check";
import { expect, test } from "vitest";
import { MINUTE_MS } from "../instant.ts";
import { messagesLeft, takeMessages } from "./bucket.ts";

const NOW = Date.UTC(2026, 10, 16, 12);
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
