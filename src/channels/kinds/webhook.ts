// Webhooks: requests defined by the user, with placeholders, signed.
import { createHmac } from "node:crypto";
import type { Static } from "typebox";
import type { AlertCause } from "../../core/alert.ts";
import { splitTags, uniqueKey } from "../../core/identity.ts";
import { type Instant, SECOND_MS } from "../../core/instant.ts";
import {
  type CheckFacts,
  type FlipMessage,
  groupDirection,
  type GroupMessage,
  type MessageReason,
} from "../../core/message.ts";
import type { OutgoingRequest } from "../../lib/outgoing-http.ts";
import { sha1Hex } from "../../lib/secrets.ts";
import type { ChannelKind, ChannelMessage, Outgoing } from "../channel-kind.ts";
import { addressField, choiceField, configSchema, headersField, textField } from "../config-fields.ts";
import { notTried, sendRequest } from "../http-request.ts";
import {
  clipEnd,
  clipStart,
  isoText,
  type Link,
  listLines,
  messageText,
  type MessageText,
  oneLine,
  printable,
  shownName,
} from "../message-text.ts";

const BODY_LENGTH_MAX = 10_000;
const SECRET_LENGTH_MAX = 100;
const METHODS = ["GET", "POST", "PUT"] as const;
const ABOUT_BODY =
  "The request body. Leave blank to send JSON that describes the event. GET requests have no body.";

const schema = configSchema({
  url_down: addressField({
    about: "The URL to request when a check goes down. Leave blank to skip.",
    fallback: "",
    secret: true,
  }),
  method_down: choiceField({ about: "The HTTP method.", words: METHODS, fallback: "POST" }),
  headers_down: headersField({ about: "The request headers.", fallback: {}, secret: true }),
  body_down: textField({
    about: ABOUT_BODY,
    lengthMax: BODY_LENGTH_MAX,
    fallback: "",
    secret: true,
  }),
  url_up: addressField({
    about: "The URL to request when a check comes back up. Leave blank to skip.",
    fallback: "",
    secret: true,
  }),
  method_up: choiceField({ about: "The HTTP method.", words: METHODS, fallback: "POST" }),
  headers_up: headersField({ about: "The request headers.", fallback: {}, secret: true }),
  body_up: textField({
    about: ABOUT_BODY,
    lengthMax: BODY_LENGTH_MAX,
    fallback: "",
    secret: true,
  }),
  url_notice: addressField({
    about: "The URL to request for notices, such as monitoring gap notices. Leave blank to skip.",
    fallback: "",
    secret: true,
  }),
  method_notice: choiceField({ about: "The HTTP method.", words: METHODS, fallback: "POST" }),
  headers_notice: headersField({ about: "The request headers.", fallback: {}, secret: true }),
  body_notice: textField({
    about: ABOUT_BODY,
    lengthMax: BODY_LENGTH_MAX,
    fallback: "",
    secret: true,
  }),
  secret: textField({
    about: "The secret used to sign requests. If omitted, one is generated and shown once.",
    lengthMax: SECRET_LENGTH_MAX,
    fallback: "",
    secret: true,
    made: "webhookSecret",
  }),
});

type Config = Static<typeof schema>;

/** The request for a message; null: its owner has configured none for it. */
function renderWebhook(message: ChannelMessage, config: Config, out: Outgoing): OutgoingRequest | null {
  const { url, method, headers, body } = templateFor(message, config);
  if (url === "") return null;
  const values = (isBody: boolean) => valuesOf(message, { out, isBody });
  const isDefault = method !== "GET" && body === "";
  const written = method === "GET" ? "" : fill(body, values(true));
  const filled = isDefault ? JSON.stringify(defaultBody(message, out)) : written;
  const named = Object.entries(headers).map(([name, value]) => [name, fillHeader(value, values(false))]);
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === "content-type");
  const type = isDefault && !hasType ? { "Content-Type": "application/json" } : {};
  const { secret } = config;
  const signature =
    secret === "" ? {} : signatureHeaders({ secret, id: out.dedupeKey, at: out.now, body: filled });
  return {
    method,
    url: fillAddress(url, values(false)),
    headers: { ...type, ...(Object.fromEntries(named) as Record<string, string>), ...signature },
    ...(method === "GET" ? {} : { body: filled }),
  };
}

