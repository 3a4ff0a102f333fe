// ntfy, on ntfy.sh or a self-hosted server: push messages to phones.
import { addressField, configSchema, priorities, textField, tokenField } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { fullText, MARKDOWN } from "../layout.ts";
import { clipStart, type Tone } from "../message-text.ts";

const PUBLIC_SERVER = "https://ntfy.sh";
const TITLE_LENGTH_MAX = 250;
/** The server turns a longer message into an attachment. */
const LIMITS = { max: 4_000, unit: "bytes", output: 1_000, value: 200, names: 2_000 } as const;
const TAGS: Readonly<Record<Tone, string>> = {
  bad: "red_circle",
  good: "green_circle",
  notice: "yellow_circle",
};

const PRIORITIES = priorities({
  min: 0,
  max: 5,
  scale: "from 1 (lowest) to 5 (highest)",
  off: 0,
  fallback: { priority: 3, priority_up: 3, priority_notice: 2 },
  low: 2,
  high: 4,
});

function isPublic({ url }: { url: string }): boolean {
  return new URL(url).origin === PUBLIC_SERVER;
}

export const ntfy = httpKind({
  name: "ntfy",
  title: "ntfy",
  about: "Sends push notifications to phones and browsers through ntfy.sh or your own ntfy server.",
  category: "push",
  icon: "ntfy",
  example: { topic: "your-secret-topic", priority: 4 },
  guide: [
    "Install the [ntfy app](https://ntfy.sh/#subscribe-phone), or open your ntfy server in a browser.",
    "Subscribe to a topic. Use a name that is hard to guess: anyone who knows it can read the messages.",
    "Enter the topic in the form. For your own server, also enter its URL, and an access token if the topic is protected.",
  ],
  schema: configSchema({
    topic: textField({
      about: "The topic name. Anyone who knows it can read the messages, unless the server requires a token.",
      lengthMax: 64,
      pattern: "^[-_A-Za-z0-9]{1,64}$",
      must: "1 to 64 letters, digits, hyphens, or underscores",
      secret: true,
    }),
    url: addressField({ about: "The URL of the ntfy server.", fallback: PUBLIC_SERVER }),
    token: tokenField({
      about: "An access token for the server, if the topic requires one.",
      lengthMax: 200,
      fallback: "",
    }),
    ...PRIORITIES.fields,
  }),
  validate: PRIORITIES.validate,
  isSubscribed: PRIORITIES.isSubscribed,
  // ntfy.sh allows one message every five seconds, in bursts of sixty.
  rate: { perMinute: 12, burst: 30 },
  request: ({ words, message, config, out }) => {
    const token = config.token || (isPublic(config) ? out.keys.ntfyShToken : null);
    return {
      url: config.url,
      headers: token === null ? {} : { Authorization: `Bearer ${token}` },
      json: {
        topic: config.topic,
        title: clipStart(words.headline, TITLE_LENGTH_MAX),
        message: fullText(words, MARKDOWN, { limits: LIMITS, ends: [] }),
        markdown: true,
        priority: PRIORITIES.of(message, config),
        tags: [TAGS[words.tone]],
        click: words.link.url,
        actions: [words.link, ...(words.ack === null ? [] : [words.ack])].map(({ text, url }) => ({
          action: "view",
          label: text,
          url,
        })),
      },
    };
  },
  answers: ({ config, out }) => ({
    ours:
      config.token === "" && isPublic(config) && out.keys.ntfyShToken !== null
        ? [{ status: 401, reason: "ntfy.sh rejected the API token of this server (OVERDUE_NTFY_SH_TOKEN)" }]
        : [],
  }),
});
