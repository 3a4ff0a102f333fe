// Request limits: a token bucket with one minute's capacity. The caller stores the buckets and passes the
// time.
import { MINUTE_MS, SECOND_MS } from "./instant.ts";

/** Remaining requests as of an instant, on a monotonic clock. A new client has a full bucket. */
export type Bucket = { left: number; atMs: number };

export type RateRule = {
  perMinute: number;
  nowMs: number;
};

/** The result of a request, for the response headers. */
export type RateVerdict = {
  isAllowed: boolean;
  bucket: Bucket;
  limit: number;
  /** Whole requests that remain. */
  remaining: number;
  /** Until the bucket is full again. */
  resetSeconds: number;
  /** Until one more request is allowed; 0 if it already is. */
  retryAfterSeconds: number;
};

/** Counts one request. A rejected one costs nothing. */
export function takeRequest(before: Bucket | null, { perMinute, nowMs }: RateRule): RateVerdict {
  const refilled = refill(before, { perMinute, nowMs });
  const isAllowed = refilled >= 1;
  const left = isAllowed ? refilled - 1 : refilled;
  const secondsUntil = (wanted: number) =>
    Math.max(0, Math.ceil(((wanted - left) * MINUTE_MS) / perMinute / SECOND_MS));
  return {
    isAllowed,
    bucket: { left, atMs: nowMs },
    limit: perMinute,
    remaining: Math.floor(left),
    resetSeconds: secondsUntil(perMinute),
    retryAfterSeconds: secondsUntil(1),
  };
}

/** Whether no request is left. Does not count one. */
export function isExhausted(bucket: Bucket | null, rule: RateRule): boolean {
  return refill(bucket, rule) < 1;
}

function refill(bucket: Bucket | null, { perMinute, nowMs }: RateRule): number {
  if (bucket === null) return perMinute;
  return Math.min(perMinute, bucket.left + (Math.max(0, nowMs - bucket.atMs) * perMinute) / MINUTE_MS);
}
