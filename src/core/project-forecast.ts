// The forecast of a project: surprises of its checks that have the same cause are one entry, in words.
import type { Crowd, CrowdDay } from "./crowd.ts";
import { type FixKind, fixesOf, type ForecastWindow, type Surprise, type SurpriseKind } from "./forecast.ts";
import { type Instant, SECOND_MS } from "./instant.ts";
import { FORECAST_CHECKS_LISTED_MAX, FORECAST_ENTRIES_MAX } from "./limits.ts";
import { parseSchedule } from "./schedule/schedule.ts";
import { describeSchedule, MONTHS, placeOf } from "./schedule/wording.ts";
import type { Steps } from "./steps.ts";

export type ForecastCheck = {
  id: number;
  uuid: string;
  name: string;
  schedule: string;
  tz: string;
  /** The usual duration of a run; null: not measured. */
  durationMs: number | null;
};

export type EntryKind = SurpriseKind | "crowded";

/** A change of one check that a fix makes. */
export type FixChange = { check: ForecastCheck; schedule: string; tz: string };
export type EntryFix = { kind: FixKind; label: string; changes: FixChange[] };

export type ForecastEntry = {
  /** Derived from kind, date and zone or schedule: the same in every computation. */
  id: string;
  kind: EntryKind;
  isDismissed: boolean;
  /** The affected days, ascending. */
  dates: string[];
  at: Instant;
  zone: string;
  /** What the calendar shows: runs on that day, or jobs at once. */
  count: number;
  title: string;
  why: string;
  /** All of them; a response lists some. */
  checks: ForecastCheck[];
  fixes: EntryFix[];
};

/** What a mark of a check is about: it expires when the schedule changes. */
export function markSubject({ schedule, tz }: { schedule: string; tz: string }): string {
  return `${tz} ${schedule}`;
}

/** Whether a user has marked a surprise as intended. `checkId` null: of the project. */
export type IsMarked = (mark: { checkId: number | null; kind: EntryKind; subject: string }) => boolean;

const BY_DAY: readonly SurpriseKind[] = ["missed", "repeated", "moved"];

/** The entry that a surprise of a check belongs to. */
export function entryIdOf({ kind, date, zone }: Surprise, check: ForecastCheck): string {
  return BY_DAY.includes(kind) ? `${kind}|${date}|${zone}` : `${kind}|${markSubject(check)}`;
}

type Affected = { check: ForecastCheck; surprises: Surprise[] };

type Group = {
  id: string;
  kind: SurpriseKind;
  isDismissed: boolean;
  at: Instant;
  affected: Map<number, Affected>;
};

/**
 * The entries of checks with their surprises, nearest first: at most FORECAST_ENTRIES_MAX that are intended, and as many
 * that are not.
 */
export function* entriesOf(
  found: Iterable<{ check: ForecastCheck; surprises: readonly Surprise[] }>,
  { isMarked, window }: { isMarked: IsMarked; window: ForecastWindow },
): Steps<{ entries: ForecastEntry[]; isTruncated: boolean }> {
  const groups = new Map<string, Group>();
  for (const { check, surprises } of found) {
    for (const surprise of surprises) {
      const { kind, at } = surprise;
      const isDismissed = isMarked({ checkId: check.id, kind, subject: markSubject(check) });
      const id = entryIdOf(surprise, check);
      const key = `${isDismissed ? "-" : "+"}${id}`;
      const group = groups.get(key) ?? { id, kind, isDismissed, at, affected: new Map<number, Affected>() };
      const affected = group.affected.get(check.id) ?? { check, surprises: [] };
      affected.surprises.push(surprise);
      group.affected.set(check.id, affected);
      groups.set(key, group);
    }
    yield;
  }
  const sorted = [...groups.values()].toSorted(byTime);
  yield;
  const listed = [false, true].flatMap((state) =>
    sorted.filter(({ isDismissed }) => isDismissed === state).slice(0, FORECAST_ENTRIES_MAX),
  );
  const fixes = knownFixes(window);
  const entries: ForecastEntry[] = [];
  for (const group of listed) {
    const entry = yield* entryOf(group, fixes);
    if (entry !== null) entries.push(entry);
  }
  return { entries: entries.toSorted(byTime), isTruncated: listed.length < sorted.length };
}

