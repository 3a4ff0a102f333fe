// Parses five-field cron expressions. When they fire is in schedule.ts.
import {
  addMember,
  addSpan,
  type CalendarRule,
  type DayRule,
  hasMember,
  nextMember,
  type NumberSet,
  setMembers,
  setOf,
} from "./calendar.ts";
import { type FieldName, isProblem, type ScheduleProblem, splitWords } from "./problem.ts";

export type CronRule = {
  rule: CalendarRule;
  /** True for jobs at set times of day: a skipped time is caught up, a repeated one fires once. */
  byClock: boolean;
};

type Field = { name: FieldName; min: number; max: number; names: readonly string[] };

const MINUTE: Field = { name: "minute", min: 0, max: 59, names: [] };
const HOUR: Field = { name: "hour", min: 0, max: 23, names: [] };
const DATE: Field = { name: "day of month", min: 1, max: 31, names: [] };
const MONTH: Field = {
  name: "month",
  min: 1,
  max: 12,
  names: "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(" "),
};
/** Seven is a second name of Sunday; a range may end in it. */
const WEEKDAY: Field = {
  name: "day of week",
  min: 0,
  max: 7,
  names: "SUN MON TUE WED THU FRI SAT".split(" "),
};

const FIELD_COUNT = 5;
const MAX_NTH = 5;
/** February counts with 29 days: some years have them. */
const LONGEST = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** A star, a value or a range, each with an optional step. */
const PLAIN_TERM = /^(?:\*|([0-9]+|[A-Z]{3})(?:-([0-9]+|[A-Z]{3}))?)(?:\/([0-9]+))?$/;
const LAST_DATE_TERM = /^(LW?)(?:\/([0-9]+))?$/;
const LAST_WEEKDAY_TERM = /^([0-9]+)L$/;
/** The names in a term, of two or more letters. */
const WORD_TERM = /[A-Z]{2,}/g;
const NTH_WEEKDAY_TERM = /^([0-9]+|[A-Z]{3})#([0-9]+)$/;

/** The parsed expression, or why it is invalid. */
export function parseCron(text: string): CronRule | ScheduleProblem {
  const fields = splitWords(text.toUpperCase());
  if (fields.length !== FIELD_COUNT) return { reason: "fields", expected: FIELD_COUNT, got: fields.length };
  const [minuteText = "", hourText = "", dateText = "", monthText = "", weekdayText = ""] = fields;
  const minutes = parseField(minuteText, MINUTE);
  if (isProblem(minutes)) return minutes;
  const hours = parseField(hourText, HOUR);
  if (isProblem(hours)) return hours;
  const dates = parseDates(dateText);
  if (isProblem(dates)) return dates;
  const months = parseField(monthText, MONTH);
  if (isProblem(months)) return months;
  const weekdays = parseWeekdays(weekdayText);
  if (isProblem(weekdays)) return weekdays;
  if (isImpossible(dates, months)) {
    return { reason: "date", day: nextMember(dates.dates, 0), months: setMembers(months) };
  }
  const both = dateText.startsWith("*") || weekdayText.startsWith("*");
  const days: DayRule = { ...dates, ...weekdays, join: both ? "and" : "or" };
  return {
    rule: { years: null, months, days, hours, minutes, seconds: setOf({ from: 0, to: 0, step: 1 }) },
    byClock: !minuteText.startsWith("*") && !hourText.startsWith("*"),
  };
}

function parseField(text: string, field: Field): NumberSet | ScheduleProblem {
  const set = setOf();
  for (const term of text.split(",")) {
    const problem = addPlainTerm(set, term, field);
    if (problem !== null) return problem;
  }
  return set;
}

type Dates = Pick<DayRule, "dates" | "lastDates" | "lastWorkday">;

function parseDates(text: string): Dates | ScheduleProblem {
  const found: Dates = { dates: setOf(), lastDates: setOf(), lastWorkday: false };
  for (const term of text.split(",")) {
    const [match, letters, step] = LAST_DATE_TERM.exec(term) ?? [];
    if (match === undefined) {
      const problem = addPlainTerm(found.dates, term, DATE);
      if (problem !== null) return problem;
      continue;
    }
    // A step behind the last day is allowed and means nothing, but it has to be a step.
    if (step !== undefined && Number(step) < 1) return { reason: "step", field: DATE.name, text: term };
    if (letters === "L") addMember(found.lastDates, 1);
    else found.lastWorkday = true;
  }
  return found;
}

