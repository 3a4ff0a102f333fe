// Reports and reminders by email: when they are due, and their contents. Time and the random minute are
// passed in.
import type { Downtime, Period, ReportedDowntime } from "./downtime.ts";
import { DAY_MS, HOUR_MS, type Instant } from "./instant.ts";
import { firstDayOf, instantOfLocal, localDay, type PeriodLength } from "./local-time.ts";
import type { ShownStatus } from "./state.ts";

/** How often a user gets a report. */
export const REPORTS = ["off", "daily", "weekly", "monthly"] as const;
export type Reports = (typeof REPORTS)[number];
export const DEFAULT_REPORTS: Reports = "monthly";

/** Reports are sent from nine in the morning on, each at its own minute within two hours. */
const FIRST_MINUTE = 9 * 60;
export const REPORT_MINUTES = 120;
/** Complete periods in a report. */
export const REPORT_PERIODS = 2;
/** No reports to accounts whose checks had no pings for this long. */
export const ALIVE_DAYS = 180;
/** Checks listed in one email, worst first; the others are counted. */
export const REPORT_CHECKS_LISTED_MAX = 100;

/**
 * The next report: on the morning of the next day, Monday or first of a month, in the account's time zone; never
 * today.
 */
export function nextReportAt(
  now: Instant,
  { length, zone, minute }: { length: PeriodLength; zone: string; minute: number },
): Instant {
  const day = firstDayOf(length, localDay(now, zone), { offset: 1 });
  return instantOfLocal(day, { minutes: FIRST_MINUTE + minute, zone });
}

/** A check in a report. `downtimes` has an entry for each period, oldest first. */
export type ReportedCheck = {
  uuid: string;
  name: string;
  projectName: string;
  status: ShownStatus;
  lastPingAt: Instant | null;
  downtimes: readonly ReportedDowntime[];
};

export type ReportedProject = { name: string; checks: readonly ReportedCheck[]; unlistedCount: number };

export type ReportFacts = {
  length: PeriodLength;
  /** Complete ones, oldest first. */
  periods: readonly Period[];
  zone: string;
  projects: readonly ReportedProject[];
  checkCount: number;
  downCount: number;
  /** Totals of the last period. Checks that changed too often are counted separately. */
  last: { affectedCount: number; count: number; durationMs: number; uncountedCount: number };
};

/** Sorts, limits and summarizes the checks of a report. */
export function reportOf(
  checks: readonly ReportedCheck[],
  given: Pick<ReportFacts, "length" | "periods" | "zone">,
): ReportFacts {
  const sorted = checks.toSorted(worstFirst);
  const listed = new Set(sorted.slice(0, REPORT_CHECKS_LISTED_MAX));
  const names = [...new Set(checks.map(({ projectName }) => projectName))].toSorted(NAMES.compare);
  const projects = names.map((name) => {
    const own = sorted.filter(({ projectName }) => projectName === name);
    const shown = own.filter((check) => listed.has(check));
    return { name, checks: shown, unlistedCount: own.length - shown.length };
  });
  const downtimes = checks.map(lastDowntime);
  const last = downtimes.filter((downtime) => downtime !== "uncounted");
  return {
    ...given,
    projects,
    checkCount: checks.length,
    downCount: checks.filter(({ status }) => status === "down").length,
    last: {
      affectedCount: last.filter(({ count }) => count > 0).length,
      count: sum(last.map(({ count }) => count)),
      durationMs: sum(last.map(({ durationMs }) => durationMs)),
      uncountedCount: downtimes.length - last.length,
    },
  };
}

const NAMES = new Intl.Collator("en", { numeric: true });
const NONE: Downtime = { count: 0, durationMs: 0 };

function lastDowntime({ downtimes }: ReportedCheck): Downtime | "uncounted" {
  return downtimes.at(-1) ?? NONE;
}

/** By the downtime of the last period, then by name. Checks with too many changes to count come first. */
function worstFirst(one: ReportedCheck, other: ReportedCheck): number {
  const [mine, theirs] = [badness(one), badness(other)];
  return mine === theirs ? NAMES.compare(one.name, other.name) : theirs - mine;
}

function badness(check: ReportedCheck): number {
  const downtime = lastDowntime(check);
  return downtime === "uncounted" ? Infinity : downtime.durationMs;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** How often a user gets reminders while checks are down. */
export const REMINDERS = ["off", "hourly", "daily"] as const;
export type Reminders = (typeof REMINDERS)[number];
export const DEFAULT_REMINDERS: Reminders = "off";

const EVERY_MS: Readonly<Record<Exclude<Reminders, "off">, number>> = { hourly: HOUR_MS, daily: DAY_MS };

/** Checks that one reminder lists; the others are counted. */
export const REMINDER_CHECKS_LISTED_MAX = 100;

export type ReminderPlan = {
  /** Null: nothing is planned. */
  nextAt: Instant | null;
  /** Whether to send one now. */
  isDue: boolean;
};

/**
 * The next reminder. The timer starts when a check is first seen down and stops when none is. Missed
 * reminders are not sent later.
 */
export function planReminder({
  reminders,
  nextAt,
  hasDown,
  now,
}: {
  reminders: Reminders;
  nextAt: Instant | null;
  hasDown: boolean;
  now: Instant;
}): ReminderPlan {
  if (reminders === "off" || !hasDown) return { nextAt: null, isDue: false };
  const everyMs = EVERY_MS[reminders];
  // A time further ahead than one interval is left over from another setting, or from before the clock was set back.
  if (nextAt === null || nextAt > now + everyMs) return { nextAt: now + everyMs, isDue: false };
  if (nextAt > now) return { nextAt, isDue: false };
  const missed = Math.floor((now - nextAt) / everyMs);
  return { nextAt: nextAt + (missed + 1) * everyMs, isDue: true };
}

/** The contents of a reminder. */
export type ReminderFacts = {
  zone: string;
  /** The first of them, by project and name. */
  down: readonly {
    uuid: string;
    name: string;
    projectName: string;
    lastPingAt: Instant | null;
    downSinceAt: Instant | null;
  }[];
  downCount: number;
};
