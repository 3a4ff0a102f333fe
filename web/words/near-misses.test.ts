import { describe, expect, test } from "vitest";
import type { NearMiss } from "../../src/contract/api/near-misses.ts";
import { differenceOf, everyText, missText, missTitle } from "./near-misses.ts";

const CHECK = { id: "f618072a-7bde-4eee-af63-71a77c5723bc", name: "Backup", slug: "backup", deletedAt: null };
const MISS: NearMiss = {
  id: 1,
  kind: "slug",
  bySlug: true,
  address: "bakcup",
  check: CHECK,
  deleted: null,
  method: "PUT",
  remoteAddr: null,
  ua: "",
  count: 1,
  weekCount: 1,
  spark: [1],
  firstAt: 0,
  lastAt: 0,
  schedule: null,
  actions: ["alias"],
  ignoredAt: null,
};

test.each([
  [60, "every minute"],
  [900, "every 15 minutes"],
  [21_600, "every 6 hours"],
  [86_400, "every day"],
  [1_209_600, "every 2 weeks"],
])("%i seconds are %s", (seconds, text) => {
  expect(everyText(seconds)).toBe(text);
});

describe("a difference", () => {
  test.each([
    ["nigthly", "nightly", ["nig", "th", "ht", "ly"]],
    ["abc", "abcd", ["abc", "", "d", ""]],
    ["aab", "ab", ["a", "a", "", "b"]],
    ["x", "y", ["", "x", "y", ""]],
    ["same", "same", ["same", "", "", ""]],
  ])("of %s from %s", (given, wanted, parts) => {
    const found = differenceOf(given, wanted);
    expect([found.start, found.given, found.wanted, found.end]).toEqual(parts);
    expect(found.start + found.given + found.end).toBe(given);
    expect(found.start + found.wanted + found.end).toBe(wanted);
  });
});

describe("a near miss", () => {
  const day = () => "2 Oct";
  test.each<[string, Partial<NearMiss>]>([
    ["It looks like Backup, with a mistyped slug", {}],
    ["A job without a check", { check: null }],
    ["It looks like Backup, with a mistyped UUID", { kind: "uuid" }],
    ["A check that was deleted on 2 Oct", { kind: "deleted" }],
    ["Pings can't be sent with PUT", { kind: "method" }],
    ["The end of the URL is not valid", { kind: "suffix" }],
    ["Sent without encryption", { kind: "http" }],
  ])("has the title %s and a sentence", (title, given) => {
    const miss = { ...MISS, ...given };
    expect(missTitle(miss, day)).toBe(title);
    expect(missText(miss)).toMatch(/^[A-Z].*\.$/);
  });

  test("says how regular it is, and that a check can't be restored", () => {
    const deleted = { name: "Old job", at: 0 };
    const schedule = { timeoutSeconds: 21_600, graceSeconds: 3_600 };
    expect(missText({ ...MISS, kind: "deleted", check: null, deleted, schedule })).toBe(
      "Old job can't be restored any more, but its job still sends pings. Requests come every 6 hours.",
    );
  });
});
