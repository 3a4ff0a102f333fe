// An integration of Spike of the type Healthchecks.io, which parses the requests of that service, by
// https://docs.spike.sh.
import { startIncidentReceiver } from "../incidents.ts";
import { isText, jsonProblems, type KindReceiver, type Received, said } from "../receiver.ts";

const PATH = "/0a1b2c3d4e5f60718293a4b5c6d7e8f9/push-events";

function problemsOf(request: Received): string[] {
  const { status, title, message } = request.json;
  const problems = jsonProblems(request);
  if (!["down", "up"].includes(said(status))) problems.push(`the status is ${said(status)}`);
  if (!isText(title, { max: 1_000 })) problems.push("the title is empty");
  if (!isText(message, { max: 65_536 })) problems.push("the message is empty");
  return problems;
}

export const receiver: KindReceiver = {
  config: { url: `https://hooks.spike.sh${PATH}` },
  origins: ["https://hooks.spike.sh"],
  start: () =>
    startIncidentReceiver((request) => {
      if (request.path !== PATH) return { status: 404 };
      return {
        key: said(request.json["check_id"] ?? ""),
        action: request.json["status"] === "up" ? "close" : "open",
        problems: problemsOf(request),
        accepted: { status: 200, body: { Ok: true } },
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
