// Threema, using the basic mode of Threema Gateway. Each message costs money.
import { configSchema, eventSwitches, textField, tokenField } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import {
  clipBytes,
  fullText,
  JOINER,
  linkLines,
  PLAIN,
  plainWith,
  SIGNS,
  withoutMentions,
} from "../layout.ts";

/** The gateway accepts 3,500 bytes. */
const HEADLINE_BYTES_MAX = 800;
const LIMITS = { max: 2_600, unit: "bytes", output: 800, value: 200, names: 1_200 } as const;

/** A character at the edge of a word acts as markup; an invisible joiner prevents that. */
function literal(text: string): string {
  return withoutMentions(text).replace(
    /(?<![\p{L}\p{N}])[*_~]|[*_~](?![\p{L}\p{N}])/gu,
    (sign) => JOINER + sign + JOINER,
  );
}

const DIALECT = plainWith(literal);

const EVENTS = eventSwitches({ down: true, up: true, notice: false });

/** The name of a recipient in the form, and its value. */
function recipientOf(recipient: string): Readonly<Record<string, string>> {
  if (recipient.includes("@")) return { email: recipient };
  return recipient.startsWith("+") ? { phone: recipient.slice(1) } : { to: recipient };
}

export const threema = httpKind({
  name: "threema",
  title: "Threema",
  about: "Sends messages to a Threema user through your Threema Gateway account. Each message costs credits.",
  category: "chat",
  icon: "threema",
  example: { gateway_id: "*OVERDUE", secret: "your-secret", recipient: "ABCD1234" },
  guide: [
    "At [Threema Gateway](https://gateway.threema.ch/), create an account, buy credits, and request an ID of type **Basic**.",
    "When Threema has approved the ID, copy the ID and its secret, and paste both into the form.",
    "Enter the Threema ID, phone number, or email address of the recipient.",
  ],
  schema: configSchema({
    gateway_id: textField({
      about: "The gateway ID that sends the messages, such as *OVERDUE.",
      lengthMax: 8,
      pattern: "^\\*[0-9A-Z]{7}$",
      must: "an asterisk followed by 7 uppercase letters or digits",
    }),
    secret: tokenField({ about: "The secret of the gateway ID.", lengthMax: 100 }),
    recipient: textField({
      about: "The Threema ID, phone number, or email address of the recipient.",
      lengthMax: 254,
      pattern: "^([0-9A-Z]{8}|\\+[0-9]{5,15}|[^\\s@]+@[^\\s@]+)$",
      must: "a Threema ID such as ABCD1234, a phone number such as +14155550123, or an email address",
    }),
    ...EVENTS.fields,
  }),
  validate: EVENTS.validate,
  isSubscribed: EVENTS.isSubscribed,
  rate: { perMinute: 30, burst: 10 },
  request: ({ words, config }) => ({
    url: "https://msgapi.threema.ch/send_simple",
    form: {
      from: config.gateway_id,
      ...recipientOf(config.recipient),
      secret: config.secret,
      text: [
        `${SIGNS[words.tone]} ${clipBytes(literal(words.headline), HEADLINE_BYTES_MAX)}`,
        fullText(words, DIALECT, { limits: LIMITS, ends: linkLines(words, PLAIN) }),
      ].join("\n\n"),
    },
  }),
  answers: {
    gone: [
      { status: 400, reason: "The recipient does not exist, or the gateway ID is not of type Basic" },
      { status: 401, reason: "Threema rejected the gateway ID or its secret" },
      { status: 404, reason: "No Threema user was found with this phone number or email address" },
    ],
  },
});
