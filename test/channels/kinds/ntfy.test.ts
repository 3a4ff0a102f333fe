// ntfy: tokens and priorities.
import { describe, expect, test } from "vitest";
import { useReceivers } from "../open-receiver.ts";
import { KEYS, sampleChannel } from "../sample-kinds.ts";
import { DOWN, UP } from "../sample-messages.ts";

const open = useReceivers();

describe("ntfy", () => {
  test("gets the token of the channel, and that of the server only on the public server", async () => {
    const own = { topic: "a", token: "tk_own-token" };
    const elsewhere = { topic: "a", url: "https://ntfy.example.org" };
    const { receiver, send } = await open("ntfy", { keys: { ...KEYS, ntfyShToken: "tk_installation" } });
    for (const config of [own, { topic: "a" }, elsewhere]) await send(DOWN, { config });
    expect(receiver.received.map(({ headers }) => headers.authorization)).toEqual([
      "Bearer tk_own-token",
      "Bearer tk_installation",
      undefined,
    ]);
  });

  test("tells the admins of a refused token only if it is the server's", async () => {
    const { receiver, send } = await open("ntfy", { keys: { ...KEYS, ntfyShToken: "tk_installation" } });
    receiver.behave({
      kind: "answer",
      answer: { status: 401, body: { code: 40_101, error: "unauthorized" } },
    });
    expect(await send(DOWN, { config: { topic: "a" } })).toMatchObject({ permanent: false, isOurs: true });
    for (const config of [
      { topic: "a", token: "tk_own-token" },
      { topic: "a", url: "https://ntfy.example.org" },
    ]) {
      expect(await send(DOWN, { config })).not.toHaveProperty("isOurs");
    }
  });

  test("notifies for events that have a priority", async () => {
    const { receiver, send, sender } = await open("ntfy");
    const channel = sampleChannel("ntfy", { topic: "a", priority: 0, priority_up: 5 });
    expect((["down", "up", "notice"] as const).map((what) => sender.isSubscribed(channel, what))).toEqual([
      false,
      true,
      true,
    ]);
    expect(await send(UP, { config: channel.config })).toMatchObject({ kind: "sent" });
    expect(receiver.received[0]?.json["priority"]).toBe(5);
  });
});
