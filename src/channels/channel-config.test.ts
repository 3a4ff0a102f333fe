// Configurations as users send them: completed, rejected with a helpful sentence, and shown without secrets.
import { describe, expect, test } from "vitest";
import {
  type ChannelConfig,
  previewConfig,
  readConfig,
  secretsIn,
  shownConfig,
  withMadeSecrets,
} from "./channel-config.ts";
import { CONFIG_RULES, kindNamed } from "./registry.ts";
import { isWebhookSecret } from "./kinds/webhook.ts";

function kind(name: string) {
  const found = kindNamed(name);
  if (found === null) throw new Error(`there is no kind ${name}`);
  return found;
}

const read = (name: string, input: unknown) => readConfig(kind(name), input, { strict: true });

function taken(name: string, input: unknown): ChannelConfig {
  const checked = read(name, input);
  if (!checked.ok) throw new Error(checked.text);
  return checked.value;
}

const UUID = "0c8983c9-9d73-446f-adb5-0641fdacc9d4";
const DISCORD = "https://discord.com/api/webhooks/223704706495545344/abc-DEF_";

test("a phone number is stored without the signs that people type", () => {
  expect(taken("call", { value: "\u202a+1 415-555\u00a00123\u202c" })).toEqual({ value: "+14155550123" });
});

describe("a configuration", () => {
  test.each([
    ["slack", "https://x.example", "The configuration must be an object."],
    ["slack", {}, /^url is required: The incoming webhook URL/],
    ["slack", { url: "nothing to call" }, /^url must be an http or https URL/],
    ["slack", { url: "ftp://h/x" }, /^url must be an http or https URL/],
    ["slack", { url: `https://h/${"x".repeat(1_000)}` }, /^url must be at most 1000 characters long/],
    ["slack", { url: 7 }, /^url must be a string/],
    ["slack", { url: "https://h/\u0000" }, /^url contains a character that cannot be stored/],
    ["slack", { url: "https://h/\ud800" }, /^url contains a character that cannot be stored/],
    ["slack", { url: "https://hooks.slack.com/********" }, /^url contains the mask/],
    ["slack", { url: "https://h", ulr: "" }, /^Slack has no field "ulr". Did you mean url\?/],
    ["slack", { url: "https://h", channel: "#ops" }, /^Slack has no field "channel". Valid fields: url\./],
    ["sms", { value: "0171 5550123" }, /^value must be a phone number in international format/],
    ["sms", { value: "+1415" }, /^value must be a phone number/],
    ["sms", { value: `+1${"5".repeat(50)}` }, /^value must be at most 40 characters long/],
    ["sms", { value: "+14155550123", down: false }, "At least one of down, up, and notice must be true."],
    ["whatsapp", { value: "+14155550123", down: false, up: false }, /^At least one of down and up/],
    ["discord", { url: "https://example.org/x" }, /^url must be a Discord webhook URL/],
    ["telegram", { chat_id: "me" }, /^chat_id must be a numeric ID such as -100/],
    ["telegram", { chat_id: "7", thread_id: -1 }, /^thread_id must be a whole number from 0/],
    ["telegram", { chat_id: "7", thread_id: 1.5 }, /^thread_id must be a whole number from 0/],
    ["ntfy", { topic: "" }, /^topic must be 1 to 64 letters/],
    ["ntfy", { topic: "a/b" }, /^topic must be 1 to 64 letters/],
    ["ntfy", { topic: "a", priority: 6 }, /^priority must be a whole number from 0 to 5/],
    ["ntfy", { topic: "a", priority: 0, priority_up: 0, priority_notice: 0 }, /^At least one of priority/],
    ["pd", { routing_key: "short" }, /^routing_key must be an Events API v2 integration key/],
    ["pd", { routing_key: "a".repeat(32), region: "moon" }, /^region must be one of us, eu/],
    ["group", { members: [] }, /^members must be a list of one or more UUIDs/],
    ["group", { members: [UUID, "x"] }, /^members must be a list of one or more UUIDs/],
    ["webhook", {}, /^At least one of url_down, url_up, and url_notice is required\./],
    ["webhook", { url_down: "h", method_down: "DELETE" }, /^method_down must be one of GET, POST, PUT/],
    ["webhook", { url_down: "h", secret: "short" }, /^secret must be whsec_/],
    [
      "webhook",
      { url_down: "h", headers_down: { Host: "x" } },
      /^headers_down contains the header "Host", which/,
    ],
  ])("of %s that is %j is rejected", (name, input, text) => {
    expect(read(name, input)).toEqual({ ok: false, text: expect.stringMatching(text) });
  });

  test("gets its defaults, and an address without a scheme gets https", () => {
    expect(taken("ntfy", { topic: "a" })).toEqual({
      topic: "a",
      url: "https://ntfy.sh",
      token: "",
      priority: 3,
      priority_up: 3,
      priority_notice: 2,
    });
    expect(taken("slack", { url: "chat.internal:8065/hooks/x" })).toEqual({
      url: "https://chat.internal:8065/hooks/x",
    });
    expect(taken("group", { members: [UUID, UUID] })).toEqual({ members: [UUID] });
    expect(taken("discord", { url: DISCORD })).toEqual({ url: DISCORD });
    expect(taken("webhook", { url_down: "http://h/$NAME", headers_down: "X-A: 1" })).toMatchObject({
      url_down: "http://h/$NAME",
      method_down: "POST",
      headers_down: { "X-A": "1" },
    });
  });

  test("that was parsed once can be parsed again without changes", () => {
    for (const [name, input] of [
      ["webhook", { url_down: "h", headers_down: { "X-A": "$NAME" }, method_up: "GET" }],
      ["telegram", { chat_id: "-1", thread_id: 3, chat_name: "Ops" }],
      ["pd", { routing_key: "a".repeat(32) }],
    ] as const) {
      const once = taken(name, input);
      expect(taken(name, once)).toEqual(once);
    }
  });

  test("does not share its defaults with another", () => {
    const first = taken("webhook", { url_down: "h" });
    Object.assign(first["headers_notice"] as object, { "X-Mine": "1" });
    expect(taken("webhook", { url_down: "h" })["headers_notice"]).not.toHaveProperty("X-Mine");
  });
});

