// Alertmanager's API version 2, by its OpenAPI document and https://prometheus.io/docs/alerting/latest/clients. Alerts are
// the same if all their labels are, as in the real one, which test/channels/real uses.
import { startIncidentReceiver } from "../incidents.ts";
import { jsonProblems, type KindReceiver, objectsOf, type Received, said } from "../receiver.ts";

const PASSWORD = "password-of-the-proxy";
const LOGIN = `Basic ${Buffer.from(`overdue:${PASSWORD}`).toString("base64")}`;
const NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)$/;

type Alert = Readonly<Record<string, unknown>>;

function problemsOf(request: Received, [alert, ...others]: readonly Alert[]): string[] {
  const problems = jsonProblems(request);
  if (!Array.isArray(request.json)) problems.push("the body is no list");
  if (alert === undefined || others.length > 0) return [...problems, "there is not one alert"];
  const { labels, annotations, startsAt, endsAt, generatorURL } = alert;
  const pairs = Object.entries(objectsOf([labels])[0] ?? {});
  if (pairs.length === 0) problems.push("at least one label pair required");
  for (const [name, value] of [...pairs, ...Object.entries(objectsOf([annotations])[0] ?? {})]) {
    if (!NAME.test(name)) problems.push(`invalid name ${name}`);
    if (typeof value !== "string" || value === "") problems.push(`${name} has no value`);
  }
  for (const time of [startsAt, endsAt].filter((one) => one !== undefined))
    if (!TIME.test(said(time))) problems.push(`${said(time)} is no time`);
  if (Date.parse(said(startsAt)) > Date.parse(said(endsAt)))
    problems.push("start time must be before end time");
  if (!URL.canParse(said(generatorURL))) problems.push("generatorURL must be of type uri");
  return problems;
}

/** The time of the tests is that of their messages: an alert that ends at least an hour after it began is firing. */
function isFiring({ startsAt, endsAt }: Alert): boolean {
  return startsAt !== undefined && Date.parse(said(endsAt)) - Date.parse(said(startsAt)) >= 3_600_000;
}

export const receiver: KindReceiver = {
  config: {
    url: "https://alerts.example.org/alertmanager",
    username: "overdue",
    password: PASSWORD,
    labels: "team=ops, env=prod",
  },
  origins: ["https://alerts.example.org"],
  start: () =>
    startIncidentReceiver((request) => {
      if (request.path !== "/alertmanager/api/v2/alerts") return { status: 404, body: "404 page not found" };
      if (request.headers.authorization !== LOGIN) return { status: 401, body: "Unauthorized" };
      const alerts = objectsOf(request.json);
      const labels = objectsOf([alerts[0]?.["labels"]])[0] ?? {};
      return {
        key: Object.entries(labels)
          .map(([name, value]) => `${name}=${said(value)}`)
          .toSorted((one, other) => one.localeCompare(other))
          .join(),
        action: isFiring(alerts[0] ?? {}) ? "open" : "close",
        severity: said(labels["severity"]),
        problems: problemsOf(request, alerts),
        accepted: { status: 200 },
        refused: { status: 400, body: '"invalid label set"' },
      };
    }),
  answers: [
    { status: 400, body: '"invalid label set: invalid name"', means: "once" },
    { status: 422, body: { code: 601, message: "generatorURL in body must be of type uri" }, means: "once" },
    { status: 401, body: "Unauthorized", means: "retry" },
    { status: 404, body: "404 page not found", means: "retry" },
    { status: 410, body: "", means: "retry" },
    { status: 429, body: "", means: "retry" },
  ],
};
