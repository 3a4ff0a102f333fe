// Mattermost, using the URL of an incoming webhook.
import { addressField, configSchema } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { COLORS, type Dialect, fullText, JOINER, MARKDOWN, withoutMentions } from "../layout.ts";
import { clipStart } from "../message-text.ts";

const TITLE_LENGTH_MAX = 300;
/** Longer messages become several posts. */
const LIMITS = { max: 6_000, output: 2_000, value: 500, names: 3_000 } as const;

/** Mentions notify people in any text, also in Slack's form `<!channel>`. */
function silent(text: string): string {
  return withoutMentions(text).replaceAll("<!", `<${JOINER}!`);
}

const MATTERMOST: Dialect = {
  ...MARKDOWN,
  // A backslash before `<` would be shown.
  text: (foreign) =>
    withoutMentions(foreign)
      .replaceAll("<", `<${JOINER}`)
      .replace(/[\\*_~`>[\]#|]/g, (sign) => `\\${sign}`),
  block: (foreign) => MARKDOWN.block(silent(foreign)),
  link: ({ text, url }) => `[${MATTERMOST.text(text)}](${url})`,
  lineEnd: "",
};

export const mattermost = httpKind({
  name: "mattermost",
  title: "Mattermost",
  about: "Sends messages to a Mattermost channel.",
  category: "chat",
  icon: "mattermost",
  example: { url: "https://mattermost.example.org/hooks/your-secret" },
  guide: [
    "In Mattermost, open the product menu and select **Integrations**, then **Incoming Webhooks**. If **Integrations** is missing, ask a system admin to enable incoming webhooks.",
    "Select **Add Incoming Webhook**, enter a title, select the channel, and select **Save**.",
    "Copy the webhook URL and paste it into the form.",
  ],
  schema: configSchema({
    url: addressField({
      about: "The incoming webhook URL, such as https://mattermost.example.org/hooks/….",
      secret: true,
    }),
  }),
  isSubscribed: () => true,
  rate: { perMinute: 60, burst: 10 },
  request: ({ words, config, out }) => {
    const headline = silent(clipStart(words.headline, TITLE_LENGTH_MAX));
    const ack = words.ack === null ? [] : [MATTERMOST.link(words.ack)];
    return {
      url: config.url,
      json: {
        username: out.site.name,
        attachments: [
          {
            color: COLORS[words.tone],
            fallback: headline,
            // A title with a link is shown as it is.
            title: headline,
            title_link: words.link.url,
            text: fullText(words, MATTERMOST, { limits: LIMITS, ends: ack }),
          },
        ],
      },
    };
  },
  // A reverse proxy may answer 404 while the server restarts; only these errors come from Mattermost itself.
  answers: {
    gone: [
      {
        status: 400,
        json: { id: "web.incoming_webhook.invalid.app_error" },
        reason: "The webhook no longer exists",
      },
      {
        status: 403,
        json: { id: /^web\.incoming_webhook\./ },
        reason: "The owner of the webhook cannot post to the channel",
      },
    ],
  },
});
