// Telegram, through the bot of the installation. How a chat is connected to a channel is in telegram-set-up.ts.
import type { Static } from "typebox";
import type { SendResult } from "../../core/alerts/sending.ts";
import { SECOND_MS } from "../../core/instant.ts";
import type { OutgoingAnswer } from "../../lib/outgoing/guarded-http.ts";
import type { ChannelKind, Outgoing } from "../channel-kind.ts";
import { clipEnd, clipStart } from "../words/clip.ts";
import { configSchema, numberField, textField } from "../config/config-fields.ts";
import { failedToSend, interpret, notTried } from "../http-sending.ts";
import { telegramAnswer, telegramRequest, telegramSummary } from "../telegram/telegram-api.ts";
import type { ToldMessage } from "../told-message.ts";
import { type Mood, type Words, wordsOf } from "../words/words.ts";

const NAME_LENGTH_MAX = 200;
const CODE_LENGTH_MAX = 64;
const THREAD_ID_MAX = 2 ** 53 - 1;

const schema = configSchema({
  chat_id: textField({
    about:
      "The numeric chat ID, or the @name of a public channel. Empty until a chat is connected with the setup code.",
    lengthMax: 100,
    pattern: "^(-?[0-9]{1,20}|@[A-Za-z0-9_]{4,64})$",
    must: "a numeric ID such as -1001234567890, or a name such as @our_channel",
    fallback: "",
  }),
  thread_id: numberField({
    about: "The topic ID, for groups with topics. 0 means no topic.",
    min: 0,
    max: THREAD_ID_MAX,
    fallback: 0,
  }),
  chat_type: textField({
    about: "The chat type, such as private, group, or channel.",
    lengthMax: NAME_LENGTH_MAX,
    fallback: "",
  }),
  chat_name: textField({ about: "The chat name.", lengthMax: NAME_LENGTH_MAX, fallback: "" }),
  setup_code: textField({
    about:
      "The setup code that connects a chat: in the chat, send `/start` followed by the code to the bot. Generated if no chat is given, shown once, and valid for one use.",
    lengthMax: CODE_LENGTH_MAX,
    pattern: "^[A-Za-z0-9_-]{16,64}$",
    must: "16 to 64 letters, digits, hyphens, or underscores",
    fallback: "",
    secret: true,
    made: "setUpCode",
    unless: "chat_id",
  }),
});

export type TelegramConfig = Static<typeof schema>;

const METHOD = "sendMessage";
const SUMMARY = telegramSummary(METHOD);
/** A message may have to be sent twice, to the old and to the new id of a chat. */
const TIMEOUT_MS = 14_000;

/** Telegram counts what is shown, without the markup. */
const TEXT_LENGTH_MAX = 4_096;
const OUTPUT_LENGTH_MAX = 1_000;
const VALUE_LENGTH_MAX = 300;
/** What markup and the ends of cut texts may add. */
const RESERVE = 100;
const SIGNS: Readonly<Record<Mood, string>> = { bad: "🔴", good: "🟢", notice: "🟡" };

/** The parameters of the call that a message becomes. */
function renderTelegram(
  message: ToldMessage,
  { chat_id, thread_id }: Pick<TelegramConfig, "chat_id" | "thread_id">,
  { site, zone }: Pick<Outgoing, "site" | "zone">,
) {
  return {
    chat_id,
    ...(thread_id === 0 ? {} : { message_thread_id: thread_id }),
    text: textOf(wordsOf(message, { site, zone })),
    parse_mode: "HTML",
    link_preview_options: { is_disabled: true },
  };
}

function textOf(words: Words): string {
  const body = clipStart(
    bodyLines(words).join("\n"),
    TEXT_LENGTH_MAX - OUTPUT_LENGTH_MAX - VALUE_LENGTH_MAX - RESERVE,
  );
  const headline = clipStart(words.headline, VALUE_LENGTH_MAX);
  return [
    `${SIGNS[words.mood]} <b>${escaped(headline)}</b>`,
    escaped(body),
    ...(words.output === null
      ? []
      : ["<b>Last output</b>", `<pre>${escaped(clipEnd(words.output, OUTPUT_LENGTH_MAX))}</pre>`]),
    `<a href="${escaped(words.link.url)}">${escaped(words.link.text)}</a>`,
  ].join("\n");
}

function bodyLines({ sentences, history, facts, others }: Words): string[] {
  return [
    ...sentences,
    ...(history.length === 0 ? [] : ["Since the last message:", ...history.map((line) => `• ${line}`)]),
    "",
    ...facts.map(({ label, value }) => `${label}: ${clipStart(value, VALUE_LENGTH_MAX)}`),
    ...(others === null ? [] : ["", others.text, ...others.down.map(({ text }) => `• ${text}`)]),
    "",
  ];
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** Descriptions after which nothing sent to the chat will arrive again. */
const PERMANENT: readonly string[] = [
  "Forbidden: the group chat was deleted",
  "Forbidden: bot was blocked by the user",
  "Forbidden: user is deactivated",
  "Forbidden: bot was kicked from the group chat",
  "Forbidden: bot was kicked from the supergroup chat",
  "Forbidden: bot was kicked from the channel chat",
  "Bad Request: chat not found",
];

function resultOf(answer: OutgoingAnswer, out: Outgoing): SendResult {
  return interpret(answer, {
    summary: SUMMARY,
    now: out.now,
    rules: {
      permanentReason: (refusal) => {
        const { description } = telegramAnswer(refusal);
        return PERMANENT.includes(description) ? description : null;
      },
      retryAfterMs: (refusal) => {
        const { retryAfterSeconds } = telegramAnswer(refusal);
        return retryAfterSeconds === null ? null : retryAfterSeconds * SECOND_MS;
      },
    },
  });
}

async function send(message: ToldMessage, config: TelegramConfig, out: Outgoing): Promise<SendResult> {
  const { telegramToken: token } = out.keys;
  if (token === null)
    return notTried("Telegram is not enabled on this server: OVERDUE_TELEGRAM_TOKEN is not set");
  if (config.chat_id === "")
    return notTried("No chat is connected yet: send /start and the setup code to the bot");
  const call = (chat_id: string) => {
    const params = renderTelegram(message, { ...config, chat_id }, out);
    return out.http.send(telegramRequest(token, { method: METHOD, params, timeoutMs: TIMEOUT_MS }));
  };
  try {
    const answer = await call(config.chat_id);
    const { migratedTo } = telegramAnswer(answer);
    if (migratedTo === null) return resultOf(answer, out);
    const result = resultOf(await call(migratedTo), out);
    return result.kind === "sent" ? { ...result, config: { ...config, chat_id: migratedTo } } : result;
  } catch (error) {
    return failedToSend(error, SUMMARY);
  }
}

export const telegram: ChannelKind<TelegramConfig> = {
  name: "telegram",
  title: "Telegram",
  about: "Sends messages to a Telegram chat, group, or channel through the server's bot.",
  schema,
  hears: () => true,
  // Telegram takes 20 messages a minute in a group.
  rate: { perMinute: 20, burst: 6 },
  send,
};
