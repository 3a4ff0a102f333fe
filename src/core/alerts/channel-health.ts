// What the fate of messages means for their channel: whether it is left alone, given up, or treated with care; and
// how the senders of a process are shared out, so that a receiver in trouble delays nobody else.
import type { Instant } from "../instant.ts";
import { RETRY_AFTER_MS_MAX } from "../limits.ts";
import { heldMs } from "./backoff.ts";
import { messagesLeft } from "./bucket.ts";
import type { Rate, SendResult } from "./sending.ts";

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
  troubledLeft: number;
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
  const { inFlight, sendsMax, troubledLeft } = underway;
  const sends = isTroubled(health) ? Math.min(1, troubledLeft) : sendsMax;
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
export function isTroubled({ failureCount, lastNotifyDurationMs }: ChannelHealth): boolean {
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
export function whoHearsOfDisabled<Channel extends { kind: string }>(left: readonly Channel[]): Channel[] {
  const mails = left.filter(({ kind }) => kind === "email");
  return mails.length > 0 ? mails : [...left];
}
