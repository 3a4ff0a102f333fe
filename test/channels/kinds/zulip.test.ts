// Zulip: topics, and to whom messages go.
import { expect, test } from "vitest";
import type { AlertMessage } from "../../../src/core/message.ts";
import { useReceivers } from "../open-receiver.ts";
import { CONFIGS } from "../sample-kinds.ts";
import { DOWN, GROUP_DOWN, GROUP_UP, GROUP_UPDATE, NOTICE, UP } from "../sample-messages.ts";

const open = useReceivers();

/** The forms that are sent for messages. */
async function formsOf(messages: readonly AlertMessage[], changes: object = {}) {
  const { send, receiver } = await open("zulip");
  for (const message of messages) {
    const config = { ...CONFIGS["zulip"], ...changes };
    expect(await send(message, { config })).toMatchObject({ kind: "sent" });
  }
  expect(receiver.problems).toEqual([]);
  return receiver.received.map(({ body }) => Object.fromEntries(new URLSearchParams(body)));
}

test("all messages about a check are in one topic, and so are those about an incident", async () => {
  const forms = await formsOf([DOWN, UP, GROUP_DOWN, GROUP_UPDATE, GROUP_UP, NOTICE]);
  const [check, group] = ["Nightly <backup> of *db_1*", "Incident #42 in Shop & Sons"];
  const notice = "Monitoring gap: Nightly <backup> of *db_1* and 11 more";
  expect(forms.map(({ topic }) => topic)).toEqual([check, check, group, group, group, notice]);
});

test("a topic of the owner's is used for everything", async () => {
  const forms = await formsOf([DOWN, GROUP_UP], { topic: "alerts" });
  expect(forms.map(({ topic }) => topic)).toEqual(["alerts", "alerts"]);
});

test.each([
  ["ada@example.org", '["ada@example.org"]'],
  ["12", "[12]"],
])("a direct message to %s has no topic", async (to, sent) => {
  const [form] = await formsOf([DOWN], { mtype: "private", to });
  expect(form).toMatchObject({ type: "private", to: sent });
  expect(form).not.toHaveProperty("topic");
});

test("a channel that does not exist ends it", async () => {
  const { send } = await open("zulip");
  const config = { ...CONFIGS["zulip"], to: "nowhere" };
  expect(await send(DOWN, { config })).toMatchObject({
    permanent: true,
    reason: "The channel does not exist (HTTP 400)",
  });
});
