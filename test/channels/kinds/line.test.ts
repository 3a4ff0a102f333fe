// LINE: repetitions, and what is notified.
import { expect, test } from "vitest";
import { useReceivers } from "../open-receiver.ts";
import { CONFIGS, sampleChannel } from "../sample-kinds.ts";
import { DOWN } from "../sample-messages.ts";

const open = useReceivers();

test("LINE shows a message once although it is sent twice", async () => {
  const { receiver, send } = await open("line");
  expect(await send(DOWN)).toMatchObject({ kind: "sent", code: 200 });
  expect(await send(DOWN, { attempt: 2 })).toMatchObject({ kind: "sent", code: 409 });
  expect(receiver.received.map(({ headers }) => headers["x-line-retry-key"])).toEqual([
    "6f1c1d0c-61b1-4bd0-8c4a-0f4f2f2f9d11",
    "6f1c1d0c-61b1-4bd0-8c4a-0f4f2f2f9d11",
  ]);
});

test("LINE sends no notices unless they are wanted: messages are limited", async () => {
  const { sender } = await open("line");
  const { notice, ...config } = { notice: true, ...CONFIGS["line"] };
  expect(sender.isSubscribed(sampleChannel("line", config), "notice")).toBe(false);
  expect(sender.isSubscribed(sampleChannel("line", { ...config, notice }), "notice")).toBe(true);
});
