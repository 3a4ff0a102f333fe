// ntfy, on ntfy.sh or a self-hosted server: push messages to phones.
import type { Static } from "typebox";
import type { Severity } from "../core/incident.ts";
import { groupDirection } from "../core/message.ts";
import type { OutgoingRequest } from "../lib/outgoing-http.ts";
import {
  addressField,
  type ChannelKind,
  type ChannelMessage,
  configSchema,
  numberField,
  type Outgoing,
  textField,
} from "./channel-kind.ts";
import { sendRequest } from "./http-request.ts";
import { clipEnd, clipStart, listLines, type MessageText, messageText, type Tone } from "./message-text.ts";

const PUBLIC_SERVER = "https://ntfy.sh";
const PRIORITY_MAX = 5;
const DEFAULT_PRIORITY = 3;
const NOTICE_PRIORITY = 2;
const LOW_PRIORITY = 2;
const HIGH_PRIORITY = 4;

const schema = configSchema({
  topic: textField({
    about: "The topic name. Anyone who knows it can read its messages, unless the server requires a token.",
    lengthMax: 64,
    pattern: "^[-_A-Za-z0-9]{1,64}$",
    must: "1 to 64 letters, digits, hyphens, or underscores",
    secret: true,
  }),
  url: addressField({ about: "The URL of the ntfy server.", fallback: PUBLIC_SERVER }),
  token: textField({
    about: "An access token for the server, if the topic requires one.",
    lengthMax: 200,
    pattern: "^[!-~]+$",
    must: "a token without spaces",
    fallback: "",
    secret: true,
  }),
  priority: priorityField("Priority when a check goes down", DEFAULT_PRIORITY),
  priority_up: priorityField("Priority when a check comes back up", DEFAULT_PRIORITY),
  priority_notice: priorityField(
    "Priority of other messages, such as monitoring gap notices",
    NOTICE_PRIORITY,
  ),
});

function priorityField(about: string, fallback: number) {
  return numberField({
    about: `${about}, from 1 (lowest) to 5 (highest). 0 sends nothing.`,
    min: 0,
    max: PRIORITY_MAX,
    fallback,
  });
}

type Config = Static<typeof schema>;

/** The server turns a longer message into an attachment. */
const MESSAGE_BYTES_MAX = 4_000;
const OUTPUT_LENGTH_MAX = 1_000;
const TITLE_LENGTH_MAX = 250;
const VALUE_LENGTH_MAX = 200;
const NAMES_LENGTH_MAX = 2_000;
const TAGS: Readonly<Record<Tone, string>> = {
  bad: "red_circle",
  good: "green_circle",
  notice: "yellow_circle",
};

/** The request for a message. */
function renderNtfy(message: ChannelMessage, config: Config, out: Pick<Outgoing, "site" | "zone" | "keys">) {
  const words = messageText(message, out);
  const token = config.token || (new URL(config.url).origin === PUBLIC_SERVER ? out.keys.ntfyShToken : null);
  const payload = {
    topic: config.topic,
    title: clipStart(words.headline, TITLE_LENGTH_MAX),
    message: messageOf(words),
    markdown: true,
    priority: priorityOf(message, config) || NOTICE_PRIORITY,
    tags: [TAGS[words.tone]],
    click: words.link.url,
    actions: [words.link, ...(words.ack === null ? [] : [words.ack])].map(({ text, url }) => ({
      action: "view",
      label: text,
      url,
    })),
  };
  return {
    method: "POST",
    url: config.url,
    headers: {
      "Content-Type": "application/json",
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(payload),
  } satisfies OutgoingRequest;
}

function priorityOf(message: ChannelMessage, config: Config): number {
  switch (message.kind) {
    case "down":
      return severePriority(config.priority, message.severity);
    case "up":
      return config.priority_up;
    case "group":
      return groupDirection(message) === "down"
        ? severePriority(config.priority, message.severity)
        : config.priority_up;
    case "notice":
    case "disabled":
    case "operator":
      return config.priority_notice;
  }
}

/** ntfy has a priority for low and one for high; a setting beyond that is respected. */
function severePriority(priority: number, severity: Severity): number {
  if (severity === "normal") return priority;
  return severity === "low" ? Math.min(priority, LOW_PRIORITY) : Math.max(priority, HIGH_PRIORITY);
}

function messageOf({ sentences, history, lists, facts, others, output }: MessageText): string {
  const lines = [
    // Two trailing spaces prevent a line from being joined with the next.
    ...sentences.map((sentence) => `${escaped(sentence)}  `),
    ...(history.length === 0
      ? []
      : ["", "Since the last message:", ...history.map((line) => `- ${escaped(line)}`)]),
    ...lists.flatMap((list) => [
      "",
      ...listLines(list, {
        bullet: "- ",
        name: ({ text }) => escaped(text),
        lengthMax: NAMES_LENGTH_MAX / lists.length,
      }),
    ]),
    "",
    ...facts.map(({ label, value }) => `**${label}:** ${escaped(clipStart(value, VALUE_LENGTH_MAX))}  `),
    ...(others === null
      ? []
      : ["", escaped(others.text), ...others.down.map(({ text, url }) => `- [${escaped(text)}](${url})`)]),
  ];
  const end = output === null ? "" : `\n\n**Last output:**\n\`\`\`\n${codeOf(output)}\n\`\`\``;
  return clipBytes(lines.join("\n"), MESSAGE_BYTES_MAX - Buffer.byteLength(end)) + end;
}

function codeOf(output: string): string {
  const end = clipEnd(output, OUTPUT_LENGTH_MAX).replaceAll("```", "'''");
  const room = MESSAGE_BYTES_MAX / 2;
  // Characters of other scripts take up to three times the space.
  return Buffer.byteLength(end) <= room ? end : clipEnd(end, OUTPUT_LENGTH_MAX / 3);
}

function clipBytes(text: string, bytesMax: number): string {
  let clipped = text;
  while (Buffer.byteLength(clipped) > bytesMax)
    clipped = clipStart(clipped, Math.floor(clipped.length * 0.9));
  return clipped;
}

function escaped(text: string): string {
  return text.replace(/[\\*_~`<>[\]#|]/g, (sign) => `\\${sign}`).replaceAll("\n", "  \n");
}

export const ntfy: ChannelKind<Config> = {
  name: "ntfy",
  title: "ntfy",
  about: "Sends push notifications to phones and browsers through ntfy.sh or your own ntfy server.",
  schema,
  validate: ({ priority, priority_up, priority_notice }) =>
    priority + priority_up + priority_notice === 0
      ? "At least one of priority, priority_up, and priority_notice must be greater than 0."
      : null,
  isSubscribed: (config, what) => {
    if (what === "down") return config.priority > 0;
    return what === "up" ? config.priority_up > 0 : config.priority_notice > 0;
  },
  // ntfy.sh allows one message every five seconds, in bursts of sixty.
  rate: { perMinute: 12, burst: 30 },
  send: (message, config, out) => sendRequest(renderNtfy(message, config, out), out),
};
