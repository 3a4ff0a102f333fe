// incident.io, using an HTTP alert source.
import { configSchema, textField, tokenField } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { fullText, MARKDOWN, tagsOf } from "../layout.ts";
import { clipStart } from "../message-text.ts";

const TITLE_LENGTH_MAX = 500;
const LIMITS = { max: 10_000, output: 4_000, value: 1_000, names: 4_000 } as const;

export const incidentio = httpKind({
  name: "incidentio",
  title: "incident.io",
  about:
    "Sends an alert to incident.io when a check goes down and resolves it when the check comes back up. The metadata of the alert contains the severity, project, and tags.",
  category: "incidents",
  icon: null,
  example: { source_id: "your-source-id", token: "your-token" },
  guide: [
    "In incident.io, open **Alerts**, then **Sources**, select **New alert source**, and select **HTTP**.",
    "Enter a name and select **Continue**. incident.io shows a URL and an `Authorization` header.",
    "The source ID is the part of the URL after `/http/`, and the token is the part of the header after `Bearer`. Paste both into the form.",
  ],
  schema: configSchema({
    source_id: textField({
      about: "The ID of the alert source: the last part of its URL.",
      lengthMax: 100,
      pattern: "^[-_A-Za-z0-9]+$",
      must: "the last part of the URL of an alert source: letters, digits, hyphens, and underscores",
    }),
    token: tokenField({ about: "The token of the alert source.", lengthMax: 500 }),
  }),
  isSubscribed: () => true,
  // incident.io accepts 1,200 requests per minute.
  rate: { perMinute: 60, burst: 30 },
  request: ({ words, config, incident }) => ({
    url: `https://api.incident.io/v2/alert_events/http/${config.source_id}`,
    headers: { Authorization: `Bearer ${config.token}` },
    json: {
      title: clipStart(words.headline, TITLE_LENGTH_MAX),
      description: fullText(words, MARKDOWN, { limits: LIMITS }),
      deduplication_key: incident.key,
      status: incident.action === "close" ? "resolved" : "firing",
      source_url: words.link.url,
      metadata: {
        severity: incident.severity,
        project: incident.source,
        tags: tagsOf(words),
        ...(words.ack === null ? {} : { ack_url: words.ack.url }),
      },
    },
  }),
  answers: {
    gone: [
      { status: 401, reason: "incident.io rejected the token" },
      { status: 404, json: { type: "not_found" }, reason: "The alert source no longer exists" },
    ],
    once: [{ status: 422, reason: "The message was rejected" }],
  },
});
