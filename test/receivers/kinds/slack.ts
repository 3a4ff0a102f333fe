// Slack's incoming webhooks, by https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks and the page
// on attachments of the older form.
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

const PATH = /^\/services\/T[A-Z0-9]+\/B[A-Z0-9]+\/[A-Za-z0-9]+$/;
const ATTACHMENTS_MAX = 100;
const TEXT_MAX = 40_000;

export const SLACK_PATH = "/services/T0000AAAA/B0000BBBB/abcdefghijklmnopqrstuvwx";

export function startSlack(): Promise<Receiver> {
  return startReceiver((request): Verdict => {
    if (!PATH.test(request.path)) return { answer: { status: 404, body: "no_service" } };
    const problems = [...jsonProblems(request), ...payloadProblems(request.json)];
    return problems.length === 0
      ? { answer: { status: 200, body: "ok" } }
      : { answer: { status: 400, body: "invalid_payload" }, problems };
  });
}

function payloadProblems(json: Readonly<Record<string, unknown>>): string[] {
  const problems: string[] = [];
  const attachments = objectsOf(json["attachments"]);
  if (attachments.length === 0 && !isText(json["text"], { max: TEXT_MAX })) problems.push("no_text");
  if (attachments.length > ATTACHMENTS_MAX) problems.push("too_many_attachments");
  if (!isText(json["username"], { max: 80 })) problems.push("the username is not 1 to 80 characters");
  if (JSON.stringify(json).length > TEXT_MAX) problems.push("msg_too_long");
  for (const attachment of attachments) problems.push(...attachmentProblems(attachment));
  return problems;
}

function attachmentProblems(attachment: Readonly<Record<string, unknown>>): string[] {
  const problems: string[] = [];
  const { color, fallback, title, title_link, text, mrkdwn_in } = attachment;
  if (!/^(good|warning|danger|#[0-9a-f]{6})$/i.test(said(color)))
    problems.push(`the color is ${said(color)}`);
  if (!isText(fallback, { max: TEXT_MAX })) problems.push("there is no fallback");
  if (!isText(title, { max: TEXT_MAX }) || !URL.canParse(said(title_link)))
    problems.push("no title with a link");
  if (
    !Array.isArray(mrkdwn_in) ||
    mrkdwn_in.some((part) => !["text", "fields", "pretext"].includes(said(part)))
  ) {
    problems.push("mrkdwn_in names parts that there are not");
  }
  for (const { title: name, value, short } of objectsOf(attachment["fields"])) {
    if (!isText(name, { max: 300 }) || !isText(value, { max: 3_000 }) || typeof short !== "boolean") {
      problems.push(`the field ${said(name)} is not title, value and short`);
    }
  }
  // Anything else in angle brackets would become a link, or mention everyone.
  const shown = [text, title, ...objectsOf(attachment["fields"]).map(({ value }) => value)].join("\n");
  const unescaped = shown.replaceAll(/<https?:\/\/[^|>\s]+(\|[^>|]*)?>/g, "");
  if (/[<>]/.test(unescaped))
    problems.push(`there are bare angle brackets: ${unescaped.match(/.{0,20}[<>].{0,20}/)?.[0]}`);
  return problems;
}

export const receiver: KindReceiver = {
  config: { url: `https://hooks.slack.com${SLACK_PATH}` },
  origins: ["https://hooks.slack.com"],
  start: startSlack,
  answers: [
    { status: 404, body: "no_service", means: "gone" },
    { status: 400, body: "invalid_token", means: "gone" },
    { status: 400, body: "invalid_payload", means: "retry" },
    { status: 403, body: "action_prohibited", means: "retry" },
  ],
};
