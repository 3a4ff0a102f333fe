// An integration of PagerTree of the type Healthchecks.io, which parses the requests of that service, by
// https://pagertree.com/docs/integration-guides/healthchecks.io.
import { startIncidentReceiver } from "../incidents.ts";
import { isText, jsonProblems, type KindReceiver, type Received, said } from "../receiver.ts";

const PATH = "/integration/int_0123456789";

function problemsOf(request: Received): string[] {
  const { event_type, title, description, client, client_url, tags } = request.json;
  const problems = jsonProblems(request);
  if (!["trigger", "resolve"].includes(said(event_type))) problems.push(`the event is ${said(event_type)}`);
  if (!isText(title, { max: 1_000 })) problems.push("the title is empty");
  if (!isText(description, { max: 65_536 })) problems.push("the description is empty");
  if (!isText(client, { max: 200 })) problems.push("the client is no text");
  if (!URL.canParse(said(client_url))) problems.push("the URL of the client is none");
  if (typeof tags !== "string") problems.push("the tags are no text");
  return problems;
}

export const receiver: KindReceiver = {
  config: { url: `https://api.pagertree.com${PATH}` },
  origins: ["https://api.pagertree.com"],
  start: () =>
    startIncidentReceiver((request) => {
      if (request.path !== PATH) return { status: 404 };
      return {
        key: said(request.json["incident_key"] ?? ""),
        action: request.json["event_type"] === "resolve" ? "close" : "open",
        problems: problemsOf(request),
        accepted: { status: 200, body: { status: "ok" } },
        refused: { status: 400 },
      };
    }),
  answers: [
    { status: 401, body: "", means: "retry" },
    { status: 404, body: "", means: "retry" },
    { status: 410, body: "", means: "retry" },
    { status: 429, body: "", means: "retry" },
  ],
};
