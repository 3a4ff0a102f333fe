// How many messages one channel may be sent: a bucket that is refilled evenly, kept as the instant at which it will
// be full again. The caller keeps the instant and says what time it is.
import { type Instant, MINUTE_MS } from "../instant.ts";
import type { Rate } from "./sending.ts";

/** Whole messages that may be sent now. */
export function messagesLeft(fullAt: Instant | null, { rate, now }: { rate: Rate; now: Instant }): number {
  const eachMs = MINUTE_MS / rate.perMinute;
  return Math.floor((rate.burst * eachMs - missingMs(fullAt, { rate, now })) / eachMs);
}

/** When the bucket will be full after so many messages. */
export function takeMessages(
  fullAt: Instant | null,
  { rate, now, count }: { rate: Rate; now: Instant; count: number },
): Instant {
  return Math.ceil(now + missingMs(fullAt, { rate, now }) + (count * MINUTE_MS) / rate.perMinute);
}

/** More than all cannot be missing: an instant further ahead is left from before the clock was set back. */
function missingMs(fullAt: Instant | null, { rate, now }: { rate: Rate; now: Instant }): number {
  const wholeMs = (rate.burst * MINUTE_MS) / rate.perMinute;
  return Math.min(wholeMs, Math.max(0, (fullAt ?? now) - now));
}
