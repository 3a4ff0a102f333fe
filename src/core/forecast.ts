// What will surprise the owner of a schedule in the next year: runs that a clock change skips, repeats or moves, days
// that a month does not have, days that cron joins with "or", and schedules that end.
import { DAY_MS, type Instant, SECOND_MS } from "./instant.ts";
import { FORECAST_DAYS, FORECAST_PER_SCHEDULE_MAX } from "./limits.ts";
import {
  type CalendarRule,
  compileCalendar,
  type DayRule,
  hasMember,
  nextReading,
  NO_READING,
  setMembers,
} from "./schedule/calendar.ts";
import { splitWords } from "./schedule/problem.ts";
import { type Line, nextAfter, type ParsedSchedule, parseSchedule } from "./schedule/schedule.ts";
import { type ClockChange, clockChanges, stretchAt, type Zone } from "./schedule/zone.ts";

/**
 * `missed`, `repeated`, `moved`: by a clock change, it does not run, runs more often, or runs later. `skipped`: a month
 * does not have the day. `either`: it runs on days that match only one of the two day fields. `last`: it runs for the
 * last time. `ended`: it never runs again.
 */
export const SURPRISE_KINDS = ["missed", "repeated", "moved", "skipped", "either", "last", "ended"] as const;
export type SurpriseKind = (typeof SURPRISE_KINDS)[number];

export const FIX_KINDS = ["later", "utc", "once", "lastDay", "nth", "both", "spread"] as const;
/**
 * `later`: after the skipped time. `utc`: the same time in UTC. `once`: only the first of two equal times. `lastDay`:
 * the last day of the month. `nth`: as the nth weekday. `both`: days that match both fields. `spread`: away from others.
 */
export type FixKind = (typeof FIX_KINDS)[number];

export type Timing = { schedule: string; tz: string };

export type Fix = Timing & { kind: FixKind };

/** The clock times that a change skips or repeats, and by how much. Readings in seconds. */
export type ClockSpan = { from: number; to: number };

export type Surprise = {
  kind: SurpriseKind;
  /** The day in `zone`, as "2027-03-28". Of `either` the first such day; of `ended` the last run, "" if there was none. */
  date: string;
  /** The start of the clock change, the last run, or the start of the day. */
  at: Instant;
  zone: string;
  /** The clock times of a change; null for other kinds. */
  span: ClockSpan | null;
  /** Runs that are affected: skipped or repeated ones. Of `either`, days of the year that match one field only. */
  count: number;
  /** Runs on that day by the expression alone. Of `either`, days of the year that match both fields. */
  usual: number;
  /** The first affected time, as a reading; the day of the month that is missing for `skipped`. */
  reading: number;
};

export type ForecastWindow = { from: Instant; until: Instant };

/** Whole days in UTC, so that the answer is the same all day. */
export function forecastWindow(now: Instant): ForecastWindow {
  const from = Math.floor(now / DAY_MS) * DAY_MS;
  return { from, until: from + FORECAST_DAYS * DAY_MS };
}

/** The clock changes of zones in a window, each computed once. */
export type ChangesOf = (zone: Zone) => readonly ClockChange[];

export function changesIn({ from, until }: ForecastWindow): ChangesOf {
  const known = new Map<string, readonly ClockChange[]>();
  return (zone) => {
    const found =
      known.get(zone.name) ?? clockChanges(zone, { from: from / SECOND_MS - 1, to: until / SECOND_MS });
    known.set(zone.name, found);
    return found;
  };
}

/** The surprises of a schedule by date, at most FORECAST_PER_SCHEDULE_MAX. An invalid schedule has none. */
export function surprisesOf(
  { schedule: text, tz }: Timing,
  window: ForecastWindow,
  changesOf: ChangesOf = changesIn(window),
): Surprise[] {
  const schedule = parseSchedule({ text, tz });
  if (schedule === null) return [];
  const found = new Map<string, Surprise>();
  const add = (surprise: Surprise) => {
    const key = `${surprise.kind} ${surprise.date} ${surprise.zone}`;
    if (!found.has(key)) found.set(key, surprise);
  };
  const end = endOf(schedule, window);
  if (end !== null) add(end);
  if (end?.kind !== "ended") {
    for (const line of schedule.lines) {
      for (const change of changesOf(line.zone)) {
        const surprise = atChange(line, change);
        if (surprise !== null) add(surprise);
      }
      for (const surprise of missingDays(line, window)) add(surprise);
      const either = eitherDay(line, window);
      if (either !== null) add(either);
    }
  }
  return [...found.values()]
    .toSorted(
      (one, other) =>
        one.at - other.at || SURPRISE_KINDS.indexOf(one.kind) - SURPRISE_KINDS.indexOf(other.kind),
    )
    .slice(0, FORECAST_PER_SCHEDULE_MAX);
}

