// Grafana IRM, the on-call service of Grafana Cloud, using a formatted webhook.
import { addressField, configSchema } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { fullText, linkLines, MARKDOWN, withoutMentions, withoutTags } from "../layout.ts";
import { clipStart } from "../message-text.ts";

const TITLE_LENGTH_MAX = 500;
const LIMITS = { max: 10_000, output: 4_000, value: 1_000, names: 4_000 } as const;

export const grafanairm = httpKind({
  name: "grafanairm",
  title: "Grafana IRM",
  about:
    "Sends an alert to Grafana Cloud IRM (formerly Grafana OnCall) when a check goes down and resolves it when the check comes back up.",
  category: "incidents",
  icon: "grafana",
  example: { url: "https://oncall.example.grafana.net/oncall/integrations/v1/formatted_webhook/your-id/" },
  guide: [
    "In Grafana Cloud, open **IRM**, then **Integrations**, select **New integration**, and select **Formatted Webhook**.",
    "Enter a name and select **Create Integration**.",
    "Copy the URL under **HTTP Endpoint** and paste it into the form.",
  ],
  schema: configSchema({
    url: addressField({ about: "The URL of a Formatted Webhook integration.", secret: true }),
  }),
  isSubscribed: () => true,
  // Grafana accepts 300 alerts in five minutes for each integration.
  rate: { perMinute: 50, burst: 30 },
  request: ({ words, config, incident }) => ({
    url: config.url,
    json: {
      alert_uid: incident.key,
      // Titles are forwarded to chats, where they could mention someone.
      title: withoutMentions(withoutTags(clipStart(words.headline, TITLE_LENGTH_MAX))),
      state: incident.action === "close" ? "ok" : "alerting",
      message: fullText(words, MARKDOWN, { limits: LIMITS, ends: linkLines(words, MARKDOWN).slice(1) }),
      link_to_upstream_details: words.link.url,
    },
  }),
  answers: {
    gone: [
      { status: 403, text: /Integration key was not found/, reason: "The integration no longer exists" },
    ],
  },
});
