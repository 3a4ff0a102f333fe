// Telegram's Bot API, by https://core.telegram.org/bots/api: sendMessage with its HTML, getUpdates and getMe.
import {
  jsonProblems,
  objectsOf,
  type Received,
  type KindReceiver,
  type Receiver,
  said,
  startReceiver,
  type Verdict,
} from "../receiver.ts";

const TEXT_MAX = 4_096;
const TAGS = ["b", "i", "u", "s", "code", "pre", "a"];

export const TELEGRAM_TOKEN = "123456789:AAtoken-of-the-bot_aaaaaaaaaaaaaaaaaa";

export type TelegramReceiver = Receiver & {
  /** Messages to the bot that are not confirmed yet. */
  updates: Readonly<Record<string, unknown>>[];
  /** Migrated chats: their old and new IDs. */
  migrated: Map<string, number>;
};

export async function startTelegram(): Promise<TelegramReceiver> {
  const updates: TelegramReceiver["updates"] = [];
  const migrated: TelegramReceiver["migrated"] = new Map();
  const receiver = await startReceiver((request) => judge(request, { updates, migrated }));
  return { ...receiver, updates, migrated };
}

type World = Pick<TelegramReceiver, "updates" | "migrated">;

function judge(request: Received, world: World): Verdict {
  const [, token, method] = /^\/bot([^/]+)\/(\w+)$/.exec(request.path) ?? [];
  if (token !== TELEGRAM_TOKEN) return refusal(401, "Unauthorized");
  const problems = jsonProblems(request);
  if (problems.length > 0) return { ...refusal(400, "Bad Request: can't parse request"), problems };
  if (method === "getMe") {
    return result({ id: 123_456_789, is_bot: true, first_name: "Overdue", username: "overdue_test_bot" });
  }
  if (method === "getUpdates") return getUpdates(request, world);
  return method === "sendMessage" ? sendMessage(request, world) : refusal(404, "Not Found");
}

function result(value: unknown): Verdict {
  return { answer: { status: 200, body: { ok: true, result: value } } };
}

function refusal(code: number, description: string, parameters?: object): Verdict {
  const body = {
    ok: false,
    error_code: code,
    description,
    ...(parameters === undefined ? {} : { parameters }),
  };
  return { answer: { status: code, body } };
}

/** Updates before `offset` are confirmed and gone. */
function getUpdates({ json }: Received, { updates }: World): Verdict {
  const { offset = 0, limit = 100, timeout = 0, allowed_updates: allowed } = json;
  const problems: string[] = [];
  if (!Number.isInteger(offset)) problems.push("offset is no number");
  if (!Number.isInteger(limit) || Number(limit) < 1 || Number(limit) > 100)
    problems.push("limit is not 1 to 100");
  if (!Number.isInteger(timeout) || Number(timeout) < 0) problems.push("timeout is no number of seconds");
  if (allowed !== undefined && !Array.isArray(allowed)) problems.push("allowed_updates is no list");
  if (problems.length > 0) return { ...refusal(400, "Bad Request"), problems };
  const left = updates.filter(({ update_id }) => Number(update_id) >= Number(offset));
  updates.splice(0, updates.length, ...left);
  return result(updates.slice(0, Number(limit)));
}

function sendMessage({ json }: Received, { migrated }: World): Verdict {
  const {
    chat_id: chat,
    text,
    parse_mode: mode,
    message_thread_id: thread,
    link_preview_options: preview,
  } = json;
  const problems: string[] = [];
  if (!/^(-?\d+|@\w+)$/.test(said(chat))) problems.push("chat_id is neither a number nor a @name");
  if (mode !== undefined && mode !== "HTML") problems.push(`parse_mode is ${said(mode)}`);
  if (thread !== undefined && !Number.isInteger(thread)) problems.push("message_thread_id is no number");
  if (preview !== undefined && objectsOf([preview]).length === 0)
    problems.push("link_preview_options is no object");
  const plain = typeof text === "string" ? text : null;
  const shown = plain === null || mode === undefined ? plain : parseHtml(plain);
  if (shown === null) problems.push(`can't parse entities: ${said(text).slice(0, 100)}`);
  else if (shown.length === 0 || shown.length > TEXT_MAX)
    problems.push(`the message has ${shown.length} characters`);
  if (problems.length > 0) return { ...refusal(400, "Bad Request: can't parse entities"), problems };
  const migratedTo = migrated.get(said(chat));
  if (migratedTo !== undefined) {
    const description = "Bad Request: group chat was upgraded to a supergroup chat";
    return refusal(400, description, { migrate_to_chat_id: migratedTo });
  }
  return result({ message_id: 1, date: 1, chat: { id: 1, type: "private" }, text: shown });
}

/** The text without its markup; null if Telegram would reject the markup. */
function parseHtml(html: string): string | null {
  const open: string[] = [];
  let broken = false;
  const text = html.replaceAll(
    /<(\/?)([a-z]+)((?: [a-z]+="[^"]*")*)>/g,
    (_tag, slash: string, name: string) => {
      if (!TAGS.includes(name)) broken = true;
      if (slash === "") open.push(name);
      else if (open.pop() !== name) broken = true;
      return "";
    },
  );
  if (broken || open.length > 0 || /[<>]/.test(text) || /&(?!(lt|gt|amp|quot);)/.test(text)) return null;
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&");
}

export const receiver: KindReceiver = {
  config: { chat_id: "-1001234567890", thread_id: 7 },
  origins: ["https://api.telegram.org"],
  start: startTelegram,
  answers: [
    ...[
      "Forbidden: the group chat was deleted",
      "Forbidden: bot was blocked by the user",
      "Forbidden: user is deactivated",
      "Forbidden: bot was kicked from the group chat",
      "Forbidden: bot was kicked from the supergroup chat",
      "Bad Request: chat not found",
    ].map((description) => ({ status: 403, body: { ok: false, description }, means: "gone" as const })),
    { status: 400, body: { ok: false, description: "Bad Request" }, means: "retry" },
    { status: 401, body: { ok: false, description: "Unauthorized" }, means: "ours" },
    { status: 429, body: { ok: false, parameters: { retry_after: 33 } }, means: "wait" },
  ],
};
