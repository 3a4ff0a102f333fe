// Telegram: the Bot API, the channel kind, and how a chat is connected. The token is part of every URL, so URLs are
// never logged.
import type { Static } from "typebox";
import type { SendResult } from "../../core/delivery.ts";
import { SECOND_MS } from "../../core/instant.ts";
import type { GuardedHttp, OutgoingRequest, OutgoingResponse } from "../../lib/outgoing-http.ts";
import type { ChannelKind, ChannelMessage, Outgoing } from "../channel-kind.ts";
import { configSchema, numberField, textField } from "../config-fields.ts";
import { type Answers, failedToSend, interpret, jsonOf, notTried, rejectionsIn } from "../http-request.ts";
import { escapeHtml, HTML, linkLines, partsOf, PLAIN, SIGNS } from "../layout.ts";
import { clipEnd, clipStart, type MessageText, messageText, oneLine } from "../message-text.ts";

const API = "https://api.telegram.org";

/** The part of a call that may be logged. */
function telegramSummary(method: string): string {
  return `POST ${new URL(API).host} ${method}`;
}

/** A call of an API method. */
function telegramRequest(
  token: string,
  { method, params, timeoutMs }: { method: string; params: object; timeoutMs: number },
): OutgoingRequest {
  return {
    method: "POST",
    url: `${API}/bot${token}/${method}`,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(params),
    timeoutMs,
  };
}

export type TelegramAnswer = {
  ok: boolean;
  result: unknown;
  description: string;
  /** The group was converted to a supergroup and has this ID now. */
  migratedTo: string | null;
  retryAfterSeconds: number | null;
};

/** A response of the API, whatever its status. Missing or invalid fields are empty. */
export function telegramAnswer(answer: OutgoingResponse): TelegramAnswer {
  const { ok, result, description, parameters } = jsonOf(answer);
  const { migrate_to_chat_id, retry_after } = recordOf(parameters);
  return {
    ok: ok === true,
    result,
    description: typeof description === "string" ? description : "",
    migratedTo: Number.isSafeInteger(migrate_to_chat_id) ? String(migrate_to_chat_id) : null,
    retryAfterSeconds: typeof retry_after === "number" && retry_after >= 0 ? retry_after : null,
  };
}

/** A value as an object; empty if it is not one. */
function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** The objects of a list; none if it is not a list. */
function objectsIn(value: unknown): Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.map(recordOf) : [];
}

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
      "The setup code that connects a chat: in the chat, send /start followed by the code to the bot. Generated if no chat is given, shown once, and valid for one use.",
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
/** A message may have to be sent twice, to the old and to the new ID of a chat. */
const TIMEOUT_MS = 14_000;

/** Telegram counts the visible text, without markup. */
const TEXT_LENGTH_MAX = 4_096;
const OUTPUT_LENGTH_MAX = 1_000;
const VALUE_LENGTH_MAX = 300;
const NAMES_LENGTH_MAX = 2_000;
/** What markup and the ends of truncated texts may add. */
const RESERVE = 100;

/** The parameters of the call for a message. */
function renderTelegram(
  message: ChannelMessage,
  { chat_id, thread_id }: Pick<TelegramConfig, "chat_id" | "thread_id">,
  { site, zone }: Pick<Outgoing, "site" | "zone">,
) {
  return {
    chat_id,
    ...(thread_id === 0 ? {} : { message_thread_id: thread_id }),
    text: textOf(messageText(message, { site, zone })),
    parse_mode: "HTML",
    link_preview_options: { is_disabled: true },
  };
}

function textOf(words: MessageText): string {
  const limits = { value: VALUE_LENGTH_MAX, names: NAMES_LENGTH_MAX };
  const { sentences, history, lists, facts, others } = partsOf(words, { ...PLAIN, bullet: "• " }, limits);
  const body = [
    ...sentences,
    ...history,
    ...lists.flatMap((list) => ["", ...list]),
    "",
    ...facts,
    ...(others.length === 0 ? [] : ["", ...others]),
    "",
  ].join("\n");
  const lengthMax = TEXT_LENGTH_MAX - OUTPUT_LENGTH_MAX - VALUE_LENGTH_MAX - RESERVE;
  const { output } = words;
  return [
    `${SIGNS[words.tone]} ${HTML.bold(escapeHtml(clipStart(words.headline, VALUE_LENGTH_MAX)))}`,
    escapeHtml(clipStart(body, lengthMax)),
    ...(output === null ? [] : [HTML.bold("Last output"), HTML.block(clipEnd(output, OUTPUT_LENGTH_MAX))]),
    ...linkLines(words, HTML),
  ].join("\n");
}

/** Errors after which no message to the chat will arrive. */
const PERMANENT: readonly string[] = [
  "Forbidden: the group chat was deleted",
  "Forbidden: bot was blocked by the user",
  "Forbidden: user is deactivated",
  "Forbidden: bot was kicked from the group chat",
  "Forbidden: bot was kicked from the supergroup chat",
  "Forbidden: bot was kicked from the channel chat",
  "Bad Request: chat not found",
];

