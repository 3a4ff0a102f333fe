// PagerDuty, using its Events API v2: a check that goes down opens an incident, and coming up resolves it.
import type { Static } from "typebox";
import { uniqueKey } from "../core/identity.ts";
import type { OutgoingRequest } from "../lib/outgoing-http.ts";
import { hmacSha256Hex, sha1Hex } from "../lib/secrets.ts";
import {
  type ChannelKind,
  type ChannelMessage,
  choiceField,
  configSchema,
  type Outgoing,
  textField,
} from "./channel-kind.ts";
import { jsonOf, sendRequest } from "./http-request.ts";
import { clipEnd, clipStart, isoText, listLines, type MessageText, messageText } from "./message-text.ts";

const schema = configSchema({
  routing_key: textField({
    about: "The integration key of a PagerDuty service with an Events API v2 integration.",
    lengthMax: 32,
    pattern: "^[A-Za-z0-9]{32}$",
    must: "an Events API v2 integration key: 32 letters and digits",
    secret: true,
  }),
  region: choiceField({
    about: "The service region of the PagerDuty account.",
    words: ["us", "eu"],
    fallback: "us",
  }),
});

type Config = Static<typeof schema>;

const ADDRESS: Readonly<Record<Config["region"], string>> = {
  us: "https://events.pagerduty.com/v2/enqueue",
  eu: "https://events.eu.pagerduty.com/v2/enqueue",
};

const SUMMARY_LENGTH_MAX = 1_024;
const OUTPUT_LENGTH_MAX = 10_000;
const NAMES_LENGTH_MAX = 10_000;

type Context = Pick<Outgoing, "site" | "zone" | "channel" | "dedupeKey">;

/** The request for a message. */
function renderPd(message: ChannelMessage, config: Config, out: Context) {
  return {
    method: "POST",
    url: ADDRESS[config.region],
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(eventOf(message, config, out)),
  } satisfies OutgoingRequest;
}

function eventOf(message: ChannelMessage, config: Config, out: Context) {
  const { site, zone } = out;
  const words = messageText(message, { site, zone });
  const event = { routing_key: config.routing_key, dedup_key: incidentKey(message, out) };
  if (words.tone === "good") return { ...event, event_action: "resolve" };
  return {
    ...event,
    event_action: "trigger",
    client: site.name,
    client_url: site.url,
    links: [words.link, ...(words.ack === null ? [] : [words.ack])].map(({ text, url }) => ({
      href: url,
      text,
    })),
    payload: {
      summary: clipStart(words.headline, SUMMARY_LENGTH_MAX),
      source: sourceOf(message, site.name),
      severity: severityOf(message, words),
      timestamp: isoText("since" in message ? message.since : message.at),
      custom_details: detailsOf(words),
    },
  };
}

/**
 * The events that open and resolve an incident must have the same key: that of the check, the group, or the health
 * problem.
 */
function incidentKey(message: ChannelMessage, { channel, dedupeKey }: Context): string {
  switch (message.kind) {
    case "down":
    case "up":
      return uniqueKey(message.check.uuid, sha1Hex);
    case "group":
      // Incidents are numbered within a project, and several projects may use the same PagerDuty service.
      return hmacSha256Hex({ key: channel.uuid, message: `incident ${message.incident.number}` }).slice(
        0,
        40,
      );
    case "operator":
      return `overdue-${message.trouble}`;
    case "notice":
    case "disabled":
      // Nothing resolves a notice; only repetitions have the same key.
      return dedupeKey;
  }
}

function sourceOf(message: ChannelMessage, siteName: string): string {
  if (message.kind === "operator") return siteName;
  return ("check" in message ? message.check.projectName : message.projectName) || siteName;
}

function severityOf(message: ChannelMessage, { tone }: MessageText): "critical" | "warning" | "info" {
  if (message.isTest === true) return "info";
  const isLow = "severity" in message && message.severity === "low";
  return tone === "notice" || isLow ? "warning" : "critical";
}

function detailsOf({
  sentences,
  history,
  lists,
  facts,
  others,
  output,
}: MessageText): Record<string, string> {
  const down = others?.down.map(({ text }) => text) ?? [];
  return {
    "What happened": [...sentences, ...history].join("\n"),
    ...Object.fromEntries(facts.map(({ label, value }) => [label, value])),
    ...Object.fromEntries(
      lists.map((list) => {
        const [, ...names] = listLines(list, {
          bullet: "",
          name: ({ text }) => text,
          lengthMax: NAMES_LENGTH_MAX,
        });
        return [list.title, names.join("\n")];
      }),
    ),
    ...(others === null ? {} : { "Other checks": [others.text, ...down].join("\n") }),
    ...(output === null ? {} : { "Last output": clipEnd(output, OUTPUT_LENGTH_MAX) }),
  };
}

export const pd: ChannelKind<Config> = {
  name: "pd",
  title: "PagerDuty",
  about:
    "Opens an incident when a check goes down and resolves it when the check comes back up. Notices and low-severity problems have severity warning.",
  schema,
  isSubscribed: () => true,
  // PagerDuty accepts 120 events per minute for each integration.
  rate: { perMinute: 120, burst: 60 },
  send: (message, config, out) =>
    sendRequest(renderPd(message, config, out), out, {
      permanentReason: (answer) => {
        const { errors } = jsonOf(answer);
        const isAboutKey = Array.isArray(errors) && errors.some((error) => /routing_key/.test(String(error)));
        return answer.status === 400 && isAboutKey ? "PagerDuty rejected the integration key" : null;
      },
    }),
};
