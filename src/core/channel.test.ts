// Which fields a channel request may have, and what a change causes.
import { describe, expect, test } from "vitest";
import {
  channelNameProblem,
  DISABLED_BY_OWNER,
  disabledAfter,
  groupProblem,
  groupsWithout,
  mayAddChannel,
  membersOf,
  usableChannels,
} from "./channel.ts";

test.each([
  ["", null],
  ["😀".repeat(100), null],
  ["😀".repeat(101), "name is too long"],
  ["\ud800", "name contains a character that cannot be stored"],
])("the name %j", (name, problem) => {
  expect(channelNameProblem(name)).toBe(problem);
});

describe("whether a channel is disabled after a change", () => {
  const given = { at: 1, reason: "The webhook no longer exists" };
  const own = { at: 1, reason: DISABLED_BY_OWNER };
  test.each([
    ["nothing is said", null, {}, null],
    ["its owner switches it off", null, { isEnabled: false }, { at: 9, reason: DISABLED_BY_OWNER }],
    ["it was off, and is switched off", given, { isEnabled: false }, given],
    ["its owner switches it on", own, { isEnabled: true }, null],
    ["it was given up, and is renamed", given, {}, given],
    ["it was given up, and has a new configuration", given, { config: {} }, null],
    ["its owner has switched it off, and it has a new configuration", own, { config: {} }, own],
    ["both at once", given, { config: {}, isEnabled: false }, given],
  ])("%s", (_, before, change, after) => {
    expect(disabledAfter(before, { ...change, at: 9 })).toEqual(after);
  });
});

describe("groups", () => {
  const slack = { uuid: "a", kind: "slack", name: "", config: {} };
  const group = { uuid: "g", kind: "group", name: "", config: { members: ["a", "b"] } };
  const lonely = { uuid: "l", kind: "group", name: "Night", config: { members: ["a"] } };

  test("have members; other kinds have none, whatever their configuration says", () => {
    expect(membersOf(group)).toEqual(["a", "b"]);
    expect(membersOf({ kind: "group", config: {} })).toEqual([]);
    expect(membersOf({ kind: "slack", config: { members: ["a"] } })).toEqual([]);
  });

  test("hold channels that are there, and no groups", () => {
    expect(groupProblem(["a"], [slack, group])).toBeNull();
    expect(groupProblem(["a", "x"], [slack, group])).toBe("members: the project has no channel x.");
    expect(groupProblem(["g"], [slack, group])).toBe(
      "members: g is a group. Groups cannot contain other groups.",
    );
  });

  test("a deleted channel is removed from its groups, unless one would be empty", () => {
    expect(groupsWithout("a", [slack, group])).toEqual({
      ok: true,
      value: [{ group, config: { members: ["b"] } }],
    });
    expect(groupsWithout("x", [slack, group, lonely])).toEqual({ ok: true, value: [] });
    expect(groupsWithout("a", [group, lonely])).toEqual({
      ok: false,
      text: 'This channel is the only member of the group "Night". Change or delete the group first.',
    });
  });
});

test("a project has so many channels", () => {
  expect([mayAddChannel(99), mayAddChannel(100)]).toEqual([true, false]);
});

// Which channels are notified.

const channel = (uuid: string, more: object = {}) => ({
  uuid,
  kind: "webhook",
  config: {},
  disabledAt: null,
  ...more,
});

test("disabled and unconfirmed channels are not, and a group is with one of its members", () => {
  const channels = [
    channel("on"),
    channel("off", { disabledAt: 1 }),
    channel("asked", { kind: "email" }),
    channel("some", { kind: "group", config: { members: ["off", "on"] } }),
    channel("none", { kind: "group", config: { members: ["off", "asked"] } }),
    channel("off group", { kind: "group", config: { members: ["on"] }, disabledAt: 1 }),
  ];
  const usable = usableChannels(channels, { isConfirmed: ({ kind }) => kind !== "email" });
  expect(usable.map(({ uuid }) => uuid)).toEqual(["on", "some"]);
});