function templateFor(message: ChannelMessage, config: Config) {
  switch (message.kind === "group" ? groupDirection(message) : message.kind) {
    case "down":
      return {
        url: config.url_down,
        method: config.method_down,
        headers: config.headers_down,
        body: config.body_down,
      };
    case "up":
      return {
        url: config.url_up,
        method: config.method_up,
        headers: config.headers_up,
        body: config.body_up,
      };
    case "notice":
    case "disabled":
    case "operator":
      return {
        url: config.url_notice,
        method: config.method_notice,
        headers: config.headers_notice,
        body: config.body_notice,
      };
  }
}

/** Other messages have no single check: the title replaces the name, and the text the last output. */
function valuesOf(message: ChannelMessage, { out, isBody }: { out: Outgoing; isBody: boolean }): Values {
  if (message.kind === "down" || message.kind === "up") {
    return placeholderValues(message, { checkJson: (check) => out.checkJson(check), isBody });
  }
  const words = messageText(message, out);
  const isGroup = message.kind === "group";
  const text = isGroup ? groupText(words) : words.sentences.join(" ");
  return [
    ["$CODE", () => ""],
    ["$STATUS", () => (isGroup ? statusOf(message) : "notice")],
    ["$NOW", () => isoText(message.at)],
    ["$NAME_JSON", () => asciiJson(words.headline)],
    ["$NAME", () => words.headline],
    ["$SLUG", () => ""],
    ["$TAGS", () => ""],
    [
      "$JSON",
      () =>
        asciiJson(
          isGroup
            ? groupOf(message)
            : { kind: message.kind, title: words.headline, text, facts: factsByLabel(words.facts) },
        ),
    ],
    ["$ACK_URL", () => words.ack?.url ?? ""],
    ...(isBody ? bodyValues(text) : []),
    ["$EXITSTATUS", () => "-1"],
  ];
}

function factsByLabel(facts: readonly { label: string; value: string }[]): Record<string, string> {
  return Object.fromEntries(facts.map(({ label, value }) => [label, value]));
}

export const webhook: ChannelKind<Config> = {
  name: "webhook",
  title: "Webhook",
  about: "Sends HTTP requests to your URL.",
  category: "automation",
  icon: null,
  example: { url_down: "https://example.org/alerts", url_up: "https://example.org/alerts" },
  guide: [
    "Enter the URLs to request when a check goes down, when it comes back up, and for notices. Leave a URL blank to skip it.",
    "Leave the body blank to send JSON, or enter your own. Placeholders such as `$NAME`, `$STATUS`, and `$BODY` are replaced.",
    "Requests are signed according to [Standard Webhooks](https://www.standardwebhooks.com/). Your receiver can verify the signature with the secret.",
  ],
  schema,
  validate: ({ url_down, url_up, url_notice, secret }) => {
    if (url_down === "" && url_up === "" && url_notice === "") {
      return "At least one of url_down, url_up, and url_notice is required.";
    }
    if (secret === "" || isWebhookSecret(secret)) return null;
    return "secret must be whsec_ followed by 24 to 64 bytes encoded in base64. Omit it to generate one.";
  },
  isSubscribed: (config, what) => config[`url_${what}`] !== "",
  rate: null,
  send: async (message, config, out) => {
    try {
      const request = renderWebhook(message, config, out);
      if (request === null) return notTried("The webhook has no URL for this type of message");
      return await sendRequest(request, out);
    } catch (error) {
      if (!(error instanceof TooMuchError)) throw error;
      // The next message may be shorter.
      const tooMuch = notTried("The request is too large after filling in its placeholders");
      return { ...tooMuch, permanent: true, keepsChannel: true };
    }
  },
};

// The default body. Documented in docs/guide/channels/webhook.md: fields may be added, but none may change its meaning.

const DESCRIPTION_LENGTH_MAX = 10_000;
const OUTPUT_LENGTH_MAX = 10_000;

/** Without the UUID of the check and its ping URL: a receiver that logs requests must not be able to send pings. */
export function defaultBody(
  message: ChannelMessage,
  { site, zone, dedupeKey }: Pick<Outgoing, "site" | "zone" | "dedupeKey">,
): Record<string, unknown> {
  const words = messageText(message, { site, zone });
  const start = {
    event: eventOf(message),
    id: dedupeKey,
    at: isoText(message.at),
    title: words.headline,
    text: message.kind === "group" ? groupText(words) : [...words.sentences, ...words.history].join("\n"),
    url: words.link.url,
    ...(words.ack === null ? {} : { ack_url: words.ack.url }),
  };
  switch (message.kind) {
    case "down":
    case "up":
      return {
        ...start,
        project: message.check.projectName,
        check: checkOf(message, words),
        ...(message.isRepeat ? { repeat: true } : {}),
        ...(message.drill === undefined ? {} : { drill: true }),
        ...(message.severity === "normal" ? {} : { severity: message.severity }),
      };
    case "group":
      return { ...start, project: message.projectName, ...groupOf(message) };
    case "notice":
      return {
        ...start,
        project: message.projectName,
        from: isoText(message.blind.from),
        to: message.blind.to === null ? null : isoText(message.blind.to),
        checks: message.checks.map(namedCheck),
        check_count: message.checkCount,
      };
    case "disabled": {
      const { name, kind } = message.channel;
      return { ...start, project: message.projectName, channel: { name, kind }, reason: message.reason };
    }
    case "operator":
      return { ...start, problem: message.trouble, since: isoText(message.since) };
  }
}

