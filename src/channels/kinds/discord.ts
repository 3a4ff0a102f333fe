// Discord, using the webhook URL of a channel.
import { addressField, configSchema } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { COLORS, type Dialect, factValue, MARKDOWN, partsOf } from "../layout.ts";
import { clipEnd, clipStart, type MessageText } from "../message-text.ts";

const WEBHOOK = /^https:\/\/((ptb|canary)\.)?discord(app)?\.com\/api\/(v\d+\/)?webhooks\/\d+\/[\w-]+\/?$/;

/** Discord's limits; all texts of an embed together may have 6,000 characters. */
const USERNAME_LENGTH_MAX = 80;
const TITLE_LENGTH_MAX = 256;
const DESCRIPTION_LENGTH_MAX = 2_000;
const NAMES_LENGTH_MAX = 1_400;
const FIELD_LENGTH_MAX = 300;
const OUTPUT_LENGTH_MAX = 900;
/** Names that Discord reserves. */
const RESERVED_NAMES = /discord|clyde/i;

/** Markup characters, at the beginning of a line or anywhere, are escaped with a backslash. */
const DISCORD: Dialect = {
  ...MARKDOWN,
  text: (foreign) =>
    foreign.replace(
      /^[^\S\n\r\u2028\u2029]*[-#+]|[\\*_~`|<>[\]]/gm,
      (sign) => `${sign.slice(0, -1)}\\${sign.slice(-1)}`,
    ),
  link: ({ text, url }) => `[${DISCORD.text(text)}](${url})`,
  lineEnd: "",
};

function embedOf(words: MessageText) {
  const limits = { names: NAMES_LENGTH_MAX, value: FIELD_LENGTH_MAX };
  const { sentences, history, lists, others } = partsOf(words, DISCORD, limits);
  const description = [...sentences, ...history, ...lists.flat(), ...others].join("\n");
  // The link to acknowledge is never cut off.
  const ack = words.ack === null ? "" : `\n${DISCORD.link(words.ack)}`;
  const fields = words.facts.map((fact) => ({
    name: fact.label,
    value: clipStart(factValue(fact, DISCORD), FIELD_LENGTH_MAX),
    inline: fact.isShort,
  }));
  if (words.output !== null) {
    const value = DISCORD.block(clipEnd(words.output, OUTPUT_LENGTH_MAX));
    fields.push({ name: "Last output", value, inline: false });
  }
  return {
    title: clipStart(DISCORD.text(words.headline), TITLE_LENGTH_MAX),
    url: words.link.url,
    description: clipStart(description, DESCRIPTION_LENGTH_MAX - ack.length) + ack,
    color: Number.parseInt(COLORS[words.tone].slice(1), 16),
    fields,
  };
}

export const discord = httpKind({
  name: "discord",
  title: "Discord",
  about: "Sends messages to a Discord channel.",
  category: "chat",
  icon: "discord",
  example: { url: "https://discord.com/api/webhooks/1234567890/your-secret" },
  guide: [
    "In Discord, select **Edit Channel** for the channel, then **Integrations**, then **Webhooks**. You need the permission **Manage Webhooks**.",
    "Select **New Webhook**, open the new webhook, give it a name, and select **Copy Webhook URL**.",
    "Paste the URL into the form.",
  ],
  schema: configSchema({
    url: addressField({
      about: "The webhook URL, such as https://discord.com/api/webhooks/…/….",
      secret: true,
    }),
  }),
  validate: ({ url }) =>
    WEBHOOK.test(url)
      ? null
      : "url must be a Discord webhook URL: https://discord.com/api/webhooks/<id>/<token>. Copy it in Discord from Edit Channel > Integrations > Webhooks.",
  isSubscribed: () => true,
  // Discord accepts 30 messages per minute for each webhook, in bursts of five.
  rate: { perMinute: 30, burst: 5 },
  request: ({ words, config, out }) => {
    const url = new URL(config.url);
    url.host = "discord.com";
    // Without it, a message that could not be stored gets a success response.
    url.searchParams.set("wait", "true");
    const username = clipStart(out.site.name, USERNAME_LENGTH_MAX);
    return {
      url: url.href,
      json: {
        ...(RESERVED_NAMES.test(username) ? {} : { username }),
        embeds: [embedOf(words)],
        // Names and outputs are untrusted: they must not mention anyone.
        allowed_mentions: { parse: [] },
      },
    };
  },
  answers: { gone: [{ status: 404, reason: "The webhook no longer exists" }] },
});
