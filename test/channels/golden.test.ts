// What every kind sends, compared letter by letter with files that somebody has read. `npx vitest run -u` writes them
// anew; read them again then.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readConfig } from "../../src/channels/config/channel-config.ts";
import { kindNamed, KINDS } from "../../src/channels/registry.ts";
import type { OutgoingRequest } from "../../src/lib/outgoing/guarded-http.ts";
import { CONFIGS, DEDUPE_KEY, sampleChannel, sampleSender } from "./sample-kinds.ts";
import { GOLDEN, NOW } from "./sample-messages.ts";

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

async function rendered(kind: string, name: string): Promise<string> {
  const requests: OutgoingRequest[] = [];
  const sender = sampleSender({
    http: {
      send: async (request) => {
        requests.push(request);
        return { status: 200, headers: {}, text: "" };
      },
    },
  });
  const message = GOLDEN[name];
  if (message === undefined) throw new Error(`there is no message ${name}`);
  const sending = { dedupeKey: DEDUPE_KEY, attempt: 1, now: NOW };
  expect(await sender.send(sampleChannel(kind, stored(kind)), message, sending)).toMatchObject({
    kind: "sent",
  });
  return requests.map(asText).join("\n");
}

/** The configuration as the API would have stored it. */
function stored(name: string) {
  const kind = kindNamed(name);
  const read = kind === null ? null : readConfig(kind, CONFIGS[name], { strict: true });
  if (read?.ok !== true) throw new Error(`${name}: ${read?.text}`);
  return read.value;
}

describe.each(KINDS.map(({ name }) => name).filter((name) => !ELSEWHERE.includes(name)))("%s", (kind) => {
  test.each(Object.keys(GOLDEN))("says what was read and found good: %s", async (name) => {
    const path = join(FOLDER, kind, `${name}.txt`);
    await expect(await rendered(kind, name)).toMatchFileSnapshot(path);
    expect(existsSync(path)).toBe(true);
  });
});

test("there is no golden file of something that is not sent", () => {
  const kinds = KINDS.map(({ name }) => name);
  expect(readdirSync(FOLDER).filter((kind) => !kinds.includes(kind))).toEqual([]);
});
