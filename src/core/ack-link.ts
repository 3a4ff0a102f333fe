// Links that acknowledge an incident. A link is signed, and names the channel to which it was sent. A GET shows a form;
// only the form acknowledges, because mail scanners open every link.
import { isSigned, type Signer, type Signing, signed } from "./email.ts";
import type { IncidentState } from "./incident.ts";
import { DAY_MS, type Instant, MINUTE_MS } from "./instant.ts";
import { ACK_FORM_MINUTES, ACK_LINK_DAYS } from "./limits.ts";

export type AckLink = { incidentId: number; channelId: number };

/** The URL of the link that is sent to a channel. */
export function ackUrl({ site, signing }: { site: string; signing: Signer }, link: AckLink): string {
  return `${site}/ack/${ackToken(signing, link)}`;
}

function ackToken(signing: Signer, { incidentId, channelId }: AckLink): string {
  return `${incidentId}.${channelId}.${signed(signing, "acknowledge", String(incidentId), String(channelId))}`;
}

const TOKEN = /^(?<incident>[1-9]\d{0,14})\.(?<channel>[1-9]\d{0,14})\.[0-9a-f]{64}$/;

/** The link of a token; null if its signature is invalid. */
export function readAckToken(signing: Signing, token: string): AckLink | null {
  const { incident, channel } = TOKEN.exec(token)?.groups ?? {};
  if (incident === undefined || channel === undefined) return null;
  const link = { incidentId: Number(incident), channelId: Number(channel) };
  return isSigned(token, signing, (signer) => ackToken(signer, link)) ? link : null;
}

/** Whether a link is still valid, by the incident that it names. */
export function isAckLinkValid(
  { state, resolvedAt }: { state: IncidentState; resolvedAt: Instant | null },
  now: Instant,
): boolean {
  return state !== "resolved" || now - (resolvedAt ?? 0) <= ACK_LINK_DAYS * DAY_MS;
}

/** What the form of the page does. */
export const ACK_ACTIONS = ["acknowledge", "unacknowledge"] as const;
export type AckAction = (typeof ACK_ACTIONS)[number];

type AckForm = { link: AckLink; action: AckAction };

/** A value of the form that a program gets only from the page: bound to the link, the action and the time. */
export function ackNonce(signing: Signer, form: AckForm, at: Instant): string {
  const minute = Math.floor(at / MINUTE_MS).toString(36);
  return `${minute}.${nonceSignature(signing, form, minute)}`;
}

const NONCE = /^(?<minute>[0-9a-z]{1,8})\.[0-9a-f]{64}$/;

/** Whether a nonce belongs to this form, and the page was opened recently. */
export function isAckNonce(
  nonce: string,
  { signing, form, now }: { signing: Signing; form: AckForm; now: Instant },
): boolean {
  const minute = NONCE.exec(nonce)?.groups?.["minute"];
  if (minute === undefined) return false;
  if (!isSigned(nonce, signing, (signer) => `${minute}.${nonceSignature(signer, form, minute)}`))
    return false;
  const age = Math.floor(now / MINUTE_MS) - Number.parseInt(minute, 36);
  // The processes that show the page and take the form can have different clocks.
  return age >= -1 && age <= ACK_FORM_MINUTES;
}

function nonceSignature(signing: Signer, { link, action }: AckForm, minute: string): string {
  return signed(signing, "ackForm", String(link.incidentId), String(link.channelId), action, minute);
}
