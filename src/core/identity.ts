// Syntax and creation of UUIDs, slots, slugs, tags, unique keys, API keys and ping keys.
import {
  ACCESS_TOKEN_RANDOM_LENGTH,
  API_KEY_LENGTH,
  PING_KEY_LENGTH,
  SLUG_LENGTH_MAX,
  UNIQUE_KEY_SOURCE_DIGITS,
} from "./limits.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const SLUG = /^[a-z0-9_-]*$/;
const UNIQUE_KEY = /^[A-Za-z0-9]{40}$/;

/** Whether a text is a UUID as we print it: hyphens in place, lower case, any version. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** The UUID in lower case, or null. For run ids and mail addresses, which come in either letter case. */
export function uuidOfAnyCase(text: string): string | null {
  const lower = text.toLowerCase();
  return UUID.test(lower) ? lower : null;
}

/** 4,096 slots. */
export const SLOT_DIGITS = 3;

/**
 * The slot of an id: its first three digits, in an API key those after the prefix. New ids get the slot of the UUID of
 * their project, so that the project can be located from any of them. Older ids and those of moved checks may have
 * another one.
 */
export function slotOf(id: string): string {
  const prefix = Object.values(KEY_PREFIX).find((one) => id.startsWith(one)) ?? "";
  return id.slice(prefix.length, prefix.length + SLOT_DIGITS);
}

/** A random UUID of version 4. Passed in, because core uses no randomness. */
export type RandomUuid = () => string;

/** The slots in which this server creates ids; undefined: all of them. */
export type OwnSlots = readonly string[] | undefined;

/** The slot of a UUID or, if it belongs to another cell, one of our own that is always the same for it. */
function ownSlotOf(uuid: string, slots: OwnSlots): string {
  const slot = slotOf(uuid);
  if (slots === undefined || slots.includes(slot)) return slot;
  return slots[Number.parseInt(slot, 16) % slots.length] ?? slot;
}

/** A new UUID for something that belongs to a project. */
export function newUuidIn(projectUuid: string, random: RandomUuid, slots?: OwnSlots): string {
  return ownSlotOf(projectUuid, slots) + random().slice(SLOT_DIGITS);
}

/** The ids of a new project, all in one slot. */
export function newProjectIds(
  random: { uuid: RandomUuid; text: RandomText },
  slots?: OwnSlots,
): { uuid: string; pingKey: string; badgeKey: string } {
  const given = random.uuid();
  const uuid = ownSlotOf(given, slots) + given.slice(SLOT_DIGITS);
  return {
    uuid,
    pingKey: newPingKey(uuid, random.text, slots),
    badgeKey: newUuidIn(uuid, random.uuid, slots),
  };
}

/**
 * Whether a text may be stored as a slug; the empty one means that there is none.
 *
 * @internal Only tests use it.
 */
export function isSlug(text: string): boolean {
  return text.length <= SLUG_LENGTH_MAX && SLUG.test(text);
}

/** Only the characters of a slug, of any length: length has its own error. */
export function hasSlugCharacters(text: string): boolean {
  return SLUG.test(text);
}

/** The slug that versions 1 and 2 derive from a name; empty if no character of the name remains. */
export function slugify(name: string): string {
  const hyphenated = name
    .normalize("NFKD")
    .replace(/\P{ASCII}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9_\s-]/g, "")
    .replace(/[-\s]+/g, "-");
  // Compatibility characters can unfold into several letters, so the result may be longer than the name.
  return strip(strip(hyphenated).slice(0, SLUG_LENGTH_MAX));
}

function strip(slug: string): string {
  return slug.replace(/^[-_]+/, "").replace(/(?<![-_])[-_]+$/, "");
}

/** The tags of a check. Only spaces separate them: a comma or a tab is part of its tag. */
export function splitTags(tags: string): string[] {
  return tags.split(" ").filter((tag) => tag !== "");
}

/** The tags with one added or removed; the same text if nothing changes. */
export function withTag(tags: string, { tag, isOn }: { tag: string; isOn: boolean }): string {
  const before = splitTags(tags);
  if (before.includes(tag) === isOn) return tags;
  return (isOn ? [...before, tag] : before.filter((one) => one !== tag)).join(" ");
}

/** Hexadecimal SHA-1 of an ASCII text, lower case. Passed in, because core has no library. */
export type Sha1Hex = (text: string) => string;

/** The identifier that a read-only key sees instead of the UUID. It cannot be used to send pings. */
export function uniqueKey(uuid: string, sha1Hex: Sha1Hex): string {
  return sha1Hex(uuid.replaceAll("-", "").slice(0, UNIQUE_KEY_SOURCE_DIGITS));
}

/** Whether a path segment can only be a unique key. */
export function isUniqueKey(text: string): boolean {
  return UNIQUE_KEY.test(text);
}

/** What an API key may do; a project has one of each at most. */
export type KeyKind = "readWrite" | "readOnly";

/** The first characters of a key show its kind, to users and to secret scanners. */
export const KEY_PREFIX: Readonly<Record<KeyKind, string>> = { readWrite: "odw_", readOnly: "odr_" };

/** Whether a text has the form of an API key. Anything else counts as no key, not as a wrong one. */
export function isKeyShaped(text: string): boolean {
  return text.length === API_KEY_LENGTH;
}

/** Secret random characters, each drawn evenly from the alphabet. Passed in, because core uses no randomness. */
export type RandomText = (options: { alphabet: string; length: number }) => string;

const DIGITS = "0123456789";
const LOWER = "abcdefghijklmnopqrstuvwxyz";

/** A new API key. It is shown once, and stored hashed. */
export function newApiKey(
  { kind, projectUuid }: { kind: KeyKind; projectUuid: string },
  random: RandomText,
  slots?: OwnSlots,
): string {
  const start = KEY_PREFIX[kind] + ownSlotOf(projectUuid, slots);
  const alphabet = DIGITS + LOWER + LOWER.toUpperCase();
  return start + random({ alphabet, length: API_KEY_LENGTH - start.length });
}

/** A new ping key. It is stored in plain text, because ping URLs contain it. */
export function newPingKey(projectUuid: string, random: RandomText, slots?: OwnSlots): string {
  return (
    ownSlotOf(projectUuid, slots) +
    random({ alphabet: DIGITS + LOWER, length: PING_KEY_LENGTH - SLOT_DIGITS })
  );
}

/** The first characters of a personal access token, for people and secret scanners. */
export const ACCESS_TOKEN_PREFIX = "ovd_";
const ACCESS_TOKEN = new RegExp(`^${ACCESS_TOKEN_PREFIX}[\\w-]{${ACCESS_TOKEN_RANDOM_LENGTH}}$`);

/** A new personal access token. It is shown once, and stored hashed. */
export function newAccessToken(random: RandomText): string {
  const alphabet = `${DIGITS + LOWER + LOWER.toUpperCase()}-_`;
  return ACCESS_TOKEN_PREFIX + random({ alphabet, length: ACCESS_TOKEN_RANDOM_LENGTH });
}

/** Whether a text has the form of a personal access token. */
export function isAccessTokenShaped(text: string): boolean {
  return ACCESS_TOKEN.test(text);
}
