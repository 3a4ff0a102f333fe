// The REST endpoint of Splunk On-Call, by
// https://help.splunk.com/en/splunk-enterprise/alert-and-respond/splunk-on-call/integrations-with-splunk-on-call/rest-endpoint-integration-for-splunk-on-call
// and https://help.victorops.com/knowledge-base/incident-fields-glossary.
import { startIncidentReceiver } from "../incidents.ts";
import { isText, jsonProblems, type KindReceiver, type Received, said } from "../receiver.ts";

const PATH = "/integrations/generic/20131114/alert/0c2a3b4d-5e6f-4a7b-8c9d-0e1f2a3b4c5d/database";
const TYPES = ["CRITICAL", "WARNING", "INFO", "ACKNOWLEDGEMENT", "RECOVERY"];

function problemsOf(request: Received): string[] {
  const { message_type, entity_display_name, state_message, state_start_time, monitoring_tool } =
    request.json;
  const problems = jsonProblems(request);
  if (!TYPES.includes(said(message_type))) problems.push(`the message type is ${said(message_type)}`);
  if (!isText(entity_display_name, { max: 20_480 })) problems.push("the display name is no text");
  if (!isText(state_message, { max: 20_480 })) problems.push("the message is not 1 to 20480 characters");
  if (!Number.isInteger(state_start_time) || Number(state_start_time) > 9_999_999_999)
    problems.push("the start time is not in seconds");
  if (!isText(monitoring_tool, { max: 200 })) problems.push("the monitoring tool is no text");
  return problems;
}

export const receiver: KindReceiver = {
  config: { url: `https://alert.victorops.com${PATH}` },
  origins: ["https://alert.victorops.com"],
  start: () =>
    startIncidentReceiver((request) => {
      if (request.path !== PATH) return { status: 404 };
      const { entity_id, message_type } = request.json;
      return {
        key: said(entity_id ?? ""),
        action: message_type === "RECOVERY" ? "close" : "open",
        severity: said(message_type),
        problems: problemsOf(request),
        accepted: { status: 200, body: { result: "success", entity_id } },
        refused: { status: 400, body: { result: "failure", messages: "invalid alert" } },
      };
    }),
  answers: [
    { status: 404, body: "", means: "gone" },
    { status: 401, body: "", means: "retry" },
    { status: 410, body: "", means: "retry" },
    { status: 429, body: "", means: "retry" },
  ],
};
