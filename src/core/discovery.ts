// Checks for the jobs that are found on a machine or in a cluster: their names, slugs, tags, schedules, and grace periods.
import { slugify } from "./identity.ts";
import { type Instant, SECOND_MS } from "./instant.ts";
import {
  DEFAULT_GRACE_SECONDS,
  PERIOD_SECONDS_MAX,
  PERIOD_SECONDS_MIN,
  SLUG_LENGTH_MAX,
  TAGS_LENGTH_MAX,
} from "./limits.ts";
import { nextAfter, parseSchedule } from "./schedule/schedule.ts";

/** When a job is expected: by an expression, or so long after the last run. */
export type ProposedTiming = { schedule: string; tz: string } | { periodSeconds: number };

export type ProposedCheck = {
  name: string;
  /** Unique among the checks that are proposed together. */
  slug: string;
  tags: string;
  desc: string;
  timing: ProposedTiming;
  graceSeconds: number;
  isPaused: boolean;
};

const GRACE_SECONDS_MIN = 300;
/** Runs whose distance is measured. */
const GAPS_MEASURED = 10;

/**
 * As long as the shortest time between two of the next runs, from five minutes to an hour: a job that runs often is
 * reported early, and one that runs once a day has time to finish.
 */
export function proposedGrace(timing: ProposedTiming, now: Instant): number {
  const between = "periodSeconds" in timing ? timing.periodSeconds : shortestGap(timing, now);
  return Math.min(Math.max(between, GRACE_SECONDS_MIN), DEFAULT_GRACE_SECONDS);
}

function shortestGap({ schedule, tz }: { schedule: string; tz: string }, now: Instant): number {
  const read = parseSchedule({ text: schedule, tz });
  let shortest = DEFAULT_GRACE_SECONDS;
  if (read === null) return shortest;
  let at = nextAfter(read, now);
  for (let count = 0; at !== null && count < GAPS_MEASURED; count++) {
    const next: Instant | null = nextAfter(read, at);
    if (next !== null) shortest = Math.min(shortest, (next - at) / SECOND_MS);
    at = next;
  }
  return shortest;
}

/** The grace period within the limits of a check. */
export function boundedGrace(seconds: number): number {
  return Math.min(Math.max(Math.ceil(seconds), PERIOD_SECONDS_MIN), PERIOD_SECONDS_MAX);
}

/** A slug of the names that is not taken; it is taken afterwards. */
export function proposedSlug(names: readonly string[], taken: Set<string>): string {
  const base = slugify(names.map((name) => name.replaceAll(/[./:@]+/g, "-")).join("-")) || "job";
  for (let count = 1; ; count++) {
    const slug = numbered(base, count);
    if (taken.has(slug)) continue;
    taken.add(slug);
    return slug;
  }
}

/** `backup`, `backup-2`, and so on, within the limit. */
export function numbered(slug: string, count: number): string {
  const end = count === 1 ? "" : `-${count}`;
  return `${slug.slice(0, SLUG_LENGTH_MAX - end.length)}${end}`;
}

/** Tags as one text; those that do not fit are left out. */
export function proposedTags(tags: readonly string[]): string {
  const kept: string[] = [];
  for (const tag of tags.map((one) => one.replaceAll(/\s+/g, "-"))) {
    if ([...kept, tag].join(" ").length <= TAGS_LENGTH_MAX) kept.push(tag);
  }
  return kept.join(" ");
}
