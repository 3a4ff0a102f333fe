// Token buckets: what they allow, what they report, and that no client exceeds its rate over any period.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MINUTE_MS } from "./instant.ts";
import { type Bucket, isExhausted, takeRequest } from "./rate-limit.ts";

/** Makes requests at these times and returns the results. */
function ask(times: readonly number[], perMinute: number) {
  let bucket: Bucket | null = null;
  return times.map((nowMs) => {
    const verdict = takeRequest(bucket, { perMinute, nowMs });
    bucket = verdict.bucket;
    return verdict;
  });
}

describe("a bucket", () => {
  test.each<[string, readonly number[], readonly boolean[]]>([
    ["lets a minute's worth pass at once", [0, 0, 0], [true, true, true]],
    ["refuses what comes on top", [0, 0, 0, 0], [true, true, true, false]],
    [
      "has room again when a part of the minute has passed",
      [0, 0, 0, 19_999, 20_000],
      [true, true, true, false, true],
    ],
    [
      "is full again after a minute, and no fuller after an hour",
      [0, 0, 0, 3_600_000, 3_600_000, 3_600_000, 3_600_000],
      [true, true, true, true, true, true, false],
    ],
    ["is not emptied by refusals", [0, 0, 0, 10_000, 15_000, 20_000], [true, true, true, false, false, true]],
    ["gives nothing for a clock that goes back", [60_000, 60_000, 60_000, 0], [true, true, true, false]],
  ])("%s", (_name, times, allowed) => {
    expect(ask(times, 3).map(({ isAllowed }) => isAllowed)).toEqual(allowed);
  });

  test("reports the limit, the remaining requests, and when one and when all are available again", () => {
    const [first, second, third, fourth] = ask([0, 0, 0, 0], 3);
    expect(first).toMatchObject({ limit: 3, remaining: 2, resetSeconds: 20, retryAfterSeconds: 0 });
    expect(second).toMatchObject({ remaining: 1, resetSeconds: 40, retryAfterSeconds: 0 });
    expect(third).toMatchObject({ remaining: 0, resetSeconds: 60, retryAfterSeconds: 20 });
    expect(fourth).toMatchObject({ isAllowed: false, remaining: 0, resetSeconds: 60, retryAfterSeconds: 20 });
  });

  test("is exhausted exactly when the next request would be refused", () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 30_000 }), { maxLength: 40 });
    fc.assert(
      fc.property(gaps, fc.integer({ min: 1, max: 20 }), (given, perMinute) => {
        let nowMs = 0;
        let bucket: Bucket | null = null;
        for (const gap of given) {
          nowMs += gap;
          const isEmpty = isExhausted(bucket, { perMinute, nowMs });
          const verdict = takeRequest(bucket, { perMinute, nowMs });
          expect(verdict.isAllowed).toBe(!isEmpty);
          bucket = verdict.bucket;
        }
      }),
    );
  });

  test("a client that waits as long as requested is served", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.integer({ min: 0, max: 1_000_000 }),
        (perMinute, startMs) => {
          let bucket: Bucket | null = { left: 0.5, atMs: startMs };
          const refused = takeRequest(bucket, { perMinute, nowMs: startMs });
          bucket = refused.bucket;
          const nowMs = startMs + refused.retryAfterSeconds * 1_000;
          expect(takeRequest(bucket, { perMinute, nowMs }).isAllowed).toBe(true);
        },
      ),
    );
  });

  test("over any stretch of time no more passes than a minute's worth and what that time adds", () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(gaps, fc.integer({ min: 1, max: 30 }), (given, perMinute) => {
        let nowMs = 0;
        const times = given.map((gap) => (nowMs += gap));
        const verdicts = ask(times, perMinute);
        const passed = times.filter((_, index) => verdicts[index]?.isAllowed);
        for (const [index, from] of passed.entries()) {
          for (const [later, to] of passed.entries()) {
            if (later < index) continue;
            const most = perMinute + ((to - from) * perMinute) / MINUTE_MS;
            expect(later - index + 1).toBeLessThanOrEqual(most + 1e-6);
          }
        }
      }),
    );
  });
});
