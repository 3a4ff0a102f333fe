// A server of Home Assistant with its mobile app, by https://developers.home-assistant.io/docs/api/rest/ and
// https://companion.home-assistant.io/docs/notifications/notifications-basic. Keeps the notifications that the phone
// shows, because tests check which are replaced.
import {
  isText,
  jsonProblems,
  type KindReceiver,
  objectsOf,
  type Receiver,
  said,
  startReceiver,
  type Verdict,
} from "../receiver.ts";

const TOKEN = `eyJhbGciOiJIUzI1NiJ9.${"e30".repeat(30)}.sig-nature_0`;
/** Google's push service takes 4 KB. */
const PAYLOAD_BYTES_MAX = 4_096;
const SERVICE = "mobile_app_pixel_9";

export type HomeAssistantReceiver = Receiver & {
  /** The titles of notifications by their tags. */
  shown: Map<string, string>;
};

export async function startHomeAssistant(): Promise<HomeAssistantReceiver> {
  const shown: HomeAssistantReceiver["shown"] = new Map();
  const receiver = await startReceiver((request): Verdict => {
    if (request.headers.authorization !== `Bearer ${TOKEN}`) return plain(401, "Unauthorized");
    if (!request.path.startsWith("/ha/api/services/notify/")) return plain(404, "Not Found");
    if (!request.path.endsWith(`/${SERVICE}`)) return plain(400, "Bad Request");
    const problems = [...jsonProblems(request), ...payloadProblems(request.json)];
    if (problems.length > 0) return { ...plain(400, "Bad Request"), problems };
    const [data] = objectsOf([request.json["data"]]);
    shown.set(said(data?.["tag"]), said(request.json["title"]));
    return { answer: { status: 200, body: [] } };
  });
  return { ...receiver, shown };
}

function plain(status: number, text: string): Verdict {
  return { answer: { status, body: `${status}: ${text}` } };
}

function payloadProblems(json: Readonly<Record<string, unknown>>): string[] {
  const { title, message, data, ...others } = json;
  const problems: string[] = [];
  if (Object.keys(others).length > 0) problems.push(`extra keys: ${Object.keys(others).join()}`);
  if (!isText(title, { max: 1_000 })) problems.push("the title is no text");
  if (!isText(message, { max: PAYLOAD_BYTES_MAX })) problems.push("the message is no text");
  if (/\{[{%#]/.test(said(title) + said(message))) problems.push("the message is a template");
  if (/<[a-z/!]/i.test(said(title) + said(message))) problems.push("the message contains HTML");
  if (Buffer.byteLength(JSON.stringify(json)) > PAYLOAD_BYTES_MAX) problems.push("the payload is too large");
  const [{ tag, url, clickAction, actions } = {}] = objectsOf([data]);
  if (!isText(tag, { max: 64 })) problems.push("the tag is no text");
  if (!URL.canParse(said(url)) || url !== clickAction) problems.push("the message has no address");
  for (const { action, title: label, uri } of objectsOf(actions))
    if (action !== "URI" || !isText(label, { max: 50 }) || !URL.canParse(said(uri)))
      problems.push("an action does not open an address");
  return problems;
}

export const receiver: KindReceiver = {
  config: { url: "https://home.example.org/ha/", token: TOKEN, service: SERVICE },
  origins: ["https://home.example.org"],
  start: startHomeAssistant,
  answers: [
    { status: 401, body: "401: Unauthorized", means: "gone" },
    { status: 401, body: "proxy", means: "retry" },
    { status: 400, body: "400: Bad Request", means: "retry" },
    { status: 403, body: "403: Forbidden", means: "retry" },
    { status: 404, body: "404: Not Found", means: "retry" },
    { status: 410, body: "", means: "retry" },
    { status: 413, body: "Maximum request body size exceeded", means: "once" },
  ],
};
