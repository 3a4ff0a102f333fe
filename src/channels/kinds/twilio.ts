// Twilio: what text messages, calls and WhatsApp have in common, and the callbacks that report their delivery.
import { MINUTE_MS } from "../../core/instant.ts";
import { foreseenRefusal } from "../../lib/outgoing-http.ts";
import { hmacSha1, isSameText } from "../../lib/secrets.ts";
import type { Outgoing } from "../channel-kind.ts";
import type { KindRequest } from "../http-kind.ts";
import type { Answers } from "../http-request.ts";
import type { Providers } from "../providers.ts";

const API = "https://api.twilio.com/2010-04-01/Accounts";

type Server = Pick<Outgoing, "keys" | "providers">;

/** The sender that a kind needs, and its settings; one of them is enough. */
export type NeededSender = { settings: readonly (keyof Providers)[]; name: string };

/** Why a kind cannot be used: the missing settings; null: none is missing. */
export function missingSettings(
  { keys, providers }: Server,
  { subject, senders }: { subject: string; senders: readonly NeededSender[] },
): string | null {
  const missing = [
    ...(providers.twilioAccountSid === null ? ["OVERDUE_TWILIO_ACCOUNT_SID"] : []),
    ...(keys.twilioAuthToken === null ? ["OVERDUE_TWILIO_AUTH_TOKEN"] : []),
    ...senders
      .filter(({ settings }) => settings.every((setting) => providers[setting] === null))
      .map(({ name }) => name),
  ];
  if (missing.length === 0) return null;
  const names = missing.join(", ").replace(/, ([^,]*)$/, " and $1");
  return `${subject} not enabled on this server: ${names} ${missing.length === 1 ? "is" : "are"} not set`;
}

/** A request that creates a message or a call. */
export function twilioRequest(
  resource: "Messages" | "Calls",
  fields: Readonly<Record<string, string>>,
  { keys, providers, site, channel, dedupeKey }: Outgoing,
): KindRequest {
  const account = providers.twilioAccountSid ?? "";
  const login = Buffer.from(`${account}:${keys.twilioAuthToken ?? ""}`).toString("base64");
  const callback = `${site.url}${STATUS_PATH}/${channel.uuid}.${dedupeKey}`;
  // Twilio rejects messages with a callback that it cannot reach.
  const isReachable = foreseenRefusal(new URL(callback), { allowPrivate: false }) === null;
  return {
    url: `${API}/${account}/${resource}.json`,
    headers: { Authorization: `Basic ${login}` },
    form: { ...fields, ...(isReachable ? { StatusCallback: callback } : {}) },
  };
}

export const TWILIO_ANSWERS: Answers = {
  gone: [
    { status: 400, json: { code: 21211 }, reason: "The phone number is invalid" },
    { status: 400, json: { code: 21610 }, reason: "The recipient has opted out by replying STOP" },
    {
      status: 400,
      json: { code: 21614 },
      reason: "The phone number cannot receive messages",
    },
  ],
  once: [{ status: 400, json: { code: 21617 }, reason: "The message is too long" }],
  // The URL contains nothing but the account.
  ours: [
    {
      status: [401, 404],
      reason:
        "Twilio rejected the server's credentials (OVERDUE_TWILIO_ACCOUNT_SID, OVERDUE_TWILIO_AUTH_TOKEN)",
    },
  ],
  // The queue of the sender is full.
  wait: [{ status: 400, json: { code: 21611 }, ms: () => MINUTE_MS }],
};

// Callbacks.

const STATUS_PATH = "/integrations/twilio/status";
const STATUS =
  /^\/integrations\/twilio\/status\/(?<channelUuid>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(?<dedupeKey>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** The message that the path of a callback refers to; null if it is not the path of a callback. */
export function decodeStatusPath(path: string): { channelUuid: string; dedupeKey: string } | null {
  const { channelUuid, dedupeKey } = STATUS.exec(path)?.groups ?? {};
  return channelUuid === undefined || dedupeKey === undefined ? null : { channelUuid, dedupeKey };
}

/** Whether Twilio signed a callback: the whole URL and the sorted fields of the form, without separators. */
export function isTwilioSignature(
  signature: string,
  { authToken, url, fields }: { authToken: string; url: string; fields: URLSearchParams },
): boolean {
  // By name; equal pairs count once.
  const sorted = [...fields].toSorted(([a, av], [b, bv]) => compare(a, b) || compare(av, bv));
  const message = url + [...new Set(sorted.map((pair) => pair.join("")))].join("");
  const expected = hmacSha1({ key: Buffer.from(authToken), message });
  return isSameText(signature, Buffer.from(expected).toString("base64"));
}

function compare(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

const FAILURES: Readonly<Record<string, string>> = {
  failed: "Twilio could not send the message or make the call",
  undelivered: "The carrier did not deliver the message",
  busy: "The line was busy",
  "no-answer": "The call was not answered",
};

/** The failure that a callback reports; null: none. */
export function reportedFailure(fields: URLSearchParams): string | null {
  const reason = FAILURES[fields.get("MessageStatus") ?? fields.get("CallStatus") ?? ""];
  if (reason === undefined) return null;
  const code = fields.get("ErrorCode") ?? "";
  return /^[0-9]{1,6}$/.test(code) ? `${reason} (Twilio error ${code})` : reason;
}
