// Near misses: requests to ping URLs that reached no check but probably belong to a project. What such a request was
// meant for, how requests are counted, and which of them are kept.
import { isUuid } from "./identity.ts";
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from "./instant.ts";
import { NEAR_MISS_ADDRESS_LENGTH_MAX, NEAR_MISS_ARRIVALS_MAX, SLUG_LENGTH_MAX } from "./limits.ts";
import { parseExitStatus } from "./signal.ts";

/**
 * `uuid`: a mistyped UUID. `slug`: the ping key is valid, but no check has the slug. `deleted`: the UUID of a deleted
 * check. `method`, `suffix`: the check exists, but the method or the end of the path is invalid. `http`: the ping was
 * recorded, but was sent without encryption to a site that has it.
 */
export const NEAR_MISS_KINDS = ["uuid", "slug", "deleted", "method", "suffix", "http"] as const;
export type NearMissKind = (typeof NEAR_MISS_KINDS)[number];

/** What a path names, without its action if that is valid. */
export type Attempt = { suffix: string | null; action: string | null } & (
  | { by: "uuid"; text: string }
  | { by: "slug"; pingKey: string; slug: string }
);

const UUID_DIGITS = 32;
/** Shorter parts of a UUID could belong to several checks. */
const CUT_DIGITS_MIN = 12;
const LOOSE_DIGITS_MIN = 28;
const DIGITS_MAX = 36;
const TEXT_LENGTH_MAX = 48;
const SUFFIX_LENGTH_MAX = 40;
const PING_KEY_LENGTH_MAX = 100;
/** Edits between a mistyped UUID and the right one. */
const UUID_EDITS_MAX = 3;
const SLUG_EDITS_MAX = 2;
/** A short slug with two edits is another word. */
const SLUG_EDITS_LENGTH_MIN = 6;

/** The UUID-like text in lower case, without hyphens and braces. */
function digitsOf(text: string): string {
  return text.toLowerCase().replaceAll(/[-{}]/g, "");
}

/** Whether a text can be a mistyped or incomplete UUID. */
export function isUuidLike(text: string): boolean {
  if (text.length > TEXT_LENGTH_MAX || !/^[-{}a-zA-Z0-9]+$/.test(text)) return false;
  const digits = digitsOf(text);
  if (digits.length < CUT_DIGITS_MIN || digits.length > DIGITS_MAX) return false;
  const wrongCount = digits.replaceAll(/[0-9a-f]/g, "").length;
  if (wrongCount === 0) return true;
  return wrongCount <= UUID_EDITS_MAX && digits.length >= LOOSE_DIGITS_MIN;
}

/** The UUID in its usual form; null if the text does not have 32 digits. */
export function canonicalUuid(text: string): string | null {
  const parts = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/.exec(digitsOf(text));
  return parts === null ? null : parts.slice(1).join("-");
}

/** What the segments after the ping URL name; null if that is neither like a UUID nor a key with a slug. */
export function readAttempt(given: readonly string[]): Attempt | null {
  const segments = given.at(-1) === "" ? given.slice(0, -1) : given;
  const [first = "", second, ...rest] = segments;
  const isKey = second !== undefined && !isAction(second) && !isUuid(first);
  if (isUuidLike(first) && !(isKey && first.length < LOOSE_DIGITS_MIN)) {
    const ended = endOf(segments.slice(1));
    return ended && { by: "uuid", text: first, ...ended };
  }
  if (second === undefined || !/^[-\w]+$/.test(first) || first.length > PING_KEY_LENGTH_MAX) return null;
  if (!/^[-\w.]+$/.test(second) || second.length > SLUG_LENGTH_MAX) return null;
  const ended = endOf(rest);
  return ended && { by: "slug", pingKey: first, slug: second, ...ended };
}

function endOf(rest: readonly string[]): Pick<Attempt, "suffix" | "action"> | null {
  const [action, ...more] = rest;
  if (action === undefined) return { suffix: null, action: null };
  if (more.length === 0 && isAction(action)) return { suffix: null, action };
  const suffix = rest.join("/");
  return /^[-\w./~]+$/.test(suffix) && suffix.length <= SUFFIX_LENGTH_MAX ? { suffix, action: null } : null;
}

function isAction(segment: string): boolean {
  if (segment === "start" || segment === "fail" || segment === "log") return true;
  return typeof parseExitStatus(segment) === "number";
}

