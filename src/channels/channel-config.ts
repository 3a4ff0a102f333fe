// Validates, completes and masks channel configurations by the schema of their kind.
import type { TObject } from "typebox";
import type { Checked } from "../core/errors.ts";
import { isUuid } from "../core/identity.ts";
import { didYouMean } from "../lib/nearest-name.ts";
import { isOwnHeader } from "../lib/outgoing-http.ts";
import { randomText } from "../lib/secrets.ts";
import { MASK } from "../lib/setting-value.ts";
import type { AnyKind } from "./channel-kind.ts";
import type { FieldMarks, MadeSecret } from "./config-fields.ts";

export type ChannelConfig = Readonly<Record<string, unknown>>;

/** The part of JSON Schema used by configurations; see config-fields.ts. */
export type Field = FieldMarks & {
  type?: "string" | "integer" | "boolean" | "array" | "object";
  enum?: readonly unknown[];
  default?: unknown;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  format?: "uri" | "uuid" | "phone";
  minimum?: number;
  maximum?: number;
  maxItems?: number;
  maxProperties?: number;
};

/** How much of an unknown field name an error message repeats. */
const SHOWN_NAME_LENGTH_MAX = 100;

/** The fields of a kind in the order of its schema. */
export function fieldsOf({ schema }: { schema: TObject }): [string, Field][] {
  return Object.entries(schema.properties as Record<string, Field>);
}

/**
 * A submitted configuration completed with defaults, or a sentence that describes the problem. With `strict` false,
 * unknown fields are ignored instead, because a newer release may have written them.
 */
export function readConfig(
  kind: AnyKind,
  input: unknown,
  { strict }: { strict: boolean },
): Checked<ChannelConfig> {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return { ok: false, text: "The configuration must be an object." };
  }
  const fields = fieldsOf(kind);
  const names = fields.map(([name]) => name);
  const unknown = Object.keys(input).find((name) => !names.includes(name));
  if (strict && unknown !== undefined) {
    const meant = didYouMean(unknown, names) || ` Valid fields: ${names.join(", ")}.`;
    return {
      ok: false,
      text: `${kind.title} has no field "${unknown.slice(0, SHOWN_NAME_LENGTH_MAX)}".${meant}`,
    };
  }
  const config: Record<string, unknown> = {};
  for (const [name, field] of fields) {
    const read = readField(field, (input as Record<string, unknown>)[name]);
    if (!read.ok) return { ok: false, text: `${name} ${read.text}.` };
    config[name] = read.value;
  }
  const text = kind.validate?.(config) ?? null;
  return text === null ? { ok: true, value: config } : { ok: false, text };
}

/** Either the value, or the end of a sentence that begins with the field name. */
type Read = Checked<unknown>;

function readField(field: Field, given: unknown): Read {
  if (given === undefined) {
    if (field.default !== undefined) return { ok: true, value: structuredClone(field.default) };
    return invalid(`is required: ${field.description.replace(/\.$/, "")}`);
  }
  if (
    field.writeOnly === true &&
    (typeof given === "string" ? given : JSON.stringify(given)).includes(MASK)
  ) {
    return invalid(
      "contains the mask shown in place of the stored secret; omit the field to keep the stored secret",
    );
  }
  if (field.enum !== undefined) {
    return field.enum.includes(given)
      ? { ok: true, value: given }
      : invalid(`must be one of ${field.enum.join(", ")}`);
  }
  if (field.type === undefined) throw new Error("a field without a type cannot be validated");
  return READERS[field.type](field, given);
}

const READERS: Readonly<Record<NonNullable<Field["type"]>, (field: Field, given: unknown) => Read>> = {
  string: readText,
  integer: ({ minimum = -Infinity, maximum = Infinity, ...field }, given) =>
    typeof given === "number" && Number.isInteger(given) && given >= minimum && given <= maximum
      ? { ok: true, value: given }
      : invalid(`must be ${field["x-must"] ?? `a whole number from ${minimum} to ${maximum}`}`),
  boolean: (_field, given) =>
    typeof given === "boolean" ? { ok: true, value: given } : invalid("must be true or false"),
  array: readUuids,
  object: ({ maxProperties = 0 }, given) => readHeaders(given, { countMax: maxProperties }),
};

