// Microsoft Teams: URLs that no longer work, and the size of a card in bytes.
import { expect, test } from "vitest";
import { CONFIG_RULES } from "../../../src/channels/registry.ts";
import { useReceivers } from "../open-receiver.ts";
import { CHECK, DOWN } from "../sample-messages.ts";

const open = useReceivers();

test("a connector is refused, because Microsoft has retired connectors", () => {
  const url = "https://contoso.webhook.office.com/webhookb2/1f2e@3d/IncomingWebhook/4c/5b";
  expect(CONFIG_RULES.read("msteamsw", { url })).toMatchObject({
    ok: false,
    text: expect.stringMatching(/retired connectors\. Create a workflow/),
  });
});

test("any other host is taken, and what is encoded in the URL stays so", () => {
  for (const url of [
    "https://prod-1.westeurope.logic.azure.com:443/workflows/a/triggers/manual?sp=%2Ftriggers&sig=x",
    "https://teams.example.org/hook",
    "https://notwebhook.office.com.example.org/",
  ]) {
    expect(CONFIG_RULES.read("msteamsw", { url })).toEqual({ ok: true, value: { url } });
  }
});

test("a card in a script of three bytes for each character is small enough, too", async () => {
  const { send, receiver } = await open("msteamsw");
  const long = "\u6f22".repeat(20_000);
  const { lastPing, check } = DOWN;
  const settings = { ...CHECK.settings, desc: long, tags: long, name: long.slice(0, 500) };
  await send({
    ...DOWN,
    check: { ...check, settings, projectName: long.slice(0, 500) },
    lastPing: lastPing === null ? null : { ...lastPing, body: long },
  });
  expect(receiver.problems).toEqual([]);
  expect(receiver.received[0]?.body.length).toBeGreaterThan(4_000);
});
