// What the kinds of Twilio have in common: settings, senders, and the callback.
import { describe, expect, test } from "vitest";
import { decodeStatusPath, isTwilioSignature, reportedFailure } from "../../../src/channels/kinds/twilio.ts";
import { kindNamed } from "../../../src/channels/registry.ts";
import { useReceivers } from "../open-receiver.ts";
import { DEDUPE_KEY, KEYS, PROVIDERS, SITE } from "../sample-kinds.ts";
import { DOWN, UP } from "../sample-messages.ts";

const open = useReceivers();

const fieldsOf = (body = "") => Object.fromEntries(new URLSearchParams(body));

describe.each([
  ["sms", /^SMS is not .*: OVERDUE_TWILIO_ACCOUNT_SID, OVERDUE_TWILIO_AUTH_TOKEN and OVERDUE_TWILIO_FROM or/],
  ["call", /^Phone calls are not .*: .*AUTH_TOKEN and OVERDUE_TWILIO_FROM are not set$/],
  ["whatsapp", /^WhatsApp is not .*WHATSAPP_FROM, .*WHATSAPP_DOWN_SID and .*WHATSAPP_UP_SID are not set$/],
])("%s", (kind, missing) => {
  test("names the settings that are missing, and sends nothing without them", async () => {
    const keys = { ...KEYS, twilioAuthToken: null };
    const providers = {
      ...PROVIDERS,
      twilioAccountSid: null,
      twilioFrom: null,
      twilioWhatsappFrom: null,
      twilioWhatsappDownSid: null,
      twilioWhatsappUpSid: null,
    };
    expect(kindNamed(kind)?.unavailable?.({ keys, providers })).toMatch(missing);
    expect(kindNamed(kind)?.unavailable?.({ keys: KEYS, providers: PROVIDERS })).toBeNull();
    expect(kindNamed(kind)?.unavailable?.({ keys, providers: PROVIDERS })).toMatch(
      /: OVERDUE_TWILIO_AUTH_TOKEN is not set$/,
    );
    const { send, receiver } = await open(kind, { keys, providers });
    expect(await send(DOWN)).toMatchObject({ kind: "failed", permanent: false, inDoubt: false });
    expect(receiver.received).toEqual([]);
  });

  test.each(["http://localhost:8000", "http://127.0.0.1:8000", "https://10.0.0.5"])(
    "a server at %s asks for no callback",
    async (url) => {
      const { send, receiver } = await open(kind, { site: { ...SITE, url } });
      expect(await send(DOWN)).toMatchObject({ kind: "sent" });
      expect(fieldsOf(receiver.received[0]?.body)).not.toHaveProperty("StatusCallback");
    },
  );
});

test("a number that Twilio rejects disables the channel", async () => {
  const { send } = await open("sms");
  const result = await send(DOWN, { config: { value: "+15005550001" } });
  expect(result).toMatchObject({ permanent: true, reason: expect.stringContaining("number is invalid") });
  expect(result).not.toHaveProperty("keepsChannel");
});

test("text and WhatsApp messages are sent by the messaging service if there is one", async () => {
  const providers = { ...PROVIDERS, twilioMessagingServiceSid: "MG0" };
  const sms = await open("sms", { providers });
  await sms.send(DOWN);
  expect(fieldsOf(sms.receiver.received[0]?.body)).toMatchObject({ MessagingServiceSid: "MG0" });
  expect(fieldsOf(sms.receiver.received[0]?.body)).not.toHaveProperty("From");
  const whatsapp = await open("whatsapp", { providers });
  await whatsapp.send(UP);
  expect(fieldsOf(whatsapp.receiver.received[0]?.body)).toMatchObject({
    MessagingServiceSid: "MG0",
    From: "whatsapp:+14155550101",
    ContentSid: PROVIDERS.twilioWhatsappUpSid,
  });
});

test.each([
  ["sms", { down: true, up: false, notice: false }],
  ["call", { down: true, up: false, notice: false }],
  ["whatsapp", { down: true, up: true, notice: false }],
] as const)("a new %s channel notifies for %j", async (kind, events) => {
  const { sender } = await open(kind);
  const channel = { uuid: "", kind, name: "", config: { value: "+14155550123" } };
  for (const [what, isSubscribed] of Object.entries(events)) {
    expect(sender.isSubscribed(channel, what as "down")).toBe(isSubscribed);
  }
});

describe("a callback", () => {
  const url = "https://mycompany.com/myapp.php?foo=1&bar=2";
  // The example of Twilio's documentation and of its libraries.
  const fields = new URLSearchParams({
    Digits: "1234",
    To: "+18005551212",
    CallSid: "CA1234567890ABCDE",
    From: "+14158675309",
    Caller: "+14158675309",
  });
  const signature = "RSOYDt4T1cUTdK1PDd93/VVr8B8=";
  const signed = { authToken: "12345", url, fields };

  test("is verified as Twilio documents it", () => {
    expect(isTwilioSignature(signature, signed)).toBe(true);
    expect(isTwilioSignature(signature, { ...signed, authToken: "12346" })).toBe(false);
    expect(isTwilioSignature(signature, { ...signed, url: `${url}&x` })).toBe(false);
    expect(isTwilioSignature("", signed)).toBe(false);
    const changed = new URLSearchParams(fields);
    changed.set("Digits", "1235");
    expect(isTwilioSignature(signature, { ...signed, fields: changed })).toBe(false);
  });

  test("may repeat a field", () => {
    const repeated = new URLSearchParams("Sid=CA123&SidAccount=AC123&Digits=5678&Digits=1234&Digits=1234");
    expect(isTwilioSignature("IK+Dwps556ElfBT0I3Rgjkr1wJU=", { ...signed, fields: repeated })).toBe(true);
  });

  test("names its channel and its message", async () => {
    const { send, receiver } = await open("sms");
    await send(DOWN);
    const callback = fieldsOf(receiver.received[0]?.body)["StatusCallback"] ?? "";
    expect(decodeStatusPath(new URL(callback).pathname)).toEqual({
      channelUuid: "0c8983c9-9d73-446f-adb5-0641fdacc9d4",
      dedupeKey: DEDUPE_KEY,
    });
    expect(decodeStatusPath("/integrations/twilio/status/x")).toBeNull();
  });

  test.each([
    [{ MessageStatus: "delivered" }, null],
    [{ MessageStatus: "sent" }, null],
    [{ CallStatus: "completed" }, null],
    [{}, null],
    [
      { MessageStatus: "failed", ErrorCode: "30007" },
      "Twilio could not send the message or make the call (Twilio error 30007)",
    ],
    [{ MessageStatus: "undelivered", ErrorCode: "" }, "The carrier did not deliver the message"],
    [
      { MessageStatus: "failed", ErrorCode: "<script>" },
      "Twilio could not send the message or make the call",
    ],
    [{ CallStatus: "failed" }, "Twilio could not send the message or make the call"],
    [{ CallStatus: "no-answer" }, "The call was not answered"],
  ])("with %j reports %s", (given, reason) => {
    expect(reportedFailure(new URLSearchParams(given as Record<string, string>))).toBe(reason);
  });
});
