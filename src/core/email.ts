// Emails other than alerts: their facts, the signatures of links in them, and bounces.
import { isUuid } from "./identity.ts";
import { HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from "./instant.ts";
import type { ReminderFacts, ReportFacts } from "./report.ts";

/** The channel that an email is about. */
export type EmailChannel = { uuid: string; kind: string; name: string };

export type EmailFacts =
  /** Asks the recipient to confirm the address. */
  | { kind: "verification"; channel: EmailChannel; projectName: string }
  /** To the owner: the address was not confirmed, and alerts are lost. */
  | { kind: "unverified"; channel: EmailChannel; projectName: string; address: string }
  /** To the owner: a channel was disabled, or has reached a monthly limit, and the project has no other. */
  | { kind: "disabled"; channel: EmailChannel; projectName: string; reason: string; isLimit: boolean }
  | { kind: "report"; report: ReportFacts }
  | { kind: "reminder"; reminder: ReminderFacts }
  | AccountEmailFacts;

/** A changed sign-in method, or a new token; the account's owner is notified. */
export type SecurityChange =
  | "passwordSet"
  | "passwordRemoved"
  | "passkeyAdded"
  | "passkeyRemoved"
  | "totpAdded"
  | "totpRemoved"
  | "providerAdded"
  | "providerRemoved"
  | "tokenCreated"
  | "emailChanged";

/**
 * Emails about accounts. Links and codes are derived from the UUIDs when the email is composed; the digest is the one of
 * the link.
 */
export type AccountEmailFacts =
  /** The link to sign in, or to create an account. */
  | { kind: "signIn"; uuid: string; digest: Uint8Array; expiresAt: Instant; isNew: boolean }
  /** The code for re-authentication. */
  | { kind: "confirm"; uuid: string; expiresAt: Instant }
  /** The link that moves an account to this address. */
  | { kind: "changeEmail"; uuid: string; digest: Uint8Array; expiresAt: Instant }
  | {
      kind: "invitation";
      uuid: string;
      digest: Uint8Array;
      /** Null: to the server, not to a project. */
      projectName: string | null;
      invitedBy: string | null;
      expiresAt: Instant;
    }
  | { kind: "transfer"; projectUuid: string; projectName: string; from: string }
  | { kind: "security"; what: SecurityChange };

/** Minimum interval between confirmation emails to the same address. */
export const VERIFICATION_EVERY_MS = 3_600_000;
/** Minimum interval between emails to the owner about an unconfirmed address. */
export const OWNER_NOTIFIED_EVERY_DAYS = 7;
/** A claim of an email expires after this time. Longer than any send. */
export const EMAIL_LEASE_MS = 60_000;
/** Older emails are dropped; they may have waited for a mail server to be configured. */
export const EMAIL_DAYS_MAX = 7;

/** Signs links and return addresses with a secret of the instance; 64 hexadecimal digits. */
export type Signer = { sign(message: string): string };

/**
 * Signs with the current secret. What the previous one signed is accepted; null: there is none. `isSame` takes
 * constant time.
 */
export type Signing = Signer & { previous: Signer | null; isSame(one: string, other: string): boolean };

/** Whether a text is the one that a secret of the instance signs. All of them are tried, so that time reveals nothing. */
export function isSigned(given: string, signing: Signing, textBy: (signer: Signer) => string): boolean {
  const isCurrent = signing.isSame(given, textBy(signing));
  const isPrevious = signing.previous !== null && signing.isSame(given, textBy(signing.previous));
  return isCurrent || isPrevious;
}

/**
 * A channel and its address. Links are bound to both, so that an earlier recipient cannot act for the next
 * address.
 */
export type ChannelAddress = { channelUuid: string; address: string };

type Purpose =
  | "verify"
  | "unsubscribe"
  | "reports"
  | "bounce"
  | "acknowledge"
  | "ackForm"
  | "statusConfirm"
  | "statusUnsubscribe"
  | "statusWebhook"
  | "statusUnlock";

/** Token of the link that confirms an address. Valid as long as the channel has the address. */
export function verificationToken(signing: Signer, { channelUuid, address }: ChannelAddress): string {
  return signed(signing, "verify", channelUuid, address);
}

/**
 * Token of the link that unsubscribes from a channel. Valid as long as the channel has the address, because
 * old emails must keep working.
 */
export function unsubscribeToken(signing: Signer, { channelUuid, address }: ChannelAddress): string {
  return signed(signing, "unsubscribe", channelUuid, address);
}

/** Whether a link names this channel and its address. */
export function isTokenFor(
  token: string,
  { signing, purpose, of }: { signing: Signing; purpose: "verify" | "unsubscribe"; of: ChannelAddress },
): boolean {
  return isSigned(token, signing, (signer) => signed(signer, purpose, of.channelUuid, of.address));
}

/** Token of the link that turns off reports and reminders. */
export function reportsToken(signing: Signer, accountUuid: string): string {
  return `${accountUuid}.${signed(signing, "reports", accountUuid)}`;
}

/** The account of such a link; null if its signature is invalid. */
export function readReportsToken(signing: Signing, token: string): string | null {
  const accountUuid = token.split(".", 1)[0] ?? "";
  const isOurs =
    isUuid(accountUuid) && isSigned(token, signing, (signer) => reportsToken(signer, accountUuid));
  return isOurs ? accountUuid : null;
}

/** The bounced email: of a channel or an account email, with its UUID. */
export type BounceId = `${"n" | "l"}.${string}`;

export type Bounce = { kind: "n" | "l"; uuid: string; id: BounceId; seconds: string; signature: string };

/** Later bounces are ignored. */
const BOUNCE_HOURS_MAX = 48;
/** Tolerated difference between the clocks of our processes. */
const EARLY_MS_MAX = MINUTE_MS;
const BOUNCE_SIGNATURE_LENGTH = 16;
const BOUNCE =
  /^(?<kind>[nl])\.(?<uuid>[0-9a-f-]{36})\.(?<seconds>[0-9a-f]{1,9})\.(?<signature>[0-9a-f]{16})$/;

/** Local part of the return address; at most 64 characters. */
export function bounceLocalPart(
  signing: Signer,
  { id, address, at }: { id: BounceId; address: string; at: Instant },
): string {
  const seconds = Math.floor(at / SECOND_MS).toString(16);
  return `${id}.${seconds}.${bounceSignature(signing, { id, seconds, address })}`;
}

/** Parses such an address. It may be forged: see `isOurBounce`. */
export function readBounceLocalPart(localPart: string): Bounce | null {
  const { kind, uuid, seconds, signature } = BOUNCE.exec(localPart.toLowerCase())?.groups ?? {};
  if (kind === undefined || uuid === undefined || seconds === undefined || signature === undefined)
    return null;
  if ((kind !== "n" && kind !== "l") || !isUuid(uuid)) return null;
  return { kind, uuid, id: `${kind}.${uuid}`, seconds, signature };
}

/** Whether the signature is valid for this recipient and not too old. */
export function isOurBounce(
  { id, seconds, signature }: Bounce,
  { signing, address, now }: { signing: Signing; address: string; now: Instant },
): boolean {
  if (!isSigned(signature, signing, (signer) => bounceSignature(signer, { id, seconds, address })))
    return false;
  const ageMs = now - Number.parseInt(seconds, 16) * SECOND_MS;
  return ageMs <= BOUNCE_HOURS_MAX * HOUR_MS && ageMs >= -EARLY_MS_MAX;
}

function bounceSignature(
  signing: Signer,
  { id, seconds, address }: { id: string; seconds: string; address: string },
): string {
  return signed(signing, "bounce", id, seconds, address).slice(0, BOUNCE_SIGNATURE_LENGTH);
}

/** What a bounce means for the recipient. */
export type BounceVerdict = "permanent" | "transient" | "ignored";

/** Classifies the status of a delivery report: 5.x.x is permanent, except for name server failures. */
export function bounceVerdict(status: string): BounceVerdict {
  if (!/^[245](\.\d{1,3}){2}$/.test(status)) return "ignored";
  if (status.startsWith("2")) return "ignored";
  return status.startsWith("4") || status === "5.4.4" ? "transient" : "permanent";
}

/** Purpose and parts are separated, so that a signature for one purpose is not valid for another. */
export function signed(signing: Signer, purpose: Purpose, ...parts: string[]): string {
  return signing.sign([purpose, ...parts].join("\n"));
}
