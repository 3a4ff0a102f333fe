// Prometheus Alertmanager on the user's server, using version 2 of its API.
import { DAY_MS, HOUR_MS } from "../../core/instant.ts";
import type { ChannelMessage } from "../channel-kind.ts";
import { below, configSchema, serverField, textField, tokenField } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { fullText, PLAIN, tagsOf } from "../layout.ts";
import { clipStart, isoText, type MessageText } from "../message-text.ts";

/**
 * Alertmanager resolves an alert at its end time unless clients send it again. With an end time this far away, nothing
 * has to be repeated; the message that a check is up replaces it.
 */
const PROBLEM_MS = 365 * DAY_MS;
/** Notices and tests are never resolved by a later message. */
const NOTICE_MS = HOUR_MS;
const SUMMARY_LENGTH_MAX = 500;
const LIMITS = { max: 10_000, output: 4_000, value: 1_000, names: 4_000 } as const;
const LABEL_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/** `team=ops, env=prod` as labels; null if one is invalid. */
function readLabels(text: string): Record<string, string> | null {
  const pairs: [string, string][] = [];
  for (const part of text.split(",").filter((one) => one.trim() !== "")) {
    const [name = "", ...rest] = part.split("=");
    const value = rest.join("=").trim();
    if (!LABEL_NAME.test(name.trim()) || value === "") return null;
    pairs.push([name.trim(), value]);
  }
  return Object.fromEntries(pairs);
}

/**
 * Alertmanager identifies an alert by all of its labels. So they are the same in every message about a problem: names
 * and severities may change while it lasts, and are annotations.
 */
function labelsOf(message: ChannelMessage): { alertname: string; severity: string } {
  if (message.isTest === true) return { alertname: "OverdueTest", severity: "info" };
  switch (message.kind) {
    case "down":
    case "up":
      return { alertname: "OverdueCheckDown", severity: "critical" };
    case "group":
      return { alertname: "OverdueChecksDown", severity: "critical" };
    case "operator":
      return { alertname: "OverdueServerProblem", severity: "critical" };
    case "notice":
    case "disabled":
      return { alertname: "OverdueNotice", severity: "warning" };
  }
}

function annotationsOf(words: MessageText, project: string): Record<string, string> {
  return {
    summary: clipStart(words.headline, SUMMARY_LENGTH_MAX),
    description: fullText(words, PLAIN, { limits: LIMITS }),
    project,
    ...(tagsOf(words).length === 0 ? {} : { tags: tagsOf(words).join(" ") }),
    ...(words.ack === null ? {} : { ack_url: words.ack.url }),
  };
}

export const alertmanager = httpKind({
  name: "alertmanager",
  title: "Alertmanager",
  about:
    "Sends an alert to your Prometheus Alertmanager when a check goes down and resolves it when the check comes back up. The labels are alertname, severity, unique_key, and those you add. Names and texts are annotations.",
  category: "incidents",
  icon: "prometheus",
  example: { url: "https://alerts.example.org", labels: "team=ops" },
  guide: [
    "Enter the URL of your Alertmanager, such as `https://alerts.example.org`. If it requires authentication, also enter a username and password, or a token.",
    "Optionally, add labels that your routes match, such as `team=ops`. They replace labels with the same name. Change labels only while no alert is active: Alertmanager identifies alerts by their labels, so an active alert would not be resolved.",
    "An alert stays active until the check comes back up, but at most 365 days. Notices and tests are resolved after one hour.",
    "Alertmanager loses active alerts when it restarts. To send them again, turn on reminders in the notification policy of the project.",
  ],
  schema: configSchema({
    url: serverField({ about: "The URL of the Alertmanager server, without /api." }),
    username: textField({ about: "The username for basic authentication.", lengthMax: 200, fallback: "" }),
    password: tokenField({
      about: "The password for basic authentication.",
      lengthMax: 500,
      fallback: "",
    }),
    token: tokenField({
      about: "A bearer token, instead of a username and password.",
      lengthMax: 2_000,
      fallback: "",
    }),
    labels: textField({
      about: "Labels to add to every alert, such as team=ops, env=prod.",
      lengthMax: 500,
      fallback: "",
    }),
  }),
  validate: ({ username, password, token, labels }) => {
    if (token !== "" && (username !== "" || password !== ""))
      return "Use either a token or a username and password, not both.";
    return readLabels(labels) === null ? "Labels must have the form name=value, separated by commas." : null;
  },
  isSubscribed: () => true,
  rate: { perMinute: 60, burst: 30 },
  request: ({ words, message, config, incident }) => {
    const login = `${config.username}:${config.password}`;
    const isNotice = message.isTest === true || words.tone === "notice";
    const times =
      incident.action === "close"
        ? { endsAt: isoText(message.at) }
        : {
            startsAt: isoText(incident.since),
            endsAt: isoText(message.at + (isNotice ? NOTICE_MS : PROBLEM_MS)),
          };
    return {
      url: below(config.url, "api/v2/alerts"),
      headers: {
        ...(login === ":" ? {} : { Authorization: `Basic ${Buffer.from(login).toString("base64")}` }),
        ...(config.token === "" ? {} : { Authorization: `Bearer ${config.token}` }),
      },
      json: [
        {
          labels: { ...labelsOf(message), ...readLabels(config.labels), unique_key: incident.key },
          annotations: annotationsOf(words, incident.source),
          ...times,
          generatorURL: words.link.url,
        },
      ],
    };
  },
  // A reverse proxy may answer 401 or 404 while the server restarts.
  answers: { once: [{ status: [400, 422], reason: "Alertmanager rejected the alert" }] },
});
