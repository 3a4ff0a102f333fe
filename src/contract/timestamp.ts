// The format of instants in responses: ISO 8601 in UTC with the offset written out. Clients compare these as texts,
// so every response uses one of the two formats here.
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from "../core/instant.ts";

const OFFSET = "+00:00";
/** Where `2026-11-16T` ends in an ISO text, and where its milliseconds do. */
const DAY_END = 11;
const MILLISECONDS_END = 23;

/** Cached texts of days, because a list of checks has thousands of instants in a few days. Cleared when it is full. */
const DAYS = new Map<number, string>();
const DAYS_MAX = 1_000;
/** 0 to 59 in two digits. */
const PAIRS = Array.from({ length: 60 }, (_, value) => String(value).padStart(2, "0"));

/** `2026-11-16T12:00:00+00:00`: fractions of a second are truncated, not rounded. */
export function isoSeconds(at: Instant): string {
  const day = Math.floor(at / DAY_MS);
  const rest = at - day * DAY_MS;
  const hours = PAIRS[Math.floor(rest / HOUR_MS)];
  const minutes = PAIRS[Math.floor((rest % HOUR_MS) / MINUTE_MS)];
  const seconds = PAIRS[Math.floor((rest % MINUTE_MS) / SECOND_MS)];
  return `${DAYS.get(day) ?? dayText(day)}${hours}:${minutes}:${seconds}${OFFSET}`;
}

function dayText(day: number): string {
  const text = new Date(day * DAY_MS).toISOString().slice(0, DAY_END);
  if (DAYS.size >= DAYS_MAX) DAYS.clear();
  DAYS.set(day, text);
  return text;
}

/**
 * `2026-11-16T12:00:00.123000+00:00`: always six digits. Times have millisecond precision, so the last three are zeros.
 */
export function isoMicroseconds(at: Instant): string {
  return `${new Date(at).toISOString().slice(0, MILLISECONDS_END)}000${OFFSET}`;
}
