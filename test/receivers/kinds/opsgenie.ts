// The Alert API of Opsgenie, which Jira Service Management takes over under another address, by
// https://docs.opsgenie.com/docs/alert-api and
// https://developer.atlassian.com/cloud/jira/service-desk-ops/rest/v1/api-group-integration-events.
import { startIncidentReceiver } from "../incidents.ts";
import { isText, jsonProblems, type KindReceiver, objectsOf, type Received, said } from "../receiver.ts";

const KEY = "c2e1f3a4-5b6c-4d7e-8f90-a1b2c3d4e5f6";
const CREATE = /^(\/jsm\/ops\/integration)?\/v2\/alerts$/;
const CLOSE = /^(\/jsm\/ops\/integration)?\/v2\/alerts\/([^/?]+)\/close\?identifierType=alias$/;
const DETAILS_LENGTH_MAX = 8_000;

function createProblems(request: Received): string[] {
  const { message, alias, description, source, priority, tags, details } = request.json;
  const problems = jsonProblems(request);
  if (!isText(message, { max: 130 })) problems.push("the message is not 1 to 130 characters");
  if (/<[a-z/!]/i.test(said(message) + said(description))) problems.push("the text has tags of HTML");
  if (!isText(alias, { max: 512 })) problems.push("the alias is not 1 to 512 characters");
  if (!isText(description, { max: 15_000 })) problems.push("the description is longer than 15000");
  if (!isText(source, { max: 100 })) problems.push("the source is not 1 to 100 characters");
  if (!/^P[1-5]$/.test(said(priority))) problems.push(`the priority is ${said(priority)}`);
  const named = Array.isArray(tags) ? tags : [];
  if (!Array.isArray(tags) || named.length > 20 || !named.every((tag) => isText(tag, { max: 50 })))
    problems.push("the tags are not at most 20 of at most 50 characters");
  const entries = Object.entries(objectsOf([details])[0] ?? {});
  if (!entries.every(([, value]) => typeof value === "string")) problems.push("a detail is no text");
  if (entries.flat().join("").length > DETAILS_LENGTH_MAX) problems.push("the details are too long");
  return problems;
}

function closeProblems(request: Received): string[] {
  const { source, note } = request.json;
  const problems = jsonProblems(request);
  if (!isText(source, { max: 100 })) problems.push("the source is not 1 to 100 characters");
  if (!isText(note, { max: 25_000 })) problems.push("the note is not 1 to 25000 characters");
  return problems;
}

export const receiver: KindReceiver = {
  config: { key: KEY },
  origins: ["https://api.atlassian.com", "https://api.opsgenie.com", "https://api.eu.opsgenie.com"],
  start: () =>
    startIncidentReceiver((request) => {
      const [, , closed] = CLOSE.exec(request.path) ?? [];
      if (closed === undefined && !CREATE.test(request.path)) return { status: 404 };
      if (request.headers.authorization !== `GenieKey ${KEY}`)
        return { status: 401, body: { message: "Could not authenticate", took: 0, requestId: "r" } };
      return {
        key: closed ?? said(request.json["alias"]),
        action: closed === undefined ? "open" : "close",
        severity: said(request.json["priority"]),
        problems: closed === undefined ? createProblems(request) : closeProblems(request),
        accepted: { status: 202, body: { result: "Request will be processed", took: 0.3, requestId: "r" } },
        refused: { status: 422, body: { message: "Request body is not processable", took: 0 } },
      };
    }),
  answers: [
    { status: 401, body: { message: "Could not authenticate" }, means: "gone" },
    { status: 403, body: { message: "Api key is disabled" }, means: "gone" },
    { status: 422, body: { message: "Request body is not processable" }, means: "once" },
    { status: 404, body: "", means: "retry" },
    { status: 410, body: "", means: "retry" },
    { status: 429, body: { message: "You are making too many requests!" }, means: "retry" },
  ],
};
