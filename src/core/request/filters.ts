// The query filters of the flips of a check and of the list of checks. A query is a list of pairs, as a
// URL has them; parameters that no filter knows are not looked at.
import type { CheckSettings } from "../check.ts";
import { type Checked, queryText } from "../errors.ts";
import { splitTags } from "../identity.ts";
import { type Instant, SECOND_MS } from "../instant.ts";
import { FLIP_FILTER_SECONDS_MAX, FLIP_FILTER_UNIX_SECONDS_MAX } from "../limits.ts";

/** The decoded names and values of a query string, in order. */
export type QueryPairs = Iterable<readonly [name: string, value: string]>;

/** Which flips are wanted: from one instant on, and before another; null is no bound. */
export type FlipFilter = { fromAt: Instant | null; beforeAt: Instant | null };

/**
 * The flips that a query asks for. All of `seconds`, `start` and `end` have to hold; of a repeated one the
 * last counts. `seconds` may be empty or 0, which filters nothing.
 */
export function readFlipFilter(query: QueryPairs, now: Instant): Checked<FlipFilter> {
  const values = lastValues(query);
  const seconds = values.get("seconds") ?? "";
  const newest = seconds.trim() === "" ? 0 : readSeconds(seconds);
  if (newest === null) return { ok: false, text: queryText("seconds") };
  const start = readTimestamp(values.get("start"));
  if (start === "unreadable") return { ok: false, text: queryText("start") };
  const end = readTimestamp(values.get("end"));
  if (end === "unreadable") return { ok: false, text: queryText("end") };
  const recentAt = newest === 0 ? null : now - newest * SECOND_MS;
  return { ok: true, value: { fromAt: latest([start, recentAt]), beforeAt: end } };
}

// Form fields with whole numbers are sometimes filled in as 5.0.
function readSeconds(text: string): number | null {
  return readWholeNumber(text.trim().replace(/\.0*$/, ""), FLIP_FILTER_SECONDS_MAX);
}

function readTimestamp(text: string | undefined): Instant | null | "unreadable" {
  if (text === undefined) return null;
  const seconds = readWholeNumber(text.trim(), FLIP_FILTER_UNIX_SECONDS_MAX);
  return seconds === null ? "unreadable" : seconds * SECOND_MS;
}

function readWholeNumber(digits: string, max: number): number | null {
  if (!/^[0-9]+$/.test(digits)) return null;
  const number = Number(digits);
  return number <= max ? number : null;
}

function latest(bounds: readonly (Instant | null)[]): Instant | null {
  const instants = bounds.filter((bound) => bound !== null);
  return instants.length === 0 ? null : Math.max(...instants);
}

/** Which checks are wanted: with that slug, null for any, and with all of these tags. */
export type ListFilter = { slug: string | null; tags: readonly string[] };

/** The checks that a query asks for. Version 1 knows no filter by slug. An empty slug filters nothing. */
export function readListFilter(query: QueryPairs, { bySlug }: { bySlug: boolean }): ListFilter {
  const pairs = [...query];
  const slug = bySlug ? (lastValues(pairs).get("slug") ?? "") : "";
  const tags = new Set(pairs.filter(([name]) => name === "tag").map(([, value]) => value));
  return { slug: slug === "" ? null : slug, tags: [...tags] };
}

/** Whether a check is wanted. An empty tag is wanted of nobody, so it leaves none. */
export function isCheckWanted(check: Pick<CheckSettings, "slug" | "tags">, filter: ListFilter): boolean {
  if (filter.slug !== null && filter.slug !== check.slug) return false;
  if (filter.tags.length === 0) return true;
  // Split once: a query may name as many tags as a check has, and a list has thousands of checks.
  const tags = new Set(splitTags(check.tags));
  return filter.tags.every((tag) => tags.has(tag));
}

function lastValues(query: QueryPairs): Map<string, string> {
  return new Map(query);
}
