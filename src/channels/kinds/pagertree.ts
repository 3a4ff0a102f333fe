// PagerTree, using an integration type that parses requests in this format.
import { addressField, configSchema } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { fullText, PLAIN, tagsOf } from "../layout.ts";
import { clipStart } from "../message-text.ts";

const TITLE_LENGTH_MAX = 500;
const LIMITS = { max: 10_000, output: 4_000, value: 1_000, names: 4_000 } as const;

export const pagertree = httpKind({
  name: "pagertree",
  title: "PagerTree",
  about: "Opens an alert in PagerTree when a check goes down and resolves it when the check comes back up.",
  category: "incidents",
  icon: null,
  example: { url: "https://api.pagertree.com/integration/your-id" },
  guide: [
    "In PagerTree, open **Integrations**, select **New Integration**, and select **Healthchecks.io**. Overdue sends requests in the format of that integration.",
    "Enter a name, select an urgency and a destination, and save the integration.",
    "Copy the endpoint URL of the integration and paste it into the form.",
  ],
  schema: configSchema({
    url: addressField({
      about: "The endpoint URL of an integration of type Healthchecks.io.",
      secret: true,
    }),
  }),
  isSubscribed: () => true,
  rate: { perMinute: 60, burst: 30 },
  request: ({ words, config, out, incident }) => ({
    url: config.url,
    json: {
      incident_key: incident.key,
      event_type: incident.action === "close" ? "resolve" : "trigger",
      title: clipStart(words.headline, TITLE_LENGTH_MAX),
      description: fullText(words, PLAIN, { limits: LIMITS }),
      client: out.site.name,
      client_url: out.site.url,
      tags: tagsOf(words).join(","),
    },
  }),
  answers: {},
});
