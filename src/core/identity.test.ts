// Syntax and creation of UUIDs, slugs, tags and keys, with known examples and arbitrary texts.
import { createHash, randomUUID } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  hasSlugCharacters,
  isAccessTokenShaped,
  isKeyShaped,
  isSlug,
  isUniqueKey,
  isUuid,
  KEY_PREFIX,
  newAccessToken,
  newApiKey,
  newPingKey,
  newProjectIds,
  newUuidIn,
  type RandomText,
  slotOf,
  slugify,
  splitTags,
  withTag,
  uniqueKey,
  uuidOfAnyCase,
} from "./identity.ts";
import { mailboxTarget } from "./signal.ts";

const sha1Hex = (text: string) => createHash("sha1").update(text).digest("hex");
const lastOfAlphabet: RandomText = ({ alphabet, length }) => (alphabet.at(-1) ?? "").repeat(length);
const UUID = "31365bce-8da9-4729-8ff3-aaa71d56b712";

describe("UUIDs", () => {
  test.each([
    ["a UUID in lower case", UUID, true],
    ["any version, the nil one too", "00000000-0000-0000-0000-000000000000", true],
    ["capitals", UUID.toUpperCase(), false],
    ["no hyphens", UUID.replaceAll("-", ""), false],
    ["hyphens in other places", "31365bce8-da9-4729-8ff3-aaa71d56b712", false],
    ["a letter beyond f", UUID.replace("a", "g"), false],
    ["a new line at the end", `${UUID}\n`, false],
    ["a space in front", ` ${UUID}`, false],
    ["braces", `{${UUID}}`, false],
    ["nothing", "", false],
  ])("in a path, %s: %j is %s", (_, text, expected) => {
    expect(isUuid(text)).toBe(expected);
  });

  test("a run id may come in capitals and is kept in lower case", () => {
    expect(uuidOfAnyCase(UUID.toUpperCase())).toBe(UUID);
    expect(uuidOfAnyCase(UUID)).toBe(UUID);
    expect(uuidOfAnyCase("")).toBeNull();
    expect(uuidOfAnyCase(UUID.replaceAll("-", ""))).toBeNull();
  });

  test("every UUID is accepted in any letter case", () => {
    fc.assert(
      fc.property(fc.uuid(), (uuid) => {
        expect(isUuid(uuid)).toBe(true);
        expect(uuidOfAnyCase(uuid.toUpperCase())).toBe(uuid);
      }),
    );
  });
});

describe("slugs", () => {
  test.each([
    ["Hello World", "hello-world"],
    ["a.b.c", "abc"],
    ["Foo's / bar", "foos-bar"],
    ["A_B-C", "a_b-c"],
    ["__a__", "a"],
    ["Straße ½", "strae-12"],
    ["日本", ""],
    ["Ünïcödé", "unicode"],
    ["  spaces  ", "spaces"],
    ["a--b", "a-b"],
    ["a - b", "a-b"],
    ["-x-", "x"],
    ["UPPER", "upper"],
    ["100%", "100"],
    ["tab\tname", "tab-name"],
    ["æøå", "a"],
    ["ﬁ ligature", "fi-ligature"],
    ["😀 smile", "smile"],
    ["é", "e"],
    ["a_", "a"],
    ["ǅ", "dz"],
    ["no\u00a0break", "no-break"],
    ["line\u2028separator", "lineseparator"],
    ["", ""],
  ])("of the name %j is %j", (name, slug) => {
    expect(slugify(name)).toBe(slug);
  });

  test("a name that unfolds into more characters than a slug may have is truncated, and ends in no hyphen", () => {
    const unfolding = "㎯".repeat(100);
    expect(slugify(unfolding)).toHaveLength(100);
    expect(slugify(`${"a".repeat(99)} b`)).toBe("a".repeat(99));
  });

  test("whatever the name, its slug is valid, and the slug of the slug is itself", () => {
    const anyText = fc
      .array(fc.integer({ min: 0, max: 0x10ffff }), { maxLength: 150 })
      .map((points) => String.fromCodePoint(...points));
    fc.assert(
      fc.property(fc.oneof(anyText, fc.string()), (name) => {
        const slug = slugify(name);
        expect(isSlug(slug)).toBe(true);
        expect(slugify(slug)).toBe(slug);
        expect(slug).not.toMatch(/^[-_]|[-_]$|--/);
      }),
    );
  });

  test.each([
    ["a-z, 0-9, hyphen and underscore", "a-z_09", true],
    ["hyphens only", "---", true],
    ["none at all", "", true],
    ["100 characters", "x".repeat(100), true],
    ["101 characters", "x".repeat(101), false],
    ["a capital", "A", false],
    ["a space", "a b", false],
    ["a letter outside ASCII", "ā", false],
    ["a new line at the end", "a\n", false],
  ])("with %s: valid is %s", (_, slug, expected) => {
    expect(isSlug(slug)).toBe(expected);
  });

  test("length and characters are distinguished", () => {
    expect(hasSlugCharacters("x".repeat(101))).toBe(true);
    expect(hasSlugCharacters("X")).toBe(false);
  });
});

