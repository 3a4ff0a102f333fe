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
  INCIDENT_DAYS,
  NEAR_MISS_DAYS,
  PING_TRIM_EVERY,
  PINGS_LISTED_MAX,
  REFUSED_INTERVAL_DAYS,
  REJECTED_SIGNAL_DAYS,
  RUN_DAYS,
  SILENCE_DAYS,
  STATUS_CONFIRM_DAYS,
  STATUS_DELETED_DAYS,
  STATUS_POST_DAYS,
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

/** Retention periods in days that settings can change. */
export type RetentionDays = {
  /** Null: the log of a check is limited by number only. */
  ping: number | null;
  flip: number;
  /** Pauses, resumes and other events that are not flips. */
  event: number;
  /** Alerts and account emails that were sent, or given up. */
  delivery: number;
  auditEntry: number;
};

export const DEFAULT_RETENTION: RetentionDays = {
  ping: null,
  flip: FLIP_DAYS,
  event: EVENT_DAYS,
  delivery: DELIVERY_DAYS,
  auditEntry: AUDIT_DAYS,
};

/** Other records that are kept for a number of days after their own time. */
export const DAYS_KEPT = {
  /** A check in the trash. */
  deletedCheck: DELETED_CHECK_DAYS,
  /** An incident with its alerts and its timeline, after it was resolved. */
  incident: INCIDENT_DAYS,
  /** The compact history of runs. */
  run: RUN_DAYS,
  /** From its end on. */
  silence: SILENCE_DAYS,
  deletedStatusPage: STATUS_DELETED_DAYS,
  /** A published incident or maintenance, from its end on. */
  statusPost: STATUS_POST_DAYS,
  unconfirmedSubscriber: STATUS_CONFIRM_DAYS,
  blindInterval: BLIND_INTERVAL_DAYS,
  /** Rejected pings of one check or network. Anyone can cause these, so they are deleted sooner. */
  refusedInterval: REFUSED_INTERVAL_DAYS,
  rejectedSignal: REJECTED_SIGNAL_DAYS,
  /** From its last request on. Addresses of senders are personal data. */
  nearMiss: NEAR_MISS_DAYS,
  idempotencyKey: IDEMPOTENCY_KEY_DAYS,
  /** A browser that was signed in, from its last use on. */
  session: SESSION_IDLE_DAYS,
  /** From its expiry on. */
  accessToken: EXPIRED_ACCESS_TOKEN_DAYS,
  /** Sign-ins of an account. */
  signIn: SIGN_IN_DAYS,
} as const;

/** Records that are kept for this many days may be deleted if they are from before this instant. */
export function keptFrom(days: number, now: Instant): Instant {
  return now - days * DAY_MS;
}
