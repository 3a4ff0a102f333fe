// Webhooks: requests that their owner has written, with placeholders for what happened, signed on the way.
import type { Static } from "typebox";
import type { OutgoingRequest } from "../../lib/outgoing/guarded-http.ts";
import type { ChannelKind, Outgoing } from "../channel-kind.ts";
import { addressField, choiceField, configSchema, headersField, textField } from "../config/config-fields.ts";
import { notTried, sendRequest } from "../http-sending.ts";
import { isoText } from "../words/time-text.ts";
import type { ToldMessage } from "../told-message.ts";
import { isWebhookSecret, signatureHeaders } from "../webhook/webhook-signature.ts";
import { defaultBody } from "../webhook/webhook-body.ts";
import {
  asciiJson,
  bodyValues,
  fill,
  fillAddress,
  fillHeader,
  placeholderValues,
  TooMuchError,
  type Values,
} from "../webhook/webhook-template.ts";
import { wordsOf } from "../words/words.ts";

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

/** The request that a message becomes; null: its owner has written none for it. */
function renderWebhook(message: ToldMessage, config: Config, out: Outgoing): OutgoingRequest | null {
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

function templateFor({ kind }: ToldMessage, config: Config) {
  switch (kind) {
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

/** A notice has no check; its title takes the place of the name, and its text that of the last output. */
function valuesOf(message: ToldMessage, { out, isBody }: { out: Outgoing; isBody: boolean }): Values {
  if (message.kind === "down" || message.kind === "up") {
    return placeholderValues(message, { checkJson: (check) => out.checkJson(check), isBody });
  }
  const words = wordsOf(message, out);
  const text = words.sentences.join(" ");
  return [
    ["$CODE", () => ""],
    ["$STATUS", () => "notice"],
    ["$NOW", () => isoText(message.at)],
    ["$NAME_JSON", () => asciiJson(words.headline)],
    ["$NAME", () => words.headline],
    ["$SLUG", () => ""],
    ["$TAGS", () => ""],
    [
      "$JSON",
      () => asciiJson({ kind: message.kind, title: words.headline, text, facts: factsByLabel(words.facts) }),
    ],
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
  schema,
  validate: ({ url_down, url_up, url_notice, secret }) => {
    if (url_down === "" && url_up === "" && url_notice === "") {
      return "At least one of url_down, url_up, and url_notice is required.";
    }
    if (secret === "" || isWebhookSecret(secret)) return null;
    return "secret must be whsec_ followed by 24 to 64 bytes encoded in base64. Omit it to generate one.";
  },
  hears: (config, what) => config[`url_${what}`] !== "",
  rate: null,
  send: async (message, config, out) => {
    try {
      const request = renderWebhook(message, config, out);
      if (request === null) return notTried("The webhook has no URL for this type of message");
      return await sendRequest(request, out);
    } catch (error) {
      if (!(error instanceof TooMuchError)) throw error;
      // The next message may be a shorter one.
      const tooMuch = notTried("The request is too large after filling in its placeholders");
      return { ...tooMuch, permanent: true, keepsChannel: true };
    }
  },
};
