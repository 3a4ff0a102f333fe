// Reads OnCalendar expressions, the calendar language of systemd timers, one line at a time. Says only
// what a line means; when it fires is in firing.ts.

import type { CalendarRule } from "./calendar.ts";
import { addMember, addSpan, type NumberSet, type Span, setOf } from "./number-set.ts";
import { words } from "./words.ts";
import { isZone } from "./zone.ts";

export type OnCalendarRule = {
  rule: CalendarRule;
  /** The zone written at the end of the line; null when the check's own zone counts. */
  zone: string | null;
};

type Field = { min: number; max: number };

const LAST_YEAR = 2199;
const YEAR: Field = { min: 1970, max: LAST_YEAR };
const MONTH: Field = { min: 1, max: 12 };
const DATE: Field = { min: 1, max: 31 };
const HOUR: Field = { min: 0, max: 23 };
const MINUTE: Field = { min: 0, max: 59 };
const WEEKDAYS = ["SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY"];

/** A single day counted from the end must exist in every month. */
const MAX_LAST_DATE = 28;

const SHORTHANDS: ReadonlyMap<string, string> = new Map([
  ["minutely", "*:*"],
  ["hourly", "*:00"],
  ["daily", "00:00"],
  ["weekly", "Mon"],
  ["monthly", "*-01"],
  ["quarterly", "01,04,07,10-01"],
  ["semiannually", "01,07-01"],
  ["yearly", "01-01"],
  ["annually", "01-01"],
]);

const DATE_WORD = /^(?:([^-~]+)-)?([^-~]+)([-~])([^-~]+)$/;
const TIME_WORD = /^([^:]+):([^:]+)(?::([^:]+))?$/;
const COMPONENT = /^([0-9]+)(?:\.\.([0-9]+))?(?:\/([0-9]+))?$/;
const WEEKDAY_ITEM = /^([A-Z]+)(?:(?:\.\.|-)([A-Z]+))?$/;

/** The meaning of one line, a plain text (words.ts), or null when it is not an expression. */
export function parseOnCalendarLine(line: string): OnCalendarRule | null {
  const found = words(line);
  const zone = found.length > 1 ? (found.at(-1) ?? "") : "";
  const named = isZone(zone);
  const rule = parseParts(expand(named ? found.slice(0, -1) : found));
  return rule === null ? null : { rule, zone: named ? zone : null };
}

function expand(parts: readonly string[]): readonly string[] {
  const shorthand = parts.length === 1 ? SHORTHANDS.get((parts[0] ?? "").toLowerCase()) : undefined;
  return shorthand === undefined ? parts : [shorthand];
}

/** Takes weekdays, date and time off the front, in this order; all may be missing, but not all at once. */
function parseParts(parts: readonly string[]): CalendarRule | null {
  if (parts.length === 0) return null;
  let taken = 0;
  const take = (belongs: (part: string) => boolean): string | null => {
    const part = parts[taken];
    if (part === undefined || !belongs(part)) return null;
    taken += 1;
    return part;
  };
  const weekdayText = take((part) => /^[A-Za-z]/.test(part));
  const dateText = take((part) => /^[0-9*]/.test(part) && !part.includes(":"));
  const timeText = take((part) => part.includes(":"));
  if (taken < parts.length) return null;
  const weekdays = weekdayText === null ? setOf({ from: 0, to: 6, step: 1 }) : parseWeekdays(weekdayText);
  const date = parseDate(dateText ?? "*-*");
  const time = parseTime(timeText ?? "0:0");
  if (weekdays === null || date === null || time === null) return null;
  const { years, months, dates, lastDates } = date;
  return {
    years,
    months,
    ...time,
    days: {
      dates,
      lastDates,
      lastWorkday: false,
      weekdays,
      nthWeekdays: [],
      lastWeekdays: setOf(),
      join: "and",
    },
  };
}

function parseWeekdays(text: string): NumberSet | null {
  const items = text.toUpperCase().split(",");
  if (items.length > 1 && items.at(-1) === "") items.pop();
  const set = setOf();
  for (const item of items) {
    const [, fromText, toText = fromText] = WEEKDAY_ITEM.exec(item) ?? [];
    const from = weekdayNumber(fromText);
    const to = weekdayNumber(toText);
    if (from === null || to === null || from > to) return null;
    for (let day = from; day <= to; day += 1) addMember(set, day % 7);
  }
  return set;
}