// Similarity.

/** The optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbors. */
export function editDistance(from: string, to: string): number {
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const isSame = from[i - 1] === to[j - 1];
      let least = Math.min((row[j - 1] ?? 0) + Number(!isSame), (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]) {
        least = Math.min(least, (before[j - 2] ?? 0) + 1);
      }
      next.push(least);
    }
    before = row;
    row = next;
  }
  return row[to.length] ?? 0;
}

/** How far a mistyped text is from a UUID; null: too far. Cut off at either end counts as near. */
export function uuidDistance(text: string, uuid: string): number | null {
  const [given, wanted] = [digitsOf(text), digitsOf(uuid)];
  if (given.length < wanted.length && (wanted.startsWith(given) || wanted.endsWith(given))) return 1;
  if (given.length < LOOSE_DIGITS_MIN) return null;
  const edits = editDistance(given, wanted);
  return edits <= UUID_EDITS_MAX ? edits : null;
}

const PIECE_LENGTH = 8;
const PIECES = UUID_DIGITS / PIECE_LENGTH;

/**
 * The pieces by which a mistyped UUID is found with an index: eight digits each, with their position. Three edits leave
 * at least one of four pieces as it was; digits after a missing or additional one are found from the end.
 */
export function uuidPieces(text: string): string[] {
  const digits = digitsOf(text);
  const pieces = new Set<string>();
  for (let position = 0; position < PIECES; position += 1) {
    for (const shift of new Set([0, digits.length - UUID_DIGITS])) {
      const at = position * PIECE_LENGTH + shift;
      const piece = at < 0 ? "" : digits.slice(at, at + PIECE_LENGTH);
      if (/^[0-9a-f]{8}$/.test(piece)) pieces.add(`${position}${piece}`);
    }
  }
  return [...pieces];
}

/** The most similar one; null if none is similar, or two of them equally. */
function nearestOf<T>(candidates: readonly T[], distanceOf: (candidate: T) => number | null): T | null {
  let nearest: { candidate: T; distance: number; isAlone: boolean } | null = null;
  for (const candidate of candidates) {
    const distance = distanceOf(candidate);
    if (distance === null || (nearest !== null && distance > nearest.distance)) continue;
    nearest = { candidate, distance, isAlone: nearest === null || distance < nearest.distance };
  }
  return nearest?.isAlone === true ? nearest.candidate : null;
}

export type NamedSlug = { id: number; slug: string };

/** The check whose slug a given one probably meant. */
export function nearestSlug<T extends NamedSlug>(given: string, candidates: readonly T[]): T | null {
  const text = plainSlug(given);
  const editsMax = text.length < SLUG_EDITS_LENGTH_MIN ? 1 : SLUG_EDITS_MAX;
  return nearestOf(candidates, ({ slug }) => {
    if (Math.abs(slug.length - text.length) > editsMax) return null;
    const edits = editDistance(text, plainSlug(slug));
    return edits <= editsMax ? edits : null;
  });
}

/** Case, underscores and dots are often mixed up, and count as no difference. */
function plainSlug(slug: string): string {
  return slug.toLowerCase().replaceAll(/[_.]/g, "-");
}

/**
 * Slugs that a mistyped one may have meant and that are far from it in the alphabet: neighbors swapped, a character too
 * many, other separators.
 */
export function slugVariants(given: string): string[] {
  const text = given.toLowerCase();
  const variants = new Set([text, text.replaceAll("_", "-"), text.replaceAll("-", "_"), plainSlug(text)]);
  for (let at = 0; at < text.length; at += 1) {
    variants.add(text.slice(0, at) + text.slice(at + 1));
    if (at > 0)
      variants.add(text.slice(0, at - 1) + text.charAt(at) + text.charAt(at - 1) + text.slice(at + 1));
  }
  variants.delete("");
  return [...variants];
}

// What a request was.

export type MissedCheck = { id: number; projectId: number; uuid: string; isDeleted: boolean };
/** A deletion in the audit log: the check is no longer in the trash. */
export type Deletion = { projectId: number; name: string; at: Instant };

/** How a request was sent. */
export type Manner = { isMethodAllowed: boolean; isInsecure: boolean };

export type Verdict = {
  kind: NearMissKind;
  projectId: number;
  /** The check that it was probably meant for. */
  checkId: number | null;
  /** Of a check that is no longer in the trash. */
  deletion: Deletion | null;
  bySlug: boolean;
  address: string;
};

