// WhatsApp. Businesses may start a conversation only with templates that Meta has approved, one for each event.
import { configSchema, eventSwitches, phoneField } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { clipStart, oneLine } from "../message-text.ts";
import { missingSettings, TWILIO_ANSWERS, twilioRequest } from "./twilio.ts";

const NAME_LENGTH_MAX = 200;

const { down, up } = eventSwitches({ down: true, up: true, notice: false }).fields;

export const whatsapp = httpKind({
  name: "whatsapp",
  title: "WhatsApp",
  about:
    "Sends WhatsApp messages through the server's Twilio account. The number of messages per month is limited.",
  category: "phone",
  icon: "whatsapp",
  example: { value: "+14155550123" },
  guide: [
    "Enter the phone number of the WhatsApp account in international format, such as `+1 415 555 0123`.",
  ],
  schema: configSchema({
    value: phoneField("The phone number of the WhatsApp account, in international format."),
    down,
    up,
  }),
  validate: (config) => (config.down || config.up ? null : "At least one of down and up must be true."),
  // There is no template for notices.
  isSubscribed: (config, what) => what !== "notice" && config[what],
  rate: { perMinute: 10, burst: 5 },
  quota: "messages",
  unavailable: (server) =>
    missingSettings(server, {
      subject: "WhatsApp is",
      senders: [
        { settings: ["twilioWhatsappFrom"], name: "OVERDUE_TWILIO_WHATSAPP_FROM" },
        { settings: ["twilioWhatsappDownSid"], name: "OVERDUE_TWILIO_WHATSAPP_DOWN_SID" },
        { settings: ["twilioWhatsappUpSid"], name: "OVERDUE_TWILIO_WHATSAPP_UP_SID" },
      ],
    }),
  request: ({ words, config, out }) => {
    const { providers } = out;
    const service = providers.twilioMessagingServiceSid;
    const template = words.tone === "good" ? providers.twilioWhatsappUpSid : providers.twilioWhatsappDownSid;
    // The subject is `DOWN | nightly backup`, and the template states the status.
    const name = words.subject.slice(words.subject.indexOf("|") + 1);
    return twilioRequest(
      "Messages",
      {
        To: `whatsapp:${config.value}`,
        From: `whatsapp:${providers.twilioWhatsappFrom ?? ""}`,
        ...(service === null ? {} : { MessagingServiceSid: service }),
        ContentSid: template ?? "",
        ContentVariables: JSON.stringify({ 1: clipStart(oneLine(name), NAME_LENGTH_MAX) }),
      },
      out,
    );
  },
  answers: TWILIO_ANSWERS,
});
