// A server of Mattermost, by https://developers.mattermost.com/integrate/webhooks/incoming/ and
// https://developers.mattermost.com/integrate/reference/message-attachments/.
import { isText, jsonProblems, type KindReceiver, objectsOf, said, startReceiver } from "../receiver.ts";

const KEY = "xxx3generated7key9xxxyyyzzz";
/** Longer texts become several posts; older servers split attachments earlier. */
const TEXT_MAX = 7_600;

function error(id: string, status: number) {
  return { id, message: "…", detailed_error: "", request_id: "r", status_code: status };
}

function attachmentProblems({ fallback, color, title, title_link, text }: Readonly<Record<string, unknown>>) {
  const problems: string[] = [];
  if (!/^#[0-9a-f]{6}$/i.test(said(color))) problems.push(`the color is ${said(color)}`);
  if (!isText(title, { max: 1_000 }) || !URL.canParse(said(title_link)))
    problems.push("no title with a link");
  if (!isText(text, { max: TEXT_MAX })) problems.push("the text is empty or would become several posts");
  // Mentions ring in any text, and the forms of Slack are translated.
  const shown = [fallback, title, text].map(said).join("\n");
  const ringing = /@[\w*]|<!/.exec(shown);
  if (ringing !== null) problems.push(`somebody is mentioned: ${ringing.input.slice(ringing.index, 40)}`);
  if (!isText(fallback, { max: 1_000 })) problems.push("there is no fallback");
  return problems;
}

export const receiver: KindReceiver = {
  config: { url: `https://chat.example.org/hooks/${KEY}` },
  origins: ["https://chat.example.org"],
  start: () =>
    startReceiver((request) => {
      if (request.path !== `/hooks/${KEY}`) {
        return { answer: { status: 400, body: error("web.incoming_webhook.invalid.app_error", 400) } };
      }
      const attachments = objectsOf(request.json["attachments"]);
      const problems = [...jsonProblems(request), ...attachments.flatMap(attachmentProblems)];
      if (attachments.length === 0 && !isText(request.json["text"], { max: 16_383 }))
        problems.push("there is neither a text nor an attachment");
      return problems.length === 0
        ? { answer: { status: 200, body: "ok" } }
        : { answer: { status: 400, body: error("web.incoming_webhook.text.app_error", 400) }, problems };
    }),
  answers: [
    { status: 400, body: error("web.incoming_webhook.invalid.app_error", 400), means: "gone" },
    { status: 403, body: error("web.incoming_webhook.permissions.app_error", 403), means: "gone" },
    { status: 403, body: error("web.incoming_webhook.user.app_error", 403), means: "gone" },
    { status: 400, body: error("web.incoming_webhook.text.app_error", 400), means: "retry" },
    { status: 501, body: error("web.incoming_webhook.disabled.app_error", 501), means: "retry" },
    { status: 404, body: error("web.incoming_webhook.channel.app_error", 404), means: "retry" },
    { status: 404, body: "404 page not found", means: "retry" },
    { status: 403, body: "proxy", means: "retry" },
    { status: 401, body: "proxy", means: "retry" },
    { status: 410, body: "", means: "retry" },
    { status: 429, body: "limit exceeded", means: "retry" },
  ],
};
