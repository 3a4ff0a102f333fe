// Rocket.Chat, using the URL of an incoming webhook.
import { addressField, configSchema } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { COLORS, type Dialect, fullText, JOINER, MARKDOWN, SIGNS, withoutMentions } from "../layout.ts";
import { clipStart } from "../message-text.ts";

const HEADLINE_LENGTH_MAX = 300;
/** The default limit of the server is 5,000 characters. */
const LIMITS = { max: 4_500, output: 1_500, value: 500, names: 2_500 } as const;

const ROCKET: Dialect = {
  ...MARKDOWN,
  // Only these characters can be escaped. A joiner prevents links, `[text](url)` and `<url|text>`.
  text: (foreign) =>
    withoutMentions(foreign)
      .replace(/[*_~`#]/g, (sign) => `\\${sign}`)
      .replace(/<|\](?=\()/g, (sign) => sign + JOINER),
  block: (foreign) => MARKDOWN.block(withoutMentions(foreign)),
  link: ({ text, url }) => `[${ROCKET.text(text.replaceAll("[", "(").replaceAll("]", ")"))}](${url})`,
  lineEnd: "",
};

export const rocketchat = httpKind({
  name: "rocketchat",
  title: "Rocket.Chat",
  about: "Sends messages to a Rocket.Chat channel.",
  category: "chat",
  icon: "rocketdotchat",
  example: { url: "https://rocketchat.example.org/hooks/your-id/your-secret" },
  guide: [
    "In Rocket.Chat, open **Administration**, then **Workspace** and **Integrations**, and select **New**, then **Incoming**.",
    "Turn on **Enabled**. Under **Post to Channel**, enter the channel, such as `#ops`. Under **Post as**, enter the name of an existing user. Then select **Save**.",
    "Copy the webhook URL and paste it into the form.",
  ],
  schema: configSchema({
    url: addressField({
      about: "The webhook URL, such as https://rocketchat.example.org/hooks/…/….",
      secret: true,
    }),
  }),
  isSubscribed: () => true,
  rate: { perMinute: 60, burst: 10 },
  request: ({ words, config, out }) => ({
    url: config.url,
    json: {
      alias: out.site.name,
      text: `${SIGNS[words.tone]} ${ROCKET.bold(ROCKET.text(clipStart(words.headline, HEADLINE_LENGTH_MAX)))}`,
      attachments: [
        {
          color: COLORS[words.tone],
          title: words.link.text,
          title_link: words.link.url,
          text: fullText(words, ROCKET, {
            limits: LIMITS,
            ends: words.ack === null ? [] : [ROCKET.link(words.ack)],
          }),
        },
      ],
    },
  }),
  // A reverse proxy may answer 404 while the server restarts; only Rocket.Chat itself returns this error.
  answers: {
    gone: [
      {
        status: 404,
        json: { success: false, error: /^Invalid integration id or token/ },
        reason: "The webhook no longer exists",
      },
    ],
    wait: [{ status: 200, json: { success: false } }],
  },
});
