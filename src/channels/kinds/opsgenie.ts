// Opsgenie and its successor Jira Service Management, which accepts the same requests at another URL: a check that
// goes down opens an alert, and a check that comes back up closes it.
import { choiceField, configSchema, tokenField } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import type { IncidentEvent } from "../incident-event.ts";
import { fullText, linkLines, PLAIN, plainWith, tagsOf, withoutTags } from "../layout.ts";
import { clipStart } from "../message-text.ts";

const ADDRESSES = {
  jsm: "https://api.atlassian.com/jsm/ops/integration/v2/alerts",
  us: "https://api.opsgenie.com/v2/alerts",
  eu: "https://api.eu.opsgenie.com/v2/alerts",
} as const;
const PRIORITIES: Readonly<Record<IncidentEvent["severity"], string>> = {
  critical: "P1",
  warning: "P3",
  info: "P5",
};
const MESSAGE_LENGTH_MAX = 130;
const TAGS_MAX = 20;
const TAG_LENGTH_MAX = 50;
const SOURCE_LENGTH_MAX = 100;
const LIMITS = { max: 15_000, output: 5_000, value: 1_000, names: 5_000 } as const;

/** Messages and descriptions may contain HTML. */
const TEXT = plainWith(withoutTags);

export const opsgenie = httpKind({
  name: "opsgenie",
  title: "Opsgenie and Jira Service Management",
  about:
    "Opens an alert when a check goes down and closes it when the check comes back up. Notices and low-severity problems have priority P3.",
  category: "incidents",
  icon: "opsgenie",
  example: { key: "your-api-key", region: "jsm" },
  guide: [
    "In Jira Service Management, open **Operations**, select your team, and open **Integrations**. In Opsgenie, open **Settings**, then **Integrations**.",
    "Select **Add integration** and select **API**. Other types of integrations do not accept these requests.",
    "Turn on the integration, copy its API key, and paste it into the form.",
  ],
  schema: configSchema({
    key: tokenField({ about: "The API key of an integration of type API.", lengthMax: 100 }),
    region: choiceField({
      about:
        "The service: Jira Service Management (jsm), or Opsgenie in the US (us) or EU (eu) region. Atlassian shuts down Opsgenie on April 5, 2027.",
      words: ["jsm", "us", "eu"],
      fallback: "jsm",
    }),
  }),
  isSubscribed: () => true,
  rate: { perMinute: 60, burst: 30 },
  request: ({ words, config, out, incident }) => {
    const url = ADDRESSES[config.region];
    const headers = { Authorization: `GenieKey ${config.key}` };
    const source = clipStart(out.site.name, SOURCE_LENGTH_MAX);
    if (incident.action === "close") {
      const note = [words.headline, ...words.sentences].map(withoutTags).join("\n");
      return {
        url: `${url}/${encodeURIComponent(incident.key)}/close?identifierType=alias`,
        headers,
        json: { source, note: clipStart(note, LIMITS.max) },
      };
    }
    return {
      url,
      headers,
      json: {
        message: clipStart(withoutTags(words.headline), MESSAGE_LENGTH_MAX),
        alias: incident.key,
        description: fullText(words, TEXT, { limits: LIMITS, ends: linkLines(words, PLAIN) }),
        source,
        priority: PRIORITIES[incident.severity],
        tags: tagsOf(words)
          .slice(0, TAGS_MAX)
          .map((tag) => clipStart(withoutTags(tag), TAG_LENGTH_MAX)),
        details: {
          Project: incident.source,
          [words.link.text]: words.link.url,
          ...(words.ack === null ? {} : { [words.ack.text]: words.ack.url }),
        },
      },
    };
  },
  answers: {
    gone: [{ status: [401, 403], reason: "The API key was rejected" }],
    once: [{ status: 422, reason: "The message was rejected" }],
  },
});
