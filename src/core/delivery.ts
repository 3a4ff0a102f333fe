// Rules for deliveries: results, retries, rate limits, and the health of channels. No clock is read here.
import { type Instant, MINUTE_MS } from "./instant.ts";
import {
  GIVE_UP_AFTER_MS,
  RETRY_AFTER_MS_MAX,
  RETRY_MS_MAX,
  RETRY_MS_MIN,
  TRIES_MAX,
  TRIES_MIN,
} from "./limits.ts";

/** The result of a send. `summary` and `excerpt` are stored and shown: they must not contain secrets. */
export type SendResult = SentResult | FailedResult;

export type SentResult = {
  kind: "sent";
  /** The request, for example "POST hooks.example.org". */
  summary: string;
  code: number | null;
  /** The beginning of the answer. */
  excerpt: string | null;
  /** The receiver requested this configuration for future messages. */
  config?: Readonly<Record<string, unknown>>;
  /** The server's own key was accepted. */
  isOurs?: true;
};

export type FailedResult = {
  kind: "failed";
  /** Permanent: the channel is disabled, with this reason. */
  permanent: boolean;
  /** Permanent for this message; the channel stays enabled. */
  keepsChannel?: true;
  /** The server's own key was refused: it is an admin who can change that. */
  isOurs?: true;
  /** The receiver asked to wait this long. */
  retryAfterMs: number | null;
  summary: string;
  code: number | null;
  excerpt: string | null;
  /** Shown to the owner of the channel. */
  reason: string;
  /** Whether the receiver may have accepted the message anyway. Absent: yes, unless it has answered. */
  inDoubt?: boolean;
};

/** Rate limit of a channel: a burst, and a sustained rate per minute. */
export type Rate = { perMinute: number; burst: number };

/** Event types that a channel can subscribe to. A correction counts as "up". */
export type SubscribedEvent = "down" | "up" | "notice";

/** A message that may have arrived must be repeated unchanged. */
export function isInDoubt({ inDoubt, code }: FailedResult): boolean {
  return inDoubt ?? code === null;
}

export type FailedTry = {
  /** Number of the attempt, from 1. */
  attempt: number;
  /** When the delivery was created. */
  createdAt: Instant;
  now: Instant;
  /** Wait requested by the receiver; null if none. */
  retryAfterMs: number | null;
};

/** When the next attempt is due; null: the delivery is given up. */
export function nextTryAt({ attempt, createdAt, now, retryAfterMs }: FailedTry): Instant | null {
  const ageMs = Math.max(0, now - createdAt);
  if (attempt >= TRIES_MAX || (attempt >= TRIES_MIN && ageMs >= GIVE_UP_AFTER_MS)) return null;
  return now + Math.max(pauseMs({ attempt, ageMs }), heldMs(retryAfterMs));
}

/**
 * The delay doubles. New changes of the same check are tried at once, which must not make the delay longer
 * than the time that has passed: a receiver that is back after ten minutes gets the message within the next
 * ten.
 */
function pauseMs({ attempt, ageMs }: { attempt: number; ageMs: number }): number {
  const doubledMs = RETRY_MS_MIN * 2 ** Math.min(attempt - 1, 30);
  return Math.min(RETRY_MS_MAX, doubledMs, Math.max(RETRY_MS_MIN, ageMs));
}

/** How long to wait at the receiver's request. */
export function heldMs(retryAfterMs: number | null): number {
  return Math.min(RETRY_AFTER_MS_MAX, Math.max(0, retryAfterMs ?? 0));
}

/** Messages that may be sent now. The token bucket is stored as the instant at which it is full again. */
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

/** An instant further ahead is left from before the clock was set back. */
function missingMs(fullAt: Instant | null, { rate, now }: { rate: Rate; now: Instant }): number {
  const wholeMs = (rate.burst * MINUTE_MS) / rate.perMinute;
  return Math.min(wholeMs, Math.max(0, (fullAt ?? now) - now));
}

/** The health of a channel. */
export type ChannelHealth = {
  /** Failures since the last success. */
  failureCount: number;
  /** Duration of the last send; null if there was none. */
  lastNotifyDurationMs: number | null;
  holdUntilAt: Instant | null;
  bucketFullAt: Instant | null;
};

/** Changes of a channel after one message. */
export type HealthChange = {
  failureCount: number;
  /** Null: no wait. */
  holdUntilAt: Instant | null;
  /** Why the channel is disabled; null if it is not. */
  disabledReason: string | null;
};

/** A test does not change the health of the channel. */
export function healthAfter(
  result: SendResult,
  { failureCount, now }: { failureCount: number; now: Instant },
): HealthChange {
  if (result.kind === "sent") return { failureCount: 0, holdUntilAt: null, disabledReason: null };
  const { permanent, keepsChannel, reason, retryAfterMs } = result;
  return {
    failureCount: failureCount + 1,
    holdUntilAt: retryAfterMs === null ? null : now + heldMs(retryAfterMs),
    disabledReason: permanent && keepsChannel !== true ? reason : null,
  };
}

/** Concurrent messages per process and channel. */
export const CHANNEL_SENDS_MAX = 4;
/** A channel whose send takes longer is slow. */
export const SLOW_SEND_MS = 5_000;

/** Messages in flight in this process, and their limits. */
export type Underway = {
  /** Messages to this channel. */
  inFlight: number;
  sendsMax: number;
  /** Free senders for degraded channels. */
  degradedLeft: number;
};

/**
 * How many messages may be sent to a channel now. A degraded channel gets one at a time, and all degraded
 * channels share a part of the senders. `rate` null: no rate limit.
 */
export function allowance(
  health: ChannelHealth,
  { rate, now, underway }: { rate: Rate | null; now: Instant; underway: Underway },
): number {
  if (isHeld(health, now)) return 0;
  const { inFlight, sendsMax, degradedLeft } = underway;
  const sends = isDegraded(health) ? Math.min(1, degradedLeft) : sendsMax;
  const left = rate === null ? Infinity : messagesLeft(health.bucketFullAt, { rate, now });
  return Math.max(0, Math.min(sends - inFlight, left));
}

/**
 * How many more senders an account may use: never more than stay free for others, but always one. A single
 * account gets half of them.
 */
export function accountShare({ held, free }: { held: number; free: number }): number {
  const share = Math.max(held === 0 ? 1 : 0, Math.floor((free - held) / 2));
  return Math.min(share, free);
}

/** The channel is failing or slow. */
export function isDegraded({ failureCount, lastNotifyDurationMs }: ChannelHealth): boolean {
  return failureCount > 0 || (lastNotifyDurationMs ?? 0) > SLOW_SEND_MS;
}

/** A wait much longer than allowed is left from before the clock was set back. */
function isHeld({ holdUntilAt }: ChannelHealth, now: Instant): boolean {
  return holdUntilAt !== null && now < holdUntilAt && holdUntilAt <= now + 2 * RETRY_AFTER_MS_MAX;
}

/**
 * Channels to notify when another channel is disabled: the enabled email channels, or all enabled channels if
 * there are none.
 */
export function disabledNoticeRecipients<Channel extends { kind: string }>(
  left: readonly Channel[],
): Channel[] {
  const mails = left.filter(({ kind }) => kind === "email");
  return mails.length > 0 ? mails : [...left];
}
