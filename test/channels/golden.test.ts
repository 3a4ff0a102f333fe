// What every kind sends, compared letter by letter with files that somebody has read. `npx vitest run -u` writes them
// anew; read them again then.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type ChannelConfig, readConfig } from "../../src/channels/channel-config.ts";
import { kindNamed, KINDS } from "../../src/channels/registry.ts";
import type { AlertMessage } from "../../src/core/message.ts";
import type { OutgoingRequest } from "../../src/lib/outgoing-http.ts";
import { CONFIGS, DEDUPE_KEY, sampleChannel, sampleSender, WEBHOOK_SECRET } from "./sample-kinds.ts";
import { ALL, CHECK, DOWN, GOLDEN, NOW } from "./sample-messages.ts";

const FOLDER = join(import.meta.dirname, "golden");

/** A group sends through its members; mails have golden files of their own. */
const ELSEWHERE = ["group", "email"];

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

/** A request as one would write it down. */
function asText({ method, url, headers = {}, body }: OutgoingRequest): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${url}`, ...lines, ...(body === undefined ? [] : ["", pretty(body)]), ""].join("\n");
}

async function rendered(kind: string, message: AlertMessage, config = CONFIGS[kind]): Promise<string> {
  const requests: OutgoingRequest[] = [];
  const sender = sampleSender({
    http: {
      send: async (request) => {
        requests.push(request);
        return { status: 200, headers: {}, text: "" };
      },
    },
  });
  const sending = { dedupeKey: DEDUPE_KEY, attempt: 1, now: NOW };
  expect(await sender.send(sampleChannel(kind, stored(kind, config)), message, sending)).toMatchObject({
    kind: "sent",
  });
  return requests.map(asText).join("\n");
}

/** The configuration as the API would have stored it. */
function stored(name: string, config: ChannelConfig | undefined) {
  const kind = kindNamed(name);
  const read = kind === null ? null : readConfig(kind, config, { strict: true });
  if (read?.ok !== true) throw new Error(`${name}: ${read?.text}`);
  return read.value;
}

describe.each(KINDS.map(({ name }) => name).filter((name) => !ELSEWHERE.includes(name)))("%s", (kind) => {
  test.each(Object.entries(GOLDEN))("says what was read and found good: %s", async (name, message) => {
    const path = join(FOLDER, kind, `${name}.txt`);
    await expect(await rendered(kind, message)).toMatchFileSnapshot(path);
    expect(existsSync(path)).toBe(true);
  });
});

describe("a webhook that consists of URLs", () => {
  const url = "https://hooks.example.org/overdue";
  const config = { url_down: url, url_up: url, url_notice: url, secret: WEBHOOK_SECRET };
  const { extreme, ...messages } = ALL;

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
    expect((await rendered("webhook", extreme ?? DOWN, config)).length).toBeLessThan(50_000);
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

test("there is no golden file of something that is not sent", () => {
  const kinds = KINDS.map(({ name }) => name);
  expect(readdirSync(FOLDER).filter((kind) => !kinds.includes(kind))).toEqual([]);
});
