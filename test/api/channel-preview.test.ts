// The preview of a notification by the Overdue API: for every kind, whatever is given, and without a secret.
import { describe, expect, test } from "vitest";
import { secretsIn } from "../../src/channels/channel-config.ts";
import { KINDS } from "../../src/channels/registry.ts";
import type { ChannelKindInfo, ChannelPreview } from "../../src/contract/api/channels.ts";
import { type Asked, useCast } from "../management/cast.ts";
import { CONFIGS } from "../channels/sample-kinds.ts";
import { askApi, SLACK } from "./asking.ts";

/** The server's keys: every kind can be used, and none of them may appear. */
const KEYS = {
  OVERDUE_TELEGRAM_TOKEN: "123456:a-telegram-token",
  OVERDUE_NTFY_SH_TOKEN: "tk_a-token-of-the-server",
  OVERDUE_PUSHOVER_TOKEN: "azGDORePK8gMaC0QOYAMyEEuzJnyUi",
  OVERDUE_MATRIX_TOKEN: "syt_a-token-of-the-server",
  OVERDUE_TWILIO_AUTH_TOKEN: "0123456789abcdef0123456789abcdef",
};
const cast = useCast({
  settings: {
    OVERDUE_API_RATE_LIMIT: "0",
    OVERDUE_TWILIO_ACCOUNT_SID: "ACaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    OVERDUE_TWILIO_FROM: "+14155550100",
    OVERDUE_MATRIX_HOMESERVER: "https://matrix.example.org",
    ...KEYS,
  },
});

const EVENTS = ["down", "up", "notice", "group"] as const;

const ask = (path: string, given: Asked = {}) => askApi(cast, path, { key: cast.owner.rw, ...given });

async function preview(kind: string, config: object, event = "down"): Promise<ChannelPreview> {
  const body = { kind, config, event };
  const reply = await ask("/projects/{project}/channels/preview", { method: "POST", body });
  expect([reply.status, reply.detail]).toEqual([200, ""]);
  return reply.json as unknown as ChannelPreview;
}

/** Together with what is encoded in it. */
function readable(shown: string): string {
  const credentials = [...shown.matchAll(/Basic ([\w+/=]+)/g)].map(([, text = ""]) => atob(text));
  return [
    shown,
    shown.replace(/%[0-9A-F]{2}/gi, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16))),
    ...credentials,
  ].join("\n");
}

test("each kind says where it is listed, how it is set up, and whether an admin has to do something first", async () => {
  const { json } = await ask("/channel-kinds");
  const kinds = json["kinds"] as ChannelKindInfo[];
  expect(kinds.map(({ name }) => name)).toEqual(KINDS.map(({ name }) => name));
  for (const { guide } of kinds) expect(guide.length).toBeGreaterThan(0);
  expect(kinds.find(({ name }) => name === "telegram")).toMatchObject({
    category: "chat",
    icon: "telegram",
    unavailable: null,
  });
});

describe.each(KINDS.map((kind) => [kind.name, kind] as const))("%s", (name, kind) => {
  test.each(EVENTS)("is rendered with nothing set: %s", async (event) => {
    const { title, text } = await preview(name, {}, event);
    expect(title).not.toBe("");
    expect(text).not.toBe("");
  });

  test("is rendered with wrong values", async () => {
    const names = Object.keys(kind.schema.properties);
    for (const value of ["", " ", -1, [], {}, null, true, "x".repeat(20_000)]) {
      const { title } = await preview(name, Object.fromEntries(names.map((field) => [field, value])));
      expect(title).toContain("Nightly backup");
    }
  });

  test("shows no secret", async () => {
    const config = CONFIGS[name] ?? {};
    const secrets = secretsIn(kind, config);
    for (const event of EVENTS) {
      const shown = readable(JSON.stringify(await preview(name, config, event)));
      for (const secret of [...secrets, ...Object.values(KEYS)]) expect(shown).not.toContain(secret);
    }
  });
});

test("a request is shown as it would be sent, and follows the configuration", async () => {
  const shown = await preview("ntfy", { topic: "our-topic-7", priority: 5, token: "tk_abcdefgh" });
  expect(shown).toMatchObject({ title: "Nightly backup is DOWN", isSent: true });
  const [request] = shown.requests;
  expect(request).toMatchObject({
    method: "POST",
    url: "https://ntfy.sh",
    headers: { Authorization: "Bearer ********" },
  });
  expect(JSON.parse(request?.body ?? "")).toMatchObject({ topic: "********", priority: 5 });
});

test("what is missing is replaced by a sample, and what is not subscribed to is not sent", async () => {
  const { requests } = await preview("ntfy", { priority: 0 });
  expect(requests).toEqual([]);
  const incomplete = await preview("ntfy", { url: "not a url" }, "up");
  expect(incomplete.requests[0]?.body).toContain('"topic":"your-topic"');
  expect((await preview("email", { up: false }, "up")).isSent).toBe(false);
});

test("a stored secret is given as it is shown, and a template is rendered", async () => {
  const { requests } = await preview("webhook", {
    url_down: "https://hooks.example.org/********",
    body_down: "$NAME is $STATUS",
  });
  expect(requests).toMatchObject([
    { url: "https://hooks.example.org/********", body: "Nightly backup is down" },
  ]);
});

test("an email is shown as it would be written", async () => {
  const { title, text, requests } = await preview("email", { value: "ops@example.org" });
  expect(title).toContain("Nightly backup");
  expect(text).toContain("ops@example.org");
  expect(requests).toEqual([]);
});

test("an unknown kind or event is refused, and nothing is stored", async () => {
  for (const body of [
    { kind: "slak", config: {}, event: "down" },
    { ...SLACK, name: undefined, event: "sideways" },
  ]) {
    const reply = await ask("/projects/{project}/channels/preview", { method: "POST", body });
    expect(reply.status).toBe(400);
  }
  const { json } = await ask("/projects/{project}/channels");
  expect(json["channels"]).toEqual([]);
});
