// Phone calls: Twilio reads the message aloud.
import type { Static } from "typebox";
import type { ChannelKind } from "../channel-kind.ts";
import { configSchema, phoneField } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { escapeHtml } from "../layout.ts";
import { clipStart, type MessageText } from "../message-text.ts";
import { missingSettings, TWILIO_ANSWERS, twilioRequest } from "./twilio.ts";

/** Escaping turns a character into at most six; Twilio accepts 4,000. */
const SPOKEN_LENGTH_MAX = 600;
const HEADLINE_LENGTH_MAX = 200;
/** Characters that XML cannot contain. */
const NOT_XML = /[\ufffe\uffff]/g;

function twimlOf({ headline, sentences }: MessageText, siteName: string): string {
  const spoken = [`${siteName}: ${clipStart(headline, HEADLINE_LENGTH_MAX)}.`, ...sentences].join(" ");
  const text = clipStart(spoken.replace(NOT_XML, ""), SPOKEN_LENGTH_MAX);
  return `<Response><Say>${escapeHtml(text)}</Say></Response>`;
}

const schema = configSchema({ value: phoneField("The phone number to call, in international format.") });

const kind = httpKind({
  name: "call",
  title: "Phone call",
  about:
    "Calls a phone when a check goes down and reads the message aloud, through the server's Twilio account. The number of calls per month is limited.",
  category: "phone",
  icon: null,
  example: { value: "+14155550123" },
  guide: ["Enter the phone number in international format, such as `+1 415 555 0123`."],
  schema,
  isSubscribed: (_config, what) => what === "down",
  rate: { perMinute: 2, burst: 1 },
  quota: "calls",
  unavailable: (server) =>
    missingSettings(server, {
      subject: "Phone calls are",
      senders: [{ settings: ["twilioFrom"], name: "OVERDUE_TWILIO_FROM" }],
    }),
  request: ({ words, config, out }) =>
    twilioRequest(
      "Calls",
      { To: config.value, From: out.providers.twilioFrom ?? "", Twiml: twimlOf(words, out.site.name) },
      out,
    ),
  answers: TWILIO_ANSWERS,
});

export const call: ChannelKind<Static<typeof schema>> = {
  ...kind,
  // Twilio does not deduplicate calls: a call that may have been made is not repeated.
  send: async (message, config, out) => {
    const result = await kind.send(message, config, out);
    return result.kind === "failed" && result.inDoubt === true
      ? { ...result, permanent: true, keepsChannel: true }
      : result;
  },
};
