// PagerDuty, using its Events API v2: a check that goes down opens an incident, and a check that comes back up resolves it.
import { choiceField, configSchema, textField } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { detailsOf } from "../layout.ts";
import { clipStart, isoText } from "../message-text.ts";

const ADDRESSES = {
  us: "https://events.pagerduty.com/v2/enqueue",
  eu: "https://events.eu.pagerduty.com/v2/enqueue",
} as const;
const SUMMARY_LENGTH_MAX = 1_024;
const DETAIL_LIMITS = { names: 10_000, output: 10_000 };

export const pd = httpKind({
  name: "pd",
  title: "PagerDuty",
  about:
    "Opens an incident when a check goes down and resolves it when the check comes back up. Notices and low-severity problems have severity warning.",
  category: "incidents",
  icon: "pagerduty",
  example: { routing_key: "0123456789abcdef0123456789abcdef" },
  guide: [
    "In PagerDuty, open **Services**, then **Service Directory**, and select a service or create one.",
    "On the **Integrations** tab, select **Add an integration** and select **Events API V2**.",
    "Open the new integration, copy the **Integration Key**, and paste it into the form.",
  ],
  schema: configSchema({
    routing_key: textField({
      about: "The integration key of an Events API v2 integration of a PagerDuty service.",
      lengthMax: 32,
      pattern: "^[A-Za-z0-9]{32}$",
      must: "an Events API v2 integration key: 32 letters and digits",
      secret: true,
    }),
    region: choiceField({
      about: "The service region of the PagerDuty account: US (us) or EU (eu).",
      words: ["us", "eu"],
      fallback: "us",
    }),
  }),
  isSubscribed: () => true,
  // PagerDuty accepts 120 events per minute for each integration.
  rate: { perMinute: 120, burst: 60 },
  request: ({ words, config, out, incident }) => {
    const event = { routing_key: config.routing_key, dedup_key: incident.key };
    if (incident.action === "close")
      return { url: ADDRESSES[config.region], json: { ...event, event_action: "resolve" } };
    return {
      url: ADDRESSES[config.region],
      json: {
        ...event,
        event_action: "trigger",
        client: out.site.name,
        client_url: out.site.url,
        links: [words.link, ...(words.ack === null ? [] : [words.ack])].map(({ text, url }) => ({
          href: url,
          text,
        })),
        payload: {
          summary: clipStart(words.headline, SUMMARY_LENGTH_MAX),
          source: incident.source,
          severity: incident.severity,
          timestamp: isoText(incident.since),
          custom_details: detailsOf(words, DETAIL_LIMITS),
        },
      },
    };
  },
  answers: {
    gone: [
      { status: 400, json: { errors: /routing_key/ }, reason: "PagerDuty rejected the integration key" },
    ],
  },
});