type UuidAttempt = Extract<Attempt, { by: "uuid" }>;
type SlugAttempt = Extract<Attempt, { by: "slug" }>;

/** `exact` is the check with these digits; null: the request belongs to no project. */
export function judgeUuid(
  { text, suffix }: Pick<UuidAttempt, "text" | "suffix">,
  manner: Manner,
  found: { exact: MissedCheck | null; deletion: Deletion | null; similar: readonly MissedCheck[] },
): Verdict | null {
  const { exact, deletion, similar } = found;
  const address = addressOf(text, null);
  if (address === null) return null;
  const common = { bySlug: false, address, deletion: null };
  if (exact !== null && exact.uuid !== text) return { ...common, ...meant(exact), kind: "uuid" };
  if (exact !== null) {
    if (exact.isDeleted) return { ...common, ...meant(exact), kind: "deleted" };
    return judgeManner({ ...common, ...meant(exact) }, { suffix, manner, name: text });
  }
  if (deletion !== null) {
    return { ...common, kind: "deleted", projectId: deletion.projectId, checkId: null, deletion };
  }
  const near = nearestOf(
    similar.filter(({ isDeleted }) => !isDeleted),
    ({ uuid }) => uuidDistance(text, uuid),
  );
  return near && { ...common, ...meant(near), kind: "uuid" };
}

/** `check` is the one with the slug; `similar`: others of the project. The ping key is that of the project. */
export function judgeSlug(
  { slug, suffix }: Pick<SlugAttempt, "slug" | "suffix">,
  manner: Manner,
  found: { projectId: number; check: { id: number } | null; similar: readonly NamedSlug[] },
): Verdict | null {
  const { projectId, check, similar } = found;
  const address = addressOf(slug, null);
  if (address === null) return null;
  const common = { projectId, bySlug: true, address, deletion: null };
  if (check !== null) return judgeManner({ ...common, checkId: check.id }, { suffix, manner, name: slug });
  return { ...common, kind: "slug", checkId: nearestSlug(slug, similar)?.id ?? null };
}

function meant({ id, projectId }: MissedCheck): Pick<Verdict, "projectId" | "checkId"> {
  return { projectId, checkId: id };
}

/** The address is right: something else was wrong, or it is right by now. */
function judgeManner(
  common: Omit<Verdict, "kind">,
  { suffix, manner, name }: { suffix: string | null; manner: Manner; name: string },
): Verdict | null {
  if (!manner.isMethodAllowed) return { ...common, kind: "method" };
  const address = suffix === null ? null : addressOf(name, suffix);
  if (address !== null) return { ...common, kind: "suffix", address };
  return manner.isInsecure ? { ...common, kind: "http" } : null;
}

function addressOf(name: string, suffix: string | null): string | null {
  const address = suffix === null ? name : `${name}/${suffix}`;
  return address.length <= NEAR_MISS_ADDRESS_LENGTH_MAX ? address : null;
}

// Counting.

/** The chart of a near miss: one bar for six hours, for a week. */
export const SPARK_BARS = 28;
export const SPARK_BAR_MS = 6 * HOUR_MS;

export type Tally = {
  count: number;
  firstAt: Instant;
  lastAt: Instant;
  /** Requests in the bars up to `sparkBar`, oldest first. */
  spark: readonly number[];
  /** The number of the last bar since 1970. */
  sparkBar: number;
  /** The newest times at which a run ended, oldest first. */
  arrivals: readonly Instant[];
};

/** Requests with the same address within a few seconds. */
export type Sighting = { count: number; firstAt: Instant; lastAt: Instant; arrivals: readonly Instant[] };

const NO_TALLY_SPARK: readonly number[] = Array.from({ length: SPARK_BARS }, () => 0);

