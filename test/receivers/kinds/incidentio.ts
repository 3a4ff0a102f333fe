// The HTTP alert source of incident.io, by https://docs.incident.io/api-reference/alert-events-v2/createhttp.
import { startIncidentReceiver } from "../incidents.ts";
import { isText, jsonProblems, type KindReceiver, objectsOf, type Received, said } from "../receiver.ts";

const SOURCE = "01GW2G3V0S59R238FAHPDS1R66";
const TOKEN = "f81bf8ae3e3a4c3d8c5d8f6c8e7d9a0b";

function problemsOf(request: Received): string[] {
  const { title, description, status, metadata, source_url } = request.json;
  const problems = jsonProblems(request);
  if (!isText(title, { max: 1_000 })) problems.push("the title is empty");
  if (!isText(description, { max: 65_536 })) problems.push("the description is empty");
  if (!["firing", "resolved"].includes(said(status))) problems.push(`the status is ${said(status)}`);
  if (objectsOf([metadata]).length === 0) problems.push("the metadata is no object");
  if (!URL.canParse(said(source_url))) problems.push("the source URL is none");
  return problems;
}

export const receiver: KindReceiver = {
  config: { source_id: SOURCE, token: TOKEN },
  origins: ["https://api.incident.io"],
  start: () =>
    startIncidentReceiver((request) => {
      if (request.path !== `/v2/alert_events/http/${SOURCE}`)
        return { status: 404, body: { type: "not_found", status: 404 } };
      if (request.headers.authorization !== `Bearer ${TOKEN}`)
        return { status: 401, body: { type: "authentication_error", status: 401 } };
      const { deduplication_key, status, metadata } = request.json;
      return {
        key: said(deduplication_key ?? ""),
        action: status === "resolved" ? "close" : "open",
        severity: said(objectsOf([metadata])[0]?.["severity"]),
        problems: problemsOf(request),
        accepted: {
          status: 202,
          body: { status: "success", message: "Event accepted for processing", deduplication_key },
        },
        refused: { status: 422, body: { type: "validation_error", status: 422 } },
      };
    }),
  answers: [
    { status: 401, body: { type: "authentication_error", status: 401 }, means: "gone" },
    { status: 404, body: { type: "not_found", status: 404 }, means: "gone" },
    { status: 404, body: "", means: "retry" },
    { status: 410, body: "", means: "retry" },
    { status: 422, body: { type: "validation_error", status: 422 }, means: "once" },
    { status: 429, body: { type: "too_many_requests", status: 429 }, means: "retry" },
  ],
};
