// Monthly limits of what costs money for each message. They count per account and calendar month in UTC.
import type { Instant } from "./instant.ts";

/** What is counted together: text and WhatsApp messages, and phone calls. */
export type Quota = "messages" | "calls";

export type QuotaLimit = { quota: Quota; limit: number };

/** How much of a quota an account has used in a month. */
export type QuotaUse = { monthAt: Instant; usedCount: number };

/** The start of the month. */
export function monthOf(at: Instant): Instant {
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
}

/** The start of the next month, when quotas reset. */
export function nextMonthOf(at: Instant): Instant {
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}

/** How many of `count` messages may be sent, and the use after that. Null: nothing was used before. */
export function takeFromQuota(
  use: QuotaUse | null,
  { limit, now, count }: { limit: number; now: Instant; count: number },
): { taken: number; use: QuotaUse } {
  const monthAt = monthOf(now);
  const before = use?.monthAt === monthAt ? use.usedCount : 0;
  const taken = Math.min(count, Math.max(0, limit - before));
  return { taken, use: { monthAt, usedCount: before + taken } };
}

const NAMES: Readonly<Record<Quota, string>> = {
  messages: "text and WhatsApp messages",
  calls: "phone calls",
};

/** Why a message is not sent: the limit, and when it resets. */
export function quotaReason({ quota, limit }: QuotaLimit, now: Instant): string {
  const resetsAt = new Date(nextMonthOf(now)).toISOString().slice(0, 10);
  return `The account has reached its limit of ${limit} ${NAMES[quota]} per month, which resets on ${resetsAt} 00:00 UTC`;
}

/** What a claimed message has taken from the quota of an account. */
export type ClaimQuota = QuotaLimit & {
  accountId: number;
  monthAt: Instant;
  /** False: the limit is reached. */
  isTaken: boolean;
};

/** Why a claimed message is not sent; null if its quota allows it, or it has none. */
export function beyondQuota(quota: ClaimQuota | null): string | null {
  return quota === null || quota.isTaken ? null : quotaReason(quota, quota.monthAt);
}
