import { expect, test } from "vitest";
import { monthOf, nextMonthOf, quotaReason, takeFromQuota } from "./quota.ts";

const at = (text: string) => Date.parse(text);

test.each([
  ["2026-11-15T04:00:07Z", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"],
  ["2026-11-01T00:00:00Z", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"],
  ["2026-11-30T23:59:59.999Z", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"],
  ["2026-12-31T23:59:59.999Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"],
  ["2028-02-29T12:00:00Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"],
])("%s is in the month from %s to %s", (now, from, to) => {
  expect([monthOf(at(now)), nextMonthOf(at(now))]).toEqual([at(from), at(to)]);
});

const NOW = at("2026-11-15T04:00:07Z");
const NOVEMBER = at("2026-11-01T00:00:00Z");
const OCTOBER = at("2026-10-01T00:00:00Z");

test.each([
  ["nothing was used", null, { limit: 10, count: 3 }, 3, 3],
  ["there is room", { monthAt: NOVEMBER, usedCount: 6 }, { limit: 10, count: 4 }, 4, 10],
  ["there is room for some", { monthAt: NOVEMBER, usedCount: 8 }, { limit: 10, count: 4 }, 2, 10],
  ["the limit is reached", { monthAt: NOVEMBER, usedCount: 10 }, { limit: 10, count: 4 }, 0, 10],
  ["the limit was lowered", { monthAt: NOVEMBER, usedCount: 10 }, { limit: 5, count: 1 }, 0, 10],
  ["nothing is allowed", null, { limit: 0, count: 1 }, 0, 0],
  ["a month has begun", { monthAt: OCTOBER, usedCount: 10 }, { limit: 10, count: 1 }, 1, 1],
])("when %s", (_what, use, { limit, count }, taken, usedCount) => {
  expect(takeFromQuota(use, { limit, now: NOW, count })).toEqual({
    taken,
    use: { monthAt: NOVEMBER, usedCount },
  });
});

test("the reason names the limit and when it resets", () => {
  expect(quotaReason({ quota: "messages", limit: 10_000 }, NOW)).toBe(
    "The account has reached its limit of 10000 text and WhatsApp messages per month, which resets on 2026-12-01 00:00 UTC",
  );
  expect(quotaReason({ quota: "calls", limit: 5 }, at("2026-12-31T23:00:00Z"))).toBe(
    "The account has reached its limit of 5 phone calls per month, which resets on 2027-01-01 00:00 UTC",
  );
});
