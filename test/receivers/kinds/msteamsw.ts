// A workflow of Power Automate that posts cards to Teams, by "Create incoming webhooks with Workflows" of
// https://learn.microsoft.com/microsoftteams and the schema of Adaptive Cards 1.2. A workflow answers before Teams has
// seen the card, so everything that Teams would not show is a problem here.
import { isText, jsonProblems, type KindReceiver, objectsOf, said, startReceiver } from "../receiver.ts";

const PATH = "/powerautomate/automations/direct/workflows/0a1b2c3d4e5f/triggers/manual/paths/invoke";
const SIGNATURE = "Zm9vYmFyYmF6cXV4LXNpZ25hdHVyZQ";
const QUERY = `api-version=1&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=${SIGNATURE}`;
const BYTES_MAX = 21 * 1_024;
const ACTIONS_MAX = 6;

type Json = Readonly<Record<string, unknown>>;

/** Text is Markdown: an asterisk has a joiner before it, and nothing is a link. */
function textProblems(text: unknown): string[] {
  if (!isText(text, { max: BYTES_MAX })) return ["a text is empty"];
  return /(?<!\u2060)\*|\]\(|\{\{/.test(text) ? [`a text has markup: ${text}`] : [];
}

const ELEMENTS: Readonly<Record<string, (element: Json) => string[]>> = {
  TextBlock: ({ text, wrap }) => [...textProblems(text), ...(wrap === true ? [] : ["a text is not wrapped"])],
  FactSet: ({ facts }) => {
    const all = objectsOf(facts);
    return all.length === 0
      ? ["there are no facts"]
      : all.flatMap(({ title, value }) => [...textProblems(title), ...textProblems(value)]);
  },
  CodeBlock: ({ codeSnippet, language }) =>
    isText(codeSnippet, { max: BYTES_MAX }) && language === "PlainText" ? [] : ["the code is not plain text"],
};

function cardProblems(card: Json): string[] {
  const { type, version, fallbackText } = card;
  const problems: string[] = [];
  if (type !== "AdaptiveCard" || version !== "1.2") problems.push(`a ${said(type)} ${said(version)}`);
  if (card["$schema"] !== "http://adaptivecards.io/schemas/adaptive-card.json") problems.push("no schema");
  if (!isText(fallbackText, { max: 1_000 })) problems.push("there is no fallback");
  const body = objectsOf(card["body"]);
  if (body.length === 0) problems.push("the card is empty");
  for (const element of body) {
    problems.push(...(ELEMENTS[said(element["type"])]?.(element) ?? [`unknown: ${said(element["type"])}`]));
  }
  const actions = objectsOf(card["actions"]);
  if (actions.length > ACTIONS_MAX) problems.push("there are too many actions");
  for (const { type: name, title, url } of actions) {
    if (name !== "Action.OpenUrl" || !isText(title, { max: 100 }) || !/^https?:\/\//.test(said(url)))
      problems.push("an action is not OpenUrl with a title and a url");
  }
  return problems;
}

function error(code: string) {
  return { error: { code, message: "…" } };
}

export const receiver: KindReceiver = {
  config: { url: `https://0123.4.environment.api.powerplatform.com${PATH}?${QUERY}` },
  origins: ["https://0123.4.environment.api.powerplatform.com"],
  start: () =>
    startReceiver((request) => {
      const [path, query = ""] = request.path.split("?");
      if (path !== PATH) return { answer: { status: 404, body: error("WorkflowNotFound") } };
      if (!query.includes("api-version=")) {
        return { answer: { status: 400, body: error("MissingApiVersionParameter") } };
      }
      if (query !== QUERY) {
        return { answer: { status: 401, body: error("DirectApiAuthorizationRequired") } };
      }
      const problems = jsonProblems(request);
      const attachments = objectsOf(request.json["attachments"]);
      if (request.json["type"] !== "message" || attachments.length !== 1)
        problems.push("it is no message with one attachment");
      for (const { contentType, content } of attachments) {
        if (contentType !== "application/vnd.microsoft.card.adaptive") problems.push("it is no card");
        problems.push(...objectsOf([content]).flatMap(cardProblems));
      }
      if (Buffer.byteLength(request.body) > BYTES_MAX) problems.push("the message is larger than 21 KB");
      return { answer: { status: 202, body: "" }, problems };
    }),
  answers: [
    { status: 404, body: error("WorkflowNotFound"), means: "gone" },
    { status: 401, body: error("DirectApiAuthorizationRequired"), means: "gone" },
    { status: 400, body: error("MissingApiVersionParameter"), means: "gone" },
    { status: 400, body: error("TriggerInputSchemaMismatch"), means: "retry" },
    { status: 404, body: "not found", means: "retry" },
    { status: 410, body: "", means: "retry" },
    { status: 429, body: error("WorkflowRunActionRepetitionsThrottled"), means: "retry" },
    { status: 401, body: "proxy", means: "retry" },
  ],
};
