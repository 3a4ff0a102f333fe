// Home Assistant: notifications that replace others, and text that is rendered by nothing.
import { expect, test } from "vitest";
import { startHomeAssistant } from "../../receivers/kinds/homeassistant.ts";
import { useReceivers } from "../open-receiver.ts";
import { DOWN, downNamed, GROUP_DOWN, GROUP_UP, NOTICE, UP } from "../sample-messages.ts";

const open = useReceivers();

test("an up replaces its down in Home Assistant, and nothing else", async () => {
  const { receiver, send } = await open("homeassistant", { started: startHomeAssistant() });
  for (const message of [DOWN, GROUP_DOWN, NOTICE, UP, GROUP_UP]) await send(message);
  expect([...receiver.shown.values()]).toEqual([
    expect.stringMatching(/is UP$/),
    expect.stringMatching(/are UP$/),
    expect.stringMatching(/^Monitoring gap/),
  ]);
});

test.each(["{{ states('lock.door') }}", "{% set a = 1 %}", "{# gone #}", "<b>bold</b>", "a {{{ b"])(
  "Home Assistant shows the name %s as text",
  async (name) => {
    const { receiver, send } = await open("homeassistant");
    expect(await send(downNamed(name))).toMatchObject({ kind: "sent" });
    expect(receiver.problems).toEqual([]);
    expect(String(receiver.received[0]?.json["title"]).replaceAll("\u2060", "")).toContain(name);
  },
);