function* entryOf(
  { id, kind, isDismissed, at, affected }: Group,
  fixes: KnownFixes,
): Steps<ForecastEntry | null> {
  const all = [...affected.values()];
  const [first] = all;
  const [surprise] = first?.surprises ?? [];
  if (first === undefined || surprise === undefined) return null;
  return {
    id,
    kind,
    isDismissed,
    dates: kind === "either" || kind === "ended" ? [] : datesOf(first.surprises),
    at,
    zone: surprise.zone,
    count: badgeOf(kind, surprise),
    ...wordsOf(kind, all, surprise),
    checks: all.map(({ check }) => check),
    fixes: yield* fixesOfEntry(all, fixes),
  };
}

type Ordered = Pick<ForecastEntry, "id" | "kind" | "at">;

export function byTime(one: Ordered, other: Ordered): number {
  return orderOf(one) - orderOf(other) || (one.id < other.id ? -1 : 1);
}

/** What has no date comes last, as it is there all the time. */
function orderOf({ kind, at }: Ordered): number {
  return kind === "either" || kind === "ended" ? Number.MAX_SAFE_INTEGER : at;
}

function datesOf(surprises: readonly Surprise[]): string[] {
  return [...new Set(surprises.map(({ date }) => date))].toSorted();
}

const MONTHS_PER_YEAR = 12;

function badgeOf(kind: SurpriseKind, { count, usual }: Surprise): number {
  switch (kind) {
    case "repeated":
      return count * 2;
    case "either":
      return Math.max(1, Math.round((count + usual) / MONTHS_PER_YEAR));
    case "moved":
    case "last":
      return 1;
    case "missed":
    case "skipped":
    case "ended":
      return 0;
  }
}

// Fixes

type KnownFixes = (affected: Affected) => ReturnType<typeof fixesOf>;

/** Checks with the same schedule have the same fixes. */
function knownFixes(window: ForecastWindow): KnownFixes {
  const known = new Map<string, ReturnType<typeof fixesOf>>();
  return ({ check, surprises: [surprise] }) => {
    if (surprise === undefined) return [];
    const key = `${surprise.kind} ${surprise.date} ${markSubject(check)}`;
    const found = known.get(key) ?? fixesOf(check, surprise, window);
    known.set(key, found);
    return found;
  };
}

/** The fixes that all checks of an entry have, for the checks that are listed. */
function* fixesOfEntry(all: readonly Affected[], fixes: KnownFixes): Steps<EntryFix[]> {
  const listed = all.slice(0, FORECAST_CHECKS_LISTED_MAX);
  const offers: { check: ForecastCheck; offered: ReturnType<KnownFixes> }[] = [];
  for (const affected of listed) {
    offers.push({ check: affected.check, offered: fixes(affected) });
    yield;
  }
  return (offers[0]?.offered ?? []).flatMap(({ kind }) => {
    const changes = offers.flatMap(({ check, offered }) => {
      const fix = offered.find((one) => one.kind === kind);
      return fix === undefined ? [] : [{ check, schedule: fix.schedule, tz: fix.tz }];
    });
    return changes.length === listed.length ? [{ kind, label: fixLabel(kind, changes), changes }] : [];
  });
}

function fixLabel(kind: FixKind, changes: readonly FixChange[]): string {
  switch (kind) {
    case "later": {
      const times = new Set(changes.map(({ schedule }) => timeIn(schedule)));
      const [time] = times;
      return times.size === 1 && time !== undefined && time !== null ? `Move to ${time}` : "Move to later";
    }
    case "utc":
      return "Use UTC";
    case "once":
      return "Run only the first time";
    case "lastDay":
      return "Run on the last day";
    case "nth":
      return "Run once a month";
    case "both":
      return "Run only if both match";
    case "spread":
      return "Spread them out";
  }
}

