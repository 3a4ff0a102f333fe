// Pushbullet: push messages to the phones and browsers of an account.
import { configSchema, tokenField } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { untilTimeIn } from "../http-request.ts";
import { fullText, linkLines, PLAIN } from "../layout.ts";
import { clipStart } from "../message-text.ts";

const TITLE_LENGTH_MAX = 250;
const LIMITS = { max: 4_000, output: 1_000, value: 200, names: 2_000 } as const;

export const pushbullet = httpKind({
  name: "pushbullet",
  title: "Pushbullet",
  about: "Sends push notifications to the phones and browsers of a Pushbullet account.",
  category: "push",
  icon: "pushbullet",
  example: { access_token: "your-token" },
  guide: [
    "Sign in to Pushbullet and open your [account settings](https://www.pushbullet.com/#settings/account).",
    "Select **Create Access Token**, copy the token, and paste it into the form.",
  ],
  schema: configSchema({
    access_token: tokenField({ about: "An access token of the Pushbullet account.", lengthMax: 100 }),
  }),
  isSubscribed: () => true,
  rate: { perMinute: 30, burst: 10 },
  request: ({ words, config, out }) => ({
    url: "https://api.pushbullet.com/v2/pushes",
    headers: { "Access-Token": config.access_token },
    json: {
      type: "link",
      title: clipStart(words.headline, TITLE_LENGTH_MAX),
      // The push itself is a link to the page.
      body: fullText(words, PLAIN, { limits: LIMITS, ends: linkLines(words, PLAIN).slice(1) }),
      url: words.link.url,
      // A second push with the same identifier is not shown.
      guid: out.dedupeKey,
    },
  }),
  answers: {
    gone: [{ status: 401, reason: "Pushbullet rejected the access token" }],
    wait: [{ status: 429, ms: untilTimeIn("x-ratelimit-reset") }],
  },
});
