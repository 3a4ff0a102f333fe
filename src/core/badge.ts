// Status badges: the combined status of checks, its appearance, and signatures of badge URLs. Rendering is
// done elsewhere.
import { BADGE_SIGNATURE_LENGTH } from "./limits.ts";

/** The status that one check contributes. `started` is the status of a check with a run in progress in version 1. */
export type ShownStatus = "new" | "started" | "up" | "grace" | "down" | "paused";

export type BadgeStatus = "up" | "late" | "down";

/** With two states a check in grace still counts as up; with three it makes the badge late. */
export type BadgeStates = 2 | 3;

/** The status of a badge, and the number of its checks: in total, in grace, and down. */
export type BadgeSummary = { status: BadgeStatus; total: number; grace: number; down: number };

/** The combined status of any number of checks. Without checks, or with only new or paused ones, it is up. */
export function rollUp(statuses: Iterable<ShownStatus>, states: BadgeStates): BadgeSummary {
  const summary: BadgeSummary = { status: "up", total: 0, grace: 0, down: 0 };
  for (const status of statuses) {
    summary.total += 1;
    if (status === "grace") summary.grace += 1;
    if (status === "down") summary.down += 1;
  }
  if (summary.down > 0) summary.status = "down";
  else if (summary.grace > 0 && states === 3) summary.status = "late";
  return summary;
}

/** The color of the badge, and the name that the badge service Shields has for it. */
export const BADGE_LOOK: Readonly<Record<BadgeStatus, { fill: string; shieldsColor: string }>> = {
  up: { fill: "#4c1", shieldsColor: "success" },
  late: { fill: "#fe7d37", shieldsColor: "important" },
  down: { fill: "#e05d44", shieldsColor: "critical" },
};

/** What a badge is about. */
export type BadgeSubject =
  | { of: "project"; siteLabel: string }
  | { of: "tag"; tag: string }
  | { of: "check"; name: string };

/** The left half of a badge. A check without a name is labeled "check", because its UUID is a secret. */
export function badgeLabel(subject: BadgeSubject): string {
  switch (subject.of) {
    case "project":
      return subject.siteLabel;
    case "tag":
      return subject.tag;
    case "check":
      return subject.name === "" ? "check" : subject.name;
  }
}

/** The tag that means all checks of a project. */
export const OVERALL_TAG = "*";

/** Hash functions for signatures, over UTF-8, passed in because core has no library. */
export type BadgeHashes = {
  sha1: (text: string) => Uint8Array;
  hmacSha1: (options: { key: Uint8Array; message: string }) => Uint8Array;
};

/** Signature that grants access to the badge of one tag of a project. */
export function badgeSignature(
  badge: { badgeKey: string; tag: string; secret: string },
  { sha1, hmacSha1 }: BadgeHashes,
): string {
  const key = sha1(badge.badgeKey + badge.secret);
  return base64Url(hmacSha1({ key, message: badge.tag })).slice(0, BADGE_SIGNATURE_LENGTH);
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// Whole groups of three bytes only: a signature needs no more than the first two of them.
function base64Url(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i + 2 < bytes.length; i += 3) {
    const [a = 0, b = 0, c = 0] = bytes.subarray(i, i + 3);
    const group = (a << 16) | (b << 8) | c;
    for (const shift of [18, 12, 6, 0]) text += ALPHABET.charAt((group >> shift) & 63);
  }
  return text;
}

const TWO_STATES_SUFFIX = "-2";

/** The signature segment of a badge address. */
export function signatureSegment(signature: string, states: BadgeStates): string {
  return states === 2 ? signature + TWO_STATES_SUFFIX : signature;
}

/** Parses a signature segment. Only its beginning is compared; any odd end means three states. */
export function parseSignatureSegment(segment: string): { signature: string; states: BadgeStates } {
  const signature = segment.slice(0, BADGE_SIGNATURE_LENGTH);
  return { signature, states: segment === signatureSegment(signature, 2) ? 2 : 3 };
}

/** The number of states of a single check's badge, from its URL. */
export function statesOfNumber(number: number): BadgeStates {
  return number === 3 ? 3 : 2;
}

/** A tag as a segment of a badge URL: percent-encoded twice, because proxies undo one layer. */
export function encodeTagSegment(tag: string): string {
  return percentEncode(percentEncode(tag));
}

function percentEncode(text: string): string {
  const encoded = encodeURIComponent(text.toWellFormed());
  return encoded.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

/**
 * The tags that a requested, still encoded segment can mean: first as in our own URLs, then as in a URL that was
 * encoded only once. The signature determines which one applies.
 */
export function tagsOfSegment(segment: string): string[] {
  const once = percentDecode(segment);
  if (once === null) return [];
  const twice = percentDecode(once);
  return twice === null || twice === once ? [once] : [twice, once];
}

function percentDecode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
