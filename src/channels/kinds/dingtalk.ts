// DingTalk, using the URL of a custom robot.
import { type Instant, MINUTE_MS } from "../../core/instant.ts";
import { hmacSha256Hex } from "../../lib/secrets.ts";
import { addressField, configSchema, tokenField } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { type Dialect, fullText, MARKDOWN, SIGNS } from "../layout.ts";
import { clipStart } from "../message-text.ts";

const TITLE_LENGTH_MAX = 250;
/** Of the 20,000 bytes of a request. */
const LIMITS = { max: 8_000, unit: "bytes", output: 1_000, value: 500, names: 2_000 } as const;
/** How long a robot that exceeds the rate limit is blocked. */
const BLOCKED_MS = 10 * MINUTE_MS;

/** DingTalk shows quotes, but no code. */
const DIALECT: Dialect = {
  ...MARKDOWN,
  code: MARKDOWN.text,
  block: (foreign) =>
    foreign
      .split("\n")
      .map((line) => `> ${MARKDOWN.text(line)}${MARKDOWN.lineEnd}`)
      .join("\n"),
};

function signed(address: string, { secret, now }: { secret: string; now: Instant }): string {
  if (secret === "") return address;
  const hex = hmacSha256Hex({ key: secret, message: `${now}\n${secret}` });
  const url = new URL(address);
  url.searchParams.set("timestamp", String(now));
  url.searchParams.set("sign", Buffer.from(hex, "hex").toString("base64"));
  return url.href;
}

export const dingtalk = httpKind({
  name: "dingtalk",
  title: "DingTalk",
  about: "Sends messages to a group in DingTalk.",
  category: "chat",
  icon: null,
  example: { url: "https://oapi.dingtalk.com/robot/send?access_token=your-token", secret: "SECyour-secret" },
  guide: [
    "In DingTalk, open the group, then **Group Settings**, then **Bot**, and select **Add Robot**.",
    "Select **Custom** and give the robot a name.",
    "Under **Security Settings**, select **Additional Signature** and copy the secret. Or select **Custom Keywords** and enter the name of this server, which is in the title of each message.",
    "Complete the setup, copy the webhook URL, and paste it into the form. If you chose a signature, also paste the secret.",
  ],
  schema: configSchema({
    url: addressField({
      about: "The webhook URL of the robot, such as https://oapi.dingtalk.com/robot/send?access_token=….",
      secret: true,
    }),
    secret: tokenField({
      about: "The signing secret, which starts with SEC. Leave blank if the robot does not use signatures.",
      lengthMax: 200,
      fallback: "",
    }),
  }),
  isSubscribed: () => true,
  // DingTalk accepts 20 messages per minute for each robot.
  rate: { perMinute: 18, burst: 5 },
  request: ({ words, config, out }) => {
    const headline = clipStart(words.headline, TITLE_LENGTH_MAX);
    const text = fullText(words, DIALECT, { limits: LIMITS });
    return {
      url: signed(config.url, { secret: config.secret, now: out.now }),
      json: {
        msgtype: "markdown",
        markdown: {
          title: `${out.site.name}: ${headline}`,
          text: `#### ${SIGNS[words.tone]} ${MARKDOWN.text(headline)}\n\n${text}`,
        },
      },
    };
  },
  answers: {
    ok: [{ status: 200, json: { errcode: 0 } }],
    gone: [
      { status: 200, json: { errmsg: /token is not exist/i }, reason: "The robot no longer exists" },
      { status: 200, json: { errcode: /^400(101|106)$/ }, reason: "The robot no longer exists" },
      { status: 200, json: { errcode: 400_013 }, reason: "The group no longer exists" },
    ],
    once: [{ status: 200, json: { errcode: 460_101 }, reason: "The message is too long" }],
    wait: [
      { status: 200, json: { errcode: /^(130101|410100)$/ }, ms: () => BLOCKED_MS },
      { status: 200, json: { punish: "deny" }, ms: () => BLOCKED_MS },
    ],
  },
});
