// Web Push: what replaces what, what is refused, and messages that are as long as they can be.
import { beforeEach, describe, expect, test } from "vitest";
import { readConfig } from "../../../src/channels/channel-config.ts";
import { webpush } from "../../../src/channels/kinds/webpush.ts";
import type { AlertMessage } from "../../../src/core/message.ts";
import { decryptPush, vapidClaims } from "../../receivers/kinds/webpush.ts";
import type { Receiver } from "../../receivers/receiver.ts";
import { type Opened, useReceivers } from "../open-receiver.ts";
import { CONFIGS, KEYS, SITE } from "../sample-kinds.ts";
import {
  ACK_URL,
  DOWN,
  downNamed,
  EXTREME,
  GROUP_DOWN,
  GROUP_EXTREME,
  GROUP_UP,
  NOTICE,
  REPEAT,
  UP,
} from "../sample-messages.ts";

const open = useReceivers();

describe("Web Push", () => {
  let receiver: Receiver;
  let send: Opened["send"];

  beforeEach(async () => {
    ({ receiver, send } = await open("webpush"));
  });

  const headersOf = async (message: AlertMessage) => {
    expect(await send(message)).toMatchObject({ kind: "sent" });
    return receiver.received.at(-1)?.headers ?? {};
  };
  const payloadOf = async (message: AlertMessage) => {
    expect(await send(message)).toMatchObject({ kind: "sent" });
    const bytes = Buffer.from(receiver.received.at(-1)?.body ?? "", "base64");
    return JSON.parse(decryptPush(bytes)) as Record<string, string>;
  };

  test("a later message about the same incident replaces the earlier one, and no other", async () => {
    const { topic } = await headersOf(DOWN);
    expect((await headersOf(REPEAT))["topic"]).toBe(topic);
    expect((await headersOf(UP))["topic"]).toBe(topic);
    expect((await headersOf(NOTICE))["topic"]).not.toBe(topic);
    const group = (await headersOf(GROUP_DOWN))["topic"];
    expect((await headersOf(GROUP_UP))["topic"]).toBe(group);
    expect(group).not.toBe(topic);
  });

  test("only problems are urgent", async () => {
    const urgency = async (message: AlertMessage) => (await headersOf(message))["urgency"];
    expect([await urgency(DOWN), await urgency(UP), await urgency(NOTICE)]).toEqual([
      "high",
      "normal",
      "low",
    ]);
  });

  test("the longest messages fit, and keep their links", async () => {
    const quoted = downNamed('"'.repeat(100));
    for (const message of [EXTREME, GROUP_EXTREME, quoted, { ...quoted, lastPing: EXTREME.lastPing }]) {
      const { url } = await payloadOf(message);
      expect(url).toMatch(/^https:\/\/overdue\.example\.org\//);
    }
    expect(receiver.problems).toEqual([]);
    expect((await payloadOf(GROUP_EXTREME))["ack"]).toBe(ACK_URL);
  });

  test("a text that leaves no room for its link is shortened", async () => {
    const site = { ...SITE, url: `${SITE.url}/${"x".repeat(2_500)}` };
    const far = await open("webpush", { site });
    for (const message of [EXTREME, GROUP_EXTREME]) {
      expect(await far.send(message)).toMatchObject({ kind: "sent" });
    }
    expect(far.receiver.problems).toEqual([]);
  });

  test("a server without a public https URL names an address instead", async () => {
    const headers: Record<string, string>[] = [];
    const http = {
      send: async (request: { headers?: Readonly<Record<string, string>> }) => {
        headers.push({ ...request.headers });
        return { status: 201, headers: {}, text: "" };
      },
    };
    const local = await open("webpush", { http, site: { ...SITE, url: "http://localhost:8000" } });
    await local.send(DOWN);
    expect(vapidClaims(headers[0]?.["Authorization"] ?? "")).toMatchObject({
      sub: "mailto:overdue@localhost",
    });
  });

  test("a server that is no push service of a browser cannot alarm the admins", async () => {
    const http = { send: async () => ({ status: 403, headers: {}, text: "" }) };
    const config = { ...CONFIGS["webpush"], endpoint: "https://fcm.googleapis.com.example.org/x" };
    const result = await (await open("webpush", { http })).send(DOWN, { config });
    expect(result).toMatchObject({ kind: "failed", permanent: false });
    expect(result).not.toHaveProperty("isOurs");
  });

  test("nothing is sent without a key pair", async () => {
    const without = await open("webpush", { keys: { ...KEYS, vapidPrivateKey: null } });
    expect(await without.send(DOWN)).toMatchObject({ kind: "failed", permanent: false, code: null });
    expect(without.receiver.received).toEqual([]);
  });
});

test.each([
  [{ endpoint: "http://updates.push.services.mozilla.com/x" }, "endpoint must be an https URL."],
  [{ p256dh: "AAAA" }, "p256dh and auth must be the keys of a push subscription."],
  [{ auth: "not base64url!" }, /^auth must be the authentication secret/],
])("a subscription with %j is refused", (wrong, text) => {
  expect(readConfig(webpush, { ...CONFIGS["webpush"], ...wrong }, { strict: true })).toEqual({
    ok: false,
    text: typeof text === "string" ? text : expect.stringMatching(text),
  });
});
