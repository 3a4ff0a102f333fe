// Every kind against a receiver that judges by the provider's documentation: all messages are taken, whatever stands
// in them; what goes wrong is told as it should be; and no secret is in anything that is kept.
import { beforeEach, describe, expect, test } from "vitest";
import { secretsIn } from "../../src/channels/channel-config.ts";
import { eventOf } from "../../src/channels/config-fields.ts";
import { kindNamed, KINDS } from "../../src/channels/registry.ts";
import { exampleMessage } from "../../src/channels/sender.ts";
import type { SendResult } from "../../src/core/delivery.ts";
import type { AlertMessage } from "../../src/core/message.ts";
import type { OutgoingRequest } from "../../src/lib/outgoing-http.ts";
import type { Meaning } from "../receivers/receiver.ts";
import { type Opened, useReceivers } from "./open-receiver.ts";
import { CONFIGS, KEYS, RECEIVERS, sampleChannel } from "./sample-kinds.ts";
import { ALL, DOWN, downNamed, HOSTILE_NAMES, NOW } from "./sample-messages.ts";

const open = useReceivers();
const HTTP_KINDS = KINDS.map(({ name }) => name).filter((name) => RECEIVERS[name] !== undefined);

/** All that must never be seen in what is kept of a message. */
function secretsOf(kind: string): string[] {
  const of = kindNamed(kind);
  const own = of === null ? [] : secretsIn(of, CONFIGS[kind] ?? {});
  return [...own, ...Object.values(KEYS)].filter(
    (secret) => secret !== null && secret.length > 5,
  ) as string[];
}

function expectNoSecrets(kind: string, result: SendResult): void {
  const text = JSON.stringify({ ...result, config: undefined });
  expect(secretsOf(kind).filter((secret) => text.includes(secret))).toEqual([]);
}

const MEANINGS: Readonly<Record<Meaning, object>> = {
  sent: { kind: "sent" },
  gone: { kind: "failed", permanent: true },
  once: { kind: "failed", permanent: true, keepsChannel: true },
  ours: { kind: "failed", permanent: false, isOurs: true },
  wait: { kind: "failed", permanent: false, retryAfterMs: expect.any(Number) },
  retry: { kind: "failed", permanent: false },
};