const ANSWERS: Answers = {
  gone: PERMANENT.map((description) => ({ status: [400, 403], json: { description }, reason: description })),
  ours: [
    {
      status: [401, 404],
      reason: "Telegram rejected the token of the server's bot (OVERDUE_TELEGRAM_TOKEN)",
    },
  ],
  wait: [
    {
      status: 429,
      ms: (answer) => {
        const { retryAfterSeconds } = telegramAnswer(answer);
        return retryAfterSeconds === null ? null : retryAfterSeconds * SECOND_MS;
      },
    },
  ],
};

function resultOf(answer: OutgoingResponse, out: Outgoing): SendResult {
  return interpret(answer, { summary: SUMMARY, now: out.now, answers: ANSWERS });
}

const NO_BOT = "Telegram is not enabled on this server: OVERDUE_TELEGRAM_TOKEN is not set";

async function send(message: ChannelMessage, config: TelegramConfig, out: Outgoing): Promise<SendResult> {
  const { telegramToken: token } = out.keys;
  if (token === null) return notTried(NO_BOT);
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
  category: "chat",
  icon: "telegram",
  example: { chat_id: "-1001234567890" },
  guide: [
    "Create the channel without a chat ID. Overdue shows a setup code, once.",
    "Ask an admin for the name of this server's bot. In Telegram, open a chat with the bot, or add it to your group or channel.",
    "In that chat, send `/start` followed by a space and the code. In a group, send `/start@name_of_the_bot` instead of `/start`. The bot confirms that the chat is connected.",
  ],
  schema,
  unavailable: ({ keys }) => (keys.telegramToken === null ? NO_BOT : null),
  isSubscribed: () => true,
  // Telegram accepts 20 messages per minute in a group.
  rejections: () => rejectionsIn(ANSWERS),
  rate: { perMinute: 20, burst: 6 },
  send,
};

// To connect a chat, the user sends the channel's code to the bot. The bot is polled, so no inbound connection is needed.

/** A code that a user wrote into a chat. */
export type ChatCode = {
  code: string;
  chat: { id: string; type: string; name: string; threadId: number };
};

/** The messages to the bot, and the next offset. */
export type SetUpCodes =
  | { ok: true; codes: readonly ChatCode[]; nextOffset: number; isMore: boolean }
  | { ok: false; text: string };

type Bot = { http: Pick<GuardedHttp, "send">; token: string };

const UPDATES_MAX = 100;
const SET_UP_TIMEOUT_MS = 10_000;
const START = /^\/start(?:@\w+)?\s+([A-Za-z0-9_-]{16,64})\s*$/;

/**
 * Reads the messages to the bot from `offset` on. Telegram deletes everything before the requested offset, so it may
 * be advanced only after the earlier codes have been processed.
 */
export async function readSetUpCodes({ http, token }: Bot, offset: number): Promise<SetUpCodes> {
  const params = {
    offset,
    limit: UPDATES_MAX,
    timeout: 0,
    allowed_updates: ["message", "channel_post"],
  };
  const request = telegramRequest(token, { method: "getUpdates", params, timeoutMs: SET_UP_TIMEOUT_MS });
  const { ok, result, description } = telegramAnswer(await http.send(request));
  if (!ok) return { ok: false, text: description || "Telegram sent an unexpected response" };
  const updates = objectsIn(result);
  const ids = updates.map(({ update_id: id }) => Number(id)).filter((id) => Number.isSafeInteger(id));
  return {
    ok: true,
    codes: updates.flatMap(codeIn),
    nextOffset: Math.max(offset, ...ids.map((id) => id + 1)),
    isMore: updates.length >= UPDATES_MAX,
  };
}

function codeIn(update: Readonly<Record<string, unknown>>): ChatCode[] {
  const message = recordOf(update["message"] ?? update["channel_post"]);
  const { text, is_topic_message: isTopic, message_thread_id: thread } = message;
  const { id, type, title, username, first_name } = recordOf(message["chat"]);
  const [, code] = typeof text === "string" ? (START.exec(text.trim()) ?? []) : [];
  if (code === undefined || !Number.isSafeInteger(id)) return [];
  const name = [title, username, first_name].find((one) => typeof one === "string") ?? "";
  const threadId = isTopic === true && Number.isSafeInteger(thread) ? Number(thread) : 0;
  return [
    {
      code,
      chat: {
        id: String(id),
        type: typeof type === "string" ? type : "",
        name: clipStart(oneLine(name), NAME_LENGTH_MAX),
        threadId,
      },
    },
  ];
}

/** Notifies a chat that it is connected. The result is only logged. */
export async function greetChat(
  { http, token }: Bot,
  { chat, projectName, siteName }: { chat: ChatCode["chat"]; projectName: string; siteName: string },
): Promise<{ ok: true } | { ok: false; text: string }> {
  const params = {
    chat_id: chat.id,
    ...(chat.threadId === 0 ? {} : { message_thread_id: chat.threadId }),
    text: `This chat is connected. ${siteName} will send notifications for ${oneLine(projectName) || "the project"} here.`,
  };
  const request = telegramRequest(token, { method: "sendMessage", params, timeoutMs: SET_UP_TIMEOUT_MS });
  const { ok, description } = telegramAnswer(await http.send(request));
  return ok ? { ok } : { ok, text: description };
}