function readText(field: Field, given: unknown): Read {
  if (typeof given !== "string") return invalid("must be a string");
  if (given.includes("\0") || !given.isWellFormed())
    return invalid("contains a character that cannot be stored");
  if (given === "" && field.default === "") return { ok: true, value: "" };
  const must = field["x-must"];
  if (given.length < (field.minLength ?? 0)) return invalid(`must be ${must ?? "non-empty"}`);
  if (given.length > (field.maxLength ?? Infinity)) {
    return invalid(`must be at most ${field.maxLength} characters long`);
  }
  if (field.format === "uri") return readAddress(given);
  if (field.format === "phone") return readPhone(given);
  if (field.pattern !== undefined && !new RegExp(field.pattern, "u").test(given)) {
    return invalid(`must ${must === undefined ? `match ${field.pattern}` : `be ${must}`}`);
  }
  return { ok: true, value: given };
}

const PHONE = /^\+[0-9]{5,15}$/;

/** Without spaces, hyphens, and invisible characters, which a copied number may contain. */
function readPhone(given: string): Read {
  const value = given.replace(/[^!-~]|-/g, "");
  return PHONE.test(value)
    ? { ok: true, value }
    : invalid("must be a phone number in international format, such as +14155550123");
}

function readUuids({ maxItems = 0 }: Field, given: unknown): Read {
  const uuids = Array.isArray(given) ? new Set<unknown>(given) : new Set<unknown>();
  const good = [...uuids].filter((uuid): uuid is string => typeof uuid === "string" && isUuid(uuid));
  if (good.length === 0 || good.length < uuids.size) return invalid("must be a list of one or more UUIDs");
  return good.length > maxItems
    ? invalid(`must contain at most ${maxItems} items`)
    : { ok: true, value: good };
}

function invalid(text: string): { ok: false; text: string } {
  return { ok: false, text };
}

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SET_UP_CODE_LENGTH = 24;
const WEBHOOK_SECRET_BYTES = 32;

const MAKERS: Readonly<Record<MadeSecret, () => string>> = {
  webhookSecret: () => {
    const bytes = Buffer.from(randomText({ alphabet: ALPHABET, length: WEBHOOK_SECRET_BYTES }), "ascii");
    return `whsec_${bytes.toString("base64")}`;
  },
  setUpCode: () => randomText({ alphabet: ALPHABET, length: SET_UP_CODE_LENGTH }),
};

/**
 * A new channel's configuration with generated secrets. `made` contains them by field: they cannot be read again, so
 * they are shown to the user who creates the channel.
 */
export function withMadeSecrets(
  kind: AnyKind,
  config: ChannelConfig,
): { config: ChannelConfig; made: Readonly<Record<string, string>> } {
  const made: Record<string, string> = {};
  for (const [name, { "x-made": secret, "x-unless": other }] of fieldsOf(kind)) {
    const isNeeded = config[name] === "" && (other === undefined || config[other] === "");
    if (secret !== undefined && isNeeded) made[name] = MAKERS[secret]();
  }
  return { config: { ...config, ...made }, made };
}

/**
 * Why a change is refused: whoever names another server could read the stored secrets there, which nobody can otherwise.
 * Null: it is not.
 */
export function unrepeatedSecrets(
  kind: AnyKind,
  { before, given, after }: { before: ChannelConfig; given: ChannelConfig; after: ChannelConfig },
): string | null {
  const fields = fieldsOf(kind);
  const moved = fields.find(
    ([name, field]) =>
      field.format === "uri" &&
      field.writeOnly !== true &&
      originOf(before[name] ?? field.default) !== originOf(after[name]),
  );
  const kept = fields
    .filter(([name, field]) => field.writeOnly === true && given[name] === undefined)
    .filter(([name]) => (before[name] ?? "") !== "")
    .map(([name]) => name);
  if (moved === undefined || kept.length === 0) return null;
  return `${kept.join(" and ")} must be entered again because ${moved[0]} has changed.`;
}

