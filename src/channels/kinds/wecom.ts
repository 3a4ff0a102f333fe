// WeCom (WeChat Work), using the URL of a group robot.
import { MINUTE_MS } from "../../core/instant.ts";
import { addressField, configSchema } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { type Dialect, fullText, PLAIN, SIGNS } from "../layout.ts";
import { clipStart } from "../message-text.ts";

const HEADLINE_LENGTH_MAX = 200;
/** Of 4,096 bytes, without the headline, whose characters can have three bytes each. */
const LIMITS = { max: 3_400, unit: "bytes", output: 500, value: 200, names: 1_000 } as const;

const WIDE_OFFSET = 0xfee0;

/** WeCom has no escape character, so markup characters are replaced by their full-width forms. */
function wide(text: string): string {
  return text.replace(/[*_`[\]<>]/g, (sign) => String.fromCharCode(sign.charCodeAt(0) + WIDE_OFFSET));
}

const DIALECT: Dialect = {
  ...PLAIN,
  // A line of other people's text cannot become a heading.
  text: (foreign) => wide(foreign).replace(/^#(?=#* )/gm, "＃"),
  block: (foreign) =>
    foreign
      .split("\n")
      .map((line) => `> ${wide(line)}`)
      .join("\n"),
  bold: (own) => `**${own}**`,
  link: ({ text, url }) => `[${wide(text)}](${url})`,
};

export const wecom = httpKind({
  name: "wecom",
  title: "WeCom",
  about: "Sends messages to a group in WeCom (WeChat Work).",
  category: "chat",
  icon: "wechat",
  example: { url: "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=your-key" },
  guide: [
    "In WeCom, open the group, then **Group Settings**, then **Group Robot**, and select **Add Robot**.",
    "Select **Create Robot** and give it a name.",
    "Copy the webhook URL and paste it into the form.",
  ],
  schema: configSchema({
    url: addressField({
      about: "The webhook URL of the robot, such as https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=….",
      secret: true,
    }),
  }),
  isSubscribed: () => true,
  // WeCom accepts 20 messages per minute for each robot.
  rate: { perMinute: 18, burst: 5 },
  request: ({ words, config }) => {
    const headline = DIALECT.text(clipStart(words.headline, HEADLINE_LENGTH_MAX));
    const text = fullText(words, DIALECT, { limits: LIMITS });
    return {
      url: config.url,
      json: {
        msgtype: "markdown",
        markdown: { content: `#### ${SIGNS[words.tone]} ${headline}\n${text}` },
      },
    };
  },
  answers: {
    ok: [{ status: 200, json: { errcode: 0 } }],
    gone: [{ status: 200, json: { errcode: 93_000 }, reason: "The robot no longer exists" }],
    once: [{ status: 200, json: { errcode: 40_058 }, reason: "WeCom rejected the message" }],
    wait: [{ status: 200, json: { errcode: /^(45009|45033)$/ }, ms: () => MINUTE_MS }],
  },
});