// Clock changes

/** More readings than this in the span of a change: it runs through it, and nothing is missing. */
const SPAN_READINGS_MAX = 240;
const DAY_SECONDS = 86_400;
const LAST_YEAR = 2_199;

/** Matching readings from `from` up to `to`, which is excluded. */
function readingsIn({ calendar }: Line, { from, to }: ClockSpan, max = SPAN_READINGS_MAX): number[] {
  const found: number[] = [];
  let reading = nextReading(calendar, { after: from - 1, lastYear: LAST_YEAR });
  while (reading !== NO_READING && reading < to && found.length < max) {
    found.push(reading);
    reading = nextReading(calendar, { after: reading, lastYear: LAST_YEAR });
  }
  return found;
}

function atChange(line: Line, { at, before, after }: ClockChange): Surprise | null {
  const isGap = after > before;
  const size = Math.abs(after - before);
  const start = at + Math.min(before, after);
  const span = { from: start, to: start + size };
  // Of a repeated time, only this mode uses both.
  if (!isGap && line.mode !== "interval") return null;
  const inside = readingsIn(line, span);
  const [first] = inside;
  if (first === undefined || isContinuous(line, { span, size, inside })) return null;
  const day = Math.floor(span.from / DAY_SECONDS) * DAY_SECONDS;
  const kind = isGap ? (line.mode === "clock" ? "moved" : "missed") : "repeated";
  return {
    kind,
    date: dateOf(span.from),
    at: at * SECOND_MS,
    zone: line.zone.name,
    span,
    count: inside.length,
    usual: readingsIn(line, { from: day, to: day + DAY_SECONDS }).length,
    reading: first,
  };
}

/**
 * Whether the same pattern comes before and after the span, such as every ten minutes: then time passes evenly between
 * the runs, and nobody misses one.
 */
function isContinuous(
  line: Line,
  { span, size, inside }: { span: ClockSpan; size: number; inside: readonly number[] },
): boolean {
  if (inside.length >= SPAN_READINGS_MAX) return true;
  return [-size, size].every((shift) => {
    const beside = readingsIn(line, { from: span.from + shift, to: span.to + shift });
    return (
      beside.length === inside.length && beside.every((reading, index) => reading - shift === inside[index])
    );
  });
}

/** "2027-03-28" of a reading. */
export function dateOf(reading: number): string {
  return new Date(reading * SECOND_MS).toISOString().slice(0, 10);
}

function readingAt(zone: Zone, at: Instant): number {
  const second = Math.floor(at / SECOND_MS);
  return second + stretchAt(zone, second).offset;
}

// Days that a month does not have

/** With more days than this, an expression is a pattern, and no single day counts. */
const LISTED_DATES_MAX = 4;
const ALL_WEEKDAYS = 0x7f;
const SHORTEST_MONTH = 28;

function hasAllWeekdays({ weekdays }: DayRule): boolean {
  return weekdays.low === ALL_WEEKDAYS;
}

/** The dates after the 28th that some months lack, if the rule asks for single days of the month. */
function datesAtRisk({ days }: CalendarRule): number[] {
  const dates = setMembers(days.dates);
  const isByDate =
    dates.length > 0 &&
    dates.length <= LISTED_DATES_MAX &&
    setMembers(days.lastDates).length === 0 &&
    !days.lastWorkday &&
    days.join === "and" &&
    hasAllWeekdays(days);
  // "28-31" is a way to write the last days: the day before counts as well.
  return isByDate ? dates.filter((date) => date > SHORTEST_MONTH && !hasMember(days.dates, date - 1)) : [];
}

