// Signal, through the signal-cli daemon of the server.
import type { Static } from "typebox";
import { HOUR_MS, SECOND_MS } from "../../core/instant.ts";
import type { OutgoingResponse } from "../../lib/outgoing-http.ts";
import type { ChannelKind } from "../channel-kind.ts";
import { below, configSchema, eventSwitches, textField } from "../config-fields.ts";
import { toOutgoing } from "../http-kind.ts";
import { type Answers, notTried, rejectionsIn, sendRequest } from "../http-request.ts";
import { fullText, PLAIN, SIGNS } from "../layout.ts";
import { clipStart, type MessageText, messageText } from "../message-text.ts";

const HEADLINE_LENGTH_MAX = 200;
/** A longer text is sent as an attachment. */
const MESSAGE_BYTES_MAX = 2_000;
const LIMITS = { unit: "bytes", output: 500, value: 200, names: 800 } as const;
/** Signal removes a rate limit after a day, or when an admin has solved a CAPTCHA. */
const LIMITED_MS = 6 * HOUR_MS;

const SWITCHES = eventSwitches({ down: true, up: true, notice: true });

const schema = configSchema({
  value: textField({
    about: "The phone number of the recipient in international format, or their username.",
    lengthMax: 60,
    pattern: "^(\\+[0-9]{5,15}|\\w{3,48}\\.[0-9]{2,10})$",
    must: "a phone number such as +14155550123, or a username such as ada.01",
  }),
  ...SWITCHES.fields,
});

/** The message, and which part of it is bold. Signal counts UTF-16 units. */
function textOf(words: MessageText) {
  const headline = `${SIGNS[words.tone]} ${clipStart(words.headline, HEADLINE_LENGTH_MAX)}`;
  const max = MESSAGE_BYTES_MAX - Buffer.byteLength(`${headline}\n\n`);
  return {
    message: `${headline}\n\n${fullText(words, PLAIN, { limits: { ...LIMITS, max } })}`,
    textStyle: [`0:${headline.length}:BOLD`],
  };
}

function limitedMs({ text }: OutgoingResponse): number {
  const [, seconds] = /"retryAfterSeconds":(\d+)/.exec(text) ?? [];
  return seconds === undefined ? LIMITED_MS : Number(seconds) * SECOND_MS;
}

/** signal-cli responds with 200 to every request that it can parse. */
function answersTo(id: string): Answers {
  return {
    ok: [{ status: 200, json: { id, result: /"timestamp":\d/ } }],
    gone: [
      { json: { id, error: /"type":"UNREGISTERED_FAILURE"/ } },
      { json: { id, error: /"message":"The user [^"]+ is not registered/ } },
    ].map((rule) => ({ ...rule, status: 200, reason: "The recipient does not use Signal" })),
    ours: [
      {
        status: 200,
        json: { id, error: /"type":"RATE_LIMIT_FAILURE"/ },
        reason: "Signal limits messages from this server until an admin solves a CAPTCHA with signal-cli",
        ms: limitedMs,
      },
      {
        status: 200,
        json: { id, error: /"type":"IDENTITY_FAILURE"/ },
        reason:
          "The safety number of the recipient has changed, and an admin must trust the new one in signal-cli",
      },
      {
        status: 200,
        json: { id, error: /"code":-32602\b/ },
        reason: "signal-cli has no account for this server (OVERDUE_SIGNAL_CLI_ACCOUNT)",
      },
    ],
  };
}

const NO_SIGNAL = "Signal is not enabled on this server: OVERDUE_SIGNAL_CLI_URL is not set";

export const signal: ChannelKind<Static<typeof schema>> = {
  name: "signal",
  title: "Signal",
  about: "Sends messages to a Signal user from the server's Signal account.",
  category: "phone",
  icon: "signal",
  example: { value: "+14155550123" },
  guide: [
    "Ask an admin for the phone number of the server's Signal account and send it a message. Otherwise Signal may treat its messages as spam.",
    "Enter your phone number, or your username from **Settings**, then **Profile**.",
  ],
  schema,
  validate: SWITCHES.validate,
  isSubscribed: SWITCHES.isSubscribed,
  rejections: () => rejectionsIn(answersTo("")),
  rate: { perMinute: 6, burst: 6 },
  unavailable: ({ providers }) => (providers.signalUrl === null ? NO_SIGNAL : null),
  send: async (message, { value }, out) => {
    const { signalUrl, signalAccount } = out.providers;
    if (signalUrl === null) return notTried(NO_SIGNAL);
    const request = toOutgoing({
      url: below(signalUrl, "api/v1/rpc"),
      json: {
        jsonrpc: "2.0",
        id: out.dedupeKey,
        method: "send",
        params: {
          ...(signalAccount === null ? {} : { account: signalAccount }),
          recipient: [value.includes(".") ? `u:${value}` : value],
          ...textOf(messageText(message, out)),
        },
      },
    });
    return sendRequest(request, { http: out.adminHttp, now: out.now }, answersTo(out.dedupeKey));
  },
};
