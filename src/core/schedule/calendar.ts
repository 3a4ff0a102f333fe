// Finds the next reading of a wall clock that a schedule names: plain calendar arithmetic on readings,
// which are seconds counted as if the clock showed UTC. Knows nothing of zones or of clock changes.

import { type DayRule, dayMasks, monthKind } from "./days.ts";
import { has, lowestBit, members, type NumberSet, NO_MEMBER, nextIn } from "./number-set.ts";

/** What an expression of either language says, field by field. */
export type CalendarRule = {
  /** Null: every year. */
  years: readonly number[] | null;
  months: NumberSet;
  days: DayRule;
  hours: NumberSet;
  minutes: NumberSet;
  seconds: NumberSet;
};

/** A rule made ready for searching. */
export type Calendar = {
  rule: CalendarRule;
  years: ReadonlySet<number> | null;
  /** Matching days by kind of month, from days.ts. */
  days: readonly number[];
  /** By kind of year, the listed months that have a matching day: bit 0 is January. */
  months: readonly number[];
  hours: number;
  minutes: NumberSet;
  seconds: NumberSet;
  firstSecond: number;
  /** First matching second within a matching hour, and within a matching day. */
  firstInHour: number;
  firstInDay: number;
};

/** What `nextReading` answers when no reading is left. */
export const NO_READING = Number.POSITIVE_INFINITY;

const DAY_SECONDS = 86_400;
const HOUR_SECONDS = 3_600;
const MINUTE_SECONDS = 60;

/** The years the arithmetic covers; one more at either end than any search needs. */
const FIRST_YEAR = 1969;
const LAST_YEAR = 2251;

const MONTHS = 12;
const YEAR_KINDS = 14;
const DAYS_IN_LEAP_YEAR = 366;
const MEAN_YEAR_DAYS = 365.2425;
/** 1 January 1970 was a Thursday. */
const EPOCH_WEEKDAY = 4;

/** Day number of 1 January, by year counted from FIRST_YEAR; one year more than covered, as an end mark. */
const YEAR_START: number[] = [];
/** Weekday of 1 January times two, plus one in a leap year. */
const YEAR_KIND: number[] = [];
/** By leap year and month: the day of the year on which the month begins. */
const MONTH_START: number[] = [];
/** By leap year and day of the year: the month. */
const MONTH_OF_DAY: number[] = [];
/** By kind of year and month: the kind of month. */
const MONTH_KIND: number[] = [];

fillTables();

function fillTables(): void {
  let start = -365;
  for (let year = FIRST_YEAR; year <= LAST_YEAR + 1; year += 1) {
    const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
    YEAR_START.push(start);
    YEAR_KIND.push(((((start + EPOCH_WEEKDAY) % 7) + 7) % 7) * 2 + (leap ? 1 : 0));
    start += leap ? 366 : 365;
  }
  for (const february of [28, 29]) {
    const table = MONTH_OF_DAY.length;
    let day = 0;
    for (const [month, length] of monthLengths(february).entries()) {
      MONTH_START.push(day);
      for (let index = 0; index < length; index += 1) MONTH_OF_DAY[table + day + index] = month;
      day += length;
    }
    MONTH_OF_DAY[table + DAYS_IN_LEAP_YEAR - 1] = MONTHS - 1;
  }
  for (let kind = 0; kind < YEAR_KINDS; kind += 1) {
    let weekday = kind >> 1;
    for (const length of monthLengths(28 + (kind & 1))) {
      MONTH_KIND.push(monthKind({ first: weekday, length }));
      weekday = (weekday + length) % 7;
    }
  }
}

