// The map of badge URLs: which tags it contains, and the parts of a URL.
import fc from "fast-check";
import { Value } from "typebox/value";
import { describe, expect, test } from "vitest";
import { BadgeListSchema, presentBadges } from "./badges.ts";
import { publicUrls } from "./urls.ts";

const KEY = "0f3a4b5c-1111-4222-8333-444455556666";
const urls = publicUrls({
  siteUrl: "https://example.org/",
  pingUrl: null,
  apiUrl: "https://api.example.org",
});
const present = (...tagTexts: string[]) =>
  presentBadges(tagTexts, { urls, badgeKey: KEY, sign: (tag) => `sig(${tag})` }).badges;

describe("the map of badges", () => {
  test("of a project without tags contains only the overall badges, without a tag in the URL", () => {
    const at = `https://example.org/badge/${KEY}/sig(*)`;
    expect(present()).toEqual({
      "*": {
        svg: `${at}-2.svg`,
        svg3: `${at}.svg`,
        json: `${at}-2.json`,
        json3: `${at}.json`,
        shields: `${at}-2.shields`,
        shields3: `${at}.shields`,
      },
    });
  });

  test("has each tag once, in the order of the alphabet, and all checks last", () => {
    const badges = present("web db", " db  web ", "", "a,b");
    expect(Object.keys(badges)).toEqual(["a,b", "db", "web", "*"]);
    expect(badges["db"]?.svg).toBe(`https://example.org/badge/${KEY}/sig(db)-2/db.svg`);
    expect(badges["db"]?.svg3).toBe(`https://example.org/badge/${KEY}/sig(db)/db.svg`);
  });

  test.each([
    ["db@dc1", "db%2540dc1"],
    ["ā", "%25C4%2581"],
    ["a/b", "a%252Fb"],
    ["a.b", "a.b"],
    ["~x", "~x"],
    ["50%", "50%2525"],
  ])("writes the tag %s as %s, encoded twice", (tag, segment) => {
    expect(present(tag)[tag]?.json).toBe(`https://example.org/badge/${KEY}/sig(${tag})-2/${segment}.json`);
  });

  test("takes a tag called * for all checks", () => {
    expect(present("* db")).toEqual(present("db"));
  });

  test("has a separate entry for a tag with the name of an object property", () => {
    expect(Object.keys(present("__proto__ constructor"))).toEqual(["__proto__", "constructor", "*"]);
    expect(JSON.stringify(present("__proto__"))).toContain('"__proto__":{"svg":');
  });

  test("matches its schema, for any tags", () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (texts) => {
        const list = presentBadges(texts, { urls, badgeKey: KEY, sign: () => "OEpz__M4" });
        expect(Value.Check(BadgeListSchema, list)).toBe(true);
      }),
    );
  });
});
