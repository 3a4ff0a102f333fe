// What becomes of the integrations of Healthchecks: for each kind, our configuration of the same kind, or why there is
// none. The result still has to pass the rules of our channel kind.
import type { ChannelConfig } from "./channel.ts";
import { isUuid } from "./identity.ts";

/** A configuration, with what an admin has to know about it; or the reason why there is none. */
export type MappedConfig = { config: ChannelConfig; note: string | null } | { why: string };

/** The stored value: an object if it is JSON, otherwise the text. */
type Value = Readonly<Record<string, unknown>> | string;

type Mapping = (value: Value) => MappedConfig;

/** Integrations that Healthchecks itself has removed. Old databases can still contain them. */
const RETIRED: readonly string[] = ["hipchat", "linenotify", "msteams", "pagerteam", "zendesk"];

const url: Mapping = (value) => ({ config: { url: text(value) }, note: null });

const MAPPINGS: Readonly<Record<string, Mapping>> = {
  apprise: (value) => ({
    config: { target: text(value) },
    note: "Set OVERDUE_APPRISE_URL and OVERDUE_APPRISE_ALLOW_URLS, so that the server accepts Apprise URLs.",
  }),
  call: (value) => ({ config: { value: valueOf(value) }, note: TWILIO }),
  discord: (value) => ({
    config: { url: text(at(value, "webhook", "url")).replace(/^https:\/\/discordapp\.com\//, DISCORD) },
    note: null,
  }),
  email: (value) => ({ config: { value: valueOf(value), ...switches(value, { up: true }) }, note: null }),
  github: () => ({
    why: "It uses the GitHub App of the other server. Create a channel with an access token instead.",
  }),
  googlechat: url,
  gotify: (value) => ({
    config: { url: text(at(value, "url")), token: text(at(value, "token")), ...priorities(value) },
    note: null,
  }),
  group: (value) => ({ config: { members: membersIn(value) }, note: null }),
  matrix: (value) => ({
    config: { room: text(value) },
    note: "Set OVERDUE_MATRIX_HOMESERVER and OVERDUE_MATRIX_TOKEN to the account that has joined the room.",
  }),
  mattermost: url,
  msteamsw: url,
  ntfy: (value) => ({
    config: {
      topic: text(at(value, "topic")),
      ...optional("url", at(value, "url")),
      ...optional("token", at(value, "token")),
      ...priorities(value),
    },
    note: null,
  }),
  opsgenie: (value) => ({
    config: {
      key: text(typeof value === "string" ? value : value["key"]),
      region: text(at(value, "region")) || "us",
    },
    note: null,
  }),
  pagertree: url,
  pd: (value) => ({
    config: { routing_key: text(typeof value === "string" ? value : value["service_key"]), region: "us" },
    note: "Overdue uses the Events API v2 of PagerDuty. The key must belong to an integration of that type.",
  }),
  po: (value) => {
    const [key = "", down, up = down] = text(value).split("|");
    return {
      config: { user_key: key, ...(down ? { priority: Number(down), priority_up: Number(up) } : {}) },
      note: "Set OVERDUE_PUSHOVER_TOKEN, or enter the API token of a Pushover application in the channel.",
    };
  },
  pushbullet: (value) => ({ config: { access_token: text(value) }, note: null }),
  rocketchat: url,
  shell: () => ({
    why: "Overdue runs programs of a folder, not shell commands. Create a channel of the kind shell instead.",
  }),
  signal: (value) => ({
    config: { value: valueOf(value), ...switches(value, { up: true }) },
    note: "Set OVERDUE_SIGNAL_CLI_URL to the Signal account that sends the messages.",
  }),
  slack: (value) => ({
    config: { url: text(typeof value === "string" ? value : at(value, "incoming_webhook", "url")) },
    note: null,
  }),
  sms: (value) => ({ config: { value: valueOf(value), ...switches(value, { up: false }) }, note: TWILIO }),
  spike: url,
  telegram: (value) => {
    const chatId = text(at(value, "id"));
    if (chatId === "") return { why: "It is not connected to a chat." };
    return {
      config: {
        chat_id: chatId,
        thread_id: Number(at(value, "thread_id") ?? 0),
        chat_type: text(at(value, "type")),
        chat_name: text(at(value, "name")),
      },
      note: "Set OVERDUE_TELEGRAM_TOKEN to the same bot, which is already in the chat.",
    };
  },
  trello: () => ({
    why: "Its token belongs to the Trello app key of the other server. Create a channel with your own app key instead.",
  }),
  victorops: url,
  webhook: (value) =>
    typeof value === "string"
      ? { config: { url_down: value.split("\n")[0] ?? "" }, note: null }
      : {
          config: { ...request(value, "down"), ...request(value, "up") },
          note: hasBlankBody(value) ? BLANK_BODY : null,
        },
  whatsapp: (value) => ({
    config: { value: valueOf(value), ...switches(value, { up: true }) },
    note: TWILIO,
  }),
  zulip: (value) => {
    const bot = text(at(value, "bot_email"));
    return {
      config: {
        site: text(at(value, "site")) || `https://${bot.split("@")[1] ?? ""}`,
        bot_email: bot,
        api_key: text(at(value, "api_key")),
        mtype: text(at(value, "mtype")) || "stream",
        to: text(at(value, "to")),
        topic: text(at(value, "topic")),
      },
      note: null,
    };
  },
};

const BLANK_BODY = "A request without a body gets the default JSON body of Overdue.";
const DISCORD = "https://discord.com/";
const TWILIO = "Set OVERDUE_TWILIO_ACCOUNT_SID and the other OVERDUE_TWILIO settings to your Twilio account.";

/**
 * The kinds that have a mapping.
 *
 * @internal Only tests use it.
 */
export const MAPPED_KINDS: readonly string[] = Object.keys(MAPPINGS);

/** The configuration of an integration with this stored value; null: the source does not tell. */
export function mapConfig({ kind, value }: { kind: string; value: string | null }): MappedConfig {
  const mapping = Object.hasOwn(MAPPINGS, kind) ? MAPPINGS[kind] : undefined;
  if (RETIRED.includes(kind)) return { why: "Healthchecks has removed integrations of this kind." };
  if (mapping === undefined) return { why: "Overdue has no channels of this kind." };
  if (value === null) return { why: "The API of Healthchecks does not return the settings of integrations." };
  return mapping(parse(value));
}

function parse(value: string): Value {
  if (!value.trimStart().startsWith("{")) return value.trim();
  try {
    return JSON.parse(value) as Record<string, unknown>;
  } catch {
    return value.trim();
  }
}

/** A field of the value, or of an object in it. */
function at(value: Value, name: string, inner?: string): unknown {
  const found = typeof value === "string" || !Object.hasOwn(value, name) ? null : value[name];
  if (inner === undefined) return found;
  return typeof found === "object" && found !== null ? (found as Record<string, unknown>)[inner] : null;
}

function text(value: unknown): string {
  return typeof value === "string" ? value.trim() : typeof value === "number" ? String(value) : "";
}

/** The address or number of kinds that store it as text or under `value`. */
function valueOf(value: Value): string {
  return text(typeof value === "string" ? value : value["value"]);
}

/** Text of old versions has no switches. */
function switches(value: Value, { up }: { up: boolean }): { down: boolean; up: boolean } {
  const isOn = (name: string, fallback: boolean) => {
    const found = at(value, name);
    return typeof found === "boolean" ? found : fallback;
  };
  return { down: isOn("down", true), up: isOn("up", up) };
}

function priorities(value: Value): Record<string, number> {
  const given = (name: string) => {
    const found = at(value, name);
    return typeof found === "number" ? { [name]: found } : {};
  };
  return { ...given("priority"), ...given("priority_up") };
}

function optional(name: string, value: unknown): Record<string, string> {
  const found = text(value);
  return found === "" ? {} : { [name]: found };
}

function request(value: Exclude<Value, string>, event: "down" | "up"): Record<string, unknown> {
  const address = text(value[`url_${event}`]);
  if (address === "") return {};
  const body = value[`body_${event}`];
  const headers = value[`headers_${event}`];
  return {
    [`url_${event}`]: address,
    [`method_${event}`]: text(value[`method_${event}`]) || "GET",
    [`body_${event}`]: typeof body === "string" ? body : "",
    [`headers_${event}`]: typeof headers === "object" && headers !== null ? headers : {},
  };
}

function hasBlankBody(value: Exclude<Value, string>): boolean {
  return ["down", "up"].some(
    (event) =>
      text(value[`url_${event}`]) !== "" &&
      text(value[`body_${event}`]) === "" &&
      ["POST", "PUT"].includes(text(value[`method_${event}`])),
  );
}

function membersIn(value: Value): string[] {
  const uuids = text(value)
    .split(",")
    .map((uuid) => uuid.trim().toLowerCase());
  return [...new Set(uuids.filter(isUuid))];
}
