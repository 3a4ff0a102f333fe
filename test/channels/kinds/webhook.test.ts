// Webhooks: signatures, events and headers.
import { beforeEach, describe, expect, test } from "vitest";
import type { AlertMessage } from "../../../src/core/message.ts";
import { WEBHOOK_SECRET } from "../../receivers/kinds/webhook.ts";
import { type Opened, useReceivers } from "../open-receiver.ts";
import { CONFIGS, DEDUPE_KEY, sampleChannel } from "../sample-kinds.ts";
import { DOWN, TEST } from "../sample-messages.ts";

const open = useReceivers();

describe("a webhook", () => {
  let receiver: Opened["receiver"];
  let sender: Opened["sender"];
  let send: Opened["send"];

  beforeEach(async () => {
    ({ receiver, sender, send } = await open("webhook"));
  });

  test("is signed with its secret, the same message under the same id", async () => {
    await send(DOWN);
    expect(receiver.received[0]?.headers["webhook-id"]).toBe(DEDUPE_KEY);
    expect(receiver.problems).toEqual([]);
    const config = { ...CONFIGS["webhook"], secret: "whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0" };
    expect(await send(DOWN, { config })).toMatchObject({ kind: "failed", code: 401 });
    expect(receiver.problems).toEqual(["the signature is wrong"]);
  });

  test("whose owner wants no signature has none", async () => {
    const config = { ...CONFIGS["webhook"], secret: "" };
    await send(DOWN, { config });
    expect(
      Object.keys(receiver.received[0]?.headers ?? {}).filter((name) => name.startsWith("webhook-")),
    ).toEqual([]);
  });

  test("that would be larger than the limit is not sent", async () => {
    const config = { url_down: "https://hooks.example.org/", body_down: "$BODY".repeat(2_000) };
    const lastPing = { ...DOWN.lastPing, body: "x".repeat(100_000) };
    const result = await send({ ...DOWN, lastPing } as AlertMessage, { config });
    expect(result).toMatchObject({
      kind: "failed",
      permanent: true,
      keepsChannel: true,
      reason: expect.stringMatching(/too large/),
    });
    expect(receiver.received).toEqual([]);
  });

  test("notifies for events that have a URL", () => {
    const only = { url_up: "https://hooks.example.org/up" };
    const channel = sampleChannel("webhook", only);
    expect((["down", "up", "notice"] as const).map((what) => sender.isSubscribed(channel, what))).toEqual([
      false,
      true,
      false,
    ]);
  });

  test("that does not notify when a check goes down is tested with an up message", async () => {
    const config = { url_up: "https://hooks.example.org/$STATUS/$NAME", secret: WEBHOOK_SECRET };
    expect(await send(TEST, { config })).toMatchObject({ kind: "sent" });
    expect(receiver.received[0]?.path).toBe("/up/TEST");
  });

  test("may bring its own agent, and nothing that leads astray", async () => {
    const config = {
      url_down: "https://hooks.example.org/",
      headers_down: { "User-Agent": "mine", "X-Name": "$NAME" },
      secret: WEBHOOK_SECRET,
    };
    const settings = { ...DOWN.check.settings, name: "a\r\nX-Smuggled: 1 ā é" };
    const message = { ...DOWN, check: { ...DOWN.check, settings } };
    expect(await send(message, { config })).toMatchObject({ kind: "sent" });
    const { headers } = receiver.received[0] ?? {};
    expect(headers?.["user-agent"]).toBe("mine");
    expect(headers?.["x-smuggled"]).toBeUndefined();
    // Node hands headers over as Latin-1.
    expect(headers?.["x-name"]).toBe("a X-Smuggled: 1 &#257; é");
  });
});
