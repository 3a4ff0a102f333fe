// Slack, using the URL of an incoming webhook.
import { addressField, configSchema } from "../config-fields.ts";
import type { Site } from "../channel-kind.ts";
import { httpKind } from "../http-kind.ts";
import { type Dialect, factValue, JOINER, partsOf } from "../layout.ts";
import { clipEnd, clipStart, type MessageText, type Tone } from "../message-text.ts";

const COLORS: Readonly<Record<Tone, string>> = { bad: "danger", good: "good", notice: "warning" };
const SLACK = /^https:\/\/hooks\.slack(-gov)?\.com\//;
const OUTPUT_LENGTH_MAX = 1_000;
const VALUE_LENGTH_MAX = 1_000;
/** The checks of an incident, with their links. */
const NAMES_LENGTH_MAX = 4_000;

/** Slack's own rule: exactly these three characters. */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

const MRKDWN: Dialect = {
  // An invisible joiner prevents a sign at the edge of a word from acting as markup; inside a word it never does.
  text: (foreign) =>
    escaped(foreign).replace(/(?<![\p{L}\p{N}])[*_~`]|[*_~`](?![\p{L}\p{N}])/gu, (sign) => sign + JOINER),
  code: (foreign) => `\`${escaped(foreign).replaceAll("`", "'")}\``,
  block: (foreign) => `\`\`\`\n${escaped(foreign).replaceAll("```", "'''")}\n\`\`\``,
  bold: (own) => `*${own}*`,
  link: ({ text, url }) => `<${url}|${MRKDWN.text(text).replaceAll("|", "¦")}>`,
  bullet: "• ",
  lineEnd: "",
  newline: "\n",
};

/**
 * The payload of an incoming webhook, in the older attachment format, which many other chat servers support. Nothing in
 * it can mention anyone or act as markup.
 */
function payloadOf(words: MessageText, site: Site) {
  const limits = { names: NAMES_LENGTH_MAX, value: VALUE_LENGTH_MAX, name: MRKDWN.link };
  const { sentences, history, lists, others } = partsOf(words, MRKDWN, limits);
  const ack = words.ack === null ? [] : [MRKDWN.link(words.ack)];
  const fields = words.facts.map((fact) => ({
    title: fact.label,
    value: factValue({ ...fact, value: clipStart(fact.value, VALUE_LENGTH_MAX) }, MRKDWN),
    short: fact.isShort,
  }));
  if (words.output !== null) {
    const value = MRKDWN.block(clipEnd(words.output, OUTPUT_LENGTH_MAX));
    fields.push({ title: "Last output", value, short: false });
  }
  return {
    username: site.name,
    attachments: [
      {
        color: COLORS[words.tone],
        fallback: escaped(words.headline),
        mrkdwn_in: ["text", "fields"],
        title: escaped(words.headline),
        title_link: words.link.url,
        text: [...sentences, ...history, ...lists.flat(), ...others, ...ack].join("\n"),
        fields,
      },
    ],
  };
}

export const slack = httpKind({
  name: "slack",
  title: "Slack",
  about: "Sends messages to a Slack channel, or to any chat service that accepts Slack-compatible webhooks.",
  category: "chat",
  icon: null,
  example: { url: "https://hooks.slack.com/services/T0001/B0001/your-secret" },
  guide: [
    "Open [your Slack apps](https://api.slack.com/apps), select **Create New App**, then **From scratch**, enter a name, and select your workspace.",
    "Under **Incoming Webhooks**, turn on **Activate Incoming Webhooks**.",
    "Select **Add New Webhook** at the bottom of the page, select the channel for notifications, and select **Allow**.",
    "Copy the webhook URL and paste it into the form.",
  ],
  schema: configSchema({
    url: addressField({
      about: "The incoming webhook URL, such as https://hooks.slack.com/services/T…/B…/….",
      secret: true,
    }),
  }),
  isSubscribed: () => true,
  // Slack accepts one message per second for each webhook, with short bursts.
  rate: { perMinute: 60, burst: 10 },
  request: ({ words, config, out }) => ({ url: config.url, json: payloadOf(words, out.site) }),
  answers: ({ config }) => ({
    gone: [
      // The reverse proxy of another chat server may answer 404 while the server restarts.
      { status: SLACK.test(config.url) ? 404 : [], reason: "The webhook no longer exists" },
      { status: 400, text: /^\s*invalid_token\s*$/, reason: "The webhook no longer exists" },
    ],
  }),
});
