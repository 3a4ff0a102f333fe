// How a Telegram chat gets its channel: people write the code of a channel to the bot, and the bot is asked what was
// written to it. Nobody has to reach us for that. Connecting itself is done by whoever is handed the codes.
import type { GuardedHttp } from "../../lib/outgoing/guarded-http.ts";
import { clipStart, oneLine } from "../words/clip.ts";
import { objectsIn, recordOf, telegramAnswer, telegramRequest } from "./telegram-api.ts";

/** Somebody has written a code into a chat. */
export type ChatCode = {
  code: string;
  chat: { id: string; type: string; name: string; threadId: number };
};

/** What was written to the bot, and from where to ask on. */
export type Heard =
  | { ok: true; codes: readonly ChatCode[]; nextOffset: number; isMore: boolean }
  | { ok: false; text: string };

type Bot = { http: Pick<GuardedHttp, "send">; token: string };

const UPDATES_MAX = 100;
const TIMEOUT_MS = 10_000;
const NAME_LENGTH_MAX = 200;
const START = /^\/start(?:@\w+)?\s+([A-Za-z0-9_-]{16,64})\s*$/;

/**
 * Asks for what was written to the bot from `offset` on. Telegram forgets everything before an offset that it is
 * asked from, so that one may be given only after the codes before it have been dealt with.
 */
export async function hearCodes({ http, token }: Bot, offset: number): Promise<Heard> {
  const params = {
    offset,
    limit: UPDATES_MAX,
    timeout: 0,
    allowed_updates: ["message", "channel_post"],
  };
  const request = telegramRequest(token, { method: "getUpdates", params, timeoutMs: TIMEOUT_MS });
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

/** Tells a chat that it is connected. Whether that arrives changes nothing but what is logged. */
export async function greetChat(
  { http, token }: Bot,
  { chat, projectName, siteName }: { chat: ChatCode["chat"]; projectName: string; siteName: string },
): Promise<{ ok: true } | { ok: false; text: string }> {
  const params = {
    chat_id: chat.id,
    ...(chat.threadId === 0 ? {} : { message_thread_id: chat.threadId }),
    text: `This chat is connected. ${siteName} will send notifications for ${oneLine(projectName) || "the project"} here.`,
  };
  const request = telegramRequest(token, { method: "sendMessage", params, timeoutMs: TIMEOUT_MS });
  const { ok, description } = telegramAnswer(await http.send(request));
  return ok ? { ok } : { ok, text: description };
}
