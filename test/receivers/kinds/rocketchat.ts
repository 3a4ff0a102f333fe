// A server of Rocket.Chat, by "Integrations" of https://docs.rocket.chat and what its server answers.
import { isText, jsonProblems, type KindReceiver, objectsOf, said, startReceiver } from "../receiver.ts";

const PATH = "/hooks/65f1c0ffee65f1c0ffee65f1/tokentokentokentokentoken1234567890";
const TEXT_MAX = 5_000;

function failure(error: string) {
  return { success: false, error };
}

function attachmentProblems({ color, title, title_link, text }: Readonly<Record<string, unknown>>) {
  const problems: string[] = [];
  if (!/^#[0-9a-f]{6}$/i.test(said(color))) problems.push(`the color is ${said(color)}`);
  if (!isText(title, { max: 100 }) || !URL.canParse(said(title_link))) problems.push("no title with a link");
  if (!isText(text, { max: TEXT_MAX })) problems.push("the text is empty or too long");
  return problems;
}

/** Mentions ring, and `<url|text>` and `[text](url)` are links; those of ours lead to our pages. */
function markupProblems(text: string): string[] {
  const foreign = text.replaceAll(/\]\(https:\/\/overdue\.example\.org\/[^)\s]*\)/g, "");
  return /@[\w*]|<[!@#hH]|\]\(/.test(foreign) ? [`something rings or links: ${foreign}`] : [];
}

export const receiver: KindReceiver = {
  config: { url: `https://rocket.example.org${PATH}` },
  origins: ["https://rocket.example.org"],
  start: () =>
    startReceiver((request) => {
      if (request.path !== PATH) {
        return { answer: { status: 404, body: failure("Invalid integration id or token provided.") } };
      }
      const { text, alias } = request.json;
      const attachments = objectsOf(request.json["attachments"]);
      const problems = [...jsonProblems(request), ...attachments.flatMap(attachmentProblems)];
      if (!isText(text, { max: TEXT_MAX }) && attachments.length === 0) problems.push("there is no text");
      if (!isText(alias, { max: 100 })) problems.push("the alias is no text");
      problems.push(
        ...markupProblems(
          [text, ...attachments.map((attachment) => attachment["text"])].map(said).join("\n"),
        ),
      );
      return problems.length === 0
        ? { answer: { status: 200, body: { success: true } } }
        : { answer: { status: 400, body: failure("error-message-size-exceeded") }, problems };
    }),
  answers: [
    { status: 404, body: failure("Invalid integration id or token provided."), means: "gone" },
    { status: 404, body: "404 page not found", means: "retry" },
    { status: 200, body: failure("unknown-error"), means: "retry" },
    { status: 400, body: failure("invalid-channel"), means: "retry" },
    { status: 401, body: "", means: "retry" },
    { status: 410, body: "", means: "retry" },
    { status: 429, body: failure("Error, too many requests. [error-too-many-requests]"), means: "retry" },
    { status: 503, body: "Service Unavailable", means: "retry" },
  ],
};
