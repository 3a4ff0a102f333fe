// Values of another product, as its database drivers and its API return them. A value that cannot be read is null,
// with the end of a sentence that says why.
import { isLongerThan } from "../core/check.ts";
import { uuidOfAnyCase } from "../core/identity.ts";
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from "../core/instant.ts";
import { IMPORT_TEXT_LENGTH_MAX } from "../core/limits.ts";

export type Read<T> = { value: T; why?: undefined } | { value: T | null; why: string };

const MICROSECONDS_PER_SECOND = 1_000_000;
/** Dates outside of these years are mistakes; the source sets them itself. */
const YEAR_MIN = 1970;
const YEAR_MAX = 9_999;
const MONTHS = 12;

/** Text, cut to its limit. Bytes are decoded as UTF-8. */
export function readText(raw: unknown): Read<string> {
  const text = textOf(raw);
  if (text === null) return { value: null, why: "is not text" };
  // Some drivers have already replaced bytes that are not UTF-8.
  if (text.includes("\uFFFD"))
    return { value: clipped(text), why: "contains characters that are not valid UTF-8" };
  if (!text.isWellFormed())
    return { value: clipped(text).toWellFormed(), why: "contains half of a character" };
  if (!isLongerThan(text, IMPORT_TEXT_LENGTH_MAX)) return { value: text };
  return { value: clipped(text), why: `is longer than ${IMPORT_TEXT_LENGTH_MAX} characters and was cut` };
}

function textOf(raw: unknown): string | null {
  if (typeof raw === "string") return raw;
  if (raw instanceof Uint8Array) return new TextDecoder().decode(raw);
  return typeof raw === "number" || typeof raw === "bigint" ? String(raw) : null;
}

function clipped(text: string): string {
  return isLongerThan(text, IMPORT_TEXT_LENGTH_MAX)
    ? Array.from(text.slice(0, 2 * IMPORT_TEXT_LENGTH_MAX))
        .slice(0, IMPORT_TEXT_LENGTH_MAX)
        .join("")
    : text;
}

const BARE_UUID = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/i;

/** With hyphens, or 32 hexadecimal digits. */
export function readUuid(raw: unknown): Read<string> {
  const text = typeof raw === "string" ? raw.replace(BARE_UUID, "$1-$2-$3-$4-$5") : "";
  const value = uuidOfAnyCase(text);
  return value === null ? { value, why: "is not a UUID" } : { value };
}

export function readInteger(raw: unknown): Read<number> {
  const value = typeof raw === "string" && raw.trim() === "" ? Number.NaN : numberOf(raw);
  return Number.isSafeInteger(value) ? { value } : { value: null, why: "is not a whole number" };
}

/** A duration in microseconds, as seconds. */
export function readDuration(raw: unknown): Read<number> {
  const value = numberOf(raw) / MICROSECONDS_PER_SECOND;
  return Number.isFinite(value) ? { value } : { value: null, why: "is not a duration" };
}

function numberOf(raw: unknown): number {
  return typeof raw === "number" || typeof raw === "bigint" || typeof raw === "string"
    ? Number(raw)
    : Number.NaN;
}

const TRUE: readonly unknown[] = [true, 1, 1n, "1", "t", "true"];
const FALSE: readonly unknown[] = [false, 0, 0n, "0", "f", "false"];

export function readBoolean(raw: unknown): Read<boolean> {
  if (TRUE.includes(raw)) return { value: true };
  return FALSE.includes(raw) ? { value: false } : { value: null, why: "is neither true nor false" };
}

const TIME = /^(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?(Z|[+-]\d\d(?::?\d\d)?)?$/;

/** A time as databases and ISO 8601 write it; without an offset, in UTC. Microseconds are cut. */
export function readTime(raw: unknown): Read<Instant> {
  const found = typeof raw === "string" ? TIME.exec(raw) : null;
  const value = found === null ? null : instantOf(found);
  return value === null ? { value, why: "is not a valid date and time" } : { value };
}

function instantOf([, ...parts]: RegExpExecArray): Instant | null {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.slice(0, 6).map(Number);
  const isInRange =
    year >= YEAR_MIN &&
    year <= YEAR_MAX &&
    month >= 1 &&
    month <= MONTHS &&
    hour < 24 &&
    minute < 60 &&
    second < 60;
  const dayAt = Date.UTC(year, month - 1, day);
  // February 30 would become March 2.
  if (!isInRange || new Date(dayAt).getUTCDate() !== day) return null;
  const fractionMs = Number((parts[6] ?? "").padEnd(3, "0").slice(0, 3));
  const at = dayAt + hour * HOUR_MS + minute * MINUTE_MS + second * SECOND_MS + fractionMs;
  return at - offsetMs(parts[7] ?? "Z");
}

function offsetMs(text: string): number {
  if (text === "Z") return 0;
  const [hours = 0, minutes = 0] = (text.slice(1).replace(":", "").match(/\d\d/g) ?? []).map(Number);
  const ms = Math.min(hours * HOUR_MS + minutes * MINUTE_MS, DAY_MS);
  return text.startsWith("-") ? -ms : ms;
}
