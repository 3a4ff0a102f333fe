// Reads five-field cron expressions. Says only what the text means; when it fires is in firing.ts.

import type { CalendarRule } from "./calendar.ts";
import type { DayRule } from "./days.ts";
import { addMember, addSpan, has, type NumberSet, nextIn, setOf } from "./number-set.ts";
import { words } from "./words.ts";

export type CronRule = {
  rule: CalendarRule;
  /** True for jobs at set times of day: a skipped time is caught up, a repeated one fires once. */
  byClock: boolean;
};

type Field = { min: number; max: number; names: readonly string[] };

const MINUTE: Field = { min: 0, max: 59, names: [] };
const HOUR: Field = { min: 0, max: 23, names: [] };
const DATE: Field = { min: 1, max: 31, names: [] };
const MONTH: Field = { min: 1, max: 12, names: "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(" ") };
/** Seven is a second name of Sunday; a range may end in it. */
const WEEKDAY: Field = { min: 0, max: 7, names: "SUN MON TUE WED THU FRI SAT".split(" ") };

const FIELD_COUNT = 5;
const MAX_NTH = 5;
/** February counts with 29 days: some years have them. */
const LONGEST = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** A star, a value or a range, each with an optional step. */
const PLAIN_TERM = /^(?:\*|([0-9]+|[A-Z]{3})(?:-([0-9]+|[A-Z]{3}))?)(?:\/([0-9]+))?$/;
const LAST_DATE_TERM = /^(LW?)(?:\/([0-9]+))?$/;
const LAST_WEEKDAY_TERM = /^([0-9]+)L$/;
const NTH_WEEKDAY_TERM = /^([0-9]+|[A-Z]{3})#([0-9]+)$/;

/** The meaning of the expression, a plain text (words.ts), or null when it is not one. */
export function parseCron(text: string): CronRule | null {
  const fields = words(text.toUpperCase());
  if (fields.length !== FIELD_COUNT) return null;
  const [minuteText = "", hourText = "", dateText = "", monthText = "", weekdayText = ""] = fields;
  const minutes = parseField(minuteText, MINUTE);
  const hours = parseField(hourText, HOUR);
  const dates = parseDates(dateText);
  const months = parseField(monthText, MONTH);
  const weekdays = parseWeekdays(weekdayText);
  if (minutes === null || hours === null || dates === null || months === null || weekdays === null) {
    return null;
  }
  if (isImpossible(dates, months)) return null;
  const both = dateText.startsWith("*") || weekdayText.startsWith("*");
  const days: DayRule = { ...dates, ...weekdays, join: both ? "and" : "or" };
  return {
    rule: { years: null, months, days, hours, minutes, seconds: setOf({ from: 0, to: 0, step: 1 }) },
    byClock: !minuteText.startsWith("*") && !hourText.startsWith("*"),
  };
}

function parseField(text: string, field: Field): NumberSet | null {
  const set = setOf();
  return text.split(",").every((term) => addPlainTerm(set, term, field)) ? set : null;
}

type Dates = Pick<DayRule, "dates" | "lastDates" | "lastWorkday">;

function parseDates(text: string): Dates | null {
  const found: Dates = { dates: setOf(), lastDates: setOf(), lastWorkday: false };
  for (const term of text.split(",")) {
    const [match, letters, step] = LAST_DATE_TERM.exec(term) ?? [];
    if (match === undefined) {
      if (!addPlainTerm(found.dates, term, DATE)) return null;
      continue;
    }
    // A step behind the last day is allowed and means nothing, but it has to be a step.
    if (step !== undefined && Number(step) < 1) return null;
    if (letters === "L") addMember(found.lastDates, 1);
    else found.lastWorkday = true;
  }
  return found;
}

type Weekdays = Pick<DayRule, "weekdays" | "nthWeekdays" | "lastWeekdays">;

function parseWeekdays(text: string): Weekdays | null {
  const plain = setOf();
  const lastWeekdays = setOf();
  const nthWeekdays: { weekday: number; nth: number }[] = [];
  for (const term of text.split(",")) {
    if (term.includes("L")) {
      const weekday = valueOf(LAST_WEEKDAY_TERM.exec(term)?.[1], WEEKDAY);
      if (weekday === null) return null;
      addMember(lastWeekdays, weekday % 7);
    } else if (term.includes("#")) {
      const [, day, nthText] = NTH_WEEKDAY_TERM.exec(term) ?? [];
      const weekday = valueOf(day, WEEKDAY);
      const nth = Number(nthText);
      if (weekday === null || nth < 1 || nth > MAX_NTH) return null;
      nthWeekdays.push({ weekday: weekday % 7, nth });
    } else if (!addPlainTerm(plain, term, WEEKDAY)) return null;
  }
  if (has(plain, 7)) addMember(plain, 0);
  return { weekdays: { low: plain.low & 0x7f, high: 0 }, nthWeekdays, lastWeekdays };
}

/** Adds what the term names; false when it is no term of this field. */
function addPlainTerm(set: NumberSet, term: string, field: Field): boolean {
  const [match, fromText, toText, stepText] = PLAIN_TERM.exec(term) ?? [];
  if (match === undefined) return false;
  const step = stepText === undefined ? 1 : Number(stepText);
  if (step < 1) return false;
  if (fromText === undefined) {
    addSpan(set, { from: field.min, to: field.max, step });
    return true;
  }
  const from = valueOf(fromText, field);
  const to = valueOf(toText ?? fromText, field);
  if (from === null || to === null || from > to) return false;
  // A single value with a step runs on to the end of the field, even when it is written as a range.
  addSpan(set, { from, to: from === to && stepText !== undefined ? field.max : to, step });
  return true;
}

function valueOf(text: string | undefined, { min, max, names }: Field): number | null {
  if (text === undefined) return null;
  const place = names.indexOf(text);
  // Names count from the first value of their field: JAN is 1, SUN is 0.
  const value = place < 0 ? Number(text) : place + min;
  return value >= min && value <= max ? value : null;
}

/** Whether no listed month is long enough for the first listed date; weekdays cannot save it. */
function isImpossible(dates: Dates, months: NumberSet): boolean {
  if (dates.lastWorkday || has(dates.lastDates, 1)) return false;
  const earliest = nextIn(dates.dates, 0);
  return !LONGEST.some((length, index) => has(months, index + 1) && length >= earliest);
}
