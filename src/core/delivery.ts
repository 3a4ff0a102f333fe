import { type Instant, MINUTE_MS } from "./instant.ts";
import {
  GIVE_UP_AFTER_MS,
  RETRY_AFTER_MS_MAX,
  RETRY_MS_MAX,
  RETRY_MS_MIN,
  TRIES_MAX,
  TRIES_MIN,
} from "./limits.ts";

// What sending a message can lead to, in the words that those who send and those who keep the record share.

/** How a message fared. `summary` and `excerpt` are kept and shown: no secret may be in them. */
export type SendResult = SentResult | FailedResult;

export type SentResult = {
  kind: "sent";
  /** What was asked of whom, for instance "POST hooks.example.org". */
  summary: string;
  code: number | null;
  /** The beginning of the answer. */
  excerpt: string | null;
  /** The receiver has told us to use this configuration from now on. */
  config?: Readonly<Record<string, unknown>>;
};

export type FailedResult = {
  kind: "failed";
  /** Trying again cannot help: the channel is disabled, with the reason. */
  permanent: boolean;
  /** Trying again cannot help this message, but the channel is kept. */
  keepsChannel?: true;
  /** The receiver asked to be left alone for so long. */
  retryAfterMs: number | null;
  summary: string;
  code: number | null;
  excerpt: string | null;
  /** Shown to the owner of the channel. */
  reason: string;
  /** Whether the receiver may have taken the message all the same. Absent: yes, unless it has answered. */
  inDoubt?: boolean;
};

/** How many messages one channel takes: so many at once, and so many a minute in the long run. */
export type Rate = { perMinute: number; burst: number };

/** What a channel is asked whether it wants to hear of. A correction is asked for as "up". */
export type SubscribedEvent = "down" | "up" | "notice";

/** A message of which nobody knows whether it arrived has to be repeated as it was. */
export function isInDoubt({ inDoubt, code }: FailedResult): boolean {
  return inDoubt ?? code === null;
}

// When a delivery that failed is tried again, and when it is given up. No clock is read here.

export type FailedTry = {
  /** Which try it was, from 1 on. */
  attempt: number;
  /** Since when the message is owed. */
  createdAt: Instant;
  now: Instant;
  /** What the receiver asked for; null: nothing. */
  retryAfterMs: number | null;
};

/** When the next try may come, or null: it is given up. */
export function nextTryAt({ attempt, createdAt, now, retryAfterMs }: FailedTry): Instant | null {
  const ageMs = Math.max(0, now - createdAt);
  if (attempt >= TRIES_MAX || (attempt >= TRIES_MIN && ageMs >= GIVE_UP_AFTER_MS)) return null;
  return now + Math.max(pauseMs({ attempt, ageMs }), heldMs(retryAfterMs));
}

/**
 * Pauses double. News about the same check is tried at once, and such tries must not make the pauses longer than
 * the time that has passed: whoever is back after ten minutes is told within the next ten.
 */
function pauseMs({ attempt, ageMs }: { attempt: number; ageMs: number }): number {
  const doubledMs = RETRY_MS_MIN * 2 ** Math.min(attempt - 1, 30);
  return Math.min(RETRY_MS_MAX, doubledMs, Math.max(RETRY_MS_MIN, ageMs));
}

/** For how long a receiver is left alone at its own wish. */
export function heldMs(retryAfterMs: number | null): number {
  return Math.min(RETRY_AFTER_MS_MAX, Math.max(0, retryAfterMs ?? 0));
}

// How many messages one channel may be sent: a bucket that is refilled evenly, kept as the instant at which it will
// be full again. The caller keeps the instant and says what time it is.

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

// What the fate of messages means for their channel: whether it is left alone, given up, or treated with care; and
// how the senders of a process are shared out, so that a receiver in trouble delays nobody else.

/** What is known of a channel when messages for it are looked for. */
export type ChannelHealth = {
  /** Messages that failed since the last good one. */
  failureCount: number;
  /** How long the last one took; null: there was none. */
  lastNotifyDurationMs: number | null;
  holdUntilAt: Instant | null;
  bucketFullAt: Instant | null;
};

/** What one message changes about its channel. */
export type HealthChange = {
  failureCount: number;
  /** Null: nobody has to wait. */
  holdUntilAt: Instant | null;
  /** Why it is disabled from now on; null: it is not. */
  disabledReason: string | null;
};

/** A test says something to whoever pressed the button, and nothing about the channel. */
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

/** Messages that one process sends to one channel at the same time. */
export const CHANNEL_SENDS_MAX = 4;
/** Whoever takes longer for a message is slow. */
export const SLOW_SEND_MS = 5_000;

/** What is under way in this process, and what may be. */
export type Underway = {
  /** Messages to this channel. */
  inFlight: number;
  sendsMax: number;
  /** Further messages that channels in trouble may be given, all together. */
  degradedLeft: number;
};

/**
 * How many messages a channel may be given now. A troubled one gets one at a time, and all troubled ones together
 * get only a part of the senders. `rate` null: the channel takes as many as there are.
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
 * How many more senders an account may hold: never more than stay free for others, but always one. So an account alone
 * gets half of them, and whatever its receivers do, others find senders free.
 */
export function accountShare({ held, free }: { held: number; free: number }): number {
  const share = Math.max(held === 0 ? 1 : 0, Math.floor((free - held) / 2));
  return Math.min(share, free);
}

/** It fails, or takes its time. */
export function isDegraded({ failureCount, lastNotifyDurationMs }: ChannelHealth): boolean {
  return failureCount > 0 || (lastNotifyDurationMs ?? 0) > SLOW_SEND_MS;
}

/** A wish that reaches much further ahead than any may is left from before the clock was set back. */
function isHeld({ holdUntilAt }: ChannelHealth, now: Instant): boolean {
  return holdUntilAt !== null && now < holdUntilAt && holdUntilAt <= now + 2 * RETRY_AFTER_MS_MAX;
}

/**
 * Which channels of a project hear that another one was disabled: its enabled mail addresses, or, where there are
 * none, all that are left.
 */
export function disabledNoticeRecipients<Channel extends { kind: string }>(
  left: readonly Channel[],
): Channel[] {
  const mails = left.filter(({ kind }) => kind === "email");
  return mails.length > 0 ? mails : [...left];
}
