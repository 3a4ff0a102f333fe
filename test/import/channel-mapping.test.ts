import { describe, expect, test } from "vitest";
import { CONFIG_RULES, KINDS } from "../../src/channels/registry.ts";
import { mapConfig, MAPPED_KINDS } from "../../src/core/import-channel.ts";

/** The kinds of the API of Healthchecks. */
const SOURCE_KINDS =
  "apprise call discord email github googlechat gotify group matrix mattermost msteamsw ntfy opsgenie pagertree pd po pushbullet rocketchat shell signal slack sms spike telegram trello victorops webhook whatsapp zulip".split(
    " ",
  );

const UUID = "f618072a-7bde-4eee-af63-71a77c5723bc";
const KEY_32 = "0123456789abcdef0123456789abcdef";
const KEY_30 = "a".repeat(30);

/** A stored value of each kind, and what of our configuration must follow from it. */
const VALUES: readonly [kind: string, value: unknown, config: Record<string, unknown>][] = [
  ["apprise", "discord://id/token", { target: "discord://id/token" }],
  ["call", { value: "+14155550123" }, { value: "+14155550123" }],
  [
    "discord",
    { webhook: { url: "https://discordapp.com/api/webhooks/1/x" } },
    { url: "https://discord.com/api/webhooks/1/x" },
  ],
  ["email", "you@example.org", { value: "you@example.org", up: true, down: true }],
  ["email", { value: "you@example.org", up: false, down: true }, { value: "you@example.org", up: false }],
  ["googlechat", "https://chat.googleapis.com/v1/spaces/A/messages?key=k&token=t", {}],
  [
    "gotify",
    { url: "https://gotify.example.org", token: "abc", priority: 9, priority_up: 0 },
    { priority: 9, priority_up: 0 },
  ],
  ["group", `${UUID},${UUID}`, { members: [UUID] }],
  ["matrix", "!room:example.org", { room: "!room:example.org" }],
  ["mattermost", "https://mattermost.example.org/hooks/x", { url: "https://mattermost.example.org/hooks/x" }],
  ["msteamsw", "https://prod-1.westus.logic.azure.com/workflows/x", {}],
  [
    "ntfy",
    { topic: "jobs", url: "https://ntfy.example.org", token: null, priority: 5, priority_up: 1 },
    { topic: "jobs", token: "", priority_up: 1 },
  ],
  ["opsgenie", { key: "k-1", region: "eu" }, { key: "k-1", region: "eu" }],
  ["pagertree", "https://api.pagertree.com/integration/x", {}],
  ["pd", { service_key: KEY_32, account: "A" }, { routing_key: KEY_32 }],
  ["pd", KEY_32, { routing_key: KEY_32 }],
  ["po", `${KEY_30}|1|-2`, { user_key: KEY_30, priority: 1, priority_up: -2 }],
  ["po", `${KEY_30}|0`, { priority: 0, priority_up: 0 }],
  ["pushbullet", "o.token", { access_token: "o.token" }],
  ["rocketchat", "https://rocket.example.org/hooks/x", {}],
  ["signal", { value: "+14155550123", up: true, down: true }, { value: "+14155550123" }],
  ["slack", "https://hooks.slack.com/services/T/B/x", { url: "https://hooks.slack.com/services/T/B/x" }],
  [
    "slack",
    { incoming_webhook: { url: "https://hooks.slack.com/services/T/B/y" }, team: {} },
    { url: "https://hooks.slack.com/services/T/B/y" },
  ],
  ["sms", { value: "+14155550123", up: false, down: true }, { up: false, down: true }],
  ["spike", "https://api.spike.sh/v1/alerts/x", {}],
  [
    "telegram",
    { id: -1001, type: "group", name: "Ops", thread_id: null },
    { chat_id: "-1001", thread_id: 0 },
  ],
  ["victorops", "https://alert.victorops.com/integrations/generic/1/alert/x", {}],
  [
    "webhook",
    {
      method_down: "PUT",
      url_down: "https://a.example.org/$CODE",
      body_down: "b",
      headers_down: { A: "b" },
      method_up: "GET",
      url_up: "",
      body_up: "",
      headers_up: {},
    },
    { url_down: "https://a.example.org/$CODE", method_down: "PUT", headers_down: { A: "b" }, url_up: "" },
  ],
  ["whatsapp", { value: "+14155550123", up: true, down: true }, { value: "+14155550123" }],
  [
    "zulip",
    { bot_email: "bot@chat.example.org", api_key: "k", mtype: "stream", to: "ops" },
    { site: "https://chat.example.org", to: "ops" },
  ],
];

describe("The settings of an integration", () => {
  test("are mapped for every kind of the source, and every kind is one of ours", () => {
    expect(MAPPED_KINDS.toSorted()).toEqual(SOURCE_KINDS);
    const ours = KINDS.map(({ name }) => name);
    expect(MAPPED_KINDS.filter((kind) => !ours.includes(kind))).toEqual([]);
  });

  test.each(VALUES)("of the kind %s are accepted by ours", (kind, value, expected) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    const mapped = mapConfig({ kind, value: text });
    if ("why" in mapped) throw new Error(mapped.why);
    const read = CONFIG_RULES.read(kind, mapped.config);
    expect(read).toMatchObject({ ok: true, value: expected });
  });

  test("of kinds that need a new token are impossible", () => {
    const refused = SOURCE_KINDS.filter((kind) => !VALUES.some(([one]) => one === kind));
    expect(refused).toEqual(["github", "shell", "trello"]);
    for (const kind of refused) expect(mapConfig({ kind, value: "{}" })).toHaveProperty("why");
  });

  test.each(["linenotify", "pigeon", "constructor"])("of the kind %s are impossible", (kind) => {
    expect(mapConfig({ kind, value: "x" })).toHaveProperty("why");
  });

  test("that the source does not tell are impossible", () => {
    expect(mapConfig({ kind: "email", value: null })).toHaveProperty("why");
  });

  test("that are damaged never throw, and our rules judge them", () => {
    const damaged = ["", "{", "{}", "null", '{"webhook": 3}', '{"value": {"a": 1}}', "|||", ","];
    const accepted = MAPPED_KINDS.flatMap((kind) =>
      damaged.filter((value) => {
        const mapped = mapConfig({ kind, value });
        return "config" in mapped && CONFIG_RULES.read(kind, mapped.config).ok;
      }),
    );
    // A text without form can be a token.
    expect(accepted.filter((value) => value === "" || value === "{}")).toEqual([]);
  });

  test("of a webhook without a body are noted, because we send a default body", () => {
    const value = JSON.stringify({ method_down: "POST", url_down: "https://a.example.org", body_down: "" });
    expect(mapConfig({ kind: "webhook", value })).toMatchObject({ note: expect.stringContaining("default") });
  });
});