describe("secrets", () => {
  test("are generated if a kind needs them and none was given", () => {
    const { config, made } = withMadeSecrets(kind("webhook"), taken("webhook", { url_down: "h" }));
    expect(Object.keys(made)).toEqual(["secret"]);
    expect(isWebhookSecret(made["secret"] ?? "")).toBe(true);
    expect(config["secret"]).toBe(made["secret"]);
    expect(taken("webhook", config)).toEqual(config);
    const again = withMadeSecrets(kind("webhook"), taken("webhook", { url_down: "h" }));
    expect(again.made["secret"]).not.toBe(made["secret"]);
    expect(withMadeSecrets(kind("webhook"), config).made).toEqual({});
  });

  test("a given chat needs no code, and without one a code is generated", () => {
    expect(withMadeSecrets(kind("telegram"), taken("telegram", { chat_id: "7" })).made).toEqual({});
    const { made, config } = withMadeSecrets(kind("telegram"), taken("telegram", {}));
    expect(made["setup_code"]).toMatch(/^[A-Za-z0-9]{24}$/);
    expect(taken("telegram", config)).toEqual(config);
  });

  test("are never shown; of secret URLs only the host is shown", () => {
    const config = taken("webhook", {
      url_down: "https://hooks.example.org/abc?key=1",
      headers_down: { Authorization: "Bearer abcdef", "Content-Type": "text/plain" },
      body_down: "token=abcdef",
      secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    });
    expect(shownConfig(kind("webhook"), config)).toMatchObject({
      url_down: "https://hooks.example.org/********",
      url_up: "",
      method_down: "POST",
      headers_down: { Authorization: "********", "Content-Type": "text/plain" },
      body_down: "********",
      secret: "********",
    });
    const shown = shownConfig(kind("pd"), taken("pd", { routing_key: "a".repeat(32) }));
    expect(shown).toEqual({ routing_key: "********", region: "us" });
  });

  test("are recognized in the forms in which a receiver might repeat them", () => {
    const config = taken("webhook", {
      url_down: "https://u:pass%20word1@hooks.example.org/services/abcdefghijkl?key=0123456789",
      headers_down: { Authorization: "Bearer abcdef" },
      body_down: "some words",
    });
    expect(secretsIn(kind("webhook"), config)).toEqual(
      expect.arrayContaining([
        config["url_down"],
        "/services/abcdefghijkl?key=0123456789",
        "/services/abcdefghijkl",
        "abcdefghijkl",
        "0123456789",
        "pass word1",
        "Bearer abcdef",
        "abcdef",
      ]),
    );
    for (const harmless of ["services", "application/json"]) {
      expect(secretsIn(kind("webhook"), config)).not.toContain(harmless);
    }
    expect(secretsIn(kind("webhook"), config)).not.toContain("some words");
  });

  test("a long token is a secret, and no template", () => {
    const token = "t".repeat(1_500);
    expect(secretsIn(kind("alertmanager"), { token })).toEqual([token]);
    expect(previewConfig(kind("alertmanager"), { token })).toMatchObject({ token: "********" });
  });

  test("the parts of an Apprise URL are secrets, too", () => {
    const config = { target: "tgram://123456789:abcdefghij/-1001234567890" };
    expect(secretsIn(kind("apprise"), config)).toEqual(
      expect.arrayContaining([config.target, "abcdefghij", "-1001234567890"]),
    );
  });
});