/** Adds requests; `before` null: these are the first. */
export function addSighting(before: Tally | null, sighting: Sighting): Tally {
  const bar = Math.floor(sighting.lastAt / SPARK_BAR_MS);
  const newest = Math.max(bar, before?.sparkBar ?? bar);
  const spark = [...sparkUntil(before, newest)];
  const at = SPARK_BARS - 1 - (newest - bar);
  if (at >= 0) spark[at] = (spark[at] ?? 0) + sighting.count;
  const arrivals = [...(before?.arrivals ?? []), ...sighting.arrivals].toSorted((one, other) => one - other);
  return {
    count: (before?.count ?? 0) + sighting.count,
    firstAt: Math.min(before?.firstAt ?? sighting.firstAt, sighting.firstAt),
    lastAt: Math.max(before?.lastAt ?? sighting.lastAt, sighting.lastAt),
    spark,
    sparkBar: newest,
    arrivals: arrivals.slice(-NEAR_MISS_ARRIVALS_MAX),
  };
}

/** Processes learn of a new alias within this time. */
const SETTLING_MS = 15 * SECOND_MS;

/** A near miss that was resolved before this instant is open again after a request. */
export function reopensBefore({ lastAt }: Pick<Sighting, "lastAt">): Instant {
  return lastAt - SETTLING_MS;
}

/** The bars of the week that ends with a bar. */
export function sparkUntil(tally: Pick<Tally, "spark" | "sparkBar"> | null, bar: number): readonly number[] {
  if (tally === null) return NO_TALLY_SPARK;
  const shift = Math.min(SPARK_BARS, Math.max(0, bar - tally.sparkBar));
  return [...tally.spark.slice(shift), ...NO_TALLY_SPARK].slice(0, SPARK_BARS);
}

// The schedule that the times suggest.

export type GuessedSchedule = { timeoutSeconds: number; graceSeconds: number };

const ARRIVALS_MIN = 3;
const PERIOD_SHARE = 0.1;
const REGULAR_SHARE = 0.8;
const JITTER_MS = MINUTE_MS;
/** Two requests of one run, such as a retry. */
const SAME_RUN_MS = 10 * SECOND_MS;

const PERIODS: readonly number[] = [
  ...[1, 2, 3, 5, 10, 15, 20, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 3, 4, 6, 8, 12].map((hours) => hours * HOUR_MS),
  ...[1, 2, 3, 7, 14, 30].map((days) => days * DAY_MS),
];

/** The period of regular requests; null if they are too few or irregular. */
export function guessSchedule(arrivals: readonly Instant[]): GuessedSchedule | null {
  const runs = arrivals
    .toSorted((one, other) => one - other)
    .filter((at, index, all) => index === 0 || at - (all[index - 1] ?? 0) > SAME_RUN_MS);
  if (runs.length < ARRIVALS_MIN) return null;
  const gaps = runs.slice(1).map((at, index) => at - (runs[index] ?? 0));
  const median = gaps.toSorted((one, other) => one - other)[Math.floor(gaps.length / 2)] ?? 0;
  const near = (gap: number, period: number) =>
    Math.abs(gap - period) <= Math.min(period / 2, Math.max(JITTER_MS / 2, period * PERIOD_SHARE));
  const period = PERIODS.toSorted((one, other) => Math.abs(one - median) - Math.abs(other - median))[0] ?? 0;
  if (!near(median, period)) return null;
  const regularCount = gaps.filter((gap) => near(gap, period)).length;
  if (regularCount / gaps.length < REGULAR_SHARE) return null;
  const graceMs = Math.min(HOUR_MS, Math.max(MINUTE_MS, period / 6));
  return { timeoutSeconds: period / SECOND_MS, graceSeconds: Math.round(graceMs / MINUTE_MS) * 60 };
}

// Which near misses of a project are kept.

export type Ranked = {
  id: number;
  count: number;
  lastAt: Instant;
  /** It resembles a check, or a user has decided about it. */
  isLikely: boolean;
};

/** What is left of a count after this time. */
const HALF_LIFE_MS = 3 * DAY_MS;
/** Made-up slugs resemble no check. */
const LIKELY_FACTOR = 8;

/** The IDs of those beyond the limit: seen rarely, and longest ago. */
export function toEvict(rows: readonly Ranked[], { max, now }: { max: number; now: Instant }): number[] {
  if (rows.length <= max) return [];
  const score = ({ count, lastAt, isLikely }: Ranked) =>
    count * 2 ** (-Math.max(0, now - lastAt) / HALF_LIFE_MS) * (isLikely ? LIKELY_FACTOR : 1);
  return rows
    .map((row) => ({ ...row, score: score(row) }))
    .toSorted((one, other) => other.score - one.score || other.lastAt - one.lastAt || one.id - other.id)
    .slice(max)
    .map(({ id }) => id);
}