function originOf(address: unknown): string {
  return URL.parse(String(address))?.origin ?? "";
}

/** The visible part of a configuration: everything but its secrets, and the host of secret URLs. */
export function shownConfig(kind: AnyKind, config: ChannelConfig): ChannelConfig {
  return Object.fromEntries(
    fieldsOf(kind)
      .filter(([name]) => Object.hasOwn(config, name))
      .map(([name, field]) => [name, field.writeOnly === true ? masked(field, config[name]) : config[name]]),
  );
}

function masked(field: Field, value: unknown): unknown {
  if (value === "") return "";
  if (field.format === "uri" && typeof value === "string" && URL.canParse(value)) {
    return `${new URL(value).origin}/${MASK}`;
  }
  if (field.type !== "object" || typeof value !== "object" || value === null) return MASK;
  return Object.fromEntries(
    Object.entries(value).map(([name, header]) => [name, isPlainHeader(name) ? header : MASK]),
  );
}

// The configuration of a preview: the values given so far, and samples for missing ones.

/**
 * A configuration that a message can be rendered with, whatever is given. Secrets are masked before anything is rendered,
 * so that no encoding of one can be part of the result; templates are not.
 */
export function previewConfig(kind: AnyKind, given: ChannelConfig): ChannelConfig {
  return Object.fromEntries(fieldsOf(kind).map(([name, field]) => [name, previewValue(field, name, given)]));
}

function previewValue(field: Field, name: string, given: ChannelConfig): unknown {
  const value = given[name];
  // A stored secret is given as it is shown.
  if (field.writeOnly === true && typeof value === "string" && value.includes(MASK)) {
    if (value.length <= (field.maxLength ?? 0)) return value;
  }
  const read = readField(field, value);
  if (!read.ok) return field.default ?? sampleOf(field, name);
  if (read.value === "" && field["x-made"] !== undefined) return MASK;
  return field.writeOnly === true && !isTemplate(field) ? masked(field, read.value) : read.value;
}

const SAMPLES = { string: "", integer: 0, boolean: false, array: [], object: {} } as const;

function sampleOf(field: Field, name: string): unknown {
  if (field.enum !== undefined) return field.enum[0];
  if (field.format === "uri") return "https://example.com";
  if (field.type === "string") return `your-${name.replaceAll("_", "-")}`;
  return field.minimum ?? SAMPLES[field.type ?? "string"];
}

const HAS_SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;

/** An http or https URL; without a scheme it gets https. Otherwise the end of a sentence about the problem. */
export function readAddress(given: string): Checked<string> {
  const trimmed = given.trim();
  const text = HAS_SCHEME.test(trimmed) ? trimmed : `https://${trimmed}`;
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || /\s/.test(text)) {
    return { ok: false, text: "must be an http or https URL, for example https://hooks.example.org/x" };
  }
  return { ok: true, value: text };
}

/** The host of a URL, for a summary: it shows where a message went without revealing a secret. */
export function hostOf(address: string): string {
  return URL.parse(address)?.host ?? "an invalid URL";
}

// Extra headers of a webhook: an object, or a text with one `Name: value` per line.

const HEADER_LENGTH_MAX = 1_000;
/** Length of the colon, the line ending and spaces of a header line. */
const SEPARATORS_LENGTH_MAX = 10;

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const SIGNATURE = /^webhook-(id|timestamp|signature)$/i;

const PLAIN = /^(accept|content-type|user-agent)$/i;

/** Whether a header describes the format of a request; any other may contain a key. */
function isPlainHeader(name: string): boolean {
  return PLAIN.test(name);
}

