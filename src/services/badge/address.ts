// From the path of a badge to what it asks for. Pure: nothing is looked up, and no signature is checked here.
import {
  type BadgeStates,
  parseSignatureSegment,
  statesOfNumber,
  tagsOfSegment,
  OVERALL_TAG,
} from "../../core/badge.ts";
import { isUuid } from "../../core/identity.ts";
import { TAGS_LENGTH_MAX } from "../../core/limits.ts";

export type BadgeFormat = "svg" | "json" | "shields";

/** One check, or the tags that the address can mean, of which the signature will tell the right one. */
export type BadgeAddress = { format: BadgeFormat; states: BadgeStates } & (
  | { of: "check"; badgeUuid: string }
  | { of: "tags"; badgeKey: string; signature: string; tags: readonly string[] }
);

const FORMATS: readonly BadgeFormat[] = ["svg", "json", "shields"];
/** Longer ones belong to no project. */
const BADGE_KEY = /^[\w-]{1,100}$/;
const SIGNATURE_SEGMENT = /^[\w-]{8,100}$/;
const STATES = /^\d{1,9}$/;
/** A tag of the longest kind, each character four bytes, each byte encoded twice. */
const TAG_SEGMENT_LENGTH_MAX = TAGS_LENGTH_MAX * 4 * "%25FF".length;

/** Whether a path below the site belongs to badges, whatever is there. */
export function isBadgePath(path: string): boolean {
  return path.startsWith("/badge/") || path.startsWith("/b/");
}

/** What a path asks for; null when nothing can be there. */
export function decodeBadgePath(path: string): BadgeAddress | null {
  const [, kind, first = "", ...rest] = path.split("/");
  const file = splitFormat(rest.pop());
  if (file === null) return null;
  const { stem, format } = file;
  if (kind === "b") {
    if (rest.length > 0 || !STATES.test(first) || !isUuid(stem)) return null;
    return { of: "check", format, states: statesOfNumber(Number(first)), badgeUuid: stem };
  }
  const [segment = stem, ...more] = rest;
  if (kind !== "badge" || more.length > 0 || !BADGE_KEY.test(first) || !SIGNATURE_SEGMENT.test(segment))
    return null;
  const tags = rest.length === 0 ? [OVERALL_TAG] : tagsOfSegment(stem);
  return { of: "tags", format, badgeKey: first, tags, ...parseSignatureSegment(segment) };
}

/** Tags may contain dots, so the last one is where the format begins. */
function splitFormat(file: string | undefined): { stem: string; format: BadgeFormat } | null {
  if (file === undefined || file.length > TAG_SEGMENT_LENGTH_MAX) return null;
  const dot = file.lastIndexOf(".");
  const format = FORMATS.find((one) => one === file.slice(dot + 1));
  return dot === -1 || format === undefined ? null : { stem: file.slice(0, dot), format };
}
