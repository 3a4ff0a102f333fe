// Which paths can be badges, and what they name.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeTagSegment } from "../../core/badge.ts";
import { decodeBadgePath, isBadgePath } from "./badges.ts";

const UUID = "0f3a4b5c-1111-4222-8333-444455556666";

describe("the URL of one check's badge", () => {
  test.each([
    ["/b/2/", 2],
    ["/b/3/", 3],
    ["/b/0/", 2],
    ["/b/99/", 2],
  ] as const)("with the prefix %s has %i states", (prefix, states) => {
    const address = { of: "check", format: "svg", states, badgeUuid: UUID };
    expect(decodeBadgePath(`${prefix}${UUID}.svg`)).toEqual(address);
  });

  test.each([
    `/b/x/${UUID}.svg`,
    `/b/-3/${UUID}.svg`,
    `/b//${UUID}.svg`,
    `/b/${UUID}.svg`,
    `/b/2/${UUID}`,
    `/b/2/${UUID}.png`,
    `/b/2/${UUID}.SVG`,
    `/b/2/${UUID.toUpperCase()}.svg`,
    `/b/2/${UUID}/x.svg`,
    `/b/2/${UUID}.svg/`,
    "/b/2/.svg",
    "/b/2/svg",
    "/b/2",
    "/b/",
  ])("is not %s", (path) => {
    expect(decodeBadgePath(path)).toBeNull();
  });
});

describe("the URL of a project's badge", () => {
  test.each([
    ["/badge/key/abcdefgh.json", ["*"], 3],
    ["/badge/key/abcdefgh-2.json", ["*"], 2],
    ["/badge/key/abcdefgh/a.b.json", ["a.b"], 3],
    ["/badge/key/abcdefgh-2/db%2540dc1.json", ["db@dc1", "db%40dc1"], 2],
    ["/badge/key/abcdefgh-2/db%40dc1.json", ["db@dc1"], 2],
    ["/badge/key/abcdefgh-3/x.json", ["x"], 3],
  ] as const)("%s means %j, with %i states", (path, tags, states) => {
    const address = { of: "tags", format: "json", badgeKey: "key", signature: "abcdefgh", tags, states };
    expect(decodeBadgePath(path)).toEqual(address);
  });

  test.each([
    "/badge/key/short/x.svg",
    "/badge/key/short.svg",
    "/badge/key/abcdefgh/x",
    "/badge/key/abcdefgh/x.png",
    "/badge/key/abcdefgh/x/y.svg",
    "/badge/key/abcdefgh",
    "/badge//abcdefgh/x.svg",
    "/badge/k%20y/abcdefgh/x.svg",
    "/badge/key.svg",
    `/badge/key/abcdefgh/${"x".repeat(10_001)}.svg`,
  ])("is not %.60s", (path) => {
    expect(decodeBadgePath(path)).toBeNull();
  });

  test("has no tag if the encoding is invalid", () => {
    expect(decodeBadgePath("/badge/key/abcdefgh/%E0%A4%A.svg")).toMatchObject({ tags: [] });
  });

  test("can name every tag", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1, maxLength: 500 }), (tag) => {
        const decoded = decodeBadgePath(`/badge/key/abcdefgh/${encodeTagSegment(tag)}.svg`);
        expect(decoded?.of === "tags" && decoded.tags.includes(tag)).toBe(true);
      }),
    );
  });
});

test("other paths are not badges", () => {
  expect(["/badge/x", "/b/"].map(isBadgePath)).toEqual([true, true]);
  expect(["/badges/x", "/b", "/badge", "/api/v3/badges/", "/"].map(isBadgePath)).not.toContain(true);
});

test("no path makes the parser throw", () => {
  const part = fc.constantFrom(
    "/b/",
    "/badge/",
    "/",
    ".",
    "svg",
    ".json",
    "%",
    "%25",
    "3",
    UUID,
    "abcdefgh-2",
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(part, fc.string()), { maxLength: 12 }), (parts) => {
      decodeBadgePath(parts.join(""));
    }),
  );
});
