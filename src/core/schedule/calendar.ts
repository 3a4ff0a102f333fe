// A set of small whole numbers in two integers: the form in which every field of a schedule is stored and searched.

/** Members 0 to 29 are bits of `low`, members 30 to 59 bits of `high`. */
export type NumberSet = { low: number; high: number };

/** From `from` in strides of `step`, as far as `to`. */
export type Span = { from: number; to: number; step: number };

/** Returned by `nextIn` if no member is left. */
const NO_MEMBER = 60;

const HALF = 30;

/** A new set holding the members of all spans; none gives the empty set. */
export function setOf(...spans: Span[]): NumberSet {
  const set = { low: 0, high: 0 };
  for (const span of spans) addSpan(set, span);
  return set;
}

/** Adds every member of the span; the span must lie within 0 to 59. */
export function addSpan(set: NumberSet, { from, to, step }: Span): void {
  for (let value = from; value <= to; value += step) addMember(set, value);
}

export function addMember(set: NumberSet, value: number): void {
  if (value < HALF) set.low |= 1 << value;
  else set.high |= 1 << (value - HALF);
}

export function hasMember(set: NumberSet, value: number): boolean {
  const bits = value < HALF ? set.low >>> value : set.high >>> (value - HALF);
  return (bits & 1) === 1;
}

/** The smallest member that is not below `value` (0 to 60), or NO_MEMBER. */
export function nextMember(set: NumberSet, value: number): number {
  if (value < HALF) {
    const low = set.low >>> value;
    if (low !== 0) return value + lowestBit(low);
    return set.high === 0 ? NO_MEMBER : HALF + lowestBit(set.high);
  }
  // A shift by 30 of a set that never uses bit 30 leaves nothing, which is the answer for 60.
  const high = set.high >>> (value - HALF);
  return high === 0 ? NO_MEMBER : value + lowestBit(high);
}

/** The members in ascending order. */
export function setMembers(set: NumberSet): number[] {
  const found: number[] = [];
  for (let value = nextMember(set, 0); value < NO_MEMBER; value = nextMember(set, value + 1))
    found.push(value);
  return found;
}

/** The place of the lowest bit that is set; `bits` must not be 0. */
function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits);
}

// Which days of a month a schedule matches. This depends only on the weekday of the first day and the length of the
// month, so a rule is converted to 28 bit masks once.

/** The day part of a schedule; weekdays count from Sunday = 0. */
export type DayRule = {
  /** Days counted from the start of the month, 1 to 31. */
  dates: NumberSet;
  /** Days counted from its end: 1 is the last day. */
  lastDates: NumberSet;
  /** The last day of the month that is not a Saturday or Sunday. */
  lastWorkday: boolean;
  weekdays: NumberSet;
  nthWeekdays: readonly { weekday: number; nth: number }[];
  lastWeekdays: NumberSet;
  /** Whether a day has to match both the dates and the weekdays, or one of them. */
  join: "and" | "or";
};

/** How many kinds of month there are: four lengths, each beginning on any of seven weekdays. */
const MONTH_KINDS = 28;

const SHORTEST_MONTH = 28;
const DAYS_IN_WEEK = 7;
const ALL_31 = 0x7fffffff;
const SATURDAY = 6;

/** What matters about a month: the weekday of its 1st, and how many days it has. */
type Month = { first: number; length: number };

function monthKind({ first, length }: Month): number {
  return (length - SHORTEST_MONTH) * DAYS_IN_WEEK + first;
}

