// Slack, by the address of an incoming webhook.
import type { Static } from "typebox";
import type { OutgoingRequest } from "../../lib/outgoing/guarded-http.ts";
import type { ChannelKind, Outgoing } from "../channel-kind.ts";
import { addressField, configSchema } from "../config/config-fields.ts";
import { sendRequest } from "../http-sending.ts";
import { slackPayload } from "../slack-payload.ts";
import type { ToldMessage } from "../told-message.ts";
import { wordsOf } from "../words/words.ts";

const schema = configSchema({
  url: addressField({
    about: "The incoming webhook URL, such as https://hooks.slack.com/services/T…/B…/….",
    secret: true,
  }),
});

type Config = Static<typeof schema>;

/** The request that a message becomes. */
function renderSlack(message: ToldMessage, { url }: Config, { site, zone }: Pick<Outgoing, "site" | "zone">) {
  return {
    method: "POST",
    url,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(slackPayload(wordsOf(message, { site, zone }), site)),
  } satisfies OutgoingRequest;
}

export const slack: ChannelKind<Config> = {
  name: "slack",
  title: "Slack",
  about: "Sends messages to a Slack channel, or to any chat service that accepts Slack-compatible webhooks.",
  schema,
  hears: () => true,
  // Slack takes one message a second for each webhook, and short bursts of more.
  rate: { perMinute: 60, burst: 10 },
  send: (message, config, out) =>
    sendRequest(renderSlack(message, config, out), out, {
      permanentReason: ({ status, text }) => {
        const isGone = status === 404 || (status === 400 && text.trim() === "invalid_token");
        return isGone ? `The webhook no longer exists (HTTP ${status})` : null;
      },
    }),
};
