// Reports: when a person gets the next one, and what stands in it. Time, and the lot that spreads reports over two
// hours, are handed in.
import type { Downtime, Period, ReportedDowntime } from "./downtime.ts";
import { DAY_MS, HOUR_MS, type Instant } from "./instant.ts";
import { firstDayOf, instantOfLocal, localDay, type PeriodLength } from "./local-time.ts";
import type { ShownStatus } from "./state.ts";

/** How often somebody wants a report. */
export const REPORTS = ["off", "daily", "weekly", "monthly"] as const;
export type Reports = (typeof REPORTS)[number];
export const DEFAULT_REPORTS: Reports = "monthly";

/** Reports come from nine in the morning on, at a minute of their own within two hours. */
const FIRST_MINUTE = 9 * 60;
export const REPORT_MINUTES = 120;
/** Complete periods that a report tells of. */
export const REPORT_PERIODS = 2;
/** Whoever has not sent anything for so long has other worries than reports. */
export const ALIVE_DAYS = 180;
/** Checks that one mail lists, worst first; the others are counted. */
export const REPORT_CHECKS_LISTED_MAX = 100;

/** The next report: on the morning of the next day, Monday or first of a month, in the person's zone; never today. */
export function nextReportAt(
  now: Instant,
  { length, zone, minute }: { length: PeriodLength; zone: string; minute: number },
): Instant {
  const day = firstDayOf(length, localDay(now, zone), { offset: 1 });
  return instantOfLocal(day, { minutes: FIRST_MINUTE + minute, zone });
}

/** One check, as a report tells of it. `downtimes` has an entry for each period, oldest first. */
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
  /** The last period over all checks. Those that changed too often are not among the others. */
  last: { affectedCount: number; count: number; durationMs: number; uncountedCount: number };
};

/** Sorts, bounds and sums up what a report says. */
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

/** By the last period's downtime, then by name. What changed too often to be counted is worst. */
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

// Reminders: somebody who wants them is told again and again of what is down, for as long as anything is.

/** How often somebody wants to be reminded. */
export const REMINDERS = ["off", "hourly", "daily"] as const;
export type Reminders = (typeof REMINDERS)[number];
export const DEFAULT_REMINDERS: Reminders = "off";

const EVERY_MS: Readonly<Record<Exclude<Reminders, "off">, number>> = { hourly: HOUR_MS, daily: DAY_MS };

/** Checks that one reminder lists; the others are counted. */
export const REMINDER_CHECKS_LISTED_MAX = 100;

export type ReminderPlan = {
  /** Null: nothing is planned. */
  nextAt: Instant | null;
  /** Whether one is to be sent now. */
  isDue: boolean;
};

/**
 * What is planned from now on, given what was. The clock starts when something is first seen down and stops when
 * nothing is. Reminders that were missed are not made up for.
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
  // Further ahead than one step can only be left from another setting, or from before the clock was set back.
  if (nextAt === null || nextAt > now + everyMs) return { nextAt: now + everyMs, isDue: false };
  if (nextAt > now) return { nextAt, isDue: false };
  const missed = Math.floor((now - nextAt) / everyMs);
  return { nextAt: nextAt + (missed + 1) * everyMs, isDue: true };
}

/** What a reminder says. */
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