function missingDays({ calendar: { rule }, zone }: Line, { from, until }: ForecastWindow): Surprise[] {
  const dates = datesAtRisk(rule);
  if (dates.length === 0) return [];
  const today = new Date(readingAt(zone, from) * SECOND_MS);
  const found: Surprise[] = [];
  for (let month = 0; month <= 12; month += 1) {
    const last = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + month + 1, 0));
    const isListed =
      hasMember(rule.months, last.getUTCMonth() + 1) &&
      (rule.years === null || rule.years.includes(last.getUTCFullYear()));
    const missing = dates.find((date) => date > last.getUTCDate());
    if (!isListed || missing === undefined || last.getTime() >= until) continue;
    found.push({
      kind: "skipped",
      date: dateOf(last.getTime() / SECOND_MS),
      at: last.getTime(),
      zone: zone.name,
      span: null,
      count: 1,
      usual: 1,
      reading: missing,
    });
  }
  return found;
}

// Days by date or weekday

function eitherDay({ calendar: { rule }, zone }: Line, window: ForecastWindow): Surprise | null {
  if (rule.days.join !== "or") return null;
  const from = readingAt(zone, window.from);
  const to = readingAt(zone, window.until);
  const daysOf = (join: DayRule["join"]) => {
    const calendar = compileCalendar({ ...rule, days: { ...rule.days, join } });
    const days: number[] = [];
    let reading = nextReading(calendar, { after: from - 1, lastYear: LAST_YEAR });
    while (reading !== NO_READING && reading < to) {
      const day = Math.floor(reading / DAY_SECONDS) * DAY_SECONDS;
      days.push(day);
      reading = nextReading(calendar, { after: day + DAY_SECONDS - 1, lastYear: LAST_YEAR });
    }
    return days;
  };
  const both = new Set(daysOf("and"));
  const only = daysOf("or").filter((day) => !both.has(day));
  const [first] = only;
  if (first === undefined) return null;
  return {
    kind: "either",
    date: dateOf(first),
    at: first * SECOND_MS,
    zone: zone.name,
    span: null,
    count: only.length,
    usual: both.size,
    reading: first,
  };
}

// The end of a schedule

/** Only schedules that name years end, apart from dates that never come. */
function endOf(schedule: ParsedSchedule, { from, until }: ForecastWindow): Surprise | null {
  const [line] = schedule.lines;
  if (line === undefined) return null;
  const mayEnd = schedule.lines.every(
    ({ calendar }) => calendar.years !== null || calendar.months.every((months) => months === 0),
  );
  if (!mayEnd || nextAfter(schedule, until - SECOND_MS) !== null) return null;
  const isEnded = nextAfter(schedule, from - SECOND_MS) === null;
  const at = lastRun(schedule, until);
  return {
    kind: isEnded ? "ended" : "last",
    date: at === null ? "" : dateOf(readingAt(line.zone, at)),
    at: at ?? 0,
    zone: line.zone.name,
    span: null,
    count: 1,
    usual: 1,
    reading: at === null ? 0 : readingAt(line.zone, at),
  };
}

/** The last firing before an instant after which there is none. */
function lastRun(schedule: ParsedSchedule, until: Instant): Instant | null {
  if (nextAfter(schedule, 0) === null) return null;
  let low = 0;
  let high = until;
  while (high - low > SECOND_MS) {
    const half = Math.floor((low + high) / 2 / SECOND_MS) * SECOND_MS;
    if (nextAfter(schedule, half) === null) high = half;
    else low = half;
  }
  return nextAfter(schedule, low);
}

// Fixes

const HOURS = 24;
const MINUTES = 60;
const HOUR_SECONDS = 3_600;
const CRON_WORDS = 5;

const CLOCK_KINDS: readonly SurpriseKind[] = ["missed", "moved", "repeated"];

/** Other schedules without the surprise, in the order in which they are offered. */
export function fixesOf(timing: Timing, surprise: Surprise, window: ForecastWindow): Fix[] {
  const schedule = parseSchedule({ text: timing.schedule, tz: timing.tz });
  if (schedule === null) return [];
  const found = candidates(timing, schedule, surprise).filter((fix): fix is Fix => fix !== null);
  return found.filter((fix) => isBetter(fix, surprise, window));
}