function monthLengths(february: number): readonly number[] {
  return [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
}

/** Makes a rule ready for searching. */
export function compile(rule: CalendarRule): Calendar {
  const days = dayMasks(rule.days);
  const listed = members(rule.months);
  const months: number[] = [];
  for (let kind = 0; kind < YEAR_KINDS; kind += 1) {
    let mask = 0;
    for (const month of listed) {
      if (days[at(MONTH_KIND, kind * MONTHS + month - 1)] !== 0) mask |= 1 << (month - 1);
    }
    months.push(mask);
  }
  const firstSecond = nextIn(rule.seconds, 0);
  const firstInHour = nextIn(rule.minutes, 0) * MINUTE_SECONDS + firstSecond;
  return {
    rule,
    years: rule.years === null ? null : new Set(rule.years),
    days,
    months,
    // Hours 0 to 23 all lie in the lower half of their set.
    hours: rule.hours.low,
    minutes: rule.minutes,
    seconds: rule.seconds,
    firstSecond,
    firstInHour,
    firstInDay: nextIn(rule.hours, 0) * HOUR_SECONDS + firstInHour,
  };
}

/** The year that a reading falls in, or NaN outside the years covered here. */
export function yearOf(reading: number): number {
  return FIRST_YEAR + yearIndexOf(Math.floor(reading / DAY_SECONDS));
}

/** Where a search begins, and the last year it looks at. */
export type SearchRange = { after: number; lastYear: number };

/** The first matching reading after `after` in a year up to `lastYear`, or NO_READING. */
export function nextReading(calendar: Calendar, { after, lastYear }: SearchRange): number {
  const day = Math.floor(after / DAY_SECONDS);
  const index = yearIndexOf(day);
  // Written so that NaN, a reading outside the covered years, ends here as well.
  if (!(FIRST_YEAR + index <= lastYear)) return NO_READING;
  const kind = at(YEAR_KIND, index);
  const dayOfYear = day - at(YEAR_START, index);
  const month = at(MONTH_OF_DAY, (kind & 1) * DAYS_IN_LEAP_YEAR + dayOfYear);
  if (((monthsIn(calendar, index) >>> month) & 1) === 1) {
    const date = dayOfYear - at(MONTH_START, (kind & 1) * MONTHS + month);
    const days = at(calendar.days, at(MONTH_KIND, kind * MONTHS + month)) >>> date;
    if ((days & 1) === 1) {
      const time = nextTime(calendar, after - day * DAY_SECONDS);
      if (time < DAY_SECONDS) return day * DAY_SECONDS + time;
    }
    if (days > 1) return (day + lowestBit(days & ~1)) * DAY_SECONDS + calendar.firstInDay;
  }
  return nextInLaterMonth(calendar, { index, month, lastYear });
}

type MonthPlace = { index: number; month: number; lastYear: number };

function nextInLaterMonth(calendar: Calendar, { index, month, lastYear }: MonthPlace): number {
  const lastIndex = Math.min(lastYear, LAST_YEAR) - FIRST_YEAR;
  let passed = month + 1;
  for (let year = index; year <= lastIndex; year += 1) {
    const months = monthsIn(calendar, year) >>> passed;
    if (months !== 0) {
      const found = passed + lowestBit(months);
      const kind = at(YEAR_KIND, year);
      const days = at(calendar.days, at(MONTH_KIND, kind * MONTHS + found));
      const day = at(YEAR_START, year) + at(MONTH_START, (kind & 1) * MONTHS + found) + lowestBit(days);
      return day * DAY_SECONDS + calendar.firstInDay;
    }
    passed = 0;
  }
  return NO_READING;
}

/** The months of that year with a matching day: bit 0 is January. */
function monthsIn(calendar: Calendar, yearIndex: number): number {
  if (calendar.years !== null && !calendar.years.has(FIRST_YEAR + yearIndex)) return 0;
  return at(calendar.months, at(YEAR_KIND, yearIndex));
}

/** The first matching second of the day after `second`, or a whole day's worth when there is none. */
function nextTime(calendar: Calendar, second: number): number {
  const hour = Math.floor(second / HOUR_SECONDS);
  if (((calendar.hours >>> hour) & 1) === 1) {
    const inHour = second - hour * HOUR_SECONDS;
    const minute = Math.floor(inHour / MINUTE_SECONDS);
    if (has(calendar.minutes, minute)) {
      const next = nextIn(calendar.seconds, inHour - minute * MINUTE_SECONDS + 1);
      if (next < NO_MEMBER) return hour * HOUR_SECONDS + minute * MINUTE_SECONDS + next;
    }
    const next = nextIn(calendar.minutes, minute + 1);
    if (next < NO_MEMBER) return hour * HOUR_SECONDS + next * MINUTE_SECONDS + calendar.firstSecond;
  }
  const later = calendar.hours >>> (hour + 1);
  if (later === 0) return DAY_SECONDS;
  return (hour + 1 + lowestBit(later)) * HOUR_SECONDS + calendar.firstInHour;
}

function yearIndexOf(day: number): number {
  const guess = Math.floor((day - at(YEAR_START, 0)) / MEAN_YEAR_DAYS);
  // In the years covered here leap days never run ahead of their mean by a whole day, so that the guess
  // is right or one year too early.
  if (at(YEAR_START, guess + 1) <= day) return guess + 1;
  return guess >= 0 && guess <= LAST_YEAR - FIRST_YEAR ? guess : Number.NaN;
}

/** Reads a table at a place that is known to exist; NaN, which matches nothing, where it does not. */
function at(table: readonly number[], index: number): number {
  return table[index] ?? Number.NaN;
}
