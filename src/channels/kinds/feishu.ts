// Feishu, and Lark outside China, using the URL of a custom bot.
import { type Instant, MINUTE_MS, SECOND_MS } from "../../core/instant.ts";
import { hmacSha256Hex } from "../../lib/secrets.ts";
import { addressField, configSchema, tokenField } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { type Dialect, fullText, PLAIN, SIGNS } from "../layout.ts";
import { clipStart, type MessageText, type Tone } from "../message-text.ts";

const TITLE_LENGTH_MAX = 250;
/** Of the 20 KB of a request. */
const LIMITS = { max: 12_000, unit: "bytes", output: 1_000, value: 500, names: 2_000 } as const;
const COLORS: Readonly<Record<Tone, string>> = { bad: "red", good: "green", notice: "yellow" };

/** Markdown of cards, in which special characters are written as HTML entities. */
const LARK_MD: Dialect = {
  ...PLAIN,
  text: (foreign) => foreign.replace(/[&<>*_~`[\]#\\|$]/g, (sign) => `&#${sign.charCodeAt(0)};`),
  block: (foreign) => LARK_MD.text(foreign),
  bold: (own) => `**${own}**`,
  link: ({ text, url }) => `[${LARK_MD.text(text)}](${url})`,
  bullet: "• ",
};

function cardOf(words: MessageText) {
  const buttons = [words.link, ...(words.ack === null ? [] : [words.ack])];
  return {
    config: { wide_screen_mode: true },
    header: {
      template: COLORS[words.tone],
      title: {
        tag: "plain_text",
        content: `${SIGNS[words.tone]} ${clipStart(words.headline, TITLE_LENGTH_MAX)}`,
      },
    },
    elements: [
      {
        tag: "div",
        text: { tag: "lark_md", content: fullText(words, LARK_MD, { limits: LIMITS, ends: [] }) },
      },
      {
        tag: "action",
        actions: buttons.map(({ text, url }, index) => ({
          tag: "button",
          text: { tag: "plain_text", content: text },
          type: index === 0 ? "primary" : "default",
          url,
        })),
      },
    ],
  };
}

/** Feishu uses the timestamp and the secret as the key and signs an empty message. */
function signature(secret: string, now: Instant) {
  const timestamp = String(Math.floor(now / SECOND_MS));
  const hex = hmacSha256Hex({ key: `${timestamp}\n${secret}`, message: "" });
  return { timestamp, sign: Buffer.from(hex, "hex").toString("base64") };
}

export const feishu = httpKind({
  name: "feishu",
  title: "Feishu and Lark",
  about: "Sends messages to a group in Feishu or Lark.",
  category: "chat",
  icon: null,
  example: { url: "https://open.feishu.cn/open-apis/bot/v2/hook/your-secret" },
  guide: [
    "In Feishu or Lark, open the group, then **Settings**, then **Bots**, and select **Add Bot**.",
    "Select **Custom Bot**, give it a name, and select **Add**.",
    "Copy the webhook URL and paste it into the form.",
    "Optionally, under **Security settings**, turn on **Set signature verification**, copy the secret, and paste it into the form.",
  ],
  schema: configSchema({
    url: addressField({
      about:
        "The webhook URL of the bot, such as https://open.feishu.cn/open-apis/bot/v2/hook/… or https://open.larksuite.com/open-apis/bot/v2/hook/….",
      secret: true,
    }),
    secret: tokenField({
      about: "The secret for signature verification. Leave blank if it is turned off.",
      lengthMax: 200,
      fallback: "",
    }),
  }),
  isSubscribed: () => true,
  // Feishu accepts 100 messages per minute and 5 per second for each bot.
  rate: { perMinute: 60, burst: 5 },
  request: ({ words, config, out }) => ({
    url: config.url,
    json: {
      ...(config.secret === "" ? {} : signature(config.secret, out.now)),
      msg_type: "interactive",
      card: cardOf(words),
    },
  }),
  answers: {
    ok: [{ status: 200, json: { code: 0 } }],
    gone: [{ status: [200, 400], json: { code: 19_001 }, reason: "The bot no longer exists" }],
    once: [{ status: [200, 400], json: { code: 9_499 }, reason: "Feishu rejected the message" }],
    // Feishu is busy, usually at full and half hours.
    wait: [{ status: [200, 400], json: { code: 11_232 }, ms: () => MINUTE_MS }],
  },
});
