// Google Chat: threads, repetitions, and what is a webhook URL.
import { expect, test } from "vitest";
import { CONFIG_RULES } from "../../../src/channels/registry.ts";
import { useReceivers } from "../open-receiver.ts";
import { CHECK, DOWN, GROUP_DOWN, UP } from "../sample-messages.ts";

const open = useReceivers();

test("what comes back up is in the thread of what went down", async () => {
  const { send, receiver } = await open("googlechat");
  for (const message of [DOWN, UP, GROUP_DOWN]) await send(message);
  const [down, up, group] = receiver.received.map(({ json }) => json["thread"]);
  expect(up).toEqual(down);
  expect(group).not.toEqual(down);
  expect(JSON.stringify(down)).not.toContain(CHECK.uuid);
});

test("a repetition makes no second message", async () => {
  const { send } = await open("googlechat");
  const [first, second] = [await send(DOWN), await send(DOWN, { attempt: 2 })];
  expect(first.excerpt).toMatch(/messages\/0"/);
  expect(second.excerpt).toBe(first.excerpt);
});

test("a message of characters that are escaped is small enough", async () => {
  const { send, receiver } = await open("googlechat");
  const long = '"'.repeat(20_000);
  const check = { ...CHECK, settings: { ...CHECK.settings, desc: long, tags: long } };
  await send({ ...DOWN, check, lastPing: DOWN.lastPing && { ...DOWN.lastPing, body: long } });
  expect(receiver.problems).toEqual([]);
});

test.each([
  "https://chat.googleapis.com/v1/spaces/AAA/messages?key=k",
  "https://chat.google.com/room/AAA",
  "https://chat.googleapis.com.example.org/v1/spaces/AAA/messages?key=k&token=t",
])("%s is refused", (url) => {
  expect(CONFIG_RULES.read("googlechat", { url })).toMatchObject({
    ok: false,
    text: expect.stringMatching(/must be a Google Chat webhook URL/),
  });
});