/** For each kind of month the days that match: bit 0 is the 1st. */
function dayMasks(rule: DayRule): readonly number[] {
  const masks: number[] = [];
  const fromStart = fromFirst(rule.dates);
  const fromEnd = mirrored(fromFirst(rule.lastDates));
  const lastWeekdays = setMembers(rule.lastWeekdays);
  for (let kind = 0; kind < MONTH_KINDS; kind += 1) {
    const first = kind % DAYS_IN_WEEK;
    const length = SHORTEST_MONTH + Math.floor(kind / DAYS_IN_WEEK);
    let dates = fromStart | (fromEnd >>> (31 - length));
    if (rule.lastWorkday) dates |= 1 << lastWorkday({ first, length });
    let weekdays = weekdayMask({ weekdays: rule.weekdays.low, first });
    for (const { weekday, nth } of rule.nthWeekdays) {
      const index = (nth - 1) * DAYS_IN_WEEK + distance({ from: first, to: weekday });
      if (index < length) weekdays |= 1 << index;
    }
    for (const weekday of lastWeekdays) weekdays |= 1 << lastSuchDay({ first, length, weekday });
    masks.push((rule.join === "and" ? dates & weekdays : dates | weekdays) & (ALL_31 >>> (31 - length)));
  }
  return masks;
}

/** Members 1 to 31 as bits 0 to 30. */
function fromFirst(set: NumberSet): number {
  return (set.low >>> 1) | ((set.high & 3) << 29);
}

/** The same 31 bits in opposite order, so that the nth last day of a 31-day month sits at its own place. */
function mirrored(bits: number): number {
  let result = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) result |= 1 << (30 - lowestBit(rest));
  return result;
}

/** The week's pattern turned so that it begins on `first`, repeated over 31 days. */
function weekdayMask({ weekdays, first }: { weekdays: number; first: number }): number {
  const week = ((weekdays >>> first) | (weekdays << (DAYS_IN_WEEK - first))) & 0x7f;
  return (week | (week << 7) | (week << 14) | (week << 21) | (week << 28)) & ALL_31;
}

/** How many days after weekday `from` the weekday `to` comes. */
function distance({ from, to }: { from: number; to: number }): number {
  return (to - from + DAYS_IN_WEEK) % DAYS_IN_WEEK;
}

function lastSuchDay({ first, length, weekday }: Month & { weekday: number }): number {
  const last = (first + length - 1) % DAYS_IN_WEEK;
  return length - 1 - distance({ from: weekday, to: last });
}

function lastWorkday({ first, length }: Month): number {
  const last = (first + length - 1) % DAYS_IN_WEEK;
  if (last === SATURDAY) return length - 2;
  return last === 0 ? length - 3 : length - 1;
}

// Finds the next wall-clock time that a schedule matches: plain calendar arithmetic on readings, which are seconds
// counted as if the clock showed UTC. Zones and clock changes are handled elsewhere.

/** The fields of an expression of either language. */
export type CalendarRule = {
  /** Null: every year. */
  years: readonly number[] | null;
  months: NumberSet;
  days: DayRule;
  hours: NumberSet;
  minutes: NumberSet;
  seconds: NumberSet;
};

/** A rule prepared for searching. */
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

/** Returned by `nextReading` if no reading is left. */
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
export function compileCalendar(rule: CalendarRule): Calendar {
  const days = dayMasks(rule.days);
  const listed = setMembers(rule.months);
  const months: number[] = [];
  for (let kind = 0; kind < YEAR_KINDS; kind += 1) {
    let mask = 0;
    for (const month of listed) {
      if (days[at(MONTH_KIND, kind * MONTHS + month - 1)] !== 0) mask |= 1 << (month - 1);
    }
    months.push(mask);
  }
  const firstSecond = nextMember(rule.seconds, 0);
  const firstInHour = nextMember(rule.minutes, 0) * MINUTE_SECONDS + firstSecond;
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
    firstInDay: nextMember(rule.hours, 0) * HOUR_SECONDS + firstInHour,
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
    if (hasMember(calendar.minutes, minute)) {
      const next = nextMember(calendar.seconds, inHour - minute * MINUTE_SECONDS + 1);
      if (next < NO_MEMBER) return hour * HOUR_SECONDS + minute * MINUTE_SECONDS + next;
    }
    const next = nextMember(calendar.minutes, minute + 1);
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
