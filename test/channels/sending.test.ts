// Every kind against a receiver that judges by the provider's documentation: all messages are taken, whatever stands
// in them; what goes wrong is told as it should be; and no secret is in anything that is kept.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ChannelConfig } from "../../src/channels/channel-config.ts";
import type { Sender } from "../../src/channels/sender.ts";
import type { SendResult } from "../../src/core/delivery.ts";
import type { AlertMessage } from "../../src/core/message.ts";
import { type GuardedHttp, guardedHttp } from "../../src/lib/outgoing-http.ts";
import { startDiscord } from "../receivers/discord.ts";
import { startNtfy } from "../receivers/ntfy.ts";
import { type PagerDutyReceiver, startPagerDuty } from "../receivers/pager-duty.ts";
import type { Receiver } from "../receivers/receiver.ts";
import { reroute } from "../receivers/reroute.ts";
import { startSlack } from "../receivers/slack.ts";
import { startTelegram, TELEGRAM_TOKEN, type TelegramReceiver } from "../receivers/telegram.ts";
import { startWebhook } from "../receivers/webhook.ts";
import { CONFIGS, DEDUPE_KEY, sampleChannel, sampleSender, WEBHOOK_SECRET } from "./sample-kinds.ts";
import { ALL, DOWN, MERGED, NOTICE, NOW, TAKEN_BACK, TEST, UP } from "./sample-messages.ts";

const ORIGINS: Readonly<Record<string, readonly string[]>> = {
  webhook: ["https://hooks.example.org"],
  slack: ["https://hooks.slack.com"],
  discord: ["https://discord.com"],
  telegram: ["https://api.telegram.org"],
  ntfy: ["https://ntfy.sh", "https://ntfy.example.org"],
  pd: ["https://events.pagerduty.com", "https://events.eu.pagerduty.com"],
};

const START: Readonly<Record<string, () => Promise<Receiver>>> = {
  webhook: () => startWebhook({ secret: WEBHOOK_SECRET, clock: () => NOW }),
  slack: startSlack,
  discord: startDiscord,
  telegram: startTelegram,
  ntfy: () => startNtfy(),
  pd: startPagerDuty,
};

const KINDS = Object.keys(START);

let http: GuardedHttp;
let receiver: Receiver;
let sender: Sender;

beforeAll(() => {
  http = guardedHttp({ allowPrivate: true, userAgent: "Overdue" });
});

afterAll(() => http.close());

async function open(kind: string, started: Promise<Receiver> | undefined = START[kind]?.()): Promise<void> {
  if (started === undefined) throw new Error(`there is no receiver of ${kind}`);
  receiver = await started;
  const origins = (ORIGINS[kind] ?? []).map((origin) => [origin, receiver.url] as const);
  sender = sampleSender({ http: reroute(http, Object.fromEntries(origins)) });
}

afterEach(() => receiver.close());

function send(
  kind: string,
  message: AlertMessage,
  { config, attempt = 1 }: { config?: ChannelConfig; attempt?: number } = {},
): Promise<SendResult> {
  return sender.send(sampleChannel(kind, config), message, { dedupeKey: DEDUPE_KEY, attempt, now: NOW });
}

/** What must never be seen, for each kind. */
const SECRETS: readonly string[] = [
  WEBHOOK_SECRET,
  TELEGRAM_TOKEN,
  ...Object.values(CONFIGS).flatMap(({ url, routing_key, topic }) => [
    ...(typeof url === "string" ? [url, ...new URL(url).pathname.split("/")] : []),
    ...[routing_key, topic].filter((value) => typeof value === "string"),
  ]),
].filter((secret) => secret.length > 12);

function expectNoSecrets(result: SendResult): void {
  const text = JSON.stringify(result);
  expect(SECRETS.filter((secret) => text.includes(secret))).toEqual([]);
}

