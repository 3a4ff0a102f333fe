// Slack, and other chat servers that accept its requests.
import { expect, test } from "vitest";
import { useReceivers } from "../open-receiver.ts";
import { DOWN } from "../sample-messages.ts";

const open = useReceivers();

test.each([
  ["https://hooks.slack.com/services/T0/B0/x", true],
  ["https://chat.example.org/hooks/x", false],
  ["https://hooks.slack.com.example.org/x", false],
])("404 from %s ends the channel: %s", async (url, permanent) => {
  const http = { send: async () => ({ status: 404, headers: {}, text: "404 page not found" }) };
  const { send } = await open("slack", { http });
  expect(await send(DOWN, { config: { url } })).toMatchObject({ kind: "failed", permanent });
});