describe.each(HTTP_KINDS)("%s", (kind) => {
  let opened: Opened;
  beforeEach(async () => {
    opened = await open(kind);
  });
  const isHeard = (message: AlertMessage) => {
    const shown =
      message.kind === "test" ? exampleMessage(message, { uuid: "", direction: "down" }) : message;
    return opened.sender.isSubscribed(sampleChannel(kind), eventOf(shown));
  };

  test.each(Object.entries(ALL))("its receiver takes the message: %s", async (_name, message) => {
    if (!isHeard(message)) return;
    const { send, receiver } = opened;
    const result = await send(message);
    expect(receiver.problems).toEqual([]);
    expect(result).toMatchObject({ kind: "sent" });
    expect(receiver.received.length).toBeGreaterThan(0);
    for (const { headers } of receiver.received) expect(headers["user-agent"]).toBe("Overdue");
    expectNoSecrets(kind, result);
  });

  test.each(HOSTILE_NAMES)("its receiver takes a check named %j as text", async (name) => {
    const { send, receiver } = opened;
    expect(await send(downNamed(name))).toMatchObject({ kind: "sent" });
    expect(receiver.problems).toEqual([]);
  });

  test.each(RECEIVERS[kind]?.answers ?? [])("$status $body means $means", async ({ status, body, means }) => {
    const { send, receiver } = opened;
    receiver.behave({ kind: "answer", answer: { status, body } });
    const result = await send(DOWN);
    expect(result).toMatchObject({ code: status, ...MEANINGS[means] });
    if (means === "gone") expect(result).not.toHaveProperty("keepsChannel");
    expectNoSecrets(kind, result);
  });

  test.each([500, 502, 503])("%i is tried again", async (status) => {
    const { send, receiver } = opened;
    receiver.behave({ kind: "answer", answer: { status, body: "" } });
    expect(await send(DOWN)).toMatchObject({ kind: "failed", permanent: false, code: status });
  });

  test("what the receiver repeats of a request is kept without secrets", async () => {
    const { send, receiver } = opened;
    const secrets = secretsOf(kind);
    const echo = `cannot POST ${secrets.join(" or ")} ${"x".repeat(600)}`;
    receiver.behave({ kind: "answer", answer: { status: 500, body: echo } });
    const result = await send(DOWN);
    expect(result).toMatchObject({
      kind: "failed",
      permanent: false,
      code: 500,
      reason: "Received status code 500",
    });
    expectNoSecrets(kind, result);
    expect(JSON.stringify(result)).toContain("********");
    expect(result.excerpt?.length).toBeLessThanOrEqual(500);
    // Half of a secret is still worth something.
    const [cut = ""] = secrets;
    receiver.behave({ kind: "answer", answer: { status: 500, body: "x".repeat(490) + cut } });
    expect((await send(DOWN)).excerpt).not.toContain(cut.slice(0, 6));
  });

  test("a message that is too large is not tried again", async () => {
    const { send, receiver } = opened;
    receiver.behave({ kind: "answer", answer: { status: 413, body: "" } });
    expect(await send(DOWN)).toMatchObject({ code: 413, ...MEANINGS.once });
  });

  test("credentials are not kept in the form in which they are sent, either", async () => {
    let credentials: string[] = [];
    const send = async ({ headers = {} }: OutgoingRequest) => {
      const text = new Headers(headers).get("authorization") ?? "";
      credentials = text.split(/[ ,]+/).filter((word) => word.length > 40);
      return { status: 500, headers: {}, text };
    };
    const { excerpt } = await (await open(kind, { http: { send }, adminHttp: { send } })).send(DOWN);
    for (const word of credentials) expect(excerpt).not.toContain(word);
  });

  test("a receiver that asks for patience is given it", async () => {
    const { send, receiver } = opened;
    receiver.behave({ kind: "answer", answer: { status: 429, headers: { "Retry-After": "17" } } });
    expect(await send(DOWN)).toMatchObject({ kind: "failed", permanent: false, retryAfterMs: 17_000 });
    const date = new Date(NOW + 60_000).toUTCString();
    receiver.behave({ kind: "answer", answer: { status: 503, headers: { "Retry-After": date } } });
    expect(await send(DOWN)).toMatchObject({ kind: "failed", code: 503, retryAfterMs: 60_000 });
    receiver.behave({ kind: "answer", answer: { status: 503, headers: { "Retry-After": "soon" } } });
    expect(await send(DOWN)).toMatchObject({ kind: "failed", code: 503, retryAfterMs: null });
  });

  test("a receiver that hangs up leaves it in doubt whether it has taken the message", async () => {
    const { send, receiver } = opened;
    receiver.behave({ kind: "hang up" });
    const result = await send(DOWN);
    const meaning = MEANINGS[RECEIVERS[kind]?.isSentOnce === true ? "once" : "retry"];
    expect(result).toMatchObject({ ...meaning, code: null, inDoubt: true });
    expectNoSecrets(kind, result);
  });

  test("a receiver that sends us in circles is left", async () => {
    const { send, receiver } = opened;
    receiver.behave({ kind: "redirect", to: "/elsewhere" });
    const result = await send(DOWN);
    expect(result).toMatchObject({ kind: "failed", reason: "Too many redirects", inDoubt: false });
    expect(receiver.received).toHaveLength(4);
  });

  test("a receiver that is slow is waited for", async () => {
    const { send, receiver } = opened;
    receiver.behave({ kind: "slow", ms: 300 });
    expect(await send(DOWN)).toMatchObject({ kind: "sent" });
  });

  // A receiver that can be asked whether it has the message gets less.
  test("a repetition says nothing but what the first said", async () => {
    const { send, receiver } = opened;
    await send(DOWN);
    const count = receiver.received.length;
    await send(DOWN, { attempt: 2 });
    const said = receiver.received.map(({ method, path, body }) => [method, path, body]);
    expect(said.length).toBeGreaterThan(count);
    expect(said.slice(0, count)).toEqual(expect.arrayContaining(said.slice(count)));
  });
});

test("a group, an unknown kind and a configuration from another time fail without harm", async () => {
  const { sender, send } = await open("slack");
  const sending = { dedupeKey: "k", attempt: 1, now: NOW };
  for (const [kind, config, reason] of [
    ["group", { members: ["0c8983c9-9d73-446f-adb5-0641fdacc9d4"] }, /by its members/],
    ["pigeon", {}, /does not support channels of kind pigeon/],
    ["slack", {}, /url is required/],
  ] as const) {
    const result = await sender.send(sampleChannel(kind, config), DOWN, sending);
    expect(result).toMatchObject({ kind: "failed", permanent: false, inDoubt: false, code: null });
    expect(result).toMatchObject({ reason: expect.stringMatching(reason) });
  }
  expect(sender.isSubscribed(sampleChannel("pigeon", {}), "down")).toBe(true);
  // What a newer release has added is passed over.
  const config = { ...CONFIGS["slack"], colour: "blue" };
  expect(await send(DOWN, { config })).toMatchObject({ kind: "sent" });
});