describe("tags", () => {
  test.each([
    ["", []],
    ["   ", []],
    ["prod db", ["prod", "db"]],
    [" a  b ", ["a", "b"]],
    ["a,b  c\td", ["a,b", "c\td"]],
  ])("of %j are parted by spaces only", (tags, expected) => {
    expect(splitTags(tags)).toEqual(expected);
  });

  test.each([
    ["a b", { tag: "c", isOn: true }, "a b c"],
    ["a b", { tag: "a", isOn: true }, "a b"],
    ["a  b ", { tag: "a", isOn: false }, "b"],
    ["a  b ", { tag: "c", isOn: false }, "a  b "],
    ["", { tag: "c", isOn: true }, "c"],
  ])("%j with %j are %j", (tags, change, expected) => {
    expect(withTag(tags, change)).toBe(expected);
  });

  test("a check has exactly the tags it is split into", () => {
    const tag = fc.string({ minLength: 1 }).filter((text) => !text.includes(" "));
    fc.assert(
      fc.property(fc.array(tag), (tags) => {
        expect(splitTags(tags.join(" "))).toEqual(tags);
      }),
    );
  });
});

describe("unique keys", () => {
  test.each([
    ["31365bce-8da9-4729-8ff3-aaa71d56b712", "a6c7b0a8a66bed0df66abfdab3c77736861703ee"],
    ["803f680d-e89b-492b-82ef-2be7b774a92d", "124f983e0e3dcaeba921cfcef46efd084576e783"],
  ])("the one of %s is the one that clients have stored", (uuid, expected) => {
    expect(uniqueKey(uuid, sha1Hex)).toBe(expected);
  });

  test("a unique key looks like one, and never like a UUID", () => {
    fc.assert(
      fc.property(fc.uuid(), (uuid) => {
        const key = uniqueKey(uuid, sha1Hex);
        expect(isUniqueKey(key)).toBe(true);
        expect(isUuid(key)).toBe(false);
        expect(isUniqueKey(uuid)).toBe(false);
      }),
    );
    expect(isUniqueKey("0".repeat(39))).toBe(false);
    expect(isUniqueKey(`${"0".repeat(39)}-`)).toBe(false);
  });
});

describe("keys", () => {
  test("a new API key has 32 characters, and its first four show its kind", () => {
    for (const kind of ["readWrite", "readOnly"] as const) {
      const key = newApiKey({ kind, projectUuid: UUID }, lastOfAlphabet);
      expect(key).toBe(`${KEY_PREFIX[kind]}313${"Z".repeat(25)}`);
      expect(isKeyShaped(key)).toBe(true);
    }
    expect(KEY_PREFIX).toEqual({ readWrite: "odw_", readOnly: "odr_" });
  });

  test("a text of another length is no key", () => {
    expect(isKeyShaped("x".repeat(32))).toBe(true);
    expect(isKeyShaped("x".repeat(31))).toBe(false);
    expect(isKeyShaped("x".repeat(33))).toBe(false);
    expect(isKeyShaped("")).toBe(false);
  });

  test("a ping key has 22 characters of a-z and 0-9, so that it is never taken for an API key", () => {
    const key = newPingKey(UUID, lastOfAlphabet);
    expect(key).toBe(`313${"z".repeat(19)}`);
    expect(isKeyShaped(key)).toBe(false);
  });
});

