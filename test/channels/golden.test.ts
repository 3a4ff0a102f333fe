// What every kind sends, compared letter by letter with files that somebody has read. `npx vitest run -u` writes them
// anew; read them again then.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type ChannelConfig, readConfig } from "../../src/channels/channel-config.ts";
import { eventOf } from "../../src/channels/config-fields.ts";
import { kindNamed, KINDS } from "../../src/channels/registry.ts";
import type { AlertMessage } from "../../src/core/message.ts";
import type { OutgoingRequest } from "../../src/lib/outgoing-http.ts";
import { WEBHOOK_SECRET } from "../receivers/kinds/webhook.ts";
import { CONFIGS, DEDUPE_KEY, RECEIVERS, sampleChannel, sampleSender } from "./sample-kinds.ts";
import {
  ACK_URL,
  ALL,
  CHECK,
  DOWN,
  EXTREME,
  GOLDEN,
  GROUP_DOWN,
  GROUP_EXTREME,
  GROUP_UP,
  NOW,
  REPEAT,
  UP,
} from "./sample-messages.ts";

const FOLDER = join(import.meta.dirname, "golden");

function pretty(body: string, headers: Readonly<Record<string, string>>): string {
  if (headers["Content-Type"] === "application/x-www-form-urlencoded")
    return [...new URLSearchParams(body)].map(([name, value]) => `${name}: ${value}`).join("\n");
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

/** A request as one would write it down. */
function asText({ method, url, headers = {}, body }: OutgoingRequest): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const text = typeof body === "string" ? ["", pretty(body, headers)] : [];
  return [`${method} ${url}`, ...lines, ...text, ""].join("\n");
}

async function rendered(kind: string, message: AlertMessage, config = CONFIGS[kind]): Promise<string> {
  const requests: OutgoingRequest[] = [];
  const accepted = RECEIVERS[kind]?.answers.find(({ means }) => means === "sent");
  const { status, body } = accepted ?? { status: 200, body: "" };
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const sender = sampleSender({
    http: {
      send: async (request) => {
        requests.push(request);
        return { status, headers: {}, text };
      },
    },
  });
  const sending = { dedupeKey: DEDUPE_KEY, attempt: 1, now: NOW };
  expect(await sender.send(sampleChannel(kind, stored(kind, config)), message, sending)).toMatchObject({
    kind: "sent",
  });
  return requests.map((request) => asText(RECEIVERS[kind]?.readable?.(request) ?? request)).join("\n");
}

/** The configuration as the API would have stored it. */
function stored(name: string, config: ChannelConfig | undefined) {
  const kind = kindNamed(name);
  const read = kind === null ? null : readConfig(kind, config, { strict: true });
  if (read?.ok !== true) throw new Error(`${name}: ${read?.text}`);
  return read.value;
}

/** The messages that a channel of the kind gets. */
function heardBy<Message extends AlertMessage>(kind: string, messages: Readonly<Record<string, Message>>) {
  const sender = sampleSender({ http: { send: async () => ({ status: 200, headers: {}, text: "" }) } });
  return Object.entries(messages).filter(
    ([, message]) => message.kind === "test" || sender.isSubscribed(sampleChannel(kind), eventOf(message)),
  );
}

const HTTP_KINDS = KINDS.map(({ name }) => name).filter((name) => RECEIVERS[name] !== undefined);

describe.each(HTTP_KINDS)("%s", (kind) => {
  test.each(heardBy(kind, GOLDEN))("says what was read and found good: %s", async (name, message) => {
    const path = join(FOLDER, kind, `${name}.txt`);
    await expect(await rendered(kind, message)).toMatchFileSnapshot(path);
    expect(existsSync(path)).toBe(true);
  });
});