/** "04:30" of "30 4 * * *" or "*-*-* 04:30". */
function timeIn(schedule: string): string | null {
  const cron = /^\s*(\d+)\s+(\d+)\s/.exec(schedule);
  if (cron !== null) return `${two(Number(cron[2]))}:${two(Number(cron[1]))}`;
  return /\d{2}:\d{2}/.exec(schedule)?.[0] ?? null;
}

// Words

function two(number: number): string {
  return String(number).padStart(2, "0");
}

/** "03:30" of a reading in seconds. */
function clockText(reading: number): string {
  return new Date(reading * SECOND_MS).toISOString().slice(11, 16);
}

/** "Sunday, 28 March 2027". */
function dayText(date: string): string {
  const day = new Date(`${date}T00:00:00Z`);
  const weekday = new Intl.DateTimeFormat("en-US", { weekday: "long", timeZone: "UTC" }).format(day);
  return `${weekday}, ${day.getUTCDate()} ${MONTHS[day.getUTCMonth()]} ${day.getUTCFullYear()}`;
}

const NAMES_LISTED_MAX = 5;

function nameOf({ name }: { name: string }): string {
  return name === "" ? "An unnamed check" : name;
}

function joined(items: readonly string[]): string {
  return items.length < 2 ? (items[0] ?? "") : `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
}

function namesOf(checks: readonly { name: string }[]): string {
  if (checks.length <= NAMES_LISTED_MAX) return joined(checks.map(nameOf));
  const shown = checks.slice(0, NAMES_LISTED_MAX).map(nameOf);
  return `${shown.join(", ")} and ${checks.length - NAMES_LISTED_MAX} more`;
}

/** "03:00 to 04:00 does not exist that night in Riga." */
function spanText({ span, zone }: Surprise, verb: string): string {
  if (span === null) return "";
  const part = new Date(span.from * SECOND_MS).getUTCHours() < 6 ? "night" : "day";
  return `${clockText(span.from)} to ${clockText(span.to)} ${verb} that ${part} in ${placeOf(zone)}`;
}

function wordsOf(
  kind: SurpriseKind,
  all: readonly Affected[],
  surprise: Surprise,
): { title: string; why: string } {
  const [first] = all;
  const check = first?.check ?? { name: "", schedule: "", tz: "UTC" };
  const isOne = all.length === 1;
  const who = isOne ? nameOf(check) : `${all.length} jobs`;
  const s = isOne ? "s" : "";
  const does = isOne ? "does" : "do";
  const names = isOne ? "" : ` ${namesOf(all.map((one) => one.check))}.`;
  const { count, usual, span, zone, reading, date } = surprise;
  const isWhole = all.every(({ surprises: [one] }) => one === undefined || one.count >= one.usual);
  switch (kind) {
    case "missed":
      return {
        title: isWhole ? `${who} ${does} not run` : `${who} skip${s} ${isOne ? runsText(count) : "runs"}`,
        why: `${spanText(surprise, "does not exist")}: clocks go forward. Overdue expects no ping then, and does not alert.${names}`,
      };
    case "moved": {
      const end = clockText(span?.to ?? 0);
      const what = isOne
        ? `${who} runs at ${end} instead of ${clockText(reading)}`
        : `${who} run later than usual`;
      return {
        title: what,
        why: `${spanText(surprise, "does not exist")}: clocks go forward. Cron catches up at ${end}, and Overdue expects the ping then.${names}`,
      };
    }
    case "repeated": {
      const isTwice = all.every(({ surprises: [one] }) => one?.count === 1 && one.usual === 1);
      const times = isTwice ? "twice" : isOne ? `${usual + count} times instead of ${usual}` : "more often";
      return {
        title: `${who} run${s} ${times}`,
        why: `${spanText(surprise, "comes twice")}: clocks go back.${names}`,
      };
    }
    case "skipped":
      return {
        title: `${who} ${does} not run`,
        why: `\`${check.schedule}\` asks for the ${ordinal(reading)}, which ${monthsText(datesOf(first?.surprises ?? []))} not have.${names}`,
      };
    case "either":
      return {
        title: `${who} run${s} more often than ${isOne ? "it says" : "they say"}`,
        why: `To cron, \`${check.schedule}\` means days that match the day of the month or the day of the week: ${count + usual} days in the next 12 months, and only ${usual} match both. ${described(check)}${names}`,
      };
    case "last":
      return {
        title: `${who} run${s} for the last time`,
        why: `\`${oneLine(check.schedule)}\` names no later year. After ${dayText(date)}, ${clockText(reading)} in ${placeOf(zone)}, no more pings are expected, and Overdue cannot alert.${names}`,
      };
    case "ended":
      return {
        title: `${who} never run${s} again`,
        why:
          date === ""
            ? `\`${oneLine(check.schedule)}\` asks for a day that does not exist. No pings are expected, and Overdue cannot alert.${names}`
            : `\`${oneLine(check.schedule)}\` ended on ${dayText(date)}. No more pings are expected, and Overdue cannot alert.${names}`,
      };
  }
}