test("a preview has masked secrets, templates as they are, and samples for what is missing or wrong", () => {
  const webhook = previewConfig(kind("webhook"), {
    url_down: "https://h.example/secret-path",
    headers_down: { Accept: "*/*", "X-Key": "secret-key" },
    body_down: "$NAME is down",
    url_up: "https://h.example/********",
    method_up: "BREW",
  });
  expect(webhook).toMatchObject({
    url_down: "https://h.example/********",
    headers_down: { Accept: "*/*", "X-Key": "********" },
    body_down: "$NAME is down",
    url_up: "https://h.example/********",
    method_up: "POST",
    secret: "********",
  });
  expect(previewConfig(kind("ntfy"), { url: "two words", priority: 9 })).toMatchObject({
    topic: "your-topic",
    url: "https://ntfy.sh",
    priority: 3,
  });
  expect(previewConfig(kind("slack"), {})).toEqual({ url: "https://example.com" });
  // Only a secret is shown masked: elsewhere, and in a longer text, the mask is a wrong value.
  expect(previewConfig(kind("email"), { value: "********", up: "********" })).toMatchObject({ up: true });
  expect(previewConfig(kind("slack"), { url: "********".repeat(1_000) })).toEqual({
    url: "https://example.com",
  });
});

describe("a stored secret", () => {
  const before = taken("gotify", { url: "https://gotify.example.org", token: "AbCdEfGhIjK" });
  const changed = (given: ChannelConfig) => CONFIG_RULES.change("gotify", { before, given });

  test("is not sent to a server that somebody else names", () => {
    for (const url of ["https://evil.example.net", "http://gotify.example.org", "evil.example.net"]) {
      expect(changed({ url })).toEqual({
        ok: false,
        text: "token must be entered again because url has changed.",
      });
    }
    expect(changed({ url: "https://new.example.org", token: "other" })).toMatchObject({ ok: true });
  });

  test("is kept by every other change", () => {
    for (const given of [{}, { priority: 9 }, { url: "https://gotify.example.org/path" }]) {
      expect(changed(given)).toMatchObject({ ok: true, value: { token: "AbCdEfGhIjK", ...given } });
    }
    expect(changed({ priority: "loud" })).toMatchObject({ ok: false });
    const open = taken("matrix", { room: "!a:example.org" });
    const given = { homeserver: "https://matrix.example.org", token: "syt_x" };
    expect(CONFIG_RULES.change("matrix", { before: open, given })).toMatchObject({ ok: true });
  });
});
