// Email: text and HTML to one address that has agreed to it, threaded by incident, with a way out in each mail.
import type { Static } from "typebox";
import type { FailedResult, SendResult } from "../../core/alerts/sending.ts";
import type { MailResult } from "../../lib/mail/mail.ts";
import { hmacSha256Hex } from "../../lib/secrets/hashes.ts";
import type { ChannelKind, Outgoing } from "../channel-kind.ts";
import { configSchema, switchField, textField } from "../config/config-fields.ts";
import { alertMail } from "../mail/alert-mail.ts";
import type { BounceableMail, Recipient } from "../mail-port.ts";
import type { ToldMessage } from "../told-message.ts";

const ADDRESS_LENGTH_MAX = 100;
/** One @, no spaces, and nothing that begins another address. Whether mail arrives there, only mail can tell. */
const PART = `[^\\s@<>"',;:()\\[\\]\\\\]+`;

const schema = configSchema({
  value: textField({
    about:
      "The email address. The recipient must confirm it before alerts are sent, unless it belongs to a project member.",
    lengthMax: ADDRESS_LENGTH_MAX,
    pattern: `^${PART}@${PART}$`,
    must: "an email address",
  }),
  down: switchField({ about: "Notify when a check goes down.", fallback: true }),
  up: switchField({ about: "Notify when a check comes back up.", fallback: true }),
});

type Config = Static<typeof schema>;

/** The mail that a message becomes. The same message always becomes the same mail, with the same id. */
export function renderEmail(
  message: ToldMessage,
  { value }: Config,
  out: Pick<Outgoing, "site" | "zone" | "channel" | "dedupeKey"> & { idDomain: string; recipient: Recipient },
): BounceableMail {
  const { site, recipient, channel } = out;
  const { unsubscribeUrl } = recipient;
  const zone = recipient.zone ?? out.zone;
  return {
    to: value,
    ...alertMail(message, { site, zone, address: value, unsubscribeUrl }),
    ...threadOf(message, out),
    headers: {
      "List-Unsubscribe": `<${unsubscribeUrl}>`,
      "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    },
    bounceId: `n.${channel.uuid}`,
  };
}

/** An incident is one thread: its first mail has an id that the later ones can work out and refer to. */
function threadOf(
  message: ToldMessage,
  { channel, dedupeKey, idDomain }: Pick<Outgoing, "channel" | "dedupeKey"> & { idDomain: string },
): Pick<BounceableMail, "messageId" | "references"> {
  const idOf = (what: string) =>
    `<${hmacSha256Hex({ key: channel.uuid, message: what }).slice(0, 32)}@${idDomain}>`;
  if ((message.kind !== "down" && message.kind !== "up") || message.isTest === true) {
    return { messageId: idOf(dedupeKey) };
  }
  const { check, kind, since, downtimeMs, corrections } = message;
  const incident = (at: number) => idOf(`${check.uuid} down ${at}`);
  if (kind === "down") return { messageId: incident(since) };
  const messageId = idOf(`${check.uuid} up ${since} ${dedupeKey}`);
  const began = downtimeMs === null ? (corrections.at(-1)?.at ?? null) : since - downtimeMs;
  return began === null ? { messageId } : { messageId, references: [incident(began)] };
}

async function send(message: ToldMessage, config: Config, out: Outgoing): Promise<SendResult> {
  const { mail, channel } = out;
  const summary = `email to ${config.value}`;
  if (mail === null) return unsent(summary, "This server cannot send email: OVERDUE_SMTP_HOST is not set");
  const recipient = await mail.recipient({ channelUuid: channel.uuid, address: config.value });
  if (!recipient.isVerified) {
    await mail.tellUnverified({ channelUuid: channel.uuid });
    return { ...unsent(summary, "Email address not confirmed"), permanent: true, keepsChannel: true };
  }
  const { idDomain } = mail;
  return resultOf(await mail.send(renderEmail(message, config, { ...out, idDomain, recipient })), summary);
}

function unsent(summary: string, reason: string): FailedResult {
  const none = { code: null, excerpt: null, retryAfterMs: null };
  return { kind: "failed", permanent: false, summary, reason, ...none, inDoubt: false };
}

function resultOf(result: MailResult, summary: string): SendResult {
  const told = { summary, code: result.code, excerpt: result.response };
  if (result.kind === "sent") return { kind: "sent", ...told };
  const { permanent, reason, inDoubt } = result;
  return { kind: "failed", ...told, permanent, reason, retryAfterMs: null, inDoubt };
}

export const email: ChannelKind<Config> = {
  name: "email",
  title: "Email",
  about: "Sends email alerts. The recipient confirms the address first.",
  schema,
  validate: ({ up, down }) => (up || down ? null : "At least one of up and down must be true."),
  hears: ({ up, down }, what) => (what === "notice" ? up || down : { up, down }[what]),
  // More than one a second is more than anybody reads, and what servers take for spam.
  rate: { perMinute: 60, burst: 60 },
  send,
};
