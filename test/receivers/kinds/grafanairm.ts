// A formatted webhook of Grafana IRM, by
// https://grafana.com/docs/grafana-cloud/alerting-and-irm/irm/configure/integrations/webhooks/incoming-webhooks/oncall-webhooks.
import { startIncidentReceiver } from "../incidents.ts";
import { isText, jsonProblems, type KindReceiver, type Received, said } from "../receiver.ts";

const PATH = "/oncall/integrations/v1/formatted_webhook/m12xmIjOcgwH74UF8CN4dk0Dh/";

function problemsOf(request: Received): string[] {
  const { title, state, message, link_to_upstream_details: link } = request.json;
  const problems = jsonProblems(request);
  if (!isText(title, { max: 1_000 })) problems.push("the title is empty");
  if (/<[!@a-z/]|@(channel|here|all|everyone)/i.test(said(title)))
    problems.push("the title rings or has tags");
  if (!["alerting", "ok"].includes(said(state))) problems.push(`the state is ${said(state)}`);
  if (!isText(message, { max: 65_536 })) problems.push("the message is empty");
  if (!URL.canParse(said(link))) problems.push("the link is none");
  return problems;
}

export const receiver: KindReceiver = {
  config: { url: `https://oncall-prod-us-central-0.grafana.net${PATH}` },
  origins: ["https://oncall-prod-us-central-0.grafana.net"],
  start: () =>
    startIncidentReceiver((request) => {
      if (request.path !== PATH)
        return { status: 403, body: "Integration key was not found. Permission denied." };
      return {
        key: said(request.json["alert_uid"] ?? ""),
        action: request.json["state"] === "ok" ? "close" : "open",
        problems: problemsOf(request),
        accepted: { status: 200, body: "Ok." },
        refused: { status: 400 },
      };
    }),
  answers: [
    { status: 403, body: "Integration key was not found. Permission denied.", means: "gone" },
    { status: 403, body: "", means: "retry" },
    { status: 401, body: "", means: "retry" },
    { status: 404, body: "", means: "retry" },
    { status: 410, body: "", means: "retry" },
    { status: 429, body: "", means: "retry" },
  ],
};