describe("slots", () => {
  const uuidV4 = fc.uuid({ version: 4 });
  const VERSION_4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

  test.each([
    ["a UUID", UUID, "313"],
    ["a ping key", "0af6tt7q1zzzzzzzzzzzzz", "0af"],
    ["a read-write key", "odw_0afXYZ", "0af"],
    ["a read-only key", "odr_fffXYZ", "fff"],
  ])("are read from %s", (_, id, slot) => {
    expect(slotOf(id)).toBe(slot);
  });

  test("every id of a project has its slot, the rest is random, and the format is unchanged", () => {
    fc.assert(
      fc.property(uuidV4, uuidV4, (projectUuid, random) => {
        const slot = projectUuid.slice(0, 3);
        const inProject = newUuidIn(projectUuid, () => random);
        expect(inProject).toBe(slot + random.slice(3));
        expect(inProject).toMatch(VERSION_4);
        expect(mailboxTarget(inProject)).toEqual({ by: "uuid", uuid: inProject });

        const uuids = [projectUuid, random];
        const ids = newProjectIds({ uuid: () => uuids.shift() ?? "", text: lastOfAlphabet });
        expect(ids).toEqual({
          uuid: projectUuid,
          badgeKey: inProject,
          pingKey: newPingKey(projectUuid, lastOfAlphabet),
        });
        expect(mailboxTarget(`${ids.pingKey}+job`)).toEqual({
          by: "slug",
          pingKey: ids.pingKey,
          slug: "job",
        });

        const keys = (["readWrite", "readOnly"] as const).map((kind) =>
          newApiKey({ kind, projectUuid }, lastOfAlphabet),
        );
        for (const id of [...Object.values(ids), ...keys]) expect(slotOf(id)).toBe(slot);
      }),
    );
  });

  test("of a cell are kept, and those of others replaced by one of its own that is always the same", () => {
    const slots = ["000", "7ff"];
    fc.assert(
      fc.property(uuidV4, uuidV4, (projectUuid, random) => {
        const inProject = newUuidIn(projectUuid, () => random, slots);
        expect(slots).toContain(slotOf(inProject));
        expect(inProject.slice(3)).toBe(random.slice(3));
        const ids = newProjectIds({ uuid: () => projectUuid, text: lastOfAlphabet }, slots);
        const key = newApiKey({ kind: "readWrite", projectUuid }, lastOfAlphabet, slots);
        for (const id of [...Object.values(ids), key]) expect(slotOf(id)).toBe(slotOf(inProject));
        expect(ids.uuid.slice(3)).toBe(projectUuid.slice(3));
      }),
    );
    expect(slotOf(newUuidIn(`7ff${UUID.slice(3)}`, () => UUID, slots))).toBe("7ff");
  });

  test("leave enough random characters", () => {
    const bits: number[] = [];
    const measure: RandomText = ({ alphabet, length }) => {
      bits.push(Math.floor(length * Math.log2(new Set(alphabet).size)));
      return "";
    };
    newApiKey({ kind: "readWrite", projectUuid: UUID }, measure);
    newPingKey(UUID, measure);
    expect(bits).toEqual([148, 98]);
  });

  test("of new projects are evenly distributed", () => {
    const perSlot = 16;
    const counts = new Map<string, number>();
    for (let n = 0; n < 4096 * perSlot; n += 1) {
      const slot = slotOf(newProjectIds({ uuid: randomUUID, text: lastOfAlphabet }).uuid);
      counts.set(slot, (counts.get(slot) ?? 0) + 1);
    }
    expect(counts.size).toBe(4096);
    const chiSquare = [...counts.values()].reduce((sum, count) => sum + (count - perSlot) ** 2 / perSlot, 0);
    // 4,095 degrees of freedom: the mean is 4,095 and the standard deviation 90. The bounds are 7 of them away.
    expect(chiSquare).toBeGreaterThan(4095 - 7 * 90);
    expect(chiSquare).toBeLessThan(4095 + 7 * 90);
  });
});

test("a personal access token has a prefix of its own and 43 characters of base64url", () => {
  const alphabet = new Set<string>();
  const token = newAccessToken(({ alphabet: given, length }) => {
    for (const one of given) alphabet.add(one);
    return given.slice(-length);
  });
  expect(alphabet.size).toBe(64);
  expect(token).toMatch(/^ovd_[\w-]{43}$/);
  expect(isAccessTokenShaped(token)).toBe(true);
  expect(isAccessTokenShaped(`${token}x`)).toBe(false);
  expect(isKeyShaped(token)).toBe(false);
});
