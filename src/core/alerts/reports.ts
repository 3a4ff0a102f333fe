// Reports: when a person gets the next one, and what stands in it. Time, and the lot that spreads reports over two
// hours, are handed in.
import type { Instant } from "../instant.ts";
import type { ShownStatus } from "../machine/status.ts";
import type { Downtime, Period, ToldDowntime } from "./downtime.ts";
import { firstDayOf, instantOfLocal, localDay, type PeriodLength } from "./local-time.ts";

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
  downtimes: readonly ToldDowntime[];
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
  const told = checks.map(lastDowntime);
  const last = told.filter((downtime) => downtime !== "uncounted");
  return {
    ...given,
    projects,
    checkCount: checks.length,
    downCount: checks.filter(({ status }) => status === "down").length,
    last: {
      affectedCount: last.filter(({ count }) => count > 0).length,
      count: sum(last.map(({ count }) => count)),
      durationMs: sum(last.map(({ durationMs }) => durationMs)),
      uncountedCount: told.length - last.length,
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