describe.each(KINDS)("%s", (kind) => {
  beforeEach(() => open(kind));

  test.each(Object.keys(ALL))("its receiver takes the message: %s", async (name) => {
    const message = ALL[name];
    if (message === undefined) throw new Error(name);
    const result = await send(kind, message);
    expect(receiver.problems).toEqual([]);
    expect(result).toMatchObject({ kind: "sent" });
    expect(receiver.received).toHaveLength(1);
    expect(receiver.received[0]?.headers["user-agent"]).toBe("Overdue");
    expectNoSecrets(result);
  });

  test("what the receiver repeats of a request is kept without secrets", async () => {
    const echo = `cannot POST ${SECRETS.join(" or ")} ${"x".repeat(600)}`;
    receiver.behave({ kind: "answer", answer: { status: 500, body: echo } });
    const result = await send(kind, DOWN);
    expect(result).toMatchObject({
      kind: "failed",
      permanent: false,
      code: 500,
      reason: "Received status code 500",
    });
    const own = JSON.stringify(CONFIGS[kind]) + TELEGRAM_TOKEN;
    const text = JSON.stringify(result);
    expect(SECRETS.filter((secret) => own.includes(secret) && text.includes(secret))).toEqual([]);
    expect(text).toContain("********");
    expect(result.excerpt?.length).toBeLessThanOrEqual(500);
    // Half of a secret is still worth something.
    const [cut = ""] = SECRETS.filter((secret) => own.includes(secret));
    receiver.behave({ kind: "answer", answer: { status: 500, body: "x".repeat(490) + cut } });
    expect((await send(kind, DOWN)).excerpt).not.toContain(cut.slice(0, 6));
  });

  test("a receiver that asks for patience is given it", async () => {
    receiver.behave({ kind: "answer", answer: { status: 429, headers: { "Retry-After": "17" } } });
    expect(await send(kind, DOWN)).toMatchObject({ kind: "failed", permanent: false, retryAfterMs: 17_000 });
    const date = new Date(NOW + 60_000).toUTCString();
    receiver.behave({ kind: "answer", answer: { status: 503, headers: { "Retry-After": date } } });
    expect(await send(kind, DOWN)).toMatchObject({ kind: "failed", code: 503, retryAfterMs: 60_000 });
    receiver.behave({ kind: "answer", answer: { status: 503, headers: { "Retry-After": "soon" } } });
    expect(await send(kind, DOWN)).toMatchObject({ kind: "failed", code: 503, retryAfterMs: null });
  });

  test("a receiver that hangs up leaves it in doubt whether it has taken the message", async () => {
    receiver.behave({ kind: "hang up" });
    const result = await send(kind, DOWN);
    expect(result).toMatchObject({ kind: "failed", permanent: false, code: null, inDoubt: true });
    expectNoSecrets(result);
  });

  test("a receiver that sends us in circles is left", async () => {
    receiver.behave({ kind: "redirect", to: "/elsewhere" });
    const result = await send(kind, DOWN);
    expect(result).toMatchObject({ kind: "failed", reason: "Too many redirects", inDoubt: false });
    expect(receiver.received).toHaveLength(4);
  });

  test("a receiver that is slow is waited for", async () => {
    receiver.behave({ kind: "slow", ms: 300 });
    expect(await send(kind, DOWN)).toMatchObject({ kind: "sent" });
  });

  test("a repetition says the same as the first", async () => {
    await send(kind, DOWN);
    await send(kind, DOWN, { attempt: 2 });
    const [first, second] = receiver.received;
    expect(second?.body).toBe(first?.body);
    expect(second?.path).toBe(first?.path);
  });
});

