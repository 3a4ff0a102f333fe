// Retention periods. Data may be deleted later than they say.
import { AUDIT_DAYS } from "./audit.ts";
import { DAY_MS, type Instant } from "./instant.ts";
import {
  BLIND_INTERVAL_DAYS,
  DELETED_CHECK_DAYS,
  DELIVERY_DAYS,
  EVENT_DAYS,
  EXPIRED_ACCESS_TOKEN_DAYS,
  FLIP_DAYS,
  IDEMPOTENCY_KEY_DAYS,
  PING_TRIM_EVERY,
  PINGS_LISTED_MAX,
  REFUSED_INTERVAL_DAYS,
  REJECTED_SIGNAL_DAYS,
  RUN_DAYS,
} from "./limits.ts";
import { SESSION_IDLE_DAYS, SIGN_IN_DAYS } from "./sign-in.ts";

/** Number of the newest ping that may be deleted; 0 if all are kept. */
export function trimmedThrough(log: { pingCount: number; rowsMax: number }): number {
  return Math.max(0, log.pingCount - log.rowsMax);
}

/** Whether a ping may still be shown, also while its row waits to be trimmed. */
export function isPingKept(n: number, log: { pingCount: number; rowsMax: number }): boolean {
  return n > trimmedThrough(log) && n <= log.pingCount;
}

/** How many pings a list shows at most. */
export function pingsListed(rowsMax: number): number {
  return Math.min(rowsMax, PINGS_LISTED_MAX);
}

/** Whether to trim a log whose count has grown: once per hundred pings. */
export function isTrimDue(count: { before: number; after: number }): boolean {
  return Math.floor(count.after / PING_TRIM_EVERY) > Math.floor(count.before / PING_TRIM_EVERY);
}

/** Records that are kept for a number of days after their own time. */
export const DAYS_KEPT = {
  /** A check in the trash. */
  deletedCheck: DELETED_CHECK_DAYS,
  /** Covers the current month and the two full ones before it. */
  flip: FLIP_DAYS,
  /** Pauses, resumes and other events that are not flips. */
  event: EVENT_DAYS,
  /** Alerts that were sent, or given up. */
  delivery: DELIVERY_DAYS,
  /** The compact history of runs. */
  run: RUN_DAYS,
  blindInterval: BLIND_INTERVAL_DAYS,
  /** Rejected pings of one check or network. Anyone can cause these, so they are deleted sooner. */
  refusedInterval: REFUSED_INTERVAL_DAYS,
  rejectedSignal: REJECTED_SIGNAL_DAYS,
  idempotencyKey: IDEMPOTENCY_KEY_DAYS,
  /** A browser that was signed in, from its last use on. */
  session: SESSION_IDLE_DAYS,
  /** From its expiry on. */
  accessToken: EXPIRED_ACCESS_TOKEN_DAYS,
  auditEntry: AUDIT_DAYS,
  /** Sign-ins of an account. */
  signIn: SIGN_IN_DAYS,
} as const;

/** Records of this kind from before this instant may be deleted. */
export function keptFrom(sort: keyof typeof DAYS_KEPT, now: Instant): Instant {
  return now - DAYS_KEPT[sort] * DAY_MS;
}
