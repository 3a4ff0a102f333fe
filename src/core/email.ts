// What letters say: mails to people that no alert is about. Facts, and no words.
import { isUuid } from "./identity.ts";
import { HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from "./instant.ts";
import type { ReminderFacts, ReportFacts } from "./report.ts";

/** A channel that a letter speaks of. */
export type EmailChannel = { uuid: string; kind: string; name: string };

export type EmailFacts =
  /** May we send alerts to this address? */
  | { kind: "verification"; channel: EmailChannel; projectName: string }
  /** To the owner: nobody has answered that, and alerts are lost. */
  | { kind: "unverified"; channel: EmailChannel; projectName: string; address: string }
  /** To the owner: a channel was given up, and the project has no other. */
  | { kind: "disabled"; channel: EmailChannel; projectName: string; reason: string }
  | { kind: "report"; report: ReportFacts }
  | { kind: "reminder"; reminder: ReminderFacts }
  | AccountEmailFacts;

/** A way into an account that was changed: its owner hears of it, in case it was somebody else. */
export type SecurityChange =
  | "passwordSet"
  | "passwordRemoved"
  | "passkeyAdded"
  | "passkeyRemoved"
  | "totpAdded"
  | "totpRemoved"
  | "providerAdded"
  | "providerRemoved"
  | "emailChanged";

/** Letters about accounts. Links and codes are made from the UUIDs when the mail is written. */
export type AccountEmailFacts =
  /** The link that lets somebody in, or makes an account first. */
  | { kind: "signIn"; uuid: string; expiresAt: Instant; isNew: boolean }
  /** The code that proves again who is there. */
  | { kind: "confirm"; uuid: string; expiresAt: Instant }
  /** The link that moves an account to this address. */
  | { kind: "changeEmail"; uuid: string; expiresAt: Instant }
  | {
      kind: "invitation";
      uuid: string;
      /** Null: into the installation. */
      projectName: string | null;
      invitedBy: string | null;
      expiresAt: Instant;
    }
  | { kind: "transfer"; projectUuid: string; projectName: string; from: string }
  | { kind: "security"; what: SecurityChange };

/** Saving a channel asks its address again, but not sooner than this. */
export const VERIFICATION_EVERY_MS = 3_600_000;
/** The owner of a channel that nobody agreed to hears of it this often at most. */
export const OWNER_NOTIFIED_EVERY_DAYS = 7;
/** A letter that nobody has settled by then belongs to whoever finds it. Longer than any send. */
export const EMAIL_LEASE_MS = 60_000;
/** Older than this it is no news any more; it may have waited for a mail server that was set up only now. */
export const EMAIL_DAYS_MAX = 7;

// What makes links in mails, and the addresses that bounces come back to, impossible to invent: signatures with the
// instance's secret. The hash and the comparison are handed in.

/** Signs with the instance's secret; in hexadecimal, 64 digits. `isSame` takes the same time whatever it is given. */
export type Signing = { sign(message: string): string; isSame(one: string, other: string): boolean };

/** An address of a channel. Links are bound to both: whoever was written to before has no say over the next one. */
export type ChannelAddress = { channelUuid: string; address: string };

type Purpose = "verify" | "unsubscribe" | "reports" | "bounce";

/** The end of the link by which somebody agrees to be written to. Valid for as long as the channel has the address. */
export function verificationToken(signing: Signing, { channelUuid, address }: ChannelAddress): string {
  return signed(signing, "verify", channelUuid, address);
}

/** The end of the link that ends the mails of a channel. Valid likewise: old mails must keep working. */
export function unsubscribeToken(signing: Signing, { channelUuid, address }: ChannelAddress): string {
  return signed(signing, "unsubscribe", channelUuid, address);
}

/** Whether a link names this channel and its address. */
export function isTokenFor(
  token: string,
  { signing, purpose, of }: { signing: Signing; purpose: "verify" | "unsubscribe"; of: ChannelAddress },
): boolean {
  return signing.isSame(token, signed(signing, purpose, of.channelUuid, of.address));
}

/** The end of the link that ends the reports and reminders to an account. */
export function reportsToken(signing: Signing, accountUuid: string): string {
  return `${accountUuid}.${signed(signing, "reports", accountUuid)}`;
}

/** The account that such a link names, or null when we have not made it. */
export function readReportsToken(signing: Signing, token: string): string | null {
  const accountUuid = token.split(".", 1)[0] ?? "";
  return isUuid(accountUuid) && signing.isSame(token, reportsToken(signing, accountUuid))
    ? accountUuid
    : null;
}

/** What a mail that came back was: one of a channel, or a letter; and its uuid. */
export type BounceId = `${"n" | "l"}.${string}`;

export type Bounce = { kind: "n" | "l"; uuid: string; id: BounceId; seconds: string; signature: string };

/** Bounces that come later are of no use to anybody. */
const BOUNCE_HOURS_MAX = 48;
/** Clocks of ours may differ by so much. */
const EARLY_MS_MAX = MINUTE_MS;
const BOUNCE_SIGNATURE_LENGTH = 16;
const BOUNCE =
  /^(?<kind>[nl])\.(?<uuid>[0-9a-f-]{36})\.(?<seconds>[0-9a-f]{1,9})\.(?<signature>[0-9a-f]{16})$/;

/** The part before the @ of the address that a mail comes back to: at most the 64 characters that there may be. */
export function bounceLocalPart(
  signing: Signing,
  { id, address, at }: { id: BounceId; address: string; at: Instant },
): string {
  const seconds = Math.floor(at / SECOND_MS).toString(16);
  return `${id}.${seconds}.${bounceSignature(signing, { id, seconds, address })}`;
}

/** What such an address names, if it is one. It may have been invented: see `isOurBounce`. */
export function readBounceLocalPart(localPart: string): Bounce | null {
  const { kind, uuid, seconds, signature } = BOUNCE.exec(localPart.toLowerCase())?.groups ?? {};
  if (kind === undefined || uuid === undefined || seconds === undefined || signature === undefined)
    return null;
  if ((kind !== "n" && kind !== "l") || !isUuid(uuid)) return null;
  return { kind, uuid, id: `${kind}.${uuid}`, seconds, signature };
}

/** Whether we have made it, for a mail to this address, and not too long ago. */
export function isOurBounce(
  { id, seconds, signature }: Bounce,
  { signing, address, now }: { signing: Signing; address: string; now: Instant },
): boolean {
  if (!signing.isSame(signature, bounceSignature(signing, { id, seconds, address }))) return false;
  const ageMs = now - Number.parseInt(seconds, 16) * SECOND_MS;
  return ageMs <= BOUNCE_HOURS_MAX * HOUR_MS && ageMs >= -EARLY_MS_MAX;
}

function bounceSignature(
  signing: Signing,
  { id, seconds, address }: { id: string; seconds: string; address: string },
): string {
  return signed(signing, "bounce", id, seconds, address).slice(0, BOUNCE_SIGNATURE_LENGTH);
}

/** What a bounce means for whoever was written to. */
export type BounceVerdict = "permanent" | "transient" | "ignored";

/** Judges the status of a delivery report: 5.x.x is final, but for a name server that did not answer. */
export function bounceVerdict(status: string): BounceVerdict {
  if (!/^[245](\.\d{1,3}){2}$/.test(status)) return "ignored";
  if (status.startsWith("2")) return "ignored";
  return status.startsWith("4") || status === "5.4.4" ? "transient" : "permanent";
}

/** Purpose and parts stand apart, so that a signature for one thing is none for another. */
function signed(signing: Signing, purpose: Purpose, ...parts: string[]): string {
  return signing.sign([purpose, ...parts].join("\n"));
}