/** The event type, with the names in the documentation. */
function eventOf(message: ChannelMessage): string {
  if (message.isTest === true) return "test";
  switch (message.kind) {
    case "down":
    case "up":
      return message.kind;
    case "group":
      return GROUP_EVENTS[message.state];
    case "notice":
      return "monitoring_gap";
    case "disabled":
      return message.isLimit === true ? "channel_limit_reached" : "channel_disabled";
    case "operator":
      return message.isOver ? "server_recovered" : "server_problem";
  }
}

const GROUP_EVENTS: Readonly<Record<GroupMessage["state"], string>> = {
  down: "incident_opened",
  update: "incident_updated",
  up: "incident_resolved",
};

/** The sentences and the names. */
function groupText({ sentences, lists }: MessageText): string {
  const format = { bullet: "- ", name: ({ text }: Link) => text, lengthMax: OUTPUT_LENGTH_MAX };
  return [...sentences, ...lists.flatMap((list) => listLines(list, format))].join("\n");
}

function statusOf({ state }: GroupMessage): "down" | "up" {
  return state === "up" ? "up" : "down";
}

function groupOf(message: GroupMessage): Record<string, unknown> {
  const { incident, severity, key, since, cause } = message;
  return {
    incident: {
      number: incident.number,
      status: statusOf(message),
      severity,
      since: isoText(since),
      reason: cause === null ? null : GROUP_REASONS[cause],
      grouped_by: { type: key.kind, value: oneLine(key.value) },
      went_down: message.opened.map(namedCheck),
      went_down_count: message.openedCount,
      recovered: message.closed.map(namedCheck),
      recovered_count: message.closedCount,
      down_count: message.downCount,
    },
  };
}

function namedCheck({ uuid, name }: { uuid: string; name: string }): Record<string, string> {
  return { name: shownName({ name }), unique_key: uniqueKey(uuid, sha1Hex) };
}

/** The names in the documentation; a run that took too long counts as a timeout. */
const REASONS: Readonly<Record<MessageReason, string>> = {
  success: "success",
  fail: "fail",
  timeout: "timeout",
  tooFast: "too_fast",
  tooOften: "too_often",
  // A signal that was received in time shows that the alert was wrong.
  retracted: "correction",
};

const GROUP_REASONS: Readonly<Record<AlertCause, string>> = {
  failed: REASONS.fail,
  missed: REASONS.timeout,
  overrun: REASONS.timeout,
  tooFast: REASONS.tooFast,
  tooOften: REASONS.tooOften,
};

function checkOf(
  { check, kind, since, reason, downtimeMs, lastPing }: FlipMessage,
  { output }: MessageText,
): Record<string, unknown> {
  const { settings, uuid } = check;
  const desc = printable(settings.desc).trim();
  return {
    name: shownName(settings),
    slug: settings.slug,
    tags: splitTags(settings.tags),
    description: clipStart(desc, DESCRIPTION_LENGTH_MAX),
    unique_key: uniqueKey(uuid, sha1Hex),
    status: kind,
    since: isoText(since),
    reason: REASONS[reason],
    downtime_seconds: downtimeMs === null ? null : Math.round(downtimeMs / SECOND_MS),
    last_ping: lastPing && {
      at: isoText(lastPing.at),
      type: lastPing.kind,
      exit_status: lastPing.exitStatus,
      output: output === null ? null : clipEnd(output, OUTPUT_LENGTH_MAX),
    },
  };
}

// Placeholders: their values, and how they are inserted into a URL, a header, and a body.

/** Placeholders in the order in which they are tried, with functions for their values, because most are not used. */
export type Values = readonly (readonly [placeholder: string, value: () => string])[];

