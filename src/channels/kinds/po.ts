// Pushover: push messages to phones. Emergency messages are repeated until someone acknowledges them or the check comes
// back up.
import type { Static } from "typebox";
import type { SendResult, SubscribedEvent } from "../../core/delivery.ts";
import type { ChannelKind, ChannelMessage, Outgoing } from "../channel-kind.ts";
import { configSchema, eventOf, numberField, priorities, textField } from "../config-fields.ts";
import { toOutgoing } from "../http-kind.ts";
import {
  type Answers,
  CLIENT_ERRORS,
  notTried,
  rejectionsIn,
  sendRequest,
  untilTimeIn,
} from "../http-request.ts";
import { incidentEvent } from "../incident-event.ts";
import { type Dialect, escapeHtml, fullText, HTML } from "../layout.ts";
import { clipStart, messageText } from "../message-text.ts";

const API = "https://api.pushover.net/1";
/** A message may need two requests. */
const TIMEOUT_MS = 14_000;
const TITLE_LENGTH_MAX = 250;
const LINK_TEXT_LENGTH_MAX = 100;
const LIMITS = { max: 1_024, output: 300, value: 100, names: 400 } as const;
const EMERGENCY = 2;
const RETRY_SECONDS_MIN = 30;
const EXPIRE_SECONDS_MAX = 10_800;

/** Pushover has no tags for code, and messages are too short for links. */
const DIALECT: Dialect = {
  ...HTML,
  code: escapeHtml,
  block: escapeHtml,
  link: ({ text }) => escapeHtml(text),
};

const PRIORITIES = priorities({
  min: -3,
  max: EMERGENCY,
  scale: "from -2 (lowest) to 2 (emergency, repeated until acknowledged)",
  off: -3,
  fallback: { priority: 0, priority_up: 0, priority_notice: -1 },
  low: -1,
  high: 1,
});

function keyField(given: { about: string; fallback?: string }) {
  return textField({
    ...given,
    lengthMax: 30,
    pattern: "^[A-Za-z0-9]{30}$",
    must: "30 letters and digits",
    secret: true,
  });
}

const schema = configSchema({
  user_key: keyField({ about: "The user key or group key of the recipient." }),
  app_token: keyField({
    about: "The API token of a Pushover application. Leave blank to use the server's application.",
    fallback: "",
  }),
  ...PRIORITIES.fields,
  retry: numberField({
    about: "Seconds between repetitions of an emergency message.",
    min: RETRY_SECONDS_MIN,
    max: EXPIRE_SECONDS_MAX,
    fallback: 300,
  }),
  expire: numberField({
    about: "Seconds after which an emergency message is no longer repeated.",
    min: RETRY_SECONDS_MIN,
    max: EXPIRE_SECONDS_MAX,
    fallback: EXPIRE_SECONDS_MAX,
  }),
});

type Config = Static<typeof schema>;

/** Client errors are permanent, and Pushover blocks the server's IP address after several of them. */
function answersFor({ app_token }: Config): Answers {
  const token = { status: 400, json: { token: "invalid" } };
  const isServersToken = app_token === "";
  return {
    gone: [
      { status: 400, json: { user: "invalid" }, reason: "Pushover rejected the user key" },
      ...(isServersToken ? [] : [{ ...token, reason: "Pushover rejected the API token of the application" }]),
    ],
    once: [{ status: CLIENT_ERRORS, reason: "Pushover rejected the message" }],
    ours: isServersToken
      ? [{ ...token, reason: "Pushover rejected the API token of this server (OVERDUE_PUSHOVER_TOKEN)" }]
      : [],
    wait: [{ status: 429, ms: untilTimeIn("x-limit-app-reset") }],
    ok: [{ status: 200, json: { status: 1 } }],
  };
}

const NO_TOKEN = "The channel has no API token, and OVERDUE_PUSHOVER_TOKEN is not set";

/** Whether the problem that a message closes may have been sent as an emergency. */
function mayRepeat(message: ChannelMessage, config: Config): boolean {
  return (eventOf(message) === "notice" ? config.priority_notice : config.priority) === EMERGENCY;
}

async function send(message: ChannelMessage, config: Config, out: Outgoing): Promise<SendResult> {
  const token = config.app_token || out.keys.pushoverToken;
  if (token === null) return notTried(NO_TOKEN);
  const words = messageText(message, out);
  const { key, action } = incidentEvent(message, words, out);
  const call = (path: string, form: Readonly<Record<string, string>>) => {
    const request = toOutgoing({ url: `${API}/${path}`, form: { token, ...form } });
    return sendRequest({ ...request, timeoutMs: TIMEOUT_MS }, out, answersFor(config));
  };
  if (action === "close" && mayRepeat(message, config)) {
    const canceled = await call(`receipts/cancel_by_tag/${key}.json`, {});
    // Of all refusals, only one of the tag says nothing about the message.
    const isOver = canceled.kind === "failed" && (canceled.keepsChannel !== true || canceled.isOurs === true);
    if (isOver || !PRIORITIES.isSubscribed(config, eventOf(message))) return canceled;
  }
  const priority = PRIORITIES.of(message, config);
  return call("messages.json", {
    user: config.user_key,
    title: clipStart(words.headline, TITLE_LENGTH_MAX),
    message: fullText(words, DIALECT, {
      limits: LIMITS,
      ends: words.ack === null ? [] : [HTML.link(words.ack)],
    }),
    html: "1",
    priority: String(priority),
    ...(priority === EMERGENCY ? { retry: String(config.retry), expire: String(config.expire) } : {}),
    url: words.link.url,
    url_title: clipStart(words.link.text, LINK_TEXT_LENGTH_MAX),
    tags: key,
  });
}

export const po: ChannelKind<Config> = {
  name: "po",
  title: "Pushover",
  about:
    "Sends push notifications to phones. An emergency message is repeated until someone acknowledges it or the check comes back up.",
  category: "push",
  icon: null,
  example: { user_key: "uQiRzpo4DXghDmr9QzzfQu27cmVRsG", app_token: "azGDORePK8gMaC0QOYAMyEEuzJnyUi" },
  guide: [
    "Sign in to [Pushover](https://pushover.net/) and copy **Your User Key**, or the key of a delivery group.",
    "Select **Create an Application/API Token**, enter a name for the application, create it, and copy its **API Token/Key**.",
    "Paste both into the form. If this server has its own application, you can leave the API token blank.",
  ],
  schema,
  validate: PRIORITIES.validate,
  // An emergency message has to be canceled even if no message about the recovery is sent.
  isSubscribed: (config: Config, what: SubscribedEvent) =>
    PRIORITIES.isSubscribed(config, what) || (what === "up" && config.priority === EMERGENCY),
  rejections: (config: Config) => rejectionsIn(answersFor(config)),
  rate: { perMinute: 12, burst: 5 },
  send,
};
