// PagerDuty's Events API v2, by https://developer.pagerduty.com/docs/send-alert-event. Keeps the incidents that
// events have opened, because tests check which are left.
import {
  isText,
  jsonProblems,
  objectsOf,
  type Received,
  type KindReceiver,
  type Receiver,
  said,
  startReceiver,
  type Verdict,
} from "../receiver.ts";

const EVENT_BYTES_MAX = 512 * 1024;
const SEVERITIES = ["critical", "error", "warning", "info"];

export const ROUTING_KEY = "0123456789abcdef0123456789abcdef";

export type PagerDutyReceiver = Receiver & {
  /** Open incidents by their keys, with their severities. */
  incidents: Map<string, string>;
};

export async function startPagerDuty(): Promise<PagerDutyReceiver> {
  const incidents: PagerDutyReceiver["incidents"] = new Map();
  const receiver = await startReceiver((request): Verdict => {
    if (request.path !== "/v2/enqueue") return { answer: { status: 404 } };
    const problems = eventProblems(request);
    if (problems.length > 0) return { ...invalid(problems), problems };
    if (request.json["routing_key"] !== ROUTING_KEY) return invalid(["'routing_key' is invalid"]);
    const { event_action: action, dedup_key, payload } = request.json;
    const key = said(dedup_key);
    if (action === "resolve") incidents.delete(key);
    else incidents.set(key, said(objectsOf([payload])[0]?.["severity"]));
    return {
      answer: { status: 202, body: { status: "success", message: "Event processed", dedup_key: key } },
    };
  });
  return { ...receiver, incidents };
}

function invalid(errors: readonly string[]): Verdict {
  return {
    answer: { status: 400, body: { status: "invalid event", message: "Event object is invalid", errors } },
  };
}

function eventProblems(request: Received): string[] {
  const { json, body } = request;
  const problems = jsonProblems(request);
  if (Buffer.byteLength(body) > EVENT_BYTES_MAX) problems.push("the event is larger than 512 KB");
  const { routing_key, event_action: action, dedup_key, links, client_url } = json;
  if (!isText(routing_key, { min: 32, max: 32 })) problems.push("'routing_key' has not 32 characters");
  if (!["trigger", "acknowledge", "resolve"].includes(said(action)))
    problems.push("'event_action' is unknown");
  if (!isText(dedup_key, { max: 255 })) problems.push("'dedup_key' is not 1 to 255 characters");
  if (action !== "trigger") return problems;
  const [payload] = objectsOf([json["payload"]]);
  if (payload === undefined) return [...problems, "'payload' is missing"];
  const { summary, source, severity, timestamp, custom_details: details } = payload;
  if (!isText(summary, { max: 1_024 })) problems.push("'summary' is not 1 to 1024 characters");
  if (!isText(source, { max: 1_024 })) problems.push("'source' is missing");
  if (!SEVERITIES.includes(said(severity))) problems.push(`'severity' is ${said(severity)}`);
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(said(timestamp))) problems.push("'timestamp' is not ISO 8601");
  if (objectsOf([details]).length === 0) problems.push("'custom_details' is no object");
  if (client_url !== undefined && !URL.canParse(said(client_url)))
    problems.push("'client_url' is no address");
  for (const { href } of objectsOf(links))
    if (!URL.canParse(said(href))) problems.push("a link has no 'href'");
  return problems;
}

export const receiver: KindReceiver = {
  config: { routing_key: ROUTING_KEY },
  origins: ["https://events.pagerduty.com", "https://events.eu.pagerduty.com"],
  start: startPagerDuty,
  answers: [
    { status: 400, body: { errors: ["'routing_key' is invalid"] }, means: "gone" },
    { status: 400, body: { errors: ["'payload.summary' is too long"] }, means: "retry" },
  ],
};
