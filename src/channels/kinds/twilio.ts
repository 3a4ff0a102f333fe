// Twilio: what text messages, calls and WhatsApp have in common.
import { MINUTE_MS } from "../../core/instant.ts";
import { foreseenRefusal } from "../../lib/outgoing-http.ts";
import type { Outgoing } from "../channel-kind.ts";
import type { KindRequest } from "../http-kind.ts";
import type { Answers } from "../http-request.ts";
import type { Providers } from "../providers.ts";

const API = "https://api.twilio.com/2010-04-01/Accounts";
const STATUS_PATH = "/integrations/twilio/status";

type Server = Pick<Outgoing, "keys" | "providers">;

/** The sender that a kind needs, and the settings that name it; one of them is enough. */
export type NeededSender = { settings: readonly (keyof Providers)[]; name: string };

/** Why a kind cannot be used: the settings that are missing; null: none is. */
export function missingSettings(
  { keys, providers }: Server,
  { title, senders }: { title: string; senders: readonly NeededSender[] },
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
  return `${title} is not enabled on this server: ${names} ${missing.length === 1 ? "is" : "are"} not set`;
}

/** A request that creates a message or a call. */
export function twilioRequest(
  resource: "Messages" | "Calls",
  fields: Readonly<Record<string, string>>,
  { keys, providers, site, dedupeKey }: Pick<Outgoing, "keys" | "providers" | "site" | "dedupeKey">,
): KindRequest {
  const account = providers.twilioAccountSid ?? "";
  const login = Buffer.from(`${account}:${keys.twilioAuthToken ?? ""}`).toString("base64");
  const callback = `${site.url}${STATUS_PATH}/${dedupeKey}`;
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
    { status: 400, json: { code: 21211 }, reason: "Twilio says that the phone number is invalid" },
    { status: 400, json: { code: 21610 }, reason: "The recipient has opted out by replying STOP" },
    {
      status: 400,
      json: { code: 21614 },
      reason: "Twilio says that the phone number cannot receive messages",
    },
  ],
  once: [
    { status: 400, json: { code: 21617 }, reason: "Twilio says that the message is too long" },
    { status: 413, reason: "Twilio says that the message is too long" },
  ],
  // The URL contains nothing but the account.
  ours: [
    { status: [401, 404], reason: "Twilio does not accept the account SID or auth token of the server" },
  ],
  // The queue of the sender is full.
  wait: [{ status: 400, json: { code: 21611 }, ms: () => MINUTE_MS }],
};
