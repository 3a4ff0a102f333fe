// Zulip: a channel or a direct message, sent by a bot.
import { SECOND_MS } from "../../core/instant.ts";
import { below, choiceField, configSchema, serverField, textField, tokenField } from "../config-fields.ts";
import { type Content, httpKind } from "../http-kind.ts";
import { jsonOf } from "../http-request.ts";
import { type Dialect, fullText, JOINER, MARKDOWN, SIGNS, withoutMentions } from "../layout.ts";
import { clipStart, oneLine, shownName } from "../message-text.ts";

const TOPIC_LENGTH_MAX = 60;
const HEADLINE_LENGTH_MAX = 300;
/** Zulip accepts 10,000 characters. */
const LIMITS = { max: 9_000, output: 3_000, value: 500, names: 3_000 } as const;
/** An asterisk before a space is not markup, even if the space is thin. */
const HAIR_SPACE = "\u200a";

const ZULIP: Dialect = {
  ...MARKDOWN,
  // There is no escape character.
  text: (foreign) =>
    withoutMentions(foreign)
      .replaceAll("`", "'")
      .replace(/\*(?!\s)/g, `*${HAIR_SPACE}`)
      .replace(/[~$<]|\](?=\()/g, (sign) => sign + JOINER),
  link: ({ text, url }) => `[${ZULIP.text(text.replaceAll("[", "(").replaceAll("]", ")"))}](${url})`,
  bullet: "* ",
  lineEnd: "",
};

/** One topic for all messages about a check, or about an incident with several. */
function topicOf({
  message,
  words,
  incident,
}: Pick<Content<unknown>, "message" | "words" | "incident">): string {
  if ("check" in message) return shownName(message.check.settings);
  return message.kind === "group"
    ? `Incident #${message.incident.number} in ${oneLine(incident.source)}`
    : words.headline;
}

export const zulip = httpKind({
  name: "zulip",
  title: "Zulip",
  about: "Sends messages to a Zulip channel or user through a bot.",
  category: "chat",
  icon: "zulip",
  example: {
    site: "https://example.zulipchat.com",
    bot_email: "overdue-bot@example.zulipchat.com",
    api_key: "your-api-key",
    to: "ops",
  },
  guide: [
    "In Zulip, open **Personal settings**, then **Bots**, and select **Add a new bot**. Select the type **Incoming webhook** or **Generic bot**, and enter a name and an email address for the bot.",
    "Copy the email address and the API key of the bot and paste them into the form, together with the URL of your Zulip organization.",
    "Enter the channel or user that receives the messages. For a private channel, subscribe the bot to it first.",
  ],
  schema: configSchema({
    site: serverField({ about: "The URL of the Zulip organization, such as https://example.zulipchat.com." }),
    bot_email: textField({
      about: "The email address of the bot.",
      lengthMax: 100,
      pattern: "^[^\\s:@]+@[^\\s:@]+$",
      must: "an email address",
    }),
    api_key: tokenField({ about: "The API key of the bot.", lengthMax: 50 }),
    mtype: choiceField({
      about: "Whether messages go to a channel (stream) or to a user (private).",
      words: ["stream", "private"],
      fallback: "stream",
    }),
    to: textField({
      about: "The name of the channel, or the email address or numeric ID of the user.",
      lengthMax: 100,
    }),
    topic: textField({
      about: "The topic in the channel. Leave blank for one topic per check.",
      lengthMax: TOPIC_LENGTH_MAX,
      fallback: "",
    }),
  }),
  isSubscribed: () => true,
  rate: { perMinute: 60, burst: 20 },
  request: ({ words, message, incident, config }) => {
    const { site, bot_email: bot, api_key: key, mtype, to, topic } = config;
    const headline = ZULIP.bold(ZULIP.text(clipStart(words.headline, HEADLINE_LENGTH_MAX)));
    return {
      url: below(site, "api/v1/messages"),
      headers: { Authorization: `Basic ${Buffer.from(`${bot}:${key}`).toString("base64")}` },
      form: {
        // Old servers accept only these values.
        type: mtype,
        ...(mtype === "stream"
          ? { to, topic: clipStart(topic || topicOf({ message, words, incident }), TOPIC_LENGTH_MAX) }
          : { to: JSON.stringify([/^\d+$/.test(to) ? Number(to) : to]) }),
        content: `${SIGNS[words.tone]} ${headline}\n${fullText(words, ZULIP, { limits: LIMITS })}`,
      },
    };
  },
  // A reverse proxy may answer 404 while the server restarts; only these errors come from Zulip itself.
  answers: {
    gone: [
      {
        status: [401, 403],
        json: { result: "error" },
        reason: "Zulip rejected the email address or API key of the bot",
      },
      {
        status: 400,
        json: { code: "STREAM_DOES_NOT_EXIST" },
        reason: "The channel does not exist",
      },
    ],
    wait: [
      {
        status: 429,
        ms: (answer) => {
          const seconds = jsonOf(answer)["retry-after"];
          return typeof seconds === "number" ? Math.ceil(seconds * SECOND_MS) : null;
        },
      },
      { status: 200, json: { result: "error" } },
    ],
  },
});
