// Rate limits: a key is limited by its own requests, a network by wrong keys, and neither by other senders.
import { describe, expect, test } from "vitest";
import { DEFAULT_API_REQUESTS_PER_MINUTE } from "../../core/limits.ts";
import { RateLimiter } from "./auth.ts";

function limiter(perMinute: number, more: { bucketsMax?: number } = {}) {
  const clock = { nowMs: 0 };
  return { clock, limits: new RateLimiter({ perMinute, monotonic: () => clock.nowMs, ...more }) };
}

const times = <T>(count: number, work: () => T): T[] => Array.from({ length: count }, work);

describe("a rate limiter", () => {
  test("counts each key separately", () => {
    const { limits } = limiter(20);
    times(20, () => limits.takeForKey("one"));
    expect(limits.takeForKey("one")?.isAllowed).toBe(false);
    expect(limits.takeForKey("other")?.isAllowed).toBe(true);
  });

  test("allows a network a tenth as many wrong keys, and then does not look up unknown keys", () => {
    const { clock, limits } = limiter(20);
    expect(limits.takeForNetwork("net")).toMatchObject({ isAllowed: true, limit: 2 });
    expect(limits.mayTry({ key: "guess", network: "net" })).toBe(true);
    limits.takeForNetwork("net");
    expect(limits.mayTry({ key: "guess", network: "net" })).toBe(false);
    expect(limits.mayTry({ key: "guess", network: "another" })).toBe(true);
    clock.nowMs = 30_000;
    expect(limits.mayTry({ key: "guess", network: "net" })).toBe(true);
  });

  test("looks up keys in use, whatever their network has sent", () => {
    const { limits } = limiter(20);
    limits.takeForKey("good");
    times(3, () => limits.takeForNetwork("net"));
    expect(limits.mayTry({ key: "good", network: "net" })).toBe(true);
  });

  test("with 0 nothing is limited and no limit is reported", () => {
    const { limits } = limiter(0);
    expect(limits.takeForKey("one")).toBeNull();
    expect(limits.takeForNetwork("net")).toBeNull();
    expect(limits.mayTry({ key: "one", network: "net" })).toBe(true);
  });

  test("keeps a bounded number of buckets and drops the least recently used ones first", () => {
    const { limits } = limiter(1, { bucketsMax: 2 });
    limits.takeForKey("one");
    limits.takeForKey("two");
    limits.takeForKey("one");
    limits.takeForKey("three");
    expect(limits.takeForKey("one")?.isAllowed).toBe(false);
    expect(limits.takeForKey("two")?.isAllowed).toBe(true);
  });
});

test("a Terraform plan over 500 checks passes at once by default", () => {
  const { limits } = limiter(DEFAULT_API_REQUESTS_PER_MINUTE);
  const listsAndReads = times(500 + 500, () => limits.takeForKey("terraform")?.isAllowed);
  expect(listsAndReads.every(Boolean)).toBe(true);
});
