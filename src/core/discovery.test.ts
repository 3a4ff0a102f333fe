// Slugs, tags and grace periods of proposed checks.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { boundedGrace, numbered, proposedGrace, proposedSlug, proposedTags } from "./discovery.ts";
import { isSlug } from "./identity.ts";
import { PERIOD_SECONDS_MAX, TAGS_LENGTH_MAX } from "./limits.ts";

const NOW = Date.parse("2026-11-17T12:00:00Z");

describe("a grace period", () => {
  test.each([
    ["* * * * *", 300],
    ["*/10 * * * *", 600],
    ["0 * * * *", 3_600],
    ["0 3 * * *", 3_600],
    ["0,20 9-17 * * 1-5", 1_200],
    ["0 0 29 2 *", 3_600],
  ])("of %s is %i seconds", (schedule, seconds) => {
    expect(proposedGrace({ schedule, tz: "UTC" }, NOW)).toBe(seconds);
  });

  test("of a period", () => {
    expect(proposedGrace({ periodSeconds: 60 }, NOW)).toBe(300);
    expect(proposedGrace({ periodSeconds: 86_400 }, NOW)).toBe(3_600);
  });

  test("is within the limits of a check", () => {
    expect([boundedGrace(1), boundedGrace(90.5), boundedGrace(1e9)]).toEqual([60, 91, PERIOD_SECONDS_MAX]);
  });
});

describe("a slug", () => {
  test("is made of the machine and the job, once", () => {
    const taken = new Set<string>();
    const slugs = ["Nightly backup", "nightly-backup", "app@1.service"].map((name) =>
      proposedSlug(["web1", name], taken),
    );
    expect(slugs).toEqual(["web1-nightly-backup", "web1-nightly-backup-2", "web1-app-1-service"]);
    expect(proposedSlug(["日", "本"], taken)).toBe("job");
  });

  test("is valid, whatever the names are", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 150 }), { maxLength: 3 }), (names) => {
        const taken = new Set<string>();
        const slugs = [1, 2, 3].map(() => proposedSlug(names, taken));
        expect(new Set(slugs).size).toBe(3);
        for (const slug of slugs) expect([slug, isSlug(slug) && slug !== ""]).toEqual([slug, true]);
      }),
    );
  });

  test("can be numbered", () => {
    expect([numbered("a", 1), numbered("a", 12)]).toEqual(["a", "a-12"]);
  });
});

test("tags that do not fit are left out", () => {
  expect(proposedTags(["host:web 1", "cron"])).toBe("host:web-1 cron");
  expect(proposedTags(["a", "b".repeat(TAGS_LENGTH_MAX), "c"])).toBe("a c");
});
