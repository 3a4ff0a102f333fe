// Slack, using the URL of an incoming webhook.
import type { Static } from "typebox";
import type { OutgoingRequest } from "../lib/outgoing-http.ts";
import {
  addressField,
  type ChannelKind,
  type ChannelMessage,
  configSchema,
  type Outgoing,
  type Site,
} from "./channel-kind.ts";
import { sendRequest } from "./http-request.ts";
import {
  clipEnd,
  clipStart,
  type Fact,
  type Link,
  listLines,
  messageText,
  type MessageText,
  type Tone,
} from "./message-text.ts";

const schema = configSchema({
  url: addressField({
    about: "The incoming webhook URL, such as https://hooks.slack.com/services/T…/B…/….",
    secret: true,
  }),
});

type Config = Static<typeof schema>;

/** The request for a message. */
function renderSlack(
  message: ChannelMessage,
  { url }: Config,
  { site, zone }: Pick<Outgoing, "site" | "zone">,
) {
  return {
    method: "POST",
    url,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(slackPayload(messageText(message, { site, zone }), site)),
  } satisfies OutgoingRequest;
}

export const slack: ChannelKind<Config> = {
  name: "slack",
  title: "Slack",
  about: "Sends messages to a Slack channel, or to any chat service that accepts Slack-compatible webhooks.",
  schema,
  isSubscribed: () => true,
  // Slack accepts one message per second for each webhook, with short bursts.
  rate: { perMinute: 60, burst: 10 },
  send: (message, config, out) =>
    sendRequest(renderSlack(message, config, out), out, {
      permanentReason: ({ status, text }) => {
        const isGone = status === 404 || (status === 400 && text.trim() === "invalid_token");
        return isGone ? `The webhook no longer exists (HTTP ${status})` : null;
      },
    }),
};

// Uses Slack's older attachment format, which many other chat servers support.

const COLOURS: Readonly<Record<Tone, string>> = { bad: "danger", good: "good", notice: "warning" };
const OUTPUT_LENGTH_MAX = 1_000;
const VALUE_LENGTH_MAX = 1_000;
/** The checks of an incident, with their links. */
const NAMES_LENGTH_MAX = 4_000;

export type SlackPayload = {
  username: string;
  attachments: readonly {
    color: string;
    fallback: string;
    mrkdwn_in: readonly string[];
    title: string;
    title_link: string;
    text: string;
    fields: readonly { title: string; value: string; short: boolean }[];
  }[];
};

/** The payload of an incoming webhook. Nothing in it can mention anyone or act as markup. */
function slackPayload(words: MessageText, site: Site): SlackPayload {
  const fields = words.facts.map((fact) => ({
    title: fact.label,
    value: factValue(fact),
    short: fact.isShort,
  }));
  if (words.output !== null) {
    fields.push({ title: "Last output", value: codeBlock(words.output), short: false });
  }
  return {
    username: site.name,
    attachments: [
      {
        color: COLOURS[words.tone],
        fallback: escaped(words.headline),
        mrkdwn_in: ["text", "fields"],
        title: escaped(words.headline),
        title_link: words.link.url,
        text: textLines(words).join("\n"),
        fields,
      },
    ],
  };
}

function textLines({ sentences, history, lists, others, ack }: MessageText): string[] {
  const down = others?.down ?? [];
  return [
    ...sentences.map(plain),
    ...(history.length === 0
      ? []
      : ["Since the last message:", ...history.map((line) => `• ${plain(line)}`)]),
    ...lists.flatMap((list) =>
      listLines(list, { bullet: "• ", name: linked, lengthMax: NAMES_LENGTH_MAX / lists.length }),
    ),
    ...(others === null ? [] : [plain(others.text)]),
    ...down.map((link) => `• ${linked(link)}`),
    ...(ack === null ? [] : [linked(ack)]),
  ];
}

function linked({ text, url }: Link): string {
  return `<${url}|${plain(text).replaceAll("|", "¦")}>`;
}

function factValue({ value, parts, isLiteral }: Fact): string {
  if (isLiteral !== true) return plain(clipStart(value, VALUE_LENGTH_MAX));
  return (parts ?? [value]).map(code).join(" ");
}

/** Slack's own rule: exactly these three characters. */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/**
 * An invisible joiner prevents a character at the edge of a word from acting as markup; inside a word it never does.
 */
function plain(text: string): string {
  return escaped(text).replace(/(?<![\p{L}\p{N}])[*_~`]|[*_~`](?![\p{L}\p{N}])/gu, (sign) => `${sign}\u2060`);
}

function code(text: string): string {
  return `\`${escaped(text).replaceAll("`", "'")}\``;
}

function codeBlock(text: string): string {
  return `\`\`\`\n${escaped(clipEnd(text, OUTPUT_LENGTH_MAX)).replaceAll("```", "'''")}\n\`\`\``;
}