describe("a webhook that consists of URLs", () => {
  const url = "https://hooks.example.org/overdue";
  const config = { url_down: url, url_up: url, url_notice: url, secret: WEBHOOK_SECRET };
  const { extreme, groupExtreme, ...messages } = ALL;

  test.each(Object.entries(messages))(
    "sends JSON that was read and found good: %s",
    async (name, message) => {
      const path = join(import.meta.dirname, "golden-default", `${name}.txt`);
      const text = await rendered("webhook", message, config);
      expect(text).toContain("Content-Type: application/json\n");
      await expect(text).toMatchFileSnapshot(path);
    },
  );

  test("reveals the ping URL to no receiver, and stays short", async () => {
    for (const message of Object.values(ALL)) {
      expect(await rendered("webhook", message, config)).not.toContain(CHECK.uuid);
    }
    for (const message of [extreme, groupExtreme]) {
      expect((await rendered("webhook", message ?? DOWN, config)).length).toBeLessThan(50_000);
    }
  });

  test("keeps a content type of its owner's, and sends no body by GET", async () => {
    const headers_down = { "content-type": "application/vnd.our+json" };
    const own = await rendered("webhook", DOWN, { ...config, headers_down });
    expect(own).toContain("content-type: application/vnd.our+json\n");
    expect(own).not.toContain("application/json\n");
    const get = await rendered("webhook", DOWN, { ...config, method_down: "GET" });
    expect(get).not.toContain("{");
    expect(get).not.toContain("Content-Type");
  });
});

// The body of a webhook is a template of its owner's.
describe.each(HTTP_KINDS.filter((name) => name !== "webhook"))(
  "a message that is much too long: %s",
  (kind) => {
    test("keeps its link to acknowledge if shorter ones have it", async () => {
      if (!(await rendered(kind, GROUP_DOWN)).includes(ACK_URL)) return;
      const { incident } = GROUP_DOWN;
      for (const message of [{ ...EXTREME, incident }, GROUP_EXTREME]) {
        expect(await rendered(kind, message)).toContain(ACK_URL);
      }
    });

    test("counts the checks that it does not list if it lists any", async () => {
      if (!(await rendered(kind, GROUP_DOWN)).includes(GROUP_DOWN.opened[0]?.name ?? "")) return;
      expect(await rendered(kind, GROUP_EXTREME)).toMatch(/and 99[89]\d more/);
    });
  },
);

test("PagerDuty gets one key for each incident", async () => {
  const keyOf = async (message: AlertMessage) =>
    /"dedup_key": "([^"]+)"/.exec(await rendered("pd", message))?.[1];
  expect(await keyOf(GROUP_UP)).toBe(await keyOf(GROUP_DOWN));
  expect(await keyOf({ ...GROUP_DOWN, incident: { number: 43, ackUrl: null } })).not.toBe(
    await keyOf(GROUP_DOWN),
  );
  expect(await keyOf(REPEAT)).toBe(await keyOf(DOWN));
});

test.each([
  [1, 1, 4],
  [3, 2, 4],
  [5, 2, 5],
])("ntfy priority %i is %i for a low and %i for a high severity", async (priority, low, high) => {
  const config = { topic: "t", priority };
  const of = async (message: AlertMessage) =>
    Number(/"priority": (\d)/.exec(await rendered("ntfy", message, config))?.[1]);
  expect(await of(DOWN)).toBe(priority);
  expect(await of({ ...DOWN, severity: "low" })).toBe(low);
  expect(await of({ ...GROUP_DOWN, severity: "low" })).toBe(low);
  expect(await of({ ...DOWN, severity: "high" })).toBe(high);
  expect(await of({ ...UP, severity: "high" })).toBe(3);
});

test("a webhook template can use the link to acknowledge", async () => {
  const url = "https://hooks.example.org/overdue?ack=$ACK_URL";
  const config = { url_down: url, url_up: url };
  for (const message of [REPEAT, GROUP_DOWN]) {
    expect(await rendered("webhook", message, config)).toContain(
      "?ack=https%3A//overdue.example.org/ack/7.3.5e",
    );
  }
  for (const message of [DOWN, UP, GROUP_UP]) {
    expect(await rendered("webhook", message, config)).toContain("?ack=\n");
  }
});

test("there is no golden file of something that is not sent", () => {
  const kinds = KINDS.map(({ name }) => name);
  expect(readdirSync(FOLDER).filter((kind) => !kinds.includes(kind))).toEqual([]);
});
