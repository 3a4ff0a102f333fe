// A homeserver of Matrix, by https://spec.matrix.org/latest/client-server-api/: joining a room, and sending an event.
import {
  type Answer,
  isText,
  type KindReceiver,
  type Received,
  type Receiver,
  said,
  startReceiver,
  type Verdict,
} from "../receiver.ts";

export const MATRIX_TOKEN = "syt_b3ZlcmR1ZQ_token-of-the-bot_1";
export const ROOM = "!OGEhHVWSdvArJzumhm:example.org";
export const ALIAS = "#ops:example.org";
const EVENT_BYTES_MAX = 65_536;
const SEND = /^\/_matrix\/client\/v3\/rooms\/([^/:!]+)\/send\/m\.room\.message\/([\w-]{1,255})$/;
const JOIN = /^\/_matrix\/client\/v3\/join\/([^/:#]+)$/;
const TAGS = /<\/?(b|br|code|pre|a)( href="https:\/\/overdue\.example\.org\/[^"]*")?>/g;

export type MatrixReceiver = Receiver & {
  /** Whether the bot is in the room, and may join it. */
  bot: { isMember: boolean; isInvited: boolean };
  /** Events by transaction. */
  events: Map<string, Readonly<Record<string, unknown>>>;
};

function error(status: number, errcode: string, more: object = {}): Answer {
  return { status, body: { errcode, error: "…", ...more } };
}

export async function startMatrix(): Promise<MatrixReceiver> {
  const bot = { isMember: true, isInvited: true };
  const events: MatrixReceiver["events"] = new Map();
  return { ...(await startReceiver((request) => judge(request, { bot, events }))), bot, events };
}

function judge(request: Received, { bot, events }: Pick<MatrixReceiver, "bot" | "events">): Verdict {
  if (request.headers.authorization !== `Bearer ${MATRIX_TOKEN}`) {
    return { answer: error(401, "M_UNKNOWN_TOKEN"), problems: ["the token is wrong"] };
  }
  const [, joined] = (request.method === "POST" && JOIN.exec(request.path)) || [];
  if (joined !== undefined) {
    if (![ALIAS, ROOM].includes(decodeURIComponent(joined))) return { answer: error(404, "M_NOT_FOUND") };
    if (!bot.isInvited) return { answer: error(403, "M_FORBIDDEN") };
    bot.isMember = true;
    return { answer: { status: 200, body: { room_id: ROOM } } };
  }
  const [, room = "", transaction] = (request.method === "PUT" && SEND.exec(request.path)) || [];
  if (transaction === undefined) {
    return { answer: error(404, "M_UNRECOGNIZED"), problems: [`${request.method} ${request.path}`] };
  }
  if (decodeURIComponent(room) !== ROOM || !bot.isMember) return { answer: error(403, "M_FORBIDDEN") };
  const problems = eventProblems(request);
  if (problems.length > 0) return { answer: error(400, "M_BAD_JSON"), problems };
  // A repeated transaction makes no second event.
  if (!events.has(transaction)) events.set(transaction, request.json);
  return { answer: { status: 200, body: { event_id: `$${[...events.keys()].indexOf(transaction)}` } } };
}

function eventProblems({ body: bytes, json }: Received): string[] {
  const { msgtype, body, format, formatted_body: html } = json;
  const problems: string[] = [];
  if (!["m.text", "m.notice"].includes(said(msgtype))) problems.push(`the type is ${said(msgtype)}`);
  if (!isText(body, { max: EVENT_BYTES_MAX })) problems.push("the body is empty");
  if (format !== "org.matrix.custom.html" || typeof html !== "string") problems.push("there is no HTML");
  if (Buffer.byteLength(bytes) > EVENT_BYTES_MAX - 2_000) problems.push("the event is too large");
  const rest = said(html).replaceAll(TAGS, "");
  if (/[<>]|&(?!(lt|gt|amp|quot);)/.test(rest)) problems.push(`the HTML is not escaped: ${rest}`);
  if (/@room/.test(said(body)) || JSON.stringify(json["m.mentions"]) !== "{}")
    problems.push("everyone is mentioned");
  return problems;
}

export const receiver: KindReceiver = {
  config: { homeserver: "https://matrix.example.org", token: MATRIX_TOKEN, room: ROOM },
  origins: ["https://matrix.example.org"],
  start: startMatrix,
  answers: [
    { status: 403, body: { errcode: "M_FORBIDDEN", error: "…" }, means: "gone" },
    { status: 404, body: { errcode: "M_NOT_FOUND", error: "…" }, means: "gone" },
    { status: 401, body: { errcode: "M_UNKNOWN_TOKEN", error: "…" }, means: "gone" },
    { status: 401, body: { errcode: "M_UNKNOWN_TOKEN", soft_logout: true }, means: "gone" },
    { status: 401, body: "proxy", means: "retry" },
    { status: 403, body: "proxy", means: "retry" },
    { status: 404, body: { errcode: "M_UNRECOGNIZED", error: "…" }, means: "retry" },
    { status: 404, body: "404 page not found", means: "retry" },
    { status: 410, body: "", means: "retry" },
    { status: 413, body: { errcode: "M_TOO_LARGE", error: "…" }, means: "once" },
    { status: 429, body: { errcode: "M_LIMIT_EXCEEDED", retry_after_ms: 2_000 }, means: "wait" },
  ],
};
