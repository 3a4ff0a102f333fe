// Gotify, on the user's server: push messages to phones.
import { below, configSchema, priorities, serverField, tokenField } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { fullText, MARKDOWN } from "../layout.ts";
import { clipStart } from "../message-text.ts";

const TITLE_LENGTH_MAX = 250;
const LIMITS = { max: 4_000, output: 1_000, value: 200, names: 2_000 } as const;

const PRIORITIES = priorities({
  min: 0,
  max: 10,
  scale: "from 1 (silent) to 10 (loudest)",
  off: 0,
  fallback: { priority: 5, priority_up: 5, priority_notice: 2 },
  low: 2,
  high: 9,
});

export const gotify = httpKind({
  name: "gotify",
  title: "Gotify",
  about: "Sends push notifications to Android phones and browsers through your Gotify server.",
  category: "push",
  icon: null,
  example: { url: "https://gotify.example.org", token: "your-token" },
  guide: [
    "In Gotify, open **Apps**, select **Create application**, and enter a name.",
    "Copy the token of the application and paste it into the form, together with the URL of your Gotify server.",
  ],
  schema: configSchema({
    url: serverField({ about: "The URL of the Gotify server." }),
    token: tokenField({ about: "The token of a Gotify application.", lengthMax: 50 }),
    ...PRIORITIES.fields,
  }),
  validate: PRIORITIES.validate,
  isSubscribed: PRIORITIES.isSubscribed,
  rate: { perMinute: 60, burst: 30 },
  request: ({ words, message, config }) => ({
    url: below(config.url, "message"),
    // In a header, because URLs end up in logs.
    headers: { "X-Gotify-Key": config.token },
    json: {
      title: clipStart(words.headline, TITLE_LENGTH_MAX),
      message: fullText(words, MARKDOWN, { limits: LIMITS }),
      priority: PRIORITIES.of(message, config),
      extras: {
        "client::display": { contentType: "text/markdown" },
        "client::notification": { click: { url: words.link.url } },
      },
    },
  }),
  // A reverse proxy may answer 404 while the server restarts; only Gotify itself returns this error.
  answers: {
    gone: [{ status: 401, json: { error: "Unauthorized" }, reason: "Gotify rejected the token" }],
  },
});
