// Text messages. Each segment of a message is billed, so the text is limited to one segment where possible.
import type { Site } from "../channel-kind.ts";
import { configSchema, eventSwitches, phoneField } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { clipStart, type MessageText } from "../message-text.ts";
import { missingSettings, TWILIO_ANSWERS, twilioRequest } from "./twilio.ts";

const BODY_LENGTH_MAX = 1_600;
/** A longer headline is shortened if the message would need another segment. */
const HEADLINE_LENGTH_MIN = 40;
/** The end of a headline, which says what happened. */
const HEADLINE_END_LENGTH = 16;
/** The longest headline that fits into one segment. */
const HEADLINE_LENGTH_MAX = 160;

const GSM = /^[@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&'()*+,\-./0-9:;<=>?¡A-ZÄÖÑÜ§¿a-zäöñüà^{}\\[~\]|€]*$/;
/** Characters of the GSM alphabet that count twice. */
const GSM_TWICE = /[\^{}\\[~\]|€]/g;

/** How many segments a text needs: 7 bits per character, or 16 if one is not in the GSM alphabet. */
export function segmentsOf(text: string): number {
  const isGsm = GSM.test(text);
  const length = isGsm ? text.length + (text.match(GSM_TWICE)?.length ?? 0) : text.length;
  const [alone, each] = isGsm ? [160, 153] : [70, 67];
  return length <= alone ? 1 : Math.ceil(length / each);
}

const REPLACED: Readonly<Record<string, string>> = {
  "…": "...",
  "‘": "'",
  "’": "'",
  "“": '"',
  "”": '"',
  "–": "-",
  "—": "-",
  "`": "'",
};

/** Text without emoji and, where it stays readable, with GSM characters only. */
function plainText(text: string): string {
  return text
    .replace(/\p{Extended_Pictographic}|\p{Emoji_Modifier}|\p{Variation_Selector}|\p{Cf}/gu, "")
    .replace(/[^ -~]|`/gu, (sign) => {
      const plain = REPLACED[sign] ?? sign.normalize("NFD").replace(/\p{M}/gu, "");
      return !GSM.test(sign) && GSM.test(plain) ? plain : sign;
    })
    .replace(/ +/g, " ")
    .trim();
}

/** As much of the message as fits the segments that a short headline and the first sentence need. */
export function smsText(words: MessageText, { name }: Site): string {
  const headline = plainText(words.headline);
  const [first = "", ...more] = words.sentences.map(plainText);
  const textWith = (length: number) => `${plainText(name)}: ${clipMiddle(headline, length)}. ${first}`.trim();
  const segments = segmentsOf(textWith(HEADLINE_LENGTH_MIN));
  let length = Math.min(headline.length, HEADLINE_LENGTH_MAX);
  while (segmentsOf(textWith(length)) > segments) length -= 1;
  let text = textWith(length);
  for (const part of [...(words.ack === null ? [] : [words.ack.url]), ...more]) {
    if (segmentsOf(`${text} ${part}`) <= segments) text = `${text} ${part}`;
  }
  return clipStart(text, BODY_LENGTH_MAX);
}

function clipMiddle(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  const start = text.slice(0, Math.max(0, lengthMax - HEADLINE_END_LENGTH - 3)).toWellFormed();
  return `${start}...${text.slice(-HEADLINE_END_LENGTH).toWellFormed()}`.replaceAll("\ufffd", "");
}

const EVENTS = eventSwitches({ down: true, up: false, notice: false });

export const sms = httpKind({
  name: "sms",
  title: "SMS",
  about:
    "Sends text messages through the server's Twilio account. The number of messages per month is limited.",
  category: "phone",
  icon: null,
  example: { value: "+14155550123" },
  guide: ["Enter the phone number in international format, such as `+1 415 555 0123`."],
  schema: configSchema({ value: phoneField("The phone number in international format."), ...EVENTS.fields }),
  validate: EVENTS.validate,
  isSubscribed: EVENTS.isSubscribed,
  rate: { perMinute: 10, burst: 5 },
  quota: "messages",
  unavailable: (server) =>
    missingSettings(server, {
      subject: "SMS is",
      senders: [
        {
          settings: ["twilioMessagingServiceSid", "twilioFrom"],
          name: "OVERDUE_TWILIO_FROM or OVERDUE_TWILIO_MESSAGING_SERVICE_SID",
        },
      ],
    }),
  request: ({ words, config, out }) => {
    const { twilioMessagingServiceSid: service, twilioFrom } = out.providers;
    const sender = service === null ? { From: twilioFrom ?? "" } : { MessagingServiceSid: service };
    const Body = smsText(words, out.site);
    return twilioRequest("Messages", { To: config.value, ...sender, Body, RiskCheck: "disable" }, out);
  },
  answers: TWILIO_ANSWERS,
});