/** Headers by name, or the end of a sentence about the problem. */
export function readHeaders(
  given: unknown,
  { countMax }: { countMax: number },
): Checked<Record<string, string>> {
  // Longer texts contain too many or too long headers.
  const lengthMax = countMax * (2 * HEADER_LENGTH_MAX + SEPARATORS_LENGTH_MAX);
  if (typeof given === "string" && given.length > lengthMax) {
    return invalid(`must be at most ${lengthMax} characters long`);
  }
  const entries = typeof given === "string" ? entriesOfLines(given) : entriesOf(given);
  if (entries === null)
    return invalid('must be an object with string values, or lines such as "X-Token: abc"');
  if (entries.length > countMax) return invalid(`must contain at most ${countMax} headers`);
  const seen = new Set<string>();
  for (const [name, value] of entries) {
    const problem =
      problemOf(name, value) ?? (seen.has(name.toLowerCase()) ? "is given more than once" : null);
    if (problem !== null) return invalid(`contains the header ${JSON.stringify(name)}, which ${problem}`);
    seen.add(name.toLowerCase());
  }
  return { ok: true, value: Object.fromEntries(entries) };
}

function entriesOf(given: unknown): [string, string][] | null {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return null;
  const entries = Object.entries(given);
  if (!entries.every((entry): entry is [string, string] => typeof entry[1] === "string")) return null;
  return entries.map(([name, value]) => [name.trim(), value.trim()]);
}

function entriesOfLines(text: string): [string, string][] | null {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  const entries = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return colon === -1 ? ["", ""] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
  });
  return entries.some(([name, value]) => name === "" || value === "") ? null : entries;
}

function problemOf(name: string, value: string): string | null {
  if (!TOKEN.test(name)) return "is not a valid header name";
  if (isOwnHeader(name)) return "is managed by the connection and cannot be set";
  if (SIGNATURE.test(name)) return "is reserved for the request signature";
  if (value === "") return "has no value";
  if (name.length > HEADER_LENGTH_MAX || value.length > HEADER_LENGTH_MAX) {
    return `is longer than ${HEADER_LENGTH_MAX} characters`;
  }
  // A line break would start another header.
  return /(?!\t)\p{Cc}/u.test(value) ? "contains a control character" : null;
}

// The secrets of a configuration, so that they can be removed from responses: some receivers echo what they get.

/** Shorter parts of a URL are words such as "services", not secrets. */
const SECRET_PART_LENGTH_MIN = 9;
/** A field for longer values has templates, unless it has a pattern, as keys do. */
const KEY_LENGTH_MAX = 1_000;

/** All secret texts, the longest first, so that no part of one is left. */
export function secretsIn(kind: AnyKind, config: ChannelConfig): string[] {
  const texts = fieldsOf(kind).flatMap(([name, field]) =>
    field.writeOnly === true ? textsOf(field, config[name]) : [],
  );
  return [...new Set(texts)].filter((text) => text !== "").toSorted((a, b) => b.length - a.length);
}

function isTemplate({ maxLength = 0, pattern }: Field): boolean {
  return maxLength > KEY_LENGTH_MAX && pattern === undefined;
}

function textsOf(field: Field, value: unknown): string[] {
  if (typeof value === "object" && value !== null) {
    return Object.entries(value)
      .filter(([name]) => !isPlainHeader(name))
      .flatMap(([, header]) => [String(header), lastWord(String(header))]);
  }
  if (typeof value !== "string" || value === "" || isTemplate(field)) return [];
  return field.format === "uri" ? addressTexts(value) : [value, ...partsOf(value)];
}

/** A URL of another scheme may have its key anywhere. */
function partsOf(value: string): string[] {
  if (!value.includes("://")) return [];
  return value.split(/[/:@?&=]+/).filter((part) => part.length >= SECRET_PART_LENGTH_MIN);
}

/** "Bearer abc": the key is treated separately. */
function lastWord(header: string): string {
  return header.split(" ").at(-1) ?? "";
}

function addressTexts(address: string): string[] {
  const url = URL.parse(address);
  if (url === null) return [address];
  const path = url.pathname + url.search;
  const parts = [...url.pathname.split("/"), ...url.searchParams.values(), url.password];
  return [
    address,
    url.href,
    ...[path, url.pathname, ...parts, ...parts.map(decoded)].filter(
      (text) => text.length >= SECRET_PART_LENGTH_MIN,
    ),
  ];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
