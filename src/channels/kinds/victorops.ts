// Splunk On-Call, formerly VictorOps, using its REST endpoint.
import { SECOND_MS } from "../../core/instant.ts";
import { addressField, configSchema } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import type { IncidentEvent } from "../incident-event.ts";
import { fullText, PLAIN } from "../layout.ts";
import { clipStart } from "../message-text.ts";

const TYPES: Readonly<Record<IncidentEvent["severity"], string>> = {
  critical: "CRITICAL",
  warning: "WARNING",
  info: "INFO",
};
const NAME_LENGTH_MAX = 500;
/** A message may have 20,480 characters. */
const LIMITS = { max: 20_000, output: 10_000, value: 1_000, names: 5_000 } as const;

export const victorops = httpKind({
  name: "victorops",
  title: "Splunk On-Call",
  about:
    "Opens an incident in Splunk On-Call (formerly VictorOps) when a check goes down and resolves it when the check comes back up. Notices and low-severity problems have type WARNING, and tests have type INFO.",
  category: "incidents",
  icon: null,
  example: { url: "https://alert.victorops.com/integrations/generic/20131114/alert/your-key/database" },
  guide: [
    "In Splunk On-Call, open **Integrations**, then **3rd Party Integrations**, and select **REST - Generic**. Select **Enable** if the integration is not enabled yet.",
    "Copy the URL of the endpoint and paste it into the form.",
    "Replace `$routing_key` at the end of the URL with a routing key, such as `database`. The keys are listed under **Settings**, then **Routing Keys**.",
  ],
  schema: configSchema({
    url: addressField({
      about:
        "The URL of the REST endpoint, ending with a routing key, such as https://alert.victorops.com/integrations/generic/20131114/alert/…/database.",
      secret: true,
    }),
  }),
  validate: ({ url }) =>
    /\$|%24/.test(url) ? "Replace $routing_key at the end of the URL with a routing key." : null,
  isSubscribed: () => true,
  rate: { perMinute: 60, burst: 30 },
  request: ({ words, config, out, incident }) => ({
    url: config.url,
    json: {
      entity_id: incident.key,
      message_type: incident.action === "close" ? "RECOVERY" : TYPES[incident.severity],
      entity_display_name: clipStart(words.headline, NAME_LENGTH_MAX),
      state_message: fullText(words, PLAIN, { limits: LIMITS }),
      state_start_time: Math.floor(incident.since / SECOND_MS),
      monitoring_tool: clipStart(out.site.name, NAME_LENGTH_MAX),
    },
  }),
  answers: {
    gone: [{ status: 404, reason: "The endpoint no longer exists" }],
  },
});