function isBetter(fix: Fix, { kind }: Surprise, window: ForecastWindow): boolean {
  const parsed = parseSchedule({ text: fix.schedule, tz: fix.tz });
  if (parsed === null || nextAfter(parsed, window.from) === null) return false;
  // A job that runs late once a year is better than one that runs twice.
  const worse = fix.kind === "once" ? CLOCK_KINDS.filter((one) => one !== "moved") : CLOCK_KINDS;
  const isByClock = CLOCK_KINDS.includes(kind);
  return !surprisesOf(fix, window).some(
    (left) => left.kind === kind || (isByClock && worse.includes(left.kind)),
  );
}

function candidates(timing: Timing, schedule: ParsedSchedule, surprise: Surprise): (Fix | null)[] {
  switch (surprise.kind) {
    case "missed":
    case "moved":
      return [laterFix(timing, surprise), utcFix(timing, schedule, surprise)];
    case "repeated":
      return [onceFix(timing, schedule), laterFix(timing, surprise), utcFix(timing, schedule, surprise)];
    case "skipped":
      return [lastDayFix(timing, schedule)];
    case "either":
      return [nthFix(timing, schedule) ?? bothFix(timing, schedule)];
    case "last":
    case "ended":
      return [];
  }
}

/** The time of day of a text with a single one, in minutes, and the text with another one. */
export type ClockText = { minutes: number; withMinutes: (minutes: number) => string };

const NUMBER = /^\d+$/;
/** Cron: minute, hour, rest. */
const CRON_CLOCK = /^(\s*)(\S+)(\s+)(\d+)(\s.*)$/s;
const CALENDAR_CLOCK = /(^|\s)(\d{1,2}):(\d{1,2})(?=:|\s|$)/;

const two = (number: number) => String(number).padStart(2, "0");

/** Null if the text has no single hour, or no single minute while `needsMinute`. */
export function clockOf({ schedule }: Pick<Timing, "schedule">, needsMinute: boolean): ClockText | null {
  const cron = splitWords(schedule).length === CRON_WORDS ? CRON_CLOCK.exec(schedule) : null;
  if (cron !== null) {
    const [, start = "", minute = "", space = " ", hour = "0", rest = ""] = cron;
    const isSingle = NUMBER.test(minute);
    if (!isSingle && needsMinute) return null;
    return {
      minutes: Number(hour) * MINUTES + (isSingle ? Number(minute) : 0),
      withMinutes: (minutes) => {
        const text = isSingle ? String(minutes % MINUTES) : minute;
        return `${start}${text}${space}${Math.floor(minutes / MINUTES)}${rest}`;
      },
    };
  }
  if (schedule.trim().includes("\n")) return null;
  const match = CALENDAR_CLOCK.exec(schedule);
  if (match === null) return null;
  const [whole, space = "", hour = "0", minute = "0"] = match;
  return {
    minutes: Number(hour) * MINUTES + Number(minute),
    withMinutes: (minutes) =>
      schedule.replace(whole, `${space}${two(Math.floor(minutes / MINUTES))}:${two(minutes % MINUTES)}`),
  };
}

function laterFix(timing: Timing, { span }: Surprise): Fix | null {
  if (span === null) return null;
  const size = span.to - span.from;
  const clock = clockOf(timing, size % HOUR_SECONDS !== 0);
  const minutes = (clock?.minutes ?? 0) + size / MINUTES;
  if (clock === null || minutes >= HOURS * MINUTES) return null;
  return { kind: "later", schedule: clock.withMinutes(minutes), tz: timing.tz };
}

/** The same time in winter. Not if it falls on another day, unless it runs every day. */
function utcFix(timing: Timing, schedule: ParsedSchedule, { at }: Surprise): Fix | null {
  const [line, more] = schedule.lines;
  const clock = clockOf(timing, true);
  if (line === undefined || more !== undefined || clock === null) return null;
  // A zone at the end of an OnCalendar line would stay.
  if (timing.schedule.includes(line.zone.name)) return null;
  const second = at / SECOND_MS;
  const offset = Math.min(stretchAt(line.zone, second - 1).offset, stretchAt(line.zone, second).offset);
  const { days, months } = line.calendar.rule;
  const isDaily =
    days.join === "and" &&
    hasAllWeekdays(days) &&
    setMembers(days.dates).length === 31 &&
    setMembers(months).length === 12;
  const minutes = clock.minutes - offset / MINUTES;
  const inDay = HOURS * MINUTES;
  if (!Number.isInteger(minutes) || (!isDaily && (minutes < 0 || minutes >= inDay))) return null;
  return { kind: "utc", schedule: clock.withMinutes((minutes + inDay) % inDay), tz: "UTC" };
}