describe("permanent failures", () => {
  test.each([
    { kind: "slack", status: 404, body: "no_service", isFinal: true },
    { kind: "slack", status: 400, body: "invalid_token", isFinal: true },
    { kind: "slack", status: 400, body: "invalid_payload", isFinal: false },
    { kind: "slack", status: 403, body: "action_prohibited", isFinal: false },
    { kind: "discord", status: 404, body: { message: "Unknown Webhook", code: 10_015 }, isFinal: true },
    { kind: "discord", status: 400, body: { message: "Invalid Form Body" }, isFinal: false },
    { kind: "webhook", status: 404, body: "", isFinal: false },
    { kind: "webhook", status: 410, body: "", isFinal: false },
    { kind: "ntfy", status: 403, body: { error: "forbidden" }, isFinal: false },
    { kind: "pd", status: 400, body: { errors: ["'routing_key' is invalid"] }, isFinal: true },
    { kind: "pd", status: 400, body: { errors: ["'payload.summary' is too long"] }, isFinal: false },
    ...[
      "Forbidden: the group chat was deleted",
      "Forbidden: bot was blocked by the user",
      "Forbidden: user is deactivated",
      "Forbidden: bot was kicked from the group chat",
      "Forbidden: bot was kicked from the supergroup chat",
      "Bad Request: chat not found",
    ].map((description) => ({
      kind: "telegram",
      status: 403,
      body: { ok: false, description },
      isFinal: true,
    })),
    { kind: "telegram", status: 400, body: { ok: false, description: "Bad Request" }, isFinal: false },
    { kind: "telegram", status: 401, body: { ok: false, description: "Unauthorized" }, isFinal: false },
  ])("$kind answers $status $body: $isFinal", async ({ kind, status, body, isFinal }) => {
    await open(kind);
    receiver.behave({ kind: "answer", answer: { status, body } });
    expect(await send(kind, DOWN)).toMatchObject({ kind: "failed", code: status, permanent: isFinal });
  });
});

describe("a webhook", () => {
  beforeEach(() => open("webhook"));

  test("is signed with its secret, the same message under the same id", async () => {
    await send("webhook", DOWN);
    expect(receiver.received[0]?.headers["webhook-id"]).toBe(DEDUPE_KEY);
    expect(receiver.problems).toEqual([]);
    const config = { ...CONFIGS["webhook"], secret: "whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0" };
    expect(await send("webhook", DOWN, { config })).toMatchObject({ kind: "failed", code: 401 });
    expect(receiver.problems).toEqual(["the signature is wrong"]);
  });

  test("whose owner wants no signature has none", async () => {
    const config = { ...CONFIGS["webhook"], secret: "" };
    await send("webhook", DOWN, { config });
    expect(
      Object.keys(receiver.received[0]?.headers ?? {}).filter((name) => name.startsWith("webhook-")),
    ).toEqual([]);
  });

  test("that would be larger than the limit is not sent", async () => {
    const config = { url_down: "https://hooks.example.org/", body_down: "$BODY".repeat(2_000) };
    const lastPing = { ...DOWN.lastPing, body: "x".repeat(100_000) };
    const result = await send("webhook", { ...DOWN, lastPing } as AlertMessage, { config });
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
    expect(await send("webhook", TEST, { config })).toMatchObject({ kind: "sent" });
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
    expect(await send("webhook", message, { config })).toMatchObject({ kind: "sent" });
    const { headers } = receiver.received[0] ?? {};
    expect(headers?.["user-agent"]).toBe("mine");
    expect(headers?.["x-smuggled"]).toBeUndefined();
    // Node hands headers over as Latin-1.
    expect(headers?.["x-name"]).toBe("a X-Smuggled: 1 &#257; é");
  });
});

describe("a Telegram chat", () => {
  let telegram: TelegramReceiver;

  beforeEach(async () => {
    telegram = await startTelegram();
    await open("telegram", Promise.resolve(telegram));
  });

  test("that was converted gets its message under the new ID, which is stored", async () => {
    telegram.migrated.set("-1001234567890", -1_009_876_543_210);
    const result = await send("telegram", DOWN);
    expect(result).toMatchObject({ kind: "sent", config: { chat_id: "-1009876543210", thread_id: 7 } });
    expect(telegram.received.map(({ json }) => json["chat_id"])).toEqual([
      "-1001234567890",
      "-1009876543210",
    ]);
  });

  test("that asks for patience in its own way is given it", async () => {
    const body = {
      ok: false,
      error_code: 429,
      description: "Too Many Requests",
      parameters: { retry_after: 33 },
    };
    telegram.behave({ kind: "answer", answer: { status: 429, body } });
    expect(await send("telegram", DOWN)).toMatchObject({ kind: "failed", retryAfterMs: 33_000 });
  });

  test("that is not connected yet, or has no bot, is not called", async () => {
    const config = { setup_code: "abcdefghijklmnopqrstuvwx" };
    expect(await send("telegram", DOWN, { config })).toMatchObject({
      kind: "failed",
      permanent: false,
      inDoubt: false,
    });
    sender = sampleSender({ http, keys: { telegramToken: null, ntfyShToken: null } });
    const result = await send("telegram", DOWN);
    expect(result).toMatchObject({ kind: "failed", reason: expect.stringMatching(/OVERDUE_TELEGRAM_TOKEN/) });
    expect(telegram.received).toEqual([]);
  });
});

