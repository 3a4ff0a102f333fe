// Google Chat, by "spaces.messages.create" and "Cards v2" of https://developers.google.com/workspace/chat.
import {
  isText,
  jsonProblems,
  type KindReceiver,
  objectsOf,
  type Received,
  said,
  startReceiver,
} from "../receiver.ts";

const PATH = "/v1/spaces/AAAAbbbbCCC/messages";
const KEY = "AIzaSy-key-of-all-webhooks";
const TOKEN = "token-of-this_webhook%3D";
const BYTES_MAX = 32_000;
const WIDGETS_MAX = 100;
const TAGS = /<\/?(b|i|u|s|font|a|br)( (href|color)="[^"]*")?>/g;

type Json = Readonly<Record<string, unknown>>;

function error(code: number, status: string) {
  return { error: { code, message: "…", status } };
}

function childOf(parent: Json, name: string): Json {
  return objectsOf([parent[name]])[0] ?? {};
}

/** The HTML of cards: few tags, and everything else escaped. */
function htmlProblems(text: unknown): string[] {
  if (!isText(text, { max: BYTES_MAX })) return ["a text is empty"];
  const rest = text.replaceAll(TAGS, "");
  return /[<>]|&(?!(lt|gt|amp|quot);)/.test(rest) ? [`a text is not escaped: ${rest}`] : [];
}

const WIDGETS: Readonly<Record<string, (widget: Json) => string[]>> = {
  textParagraph: ({ text }) => htmlProblems(text),
  decoratedText: ({ topLabel, text }) => [
    ...(isText(topLabel, { max: 100 }) ? [] : ["there is no label"]),
    ...htmlProblems(text),
  ],
  buttonList: ({ buttons }) =>
    objectsOf(buttons).flatMap((button) => {
      const { url } = childOf(childOf(button, "onClick"), "openLink");
      const isButton = isText(button["text"], { max: 100 }) && /^https?:\/\//.test(said(url));
      return isButton ? [] : ["a button has no text or no url"];
    }),
};

function messageProblems(request: Received): string[] {
  const { text, cardsV2 } = request.json;
  const problems = jsonProblems(request);
  if (!isText(text, { max: 4_096 }) || /<(users|https?:)/.test(said(text)))
    problems.push("the text mentions or links");
  if (Buffer.byteLength(request.body) > BYTES_MAX) problems.push("the message is larger than 32000 bytes");
  if (!isText(childOf(request.json, "thread")["threadKey"], { max: 4_000 })) problems.push("no thread");
  for (const { cardId, card } of objectsOf(cardsV2)) {
    const sections = objectsOf(objectsOf([card])[0]?.["sections"]);
    if (!isText(cardId, { max: 100 }) || sections.length === 0) problems.push("a card has no id or sections");
    for (const section of sections) {
      const widgets = objectsOf(section["widgets"]);
      if (widgets.length === 0 || widgets.length > WIDGETS_MAX)
        problems.push("there are no or too many widgets");
      problems.push(
        ...widgets.flatMap((widget) =>
          Object.keys(widget).flatMap(
            (name) => WIDGETS[name]?.(childOf(widget, name)) ?? [`unknown: ${name}`],
          ),
        ),
      );
    }
  }
  return problems;
}

export const receiver: KindReceiver = {
  config: { url: `https://chat.googleapis.com${PATH}?key=${KEY}&token=${TOKEN}` },
  origins: ["https://chat.googleapis.com"],
  start: () => {
    const made = new Map<string, object>();
    return startReceiver((request) => {
      const { pathname, searchParams: query } = new URL(request.path, "https://chat.googleapis.com");
      if (pathname !== PATH) return { answer: { status: 404, body: error(404, "NOT_FOUND") } };
      if (query.get("key") !== KEY || query.get("token") !== decodeURIComponent(TOKEN)) {
        return { answer: { status: 403, body: error(403, "PERMISSION_DENIED") }, problems: ["wrong key"] };
      }
      const problems = messageProblems(request);
      if (query.get("messageReplyOption") !== "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD")
        problems.push("no reply");
      if (problems.length > 0)
        return { answer: { status: 400, body: error(400, "INVALID_ARGUMENT") }, problems };
      // A repeated request gets the message that the first one has made.
      const id = query.get("requestId") ?? `${made.size}`;
      const message = made.get(id) ?? { name: `spaces/AAAAbbbbCCC/messages/${made.size}` };
      made.set(id, message);
      return { answer: { status: 200, body: message } };
    });
  },
  answers: [
    { status: 404, body: error(404, "NOT_FOUND"), means: "gone" },
    { status: 403, body: error(403, "PERMISSION_DENIED"), means: "gone" },
    { status: 400, body: error(400, "INVALID_ARGUMENT"), means: "once" },
    { status: 401, body: error(401, "UNAUTHENTICATED"), means: "retry" },
    { status: 404, body: "", means: "retry" },
    { status: 410, body: "", means: "retry" },
    { status: 429, body: error(429, "RESOURCE_EXHAUSTED"), means: "retry" },
  ],
};
