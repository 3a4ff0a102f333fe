// Spike, using an integration type that parses requests in this format.
import { addressField, configSchema } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { fullText, PLAIN } from "../layout.ts";
import { clipStart } from "../message-text.ts";

const TITLE_LENGTH_MAX = 500;
const LIMITS = { max: 10_000, output: 4_000, value: 1_000, names: 4_000 } as const;

export const spike = httpKind({
  name: "spike",
  title: "Spike",
  about: "Opens an incident in Spike when a check goes down and resolves it when the check comes back up.",
  category: "incidents",
  icon: null,
  example: { url: "https://hooks.spike.sh/your-id/push-events" },
  guide: [
    "In Spike, open **Integrations**, select **New integration**, and select **Healthchecks.io**. Overdue sends requests in the format of that integration.",
    "Select a service and an escalation policy, and save the integration.",
    "Copy the webhook URL and paste it into the form.",
  ],
  schema: configSchema({
    url: addressField({
      about:
        "The webhook URL of an integration of type Healthchecks.io, such as https://hooks.spike.sh/…/push-events.",
      secret: true,
    }),
  }),
  isSubscribed: () => true,
  rate: { perMinute: 60, burst: 30 },
  request: ({ words, config, incident }) => ({
    url: config.url,
    json: {
      check_id: incident.key,
      status: incident.action === "close" ? "up" : "down",
      title: clipStart(words.headline, TITLE_LENGTH_MAX),
      message: fullText(words, PLAIN, { limits: LIMITS }),
    },
  }),
  answers: {},
});