describe("ntfy", () => {
  test("gets the token of the channel, and that of the server only on the public server", async () => {
    const keys = { telegramToken: null, ntfyShToken: "tk_installation" };
    const own = { topic: "a", token: "tk_own-token" };
    const elsewhere = { topic: "a", url: "https://ntfy.example.org" };
    await open("ntfy");
    const origins = Object.fromEntries((ORIGINS["ntfy"] ?? []).map((origin) => [origin, receiver.url]));
    sender = sampleSender({ http: reroute(http, origins), keys });
    for (const config of [own, { topic: "a" }, elsewhere]) await send("ntfy", DOWN, { config });
    expect(receiver.received.map(({ headers }) => headers.authorization)).toEqual([
      "Bearer tk_own-token",
      "Bearer tk_installation",
      undefined,
    ]);
  });

  test("notifies for events that have a priority", async () => {
    await open("ntfy");
    const channel = sampleChannel("ntfy", { topic: "a", priority: 0, priority_up: 5 });
    expect((["down", "up", "notice"] as const).map((what) => sender.isSubscribed(channel, what))).toEqual([
      false,
      true,
      true,
    ]);
    expect(await send("ntfy", UP, { config: channel.config })).toMatchObject({ kind: "sent" });
    expect(receiver.received[0]?.json["priority"]).toBe(5);
  });
});

describe("PagerDuty", () => {
  let pagerDuty: PagerDutyReceiver;

  beforeEach(async () => {
    pagerDuty = await startPagerDuty();
    await open("pd", Promise.resolve(pagerDuty));
  });

  test("opens one incident for a check, however often it is notified, and resolves it", async () => {
    await send("pd", DOWN);
    await send("pd", DOWN, { attempt: 2 });
    expect([...pagerDuty.incidents.values()]).toEqual(["critical"]);
    await send("pd", UP);
    expect(pagerDuty.incidents.size).toBe(0);
  });

  test.each([
    ["recovered before anybody was told", MERGED],
    ["was never down", TAKEN_BACK],
  ])("has nothing left open when the check %s", async (_what, message) => {
    await send("pd", DOWN);
    await send("pd", message);
    expect(pagerDuty.incidents.size).toBe(0);
  });

  test("is warned by a notice, which resolves nothing", async () => {
    await send("pd", DOWN);
    await send("pd", NOTICE);
    expect([...pagerDuty.incidents.values()]).toEqual(["critical", "warning"]);
  });

  test("is called where the account is kept", async () => {
    const urls: string[] = [];
    sender = sampleSender({
      http: {
        send: async ({ url }) => {
          urls.push(url);
          return { status: 202, headers: {}, text: "" };
        },
      },
    });
    await send("pd", DOWN, { config: { ...CONFIGS["pd"], region: "eu" } });
    expect(urls).toEqual(["https://events.eu.pagerduty.com/v2/enqueue"]);
  });
});

test("a group, an unknown kind and a configuration from another time fail without harm", async () => {
  await open("slack");
  for (const [kind, config, reason] of [
    ["group", { members: ["0c8983c9-9d73-446f-adb5-0641fdacc9d4"] }, /through its members/],
    ["pigeon", {}, /does not support channels of kind pigeon/],
    ["slack", {}, /url is required/],
  ] as const) {
    const result = await send(kind, DOWN, { config });
    expect(result).toMatchObject({ kind: "failed", permanent: false, inDoubt: false, code: null });
    expect(result).toMatchObject({ reason: expect.stringMatching(reason) });
  }
  expect(sender.isSubscribed(sampleChannel("pigeon", {}), "down")).toBe(true);
  // What a newer release has added is passed over.
  const config = { ...CONFIGS["slack"], colour: "blue" };
  expect(await send("slack", DOWN, { config })).toMatchObject({ kind: "sent" });
});
