// Badges: the roll-up of statuses, signatures against known ones, and tags in addresses.
import { createHash, createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  BADGE_LOOK,
  type BadgeHashes,
  badgeLabel,
  badgeSignature,
  encodeTagSegment,
  OVERALL_TAG,
  parseSignatureSegment,
  rollUp,
  type ShownStatus,
  signatureSegment,
  statesOfNumber,
  tagsOfSegment,
} from "./badge.ts";

const HASHES: BadgeHashes = {
  sha1: (text) => createHash("sha1").update(text).digest(),
  hmacSha1: ({ key, message }) => createHmac("sha1", key).update(message).digest(),
};

const STATUSES: readonly ShownStatus[] = ["new", "started", "up", "grace", "down", "paused"];

describe("the roll-up of statuses", () => {
  test.each([
    [[], "up", "up"],
    [["new"], "up", "up"],
    [["paused"], "up", "up"],
    [["started"], "up", "up"],
    [["up"], "up", "up"],
    [["grace"], "up", "late"],
    [["down"], "down", "down"],
    [["up", "grace"], "up", "late"],
    [["grace", "down", "up"], "down", "down"],
    [["paused", "new", "down"], "down", "down"],
  ] as [ShownStatus[], string, string][])(
    "of %j is %s in two states and %s in three",
    (statuses, two, three) => {
      expect(rollUp(statuses, 2).status).toBe(two);
      expect(rollUp(statuses, 3).status).toBe(three);
    },
  );

  test("counts the same in two states as in three", () => {
    const statuses: ShownStatus[] = ["up", "grace", "grace", "new"];
    expect(rollUp(statuses, 2)).toEqual({ status: "up", total: 4, grace: 2, down: 0 });
    expect(rollUp(statuses, 3)).toEqual({ status: "late", total: 4, grace: 2, down: 0 });
  });

  test("does not depend on the order, and only gets worse with another check", () => {
    const rank = { up: 0, late: 1, down: 2 };
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...STATUSES)),
        fc.constantFrom(...STATUSES),
        (statuses, another) => {
          for (const states of [2, 3] as const) {
            const before = rollUp(statuses, states);
            expect(rollUp(statuses.toReversed(), states)).toEqual(before);
            expect(rank[rollUp([...statuses, another], states).status]).toBeGreaterThanOrEqual(
              rank[before.status],
            );
          }
        },
      ),
    );
  });
});

describe("how a badge looks", () => {
  test("each status has its colour and its word for shields", () => {
    expect(BADGE_LOOK).toEqual({
      up: { fill: "#4c1", shieldsColor: "success" },
      late: { fill: "#fe7d37", shieldsColor: "important" },
      down: { fill: "#e05d44", shieldsColor: "critical" },
    });
  });

  test("the label is the tag, the site, or the name of the check", () => {
    expect(badgeLabel({ of: "tag", tag: "db@dc1" })).toBe("db@dc1");
    expect(badgeLabel({ of: "project", siteLabel: "Overdue" })).toBe("Overdue");
    expect(badgeLabel({ of: "check", name: "Job" })).toBe("Job");
  });

  test("a check without a name is called check, so that its UUID stays secret", () => {
    expect(badgeLabel({ of: "check", name: "" })).toBe("check");
  });
});

describe("signatures", () => {
  const badgeKey = "67541b37-8b9c-4d17-b952-690eae";

  test.each([
    [OVERALL_TAG, "OEpz__M4"],
    ["foo", "5nS51Z0P"],
  ])("of the tag %j is the one that the reference server makes", (tag, expected) => {
    expect(badgeSignature({ badgeKey, tag, secret: "---" }, HASHES)).toBe(expected);
  });

  test("are the beginning of the URL-safe base64 of the hash, whatever its bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 20, maxLength: 20 }), (digest) => {
        const hashes: BadgeHashes = { sha1: () => new Uint8Array(), hmacSha1: () => digest };
        const expected = Buffer.from(digest).toString("base64url").slice(0, 8);
        expect(badgeSignature({ badgeKey, tag: "t", secret: "s" }, hashes)).toBe(expected);
      }),
    );
  });

  test.each([
    ["OEpz__M4-2", 2],
    ["OEpz__M4", 3],
    ["OEpz__M4-3", 3],
    ["OEpz__M4xyz", 3],
    ["OEpz__M4-22", 3],
    ["OEpz__M4--2", 3],
  ])("in the segment %j are eight characters, for %i states", (segment, states) => {
    expect(parseSignatureSegment(segment)).toEqual({ signature: "OEpz__M4", states });
  });

  test("a segment can be decoded", () => {
    for (const states of [2, 3] as const) {
      const segment = signatureSegment("5nS51Z0P", states);
      expect(parseSignatureSegment(segment)).toEqual({ signature: "5nS51Z0P", states });
    }
  });

  test("any number of states but 3 means two", () => {
    expect([0, 1, 2, 3, 4, 99].map(statesOfNumber)).toEqual([2, 2, 2, 3, 2, 2]);
  });
});

describe("tags in addresses", () => {
  test.each([
    ["db", "db"],
    ["a_b-c.d~e", "a_b-c.d~e"],
    ["db@dc1", "db%2540dc1"],
    ["ā", "%25C4%2581"],
    ["a/b", "a%252Fb"],
    ["it's(*)!", "it%2527s%2528%252A%2529%2521"],
    ["50%", "50%2525"],
  ])("%j is written %s", (tag, segment) => {
    expect(encodeTagSegment(tag)).toBe(segment);
  });

  test.each([
    ["db%2540dc1", ["db@dc1", "db%40dc1"]],
    ["db%40dc1", ["db@dc1"]],
    ["%C4%81", ["ā"]],
    ["db", ["db"]],
    ["50%25", ["50%"]],
    ["%ff", []],
    ["%", []],
  ])("the segment %s can mean %j", (segment, tags) => {
    expect(tagsOfSegment(segment)).toEqual(tags);
  });

  test("a tag is among the meanings of its address, encoded once or twice", () => {
    const tag = fc.string({ unit: "grapheme", minLength: 1 });
    fc.assert(
      fc.property(tag, (text) => {
        expect(tagsOfSegment(encodeTagSegment(text))[0]).toBe(text);
        expect(tagsOfSegment(encodeURIComponent(text))).toContain(text);
      }),
    );
  });

  test("no segment makes the decoding fail", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("%", "2", "5", "f", "C", "a", "\u0101", "\ud800") }),
        (segment) => {
          expect(tagsOfSegment(segment).length).toBeLessThanOrEqual(2);
          expect(() => encodeTagSegment(segment)).not.toThrow();
        },
      ),
    );
  });
});