type Weekdays = Pick<DayRule, "weekdays" | "nthWeekdays" | "lastWeekdays">;

function parseWeekdays(text: string): Weekdays | ScheduleProblem {
  const plain = setOf();
  const lastWeekdays = setOf();
  const nthWeekdays: { weekday: number; nth: number }[] = [];
  for (const term of text.split(",")) {
    const unread: ScheduleProblem = { reason: "term", field: WEEKDAY.name, text: term };
    if (term.includes("L")) {
      const day = LAST_WEEKDAY_TERM.exec(term)?.[1];
      if (day === undefined) return unread;
      const weekday = valueOf(day, WEEKDAY);
      if (typeof weekday !== "number") return weekday;
      addMember(lastWeekdays, weekday % 7);
    } else if (term.includes("#")) {
      const [, day, nthText] = NTH_WEEKDAY_TERM.exec(term) ?? [];
      if (day === undefined) return unread;
      const weekday = valueOf(day, WEEKDAY);
      if (typeof weekday !== "number") return weekday;
      const nth = Number(nthText);
      if (nth < 1 || nth > MAX_NTH) return unread;
      nthWeekdays.push({ weekday: weekday % 7, nth });
    } else {
      const problem = addPlainTerm(plain, term, WEEKDAY);
      if (problem !== null) return problem;
    }
  }
  if (hasMember(plain, 7)) addMember(plain, 0);
  return { weekdays: { low: plain.low & 0x7f, high: 0 }, nthWeekdays, lastWeekdays };
}

/** Adds the values of the term; returns the problem if it is not a term of this field. */
function addPlainTerm(set: NumberSet, term: string, field: Field): ScheduleProblem | null {
  const [match, fromText, toText, stepText] = PLAIN_TERM.exec(term) ?? [];
  if (match === undefined) return unreadTerm(term, field);
  const step = stepText === undefined ? 1 : Number(stepText);
  if (step < 1) return { reason: "step", field: field.name, text: term };
  if (fromText === undefined) {
    addSpan(set, { from: field.min, to: field.max, step });
    return null;
  }
  const from = valueOf(fromText, field);
  if (typeof from !== "number") return from;
  const to = valueOf(toText ?? fromText, field);
  if (typeof to !== "number") return to;
  if (from > to) return { reason: "reversed", field: field.name, text: `${fromText}-${toText}` };
  // A single value with a step runs on to the end of the field, even when it is written as a range.
  addSpan(set, { from, to: from === to && stepText !== undefined ? field.max : to, step });
  return null;
}

function unreadTerm(term: string, field: Field): ScheduleProblem {
  const word = term.match(WORD_TERM)?.find((one) => !field.names.includes(one));
  return word === undefined || field.names.length === 0
    ? { reason: "term", field: field.name, text: term }
    : { reason: "name", field: field.name, text: word, names: field.names };
}

function valueOf(text: string, { name: field, min, max, names }: Field): number | ScheduleProblem {
  const place = names.indexOf(text);
  // Names count from the first value of their field: JAN is 1, SUN is 0.
  const value = place < 0 ? Number(text) : place + min;
  if (value >= min && value <= max) return value;
  if (!Number.isNaN(value)) return { reason: "range", field, text, min, max };
  return names.length === 0 ? { reason: "term", field, text } : { reason: "name", field, text, names };
}

/** Whether no listed month is long enough for the first listed date. Weekdays do not change that. */
function isImpossible(dates: Dates, months: NumberSet): boolean {
  if (dates.lastWorkday || hasMember(dates.lastDates, 1)) return false;
  const earliest = nextMember(dates.dates, 0);
  return !LONGEST.some((length, index) => hasMember(months, index + 1) && length >= earliest);
}

// Cron macros. The Management API rejects them, so the expression is stored.

const MACROS: ReadonlyMap<string, string> = new Map([
  ["@hourly", "0 * * * *"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@weekly", "0 0 * * 0"],
  ["@monthly", "0 0 1 * *"],
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
]);

export const MACRO_NAMES: readonly string[] = [...MACROS.keys()];

/** The expression that a macro stands for; null if the text is not a macro. */
export function expandMacro(text: string): string | null {
  return MACROS.get(text.trim().toLowerCase()) ?? null;
}
