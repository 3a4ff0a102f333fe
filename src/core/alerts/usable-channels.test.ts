// Which channels are notified.
import { expect, test } from "vitest";
import { usableChannels } from "./usable-channels.ts";

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
