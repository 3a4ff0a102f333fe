// The channels parameter: every way to name an integration, and every invalid value.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ChannelIdentity, resolveChannels } from "./channel.ts";

const OPS = { uuid: "11111111-1111-4111-8111-111111111111", name: "Ops" };
const HOOK = { uuid: "22222222-2222-4222-8222-222222222222", name: "Hook" };
const TWIN_A = { uuid: "33333333-3333-4333-8333-333333333333", name: "Twin" };
const TWIN_B = { uuid: "44444444-4444-4444-8444-444444444444", name: "Twin" };
const UNNAMED = { uuid: "55555555-5555-4555-8555-555555555555", name: "" };
const POSING = { uuid: "66666666-6666-4666-8666-666666666666", name: "abababab-abab-4bab-8bab-abababababab" };
const SPACED = { uuid: "77777777-7777-4777-8777-777777777777", name: " spaced  name ā" };
const ALL = [OPS, HOOK, TWIN_A, TWIN_B, UNNAMED, POSING, SPACED];

const uuids = (...channels: ChannelIdentity[]) => ({ ok: true, value: channels.map(({ uuid }) => uuid) });
const refused = (text: string) => ({ ok: false, text });

describe("the channels parameter", () => {
  test.each([
    ["a star is all integrations", "*", ALL],
    ["the empty text is none", "", []],
    ["a name", "Ops", [OPS]],
    ["a UUID", HOOK.uuid, [HOOK]],
    ["names and UUIDs mixed", `Hook,${OPS.uuid}`, [HOOK, OPS]],
    ["the same twice, by name and by UUID, counts once", `Ops,${OPS.uuid},Ops`, [OPS]],
    ["one of two with the same name, by its UUID", TWIN_B.uuid, [TWIN_B]],
    ["one without a name, by its UUID", UNNAMED.uuid, [UNNAMED]],
    ["a name that looks like a UUID", POSING.name, [POSING]],
    ["a name with spaces, exactly", SPACED.name, [SPACED]],
  ])("%s", (_, param, expected) => {
    expect(resolveChannels(param, ALL)).toEqual(uuids(...expected));
  });

  test("a star in a project without integrations is none", () => {
    expect(resolveChannels("*", [])).toEqual(uuids());
  });

  test.each([
    ["another letter case", "ops", "invalid channel identifier: ops"],
    ["a space in front", " Ops", "invalid channel identifier:  Ops"],
    ["a space after the comma", "Ops, Hook", "invalid channel identifier:  Hook"],
    ["part of a name", "Op", "invalid channel identifier: Op"],
    ["a trimmed name", "spaced  name ā", "invalid channel identifier: spaced  name ā"],
    [
      "a UUID in capitals",
      POSING.uuid.replace("6", "A"),
      "invalid channel identifier: A6666666-6666-4666-8666-666666666666",
    ],
    [
      "a UUID without hyphens",
      OPS.uuid.replaceAll("-", ""),
      `invalid channel identifier: ${"1".repeat(12)}4111811${"1".repeat(13)}`,
    ],
    ["a star among others", "Ops,*", "invalid channel identifier: *"],
    ["a star with a space", "* ", "invalid channel identifier: * "],
    [
      "one that another project has",
      "99999999-9999-4999-8999-999999999999",
      "invalid channel identifier: 99999999-9999-4999-8999-999999999999",
    ],
    ["two with the same name", "Ops,Twin", "non-unique channel identifier: Twin"],
    ["nothing after the comma", "Ops,", "empty channel identifier"],
    ["nothing before the comma", ",Ops", "empty channel identifier"],
    ["nothing between commas", "Ops,,Hook", "empty channel identifier"],
    ["only the first problem is told", "a,", "invalid channel identifier: a"],
  ])("%s is refused", (_, param, text) => {
    expect(resolveChannels(param, ALL)).toEqual(refused(text));
  });

  test("an item that is one integration's UUID and another's name is ambiguous", () => {
    const impostor = { uuid: UNNAMED.uuid, name: OPS.uuid };
    expect(resolveChannels(OPS.uuid, [OPS, impostor])).toEqual(
      refused(`non-unique channel identifier: ${OPS.uuid}`),
    );
  });

  test("an integration named by its own UUID is not ambiguous", () => {
    const narcissus = { uuid: OPS.uuid, name: OPS.uuid };
    expect(resolveChannels(OPS.uuid, [narcissus])).toEqual(uuids(narcissus));
  });

  test("any selection by UUID is what was selected, each once, and nothing is ever made up", () => {
    const channel = fc.record({ uuid: fc.uuid(), name: fc.string() });
    fc.assert(
      fc.property(
        fc.uniqueArray(channel, { selector: ({ uuid }) => uuid, minLength: 1 }),
        fc.infiniteStream(fc.nat()),
        (channels, picks) => {
          const picked = channels.map((one) => channels[(picks.next().value ?? 0) % channels.length] ?? one);
          expect(resolveChannels(picked.map(({ uuid }) => uuid).join(","), channels)).toEqual({
            ok: true,
            value: [...new Set(picked.map(({ uuid }) => uuid))],
          });
        },
      ),
    );
  });

  test("arbitrary texts never yield an integration that does not exist", () => {
    fc.assert(
      fc.property(fc.string(), (param) => {
        const result = resolveChannels(param, ALL);
        if (result.ok) expect(ALL.map(({ uuid }) => uuid)).toEqual(expect.arrayContaining(result.value));
        else expect(result.text).toContain("channel identifier");
      }),
    );
  });
});