/** Cron runs a repeated time once if neither the minute nor the hour begins with a star. */
function onceFix({ schedule, tz }: Timing, { kind }: ParsedSchedule): Fix | null {
  const [minute = "", hour = "", ...days] = splitWords(schedule);
  if (kind !== "cron") return null;
  const listed = (text: string, last: number) => text.replace(/^\*/, `0-${last}`);
  return {
    kind: "once",
    schedule: [listed(minute, MINUTES - 1), listed(hour, HOURS - 1), ...days].join(" "),
    tz,
  };
}

function lastDayFix({ schedule, tz }: Timing, { kind, lines }: ParsedSchedule): Fix | null {
  const [line, more] = lines;
  if (line === undefined || more !== undefined) return null;
  const atRisk = datesAtRisk(line.calendar.rule);
  if (kind === "cron") {
    const [minute = "", hour = "", dates = "", ...rest] = splitWords(schedule);
    const terms = dates.split(",").filter((term) => !atRisk.includes(Number(term)));
    return { kind: "lastDay", schedule: [minute, hour, [...terms, "L"].join(","), ...rest].join(" "), tz };
  }
  // A date word has one kind of day: from the start of the month, or from its end.
  return { kind: "lastDay", schedule: schedule.replace(/-(?:29|30|31)(?=\s|$)/, "~01"), tz };
}

const WEEKS = ["1-7", "8-14", "15-21", "22-28"];
const LAST_WEEK = "25-31";
const WEEKDAY_NAMES = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/** "0 8 1-7 * 1" as "0 8 * * 1#1". */
function nthFix({ schedule, tz }: Timing, { lines: [line] }: ParsedSchedule): Fix | null {
  const [minute = "", hour = "", dates = "", months = ""] = splitWords(schedule);
  if (line === undefined) return null;
  const { weekdays, nthWeekdays, lastWeekdays } = line.calendar.rule.days;
  const isPlain = nthWeekdays.length === 0 && setMembers(lastWeekdays).length === 0;
  const nth = WEEKS.indexOf(dates) + 1;
  if (!isPlain || (nth === 0 && dates !== LAST_WEEK)) return null;
  const days = setMembers(weekdays).map((day) => (nth === 0 ? `${day}L` : `${day}#${nth}`));
  return { kind: "nth", schedule: [minute, hour, "*", months, days.join(",")].join(" "), tz };
}

/** "0 0 13 * 5" as "Fri *-*-13 00:00": OnCalendar joins days with "and". */
function bothFix(timing: Timing, { lines: [line] }: ParsedSchedule): Fix | null {
  const clock = clockOf(timing, true);
  if (line === undefined || clock === null) return null;
  const { days, months } = line.calendar.rule;
  const weekdays = setMembers(days.weekdays);
  const dates = setMembers(days.dates);
  const isPlain =
    days.nthWeekdays.length === 0 &&
    setMembers(days.lastWeekdays).length === 0 &&
    setMembers(days.lastDates).length === 0 &&
    !days.lastWorkday;
  // With every weekday, only the dates are left to mean.
  if (!isPlain || weekdays.length === WEEKDAY_NAMES.length) return null;
  const listed = setMembers(months);
  const month = listed.length === 12 ? "*" : listed.map(two).join(",");
  const named = weekdays.map((day) => WEEKDAY_NAMES[day]).join(",");
  const time = `${two(Math.floor(clock.minutes / MINUTES))}:${two(clock.minutes % MINUTES)}`;
  return { kind: "both", schedule: `${named} *-${month}-${spans(dates)} ${time}`, tz: timing.tz };
}

/** "1..7,13": numbers as ranges. */
function spans(numbers: readonly number[]): string {
  const found: { from: number; to: number }[] = [];
  for (const number of numbers) {
    const last = found.at(-1);
    if (last?.to === number - 1) last.to = number;
    else found.push({ from: number, to: number });
  }
  return found.map(({ from, to }) => (from === to ? two(from) : `${two(from)}..${two(to)}`)).join(",");
}
