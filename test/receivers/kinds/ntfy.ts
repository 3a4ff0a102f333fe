// A server of ntfy, by "Publish as JSON" of https://docs.ntfy.sh/publish/.
import {
  isText,
  jsonProblems,
  objectsOf,
  type KindReceiver,
  type Receiver,
  said,
  startReceiver,
  type Verdict,
} from "../receiver.ts";

const MESSAGE_BYTES_MAX = 4_096;
const ACTIONS_MAX = 3;

export function startNtfy({ token = null }: { token?: string | null } = {}): Promise<Receiver> {
  return startReceiver((request): Verdict => {
    if (token !== null && request.headers.authorization !== `Bearer ${token}`) {
      return { answer: { status: 403, body: { code: 40_301, http: 403, error: "forbidden" } } };
    }
    const problems = [...jsonProblems(request), ...payloadProblems(request.json)];
    if (request.path !== "/") problems.push(`JSON is published at the root and not at ${request.path}`);
    return problems.length === 0
      ? { answer: { status: 200, body: { id: "x", event: "message", topic: request.json["topic"] } } }
      : { answer: { status: 400, body: { code: 40_024, http: 400, error: "invalid request" } }, problems };
  });
}

function payloadProblems(json: Readonly<Record<string, unknown>>): string[] {
  const { topic, title, message, priority, tags, markdown, click } = json;
  const problems: string[] = [];
  if (!/^[-_A-Za-z0-9]{1,64}$/.test(said(topic))) problems.push(`the topic is ${said(topic)}`);
  if (!isText(title, { max: 1_000 }) || /\n/.test(title)) problems.push("the title is no line of text");
  if (typeof message !== "string" || Buffer.byteLength(message) > MESSAGE_BYTES_MAX) {
    problems.push("the message would become an attachment");
  }
  if (![1, 2, 3, 4, 5].includes(Number(priority))) problems.push(`the priority is ${said(priority)}`);
  if (!Array.isArray(tags) || tags.some((tag) => typeof tag !== "string"))
    problems.push("tags is no list of texts");
  if (markdown !== true) problems.push("markdown is not true");
  if (!/^https?:\/\//.test(said(click))) problems.push("click is no address");
  const actions = objectsOf(json["actions"]);
  if (actions.length > ACTIONS_MAX) problems.push("there are more than three actions");
  for (const { action, label, url } of actions) {
    if (action !== "view" || !isText(label, { max: 100 }) || !/^https?:\/\//.test(said(url))) {
      problems.push("an action is not view with a label and a url");
    }
  }
  return problems;
}

export const receiver: KindReceiver = {
  config: { topic: "overdue_alerts-7", priority: 4 },
  origins: ["https://ntfy.sh", "https://ntfy.example.org"],
  start: () => startNtfy(),
  answers: [{ status: 403, body: { error: "forbidden" }, means: "retry" }],
};