/** The values of a message about a check. `$BODY` is replaced in bodies only. */
export function placeholderValues(
  { check, kind, since, lastPing, incident }: FlipMessage,
  { checkJson, isBody }: { checkJson: (check: CheckFacts) => unknown; isBody: boolean },
): Values {
  const { name, slug, tags } = check.settings;
  const body = lastPing?.body ?? "";
  return [
    ["$CODE", () => check.uuid],
    ["$STATUS", () => kind],
    ["$NOW", () => isoText(since)],
    // Longer names first: $NAME_JSON also begins with $NAME.
    ["$NAME_JSON", () => asciiJson(name)],
    ["$NAME", () => name],
    ["$SLUG", () => slug],
    ["$TAGS", () => tags],
    ["$JSON", () => asciiJson(checkJson(check))],
    ["$ACK_URL", () => (kind === "down" ? (incident?.ackUrl ?? "") : "")],
    ...(isBody ? bodyValues(body) : []),
    ["$EXITSTATUS", () => String(lastPing?.exitStatus ?? -1)],
    // With at least one tag, $TAG10 is the first tag and a zero.
    ...splitTags(tags).map((tag, index) => [`$TAG${index + 1}`, () => tag] as const),
  ];
}

/** The replacement for the last output. */
function bodyValues(body: string): Values {
  return [
    ["$BODY_JSON", () => asciiJson(body)],
    ["$BODY", () => body],
  ];
}

/** JSON that is valid in a header, too: non-ASCII characters are escaped. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A few placeholders in a short template can produce more than any receiver accepts. */
export class TooMuchError extends Error {
  override readonly name = "TooMuchError";
}

const ADDRESS_LENGTH_MAX = 32_000;
const HEADER_LENGTH_MAX = 32_000;
const FILLED_LENGTH_MAX = 2_000_000;

/**
 * The template with its placeholders replaced, in one pass: placeholders in values are not replaced. Each part that
 * begins with a dollar sign is one placeholder and what follows it, or is left unchanged. Throws TooMuchError.
 */
export function fill(template: string, values: Values, lengthMax = FILLED_LENGTH_MAX): string {
  const [head = "", ...pieces] = template.split("$");
  const filled = [head];
  let { length } = head;
  for (const piece of pieces) {
    const text = fillPiece(`$${piece}`, values);
    length += text.length;
    if (length > lengthMax)
      throw new TooMuchError(`the filled template is longer than ${lengthMax} characters`);
    filled.push(text);
  }
  return filled.join("");
}

function fillPiece(piece: string, values: Values): string {
  const found = values.find(([placeholder]) => piece.startsWith(placeholder));
  return found === undefined ? piece : found[1]() + piece.slice(found[0].length);
}

/** Values are percent-encoded, except for slashes; the template is not. */
export function fillAddress(template: string, values: Values): string {
  const encoded = values.map(([placeholder, value]) => [placeholder, () => percentEncoded(value())] as const);
  return fill(template, encoded, ADDRESS_LENGTH_MAX);
}

function percentEncoded(text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replaceAll("%2F", "/")
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** A header contains one line of Latin-1: other characters become references, and line breaks become spaces. */
export function fillHeader(template: string, values: Values): string {
  return fill(template, values, HEADER_LENGTH_MAX)
    .replace(/\p{Cc}+/gu, " ")
    .replace(/[\u0100-\u{10ffff}]/gu, (character) => `&#${character.codePointAt(0)};`)
    .trim();
}

// Signs requests according to the Standard Webhooks specification, so that receivers can verify them with its
// libraries.

const PREFIX = "whsec_";
/** Length of a secret in bytes, according to the specification. */
const SECRET_BYTES_MIN = 24;
const SECRET_BYTES_MAX = 64;

/** Whether a text is a secret: 24 to 64 bytes in base64 after the prefix. */
export function isWebhookSecret(text: string): boolean {
  if (!text.startsWith(PREFIX)) return false;
  const bytes = bytesOf(text);
  const isWhole = bytes.toString("base64") === text.slice(PREFIX.length);
  return isWhole && bytes.length >= SECRET_BYTES_MIN && bytes.length <= SECRET_BYTES_MAX;
}

function bytesOf(secret: string): Buffer {
  return Buffer.from(secret.slice(PREFIX.length), "base64");
}

/** The headers that sign a body. `id` is the same in every attempt of one message. */
export function signatureHeaders(given: {
  secret: string;
  id: string;
  at: Instant;
  body: string;
}): Record<string, string> {
  const timestamp = String(Math.floor(given.at / SECOND_MS));
  const signature = createHmac("sha256", bytesOf(given.secret))
    .update(`${given.id}.${timestamp}.${given.body}`, "utf8")
    .digest("base64");
  return {
    "webhook-id": given.id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signature}`,
  };
}