function oneLine(schedule: string): string {
  return schedule
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join("; ");
}

function runsText(count: number): string {
  return count === 1 ? "1 run" : `${count} runs`;
}

function described({ schedule, tz }: { schedule: string; tz: string }): string {
  const parsed = parseSchedule({ text: schedule, tz });
  return parsed === null ? "" : describeSchedule(parsed);
}

function ordinal(day: number): string {
  return day === 31 ? "31st" : `${day}th`;
}

/** "November, February and April do", "February does". */
function monthsText(dates: readonly string[]): string {
  const months = [...new Set(dates.map((date) => MONTHS[Number(date.slice(5, 7)) - 1] ?? ""))];
  return `${joined(months)} ${months.length === 1 ? "does" : "do"}`;
}

// Crowded minutes

/** "02:00" of minutes after midnight. */
export function minuteText(minute: number): string {
  return clockText(minute * 60);
}

export function crowdSubject({ minute }: Pick<Crowd, "minute">, tz: string): string {
  return `${tz} ${minuteText(minute)}`;
}

/** Days on which more jobs than usual start at once, as entries. */
export function crowdEntries(
  days: readonly CrowdDay[],
  {
    checks,
    zone,
    isMarked,
  }: { checks: ReadonlyMap<number, ForecastCheck>; zone: string; isMarked: IsMarked },
): ForecastEntry[] {
  return days.map(({ date, at, count, usual, ids }) => {
    const named = ids.flatMap((id) => checks.get(id) ?? []);
    const time = new Intl.DateTimeFormat("en-GB", {
      hour: "2-digit",
      minute: "2-digit",
      timeZone: zone,
    }).format(at);
    const than = usual === 0 ? "" : ` On other days, at most ${usual === 1 ? "1 does" : `${usual} do`}.`;
    return {
      id: `crowded|${date}|${time}`,
      kind: "crowded" as const,
      isDismissed: isMarked({ checkId: null, kind: "crowded", subject: `${date} ${time}` }),
      dates: [date],
      at,
      zone,
      count,
      title: `${count} jobs start at ${time}`,
      why: `${namesOf(named)} start in the same minute.${than}`,
      checks: named,
      fixes: [],
    };
  });
}

/** The entry that matters most: runs that are lost, for most checks, and then the nearest. */
export function worstOf(entries: readonly ForecastEntry[]): ForecastEntry | null {
  const rank: Readonly<Record<EntryKind, number>> = {
    ended: 6,
    missed: 5,
    skipped: 4,
    repeated: 3,
    last: 2,
    crowded: 1,
    either: 1,
    moved: 0,
  };
  const [worst] = entries.toSorted(
    (one, other) => rank[other.kind] - rank[one.kind] || other.checks.length - one.checks.length,
  );
  return worst ?? null;
}
