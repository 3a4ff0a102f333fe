// Bark, on the public server or a self-hosted one: push messages to iPhones.
import type { ChannelMessage } from "../channel-kind.ts";
import { below, choiceField, configSchema, eventOf, serverField, textField } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { clipBytes, fullText, linkLines, PLAIN } from "../layout.ts";

const PUBLIC_SERVER = "https://api.day.app";
/** Apple's push service accepts 4 KB. In it, characters with a meaning in HTML take six bytes each. */
const TITLE_BYTES_MAX = 250;
const LIMITS = { max: 1_800, unit: "bytes", output: 500, value: 200, names: 800 } as const;

/** From silent to loud. */
const LEVELS = ["passive", "active", "timeSensitive", "critical"] as const;
type Level = (typeof LEVELS)[number];

/** The level of a message: lower for a low severity and for notices, higher for a high severity. */
function levelOf(message: ChannelMessage, { level }: { level: Level }): Level {
  const event = eventOf(message);
  if (event === "notice") return "passive";
  if (event === "up") return "active";
  const severity = "severity" in message ? message.severity : "normal";
  if (severity === "normal") return level;
  if (severity === "low") return "passive";
  return level === "critical" ? level : "timeSensitive";
}

export const bark = httpKind({
  name: "bark",
  title: "Bark",
  about: "Sends push notifications to iPhones through the public Bark server or your own.",
  category: "push",
  icon: null,
  example: { device_key: "your-device-key" },
  guide: [
    "Install the [Bark app](https://apps.apple.com/app/bark-custom-notifications/id1403753865) on your iPhone, open it, and allow notifications.",
    "The app shows a URL such as `https://api.day.app/KEY/`. Copy the part between the slashes after the host and paste it into the form.",
    "If you run your own Bark server, also enter its URL.",
  ],
  schema: configSchema({
    device_key: textField({
      about: "The device key from the Bark app. Anyone who knows it can send messages to the device.",
      lengthMax: 100,
      pattern: "^[A-Za-z0-9_-]+$",
      must: "letters, digits, hyphens, and underscores",
      secret: true,
    }),
    url: serverField({ about: "The URL of the Bark server.", fallback: PUBLIC_SERVER }),
    level: choiceField({
      about:
        "The interruption level when a check goes down: passive (silent), active, timeSensitive (shown during Focus), or critical (plays a sound even in silent mode). Low-severity problems are always passive, and high-severity problems at least timeSensitive.",
      words: LEVELS,
      fallback: "active",
    }),
  }),
  isSubscribed: () => true,
  rate: { perMinute: 30, burst: 10 },
  request: ({ words, message, config, out }) => ({
    url: below(config.url, "push"),
    json: {
      device_key: config.device_key,
      title: clipBytes(words.headline, TITLE_BYTES_MAX),
      body: fullText(words, PLAIN, { limits: LIMITS, ends: linkLines(words, PLAIN).slice(1) }),
      level: levelOf(message, config),
      group: out.site.name,
      url: words.link.url,
    },
  }),
  answers: {
    gone: [
      {
        status: 400,
        json: { message: /^failed to get device token: (failed to get \[.*\] device token|sql: no rows)/ },
        reason: "The device key is not registered on the Bark server",
      },
    ],
    once: [{ status: 500, json: { message: /PayloadTooLarge/ }, reason: "The message is too long" }],
    ok: [{ status: 200, json: { code: 200 } }],
  },
});
