// Threema: recipients, and the length of messages in bytes.
import { expect, test } from "vitest";
import { useReceivers } from "../open-receiver.ts";
import { CONFIGS } from "../sample-kinds.ts";
import { DOWN, downNamed } from "../sample-messages.ts";

const open = useReceivers();

test.each([
  ["ECHOECHO", "to", "ECHOECHO"],
  ["+14155550123", "phone", "14155550123"],
  ["ada@example.org", "email", "ada@example.org"],
])("Threema finds the recipient %s by %s", async (recipient, name, value) => {
  const { receiver, send } = await open("threema");
  expect(await send(DOWN, { config: { ...CONFIGS["threema"], recipient } })).toMatchObject({ kind: "sent" });
  expect(new URLSearchParams(receiver.received[0]?.body).get(name)).toBe(value);
});

test("Threema gets no more bytes than it takes, whatever the script", async () => {
  const { receiver, send } = await open("threema");
  const long = "*数* @[ECHOECHO] ".repeat(300);
  const message = downNamed(long);
  const settings = { ...message.check.settings, desc: long, tags: "数".repeat(300) };
  const lastPing = DOWN.lastPing === null ? null : { ...DOWN.lastPing, body: long };
  await send({ ...message, lastPing, check: { ...message.check, settings, projectName: long } });
  expect(receiver.problems).toEqual([]);
  expect(receiver.received).toHaveLength(1);
});
