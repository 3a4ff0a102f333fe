// A server of Zulip, by https://zulip.com/api/send-message and https://zulip.com/api/rest-error-handling.
import { isText, type KindReceiver, type Received, startReceiver } from "../receiver.ts";

const BOT = "overdue-bot@zulip.example.org";
const KEY = "a0b1c2d3e4f5a0b1c2d3e4f5a0b1c2d3";
const LOGIN = `Basic ${Buffer.from(`${BOT}:${KEY}`).toString("base64")}`;
const CONTENT_MAX = 10_000;
const TOPIC_MAX = 60;

function error(code: string, more: object = {}) {
  return { result: "error", msg: "…", code, ...more };
}

/** A list of user IDs, or of addresses. */
function isList(to: string): boolean {
  try {
    const list: unknown = JSON.parse(to);
    if (!Array.isArray(list) || list.length === 0) return false;
    return list.every(Number.isInteger) || list.every((one) => typeof one === "string" && one.includes("@"));
  } catch {
    return false;
  }
}

/** What Zulip would not take as text: mentions, streams, emphasis, and links other than to our pages. */
function contentProblems(content: string): string[] {
  const withoutOurs = content
    .replaceAll(/```\n[\s\S]*?\n```/g, "")
    .replaceAll(/\]\(https:\/\/overdue\.example\.org\/[^)\s]*\)/g, "")
    .replaceAll(/^(\* )?/gm, "")
    .replaceAll(/\*\*[^*\n]+:\*\*/g, "");
  // The first line is bold.
  const [first = "", ...rest] = withoutOurs.split("\n");
  const foreign = [first.replace(/^(\S+ )\*\*(.*)\*\*$/, "$1$2"), ...rest].join("\n");
  return /@[\w*]|#\*\*|(\*)(?!\s)[^*^\n]+(?<!\s)\*|\]\(|`|~~|\$\$|<time:/.test(foreign)
    ? [`markup: ${foreign}`]
    : [];
}

function messageProblems({ method, headers, body }: Received): { problems: string[]; stream: string | null } {
  const form = Object.fromEntries(new URLSearchParams(body));
  const { type, to = "", topic, content } = form;
  const problems: string[] = [];
  if (method !== "POST") problems.push(`the method is ${method}`);
  if (headers["content-type"] !== "application/x-www-form-urlencoded") problems.push("it is no form");
  if (!isText(content, { max: CONTENT_MAX })) problems.push("the content is empty or too long");
  else problems.push(...contentProblems(content));
  if (type === "stream" && !isText(topic, { max: TOPIC_MAX }))
    problems.push("the topic is empty or too long");
  if (type === "private" && !isList(to)) problems.push(`no list of users: ${to}`);
  if (type !== "stream" && type !== "private") problems.push(`the type is ${type}`);
  return { problems, stream: type === "stream" ? to : null };
}

export const receiver: KindReceiver = {
  config: { site: "https://zulip.example.org", bot_email: BOT, api_key: KEY, to: "ops" },
  origins: ["https://zulip.example.org"],
  start: () =>
    startReceiver((request) => {
      if (request.path !== "/api/v1/messages") return { answer: { status: 404, body: error("BAD_REQUEST") } };
      if (request.headers.authorization !== LOGIN) {
        return { answer: { status: 401, body: error("INVALID_API_KEY") }, problems: ["the login is wrong"] };
      }
      const { problems, stream } = messageProblems(request);
      if (problems.length > 0) return { answer: { status: 400, body: error("BAD_REQUEST") }, problems };
      return stream === null || stream === "ops"
        ? { answer: { status: 200, body: { result: "success", msg: "", id: 42 } } }
        : { answer: { status: 400, body: error("STREAM_DOES_NOT_EXIST", { stream }) } };
    }),
  answers: [
    { status: 401, body: error("INVALID_API_KEY"), means: "gone" },
    { status: 401, body: error("UNAUTHORIZED"), means: "gone" },
    { status: 401, body: "proxy", means: "retry" },
    { status: 400, body: error("STREAM_DOES_NOT_EXIST", { stream: "ops" }), means: "gone" },
    { status: 400, body: error("BAD_REQUEST"), means: "retry" },
    { status: 200, body: error("BAD_REQUEST"), means: "retry" },
    { status: 403, body: error("USER_DEACTIVATED"), means: "gone" },
    { status: 404, body: "404", means: "retry" },
    { status: 410, body: "", means: "retry" },
    { status: 429, body: error("RATE_LIMIT_HIT", { "retry-after": 28.7 }), means: "wait" },
  ],
};
