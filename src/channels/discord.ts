// Discord, using the webhook URL of a channel.
import type { Static } from "typebox";
import type { OutgoingRequest } from "../lib/outgoing-http.ts";
import {
  addressField,
  type ChannelKind,
  type ChannelMessage,
  configSchema,
  type Outgoing,
} from "./channel-kind.ts";
import { sendRequest } from "./http-request.ts";
import {
  clipEnd,
  clipStart,
  type Fact,
  listLines,
  type MessageText,
  messageText,
  type Tone,
} from "./message-text.ts";

const schema = configSchema({
  url: addressField({
    about: "The webhook URL, such as https://discord.com/api/webhooks/…/….",
    secret: true,
  }),
});

type Config = Static<typeof schema>;

const WEBHOOK = /^https:\/\/((ptb|canary)\.)?discord(app)?\.com\/api\/(v\d+\/)?webhooks\/\d+\/[\w-]+\/?$/;
const COLOURS: Readonly<Record<Tone, number>> = { bad: 0xd9534f, good: 0x5cb85c, notice: 0xf0ad4e };

/** Discord's limits; all texts of an embed together may have 6,000 characters. */
const USERNAME_LENGTH_MAX = 80;
const TITLE_LENGTH_MAX = 256;
const DESCRIPTION_LENGTH_MAX = 2_000;
const NAMES_LENGTH_MAX = 1_400;
const FIELD_LENGTH_MAX = 300;
const OUTPUT_LENGTH_MAX = 900;
/** Names that Discord reserves. */
const RESERVED_NAMES = /discord|clyde/i;

/** The request for a message. */
function renderDiscord(
  message: ChannelMessage,
  config: Config,
  { site, zone }: Pick<Outgoing, "site" | "zone">,
) {
  const words = messageText(message, { site, zone });
  const url = new URL(config.url);
  url.host = "discord.com";
  // Without it, a message that could not be stored gets a success response.
  url.searchParams.set("wait", "true");
  const username = clipStart(site.name, USERNAME_LENGTH_MAX);
  const payload = {
    ...(RESERVED_NAMES.test(username) ? {} : { username }),
    embeds: [embed(words)],
    // Names and outputs are untrusted: they must not mention anyone.
    allowed_mentions: { parse: [] },
  };
  return {
    method: "POST",
    url: url.href,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(payload),
  } satisfies OutgoingRequest;
}

function embed(words: MessageText) {
  const fields = words.facts.map((fact) => ({
    name: fact.label,
    value: factValue(fact),
    inline: fact.isShort,
  }));
  if (words.output !== null) {
    fields.push({ name: "Last output", value: codeBlock(words.output), inline: false });
  }
  return {
    title: clipStart(escaped(words.headline), TITLE_LENGTH_MAX),
    url: words.link.url,
    description: withAck(words, descriptionOf(words)),
    color: COLOURS[words.tone],
    fields,
  };
}

/** The link to acknowledge is never cut off. */
function withAck({ ack }: MessageText, description: string): string {
  const end = ack === null ? "" : `\n[${escaped(ack.text)}](${ack.url})`;
  return clipStart(description, DESCRIPTION_LENGTH_MAX - end.length) + end;
}

function descriptionOf({ sentences, history, lists, others }: MessageText): string {
  const down = others?.down ?? [];
  return [
    ...sentences.map(escaped),
    ...(history.length === 0
      ? []
      : ["Since the last message:", ...history.map((line) => `- ${escaped(line)}`)]),
    ...lists.flatMap((list) =>
      listLines(list, {
        bullet: "- ",
        name: ({ text }) => escaped(text),
        lengthMax: NAMES_LENGTH_MAX / lists.length,
      }),
    ),
    ...(others === null ? [] : [escaped(others.text)]),
    ...down.map(({ text, url }) => `- [${escaped(text)}](${url})`),
  ].join("\n");
}

function factValue({ value, parts, isLiteral }: Fact): string {
  const text =
    isLiteral === true
      ? (parts ?? [value]).map((part) => `\`${part.replaceAll("`", "'")}\``).join(" ")
      : escaped(value);
  return clipStart(text, FIELD_LENGTH_MAX);
}

/** Discord's markup characters, at the beginning of a line or anywhere, are escaped with a backslash. */
function escaped(text: string): string {
  return text.replace(
    /^[^\S\n\r\u2028\u2029]*[-#+]|[\\*_~`|<>[\]]/gm,
    (sign) => `${sign.slice(0, -1)}\\${sign.slice(-1)}`,
  );
}

function codeBlock(text: string): string {
  return `\`\`\`\n${clipEnd(text, OUTPUT_LENGTH_MAX).replaceAll("```", "'''")}\n\`\`\``;
}

export const discord: ChannelKind<Config> = {
  name: "discord",
  title: "Discord",
  about: "Sends messages to a Discord channel.",
  schema,
  validate: ({ url }) =>
    WEBHOOK.test(url)
      ? null
      : "url must be a Discord webhook URL: https://discord.com/api/webhooks/<id>/<token>. Copy it in Discord from Edit Channel > Integrations > Webhooks.",
  isSubscribed: () => true,
  // Discord accepts 30 messages per minute for each webhook, in bursts of five.
  rate: { perMinute: 30, burst: 5 },
  send: (message, config, out) =>
    sendRequest(renderDiscord(message, config, out), out, {
      permanentReason: ({ status }) => (status === 404 ? "The webhook no longer exists (HTTP 404)" : null),
    }),
};