/** Monday is 1 and Sunday 7: here the week begins on Monday, and ranges follow it. */
function weekdayNumber(name: string | undefined): number | null {
  if (name === undefined) return null;
  const place = WEEKDAYS.findIndex((day) => day === name || day.slice(0, 3) === name);
  if (place < 0) return null;
  return place === 0 ? 7 : place;
}

type DatePart = Pick<CalendarRule, "years" | "months"> & { dates: NumberSet; lastDates: NumberSet };

function parseDate(text: string): DatePart | null {
  const [, yearText = "*", monthText, separator, dateText] = DATE_WORD.exec(text) ?? [];
  if (monthText === undefined || dateText === undefined) return null;
  const years = parseYears(yearText);
  const months = parseField(monthText, MONTH);
  const days = separator === "~" ? parseLastDates(dateText) : parseField(dateText, DATE);
  if (years === undefined || months === null || days === null) return null;
  const none = setOf();
  return separator === "~"
    ? { years, months, dates: none, lastDates: days }
    : { years, months, dates: days, lastDates: none };
}

function parseTime(text: string): Pick<CalendarRule, "hours" | "minutes" | "seconds"> | null {
  const [, hourText, minuteText, secondText = "0"] = TIME_WORD.exec(text) ?? [];
  if (hourText === undefined || minuteText === undefined) return null;
  const hours = parseField(hourText, HOUR);
  const minutes = parseField(minuteText, MINUTE);
  const seconds = parseField(secondText, MINUTE);
  return hours === null || minutes === null || seconds === null ? null : { hours, minutes, seconds };
}

function parseField(text: string, field: Field): NumberSet | null {
  const spans = text === "*" ? [{ from: field.min, to: field.max, step: 1 }] : parseSpans(text, field);
  return spans === null ? null : setOf(...spans);
}

/** Null stands for every year, undefined for a text that is no year field. */
function parseYears(text: string): readonly number[] | null | undefined {
  if (text === "*") return null;
  const spans = parseSpans(text, YEAR);
  if (spans === null) return undefined;
  const years = new Set<number>();
  for (const { from, to, step } of spans) for (let year = from; year <= to; year += step) years.add(year);
  return [...years].toSorted((a, b) => a - b);
}

/** Days counted from the end: ranges count from their first number, open steps run towards the end. */
function parseLastDates(text: string): NumberSet | null {
  if (text === "*") return setOf({ from: DATE.min, to: DATE.max, step: 1 });
  const set = setOf();
  for (const component of text.split(",")) {
    const parsed = parseComponent(component, DATE);
    if (parsed === null || (!parsed.isRange && parsed.from > MAX_LAST_DATE)) return null;
    if (parsed.isRange || parsed.step === null) {
      addSpan(set, { from: parsed.from, to: parsed.to, step: parsed.step ?? 1 });
    } else {
      for (let day = parsed.from; day >= 1; day -= parsed.step) addMember(set, day);
    }
  }
  return set;
}

function parseSpans(text: string, field: Field): Span[] | null {
  const spans: Span[] = [];
  for (const component of text.split(",")) {
    const parsed = parseComponent(component, field);
    if (parsed === null) return null;
    const { from, to, step, isRange } = parsed;
    spans.push({ from, to: step !== null && !isRange ? field.max : to, step: step ?? 1 });
  }
  return spans;
}

type Component = { from: number; to: number; step: number | null; isRange: boolean };

function parseComponent(text: string, field: Field): Component | null {
  const [, fromText, toText, stepText] = COMPONENT.exec(text) ?? [];
  if (fromText === undefined) return null;
  const from = valueOf(fromText, field);
  const to = valueOf(toText ?? fromText, field);
  const step = stepText === undefined ? null : Number(stepText);
  if (from < field.min || from > to || to > field.max || step === 0) return null;
  return { from, to, step, isRange: toText !== undefined };
}

function valueOf(text: string, field: Field): number {
  const value = Number(text);
  if (field !== YEAR || value >= 100) return value;
  return value < 70 ? value + 2_000 : value + 1_900;
}
