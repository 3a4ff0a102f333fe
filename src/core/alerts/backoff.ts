// When a delivery that failed is tried again, and when it is given up. No clock is read here.
import type { Instant } from "../instant.ts";
import {
  GIVE_UP_AFTER_MS,
  RETRY_AFTER_MS_MAX,
  RETRY_MS_MAX,
  RETRY_MS_MIN,
  TRIES_MAX,
  TRIES_MIN,
} from "../limits.ts";

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
