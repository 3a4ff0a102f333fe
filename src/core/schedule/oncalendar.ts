// Parses OnCalendar expressions, the calendar language of systemd timers, one line at a time. When they fire is in
// schedule.ts.

import { addMember, addSpan, type CalendarRule, type NumberSet, setOf, type Span } from "./calendar.ts";
import { type FieldName, isProblem, type ScheduleProblem, splitWords } from "./problem.ts";
import { isZone } from "./zone.ts";

export type OnCalendarRule = {
  rule: CalendarRule;
  /** The zone written at the end of the line; null when the check's own zone counts. */
  zone: string | null;
};

type Field = { name: FieldName; min: number; max: number };

const LAST_YEAR = 2199;
const YEAR: Field = { name: "year", min: 1970, max: LAST_YEAR };
const MONTH: Field = { name: "month", min: 1, max: 12 };
const DATE: Field = { name: "day of month", min: 1, max: 31 };
const HOUR: Field = { name: "hour", min: 0, max: 23 };
const MINUTE: Field = { name: "minute", min: 0, max: 59 };
const SECOND: Field = { ...MINUTE, name: "second" };
const WEEKDAYS = ["SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY"];

const SHORT_WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const WEEKDAY_NAME = "day of week";

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
const STAR_STEP = /^\*\/[0-9]+$/;
const WEEKDAY_ITEM = /^([A-Z]+)(?:(?:\.\.|-)([A-Z]+))?$/;

/** The parsed line, or why it is invalid. */
export function parseOnCalendarLine(line: string): OnCalendarRule | ScheduleProblem {
  const found = splitWords(line);
  const zone = found.length > 1 ? (found.at(-1) ?? "") : "";
  const named = isZone(zone);
  const rule = parseParts(expand(named ? found.slice(0, -1) : found));
  return isProblem(rule) ? rule : { rule, zone: named ? zone : null };
}

function expand(parts: readonly string[]): readonly string[] {
  const shorthand = parts.length === 1 ? SHORTHANDS.get((parts[0] ?? "").toLowerCase()) : undefined;
  return shorthand === undefined ? parts : [shorthand];
}

/** Takes weekdays, date and time off the front, in this order; all may be missing, but not all at once. */
function parseParts(parts: readonly string[]): CalendarRule | ScheduleProblem {
  if (parts.length === 0) return { reason: "empty" };
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
  if (taken < parts.length) return { reason: "word", text: parts[taken] ?? "" };
  const weekdays = weekdayText === null ? setOf({ from: 0, to: 6, step: 1 }) : parseWeekdays(weekdayText);
  if (isProblem(weekdays)) return weekdays;
  const date = parseDate(dateText ?? "*-*");
  if (isProblem(date)) return date;
  const time = parseTime(timeText ?? "0:0");
  if (isProblem(time)) return time;
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

function parseWeekdays(text: string): NumberSet | ScheduleProblem {
  const items = text.toUpperCase().split(",");
  if (items.length > 1 && items.at(-1) === "") items.pop();
  const set = setOf();
  for (const item of items) {
    const [, fromText, toText = fromText] = WEEKDAY_ITEM.exec(item) ?? [];
    if (fromText === undefined || toText === undefined)
      return { reason: "term", field: WEEKDAY_NAME, text: item };
    const from = weekdayNumber(fromText);
    const to = weekdayNumber(toText);
    if (from === null || to === null) {
      const unknown = from === null ? fromText : toText;
      return { reason: "name", field: WEEKDAY_NAME, text: unknown, names: SHORT_WEEKDAYS };
    }
    if (from > to) return { reason: "reversed", field: WEEKDAY_NAME, text: item };
    for (let day = from; day <= to; day += 1) addMember(set, day % 7);
  }
  return set;
}

/** Monday is 1 and Sunday 7: here the week begins on Monday, and ranges follow it. */
function weekdayNumber(name: string): number | null {
  const place = WEEKDAYS.findIndex((day) => day === name || day.slice(0, 3) === name);
  if (place < 0) return null;
  return place === 0 ? 7 : place;
}

type DatePart = Pick<CalendarRule, "years" | "months"> & { dates: NumberSet; lastDates: NumberSet };

function parseDate(text: string): DatePart | ScheduleProblem {
  const [, yearText = "*", monthText, separator, dateText] = DATE_WORD.exec(text) ?? [];
  if (monthText === undefined || dateText === undefined) return { reason: "word", text };
  const years = parseYears(yearText);
  if (years !== null && isProblem(years)) return years;
  const months = parseField(monthText, MONTH);
  if (isProblem(months)) return months;
  const days = separator === "~" ? parseLastDates(dateText) : parseField(dateText, DATE);
  if (isProblem(days)) return days;
  const none = setOf();
  return separator === "~"
    ? { years, months, dates: none, lastDates: days }
    : { years, months, dates: days, lastDates: none };
}

function parseTime(text: string): Pick<CalendarRule, "hours" | "minutes" | "seconds"> | ScheduleProblem {
  const [, hourText, minuteText, secondText = "0"] = TIME_WORD.exec(text) ?? [];
  if (hourText === undefined || minuteText === undefined) return { reason: "word", text };
  const hours = parseField(hourText, HOUR);
  if (isProblem(hours)) return hours;
  const minutes = parseField(minuteText, MINUTE);
  if (isProblem(minutes)) return minutes;
  const seconds = parseField(secondText, SECOND);
  return isProblem(seconds) ? seconds : { hours, minutes, seconds };
}

function parseField(text: string, field: Field): NumberSet | ScheduleProblem {
  const spans = text === "*" ? [{ from: field.min, to: field.max, step: 1 }] : parseSpans(text, field);
  return isProblem(spans) ? spans : setOf(...spans);
}

/** Null stands for every year. */
function parseYears(text: string): readonly number[] | null | ScheduleProblem {
  if (text === "*") return null;
  const spans = parseSpans(text, YEAR);
  if (isProblem(spans)) return spans;
  const years = new Set<number>();
  for (const { from, to, step } of spans) for (let year = from; year <= to; year += step) years.add(year);
  return [...years].toSorted((a, b) => a - b);
}

/** Days counted from the end: ranges count from their first number, open steps run towards the end. */
function parseLastDates(text: string): NumberSet | ScheduleProblem {
  if (text === "*") return setOf({ from: DATE.min, to: DATE.max, step: 1 });
  const set = setOf();
  for (const component of text.split(",")) {
    const parsed = parseComponent(component, DATE);
    if (isProblem(parsed)) return parsed;
    if (!parsed.isRange && parsed.from > MAX_LAST_DATE) {
      return { reason: "range", field: DATE.name, text: component, min: DATE.min, max: MAX_LAST_DATE };
    }
    if (parsed.isRange || parsed.step === null) {
      addSpan(set, { from: parsed.from, to: parsed.to, step: parsed.step ?? 1 });
    } else {
      for (let day = parsed.from; day >= 1; day -= parsed.step) addMember(set, day);
    }
  }
  return set;
}

function parseSpans(text: string, field: Field): Span[] | ScheduleProblem {
  const spans: Span[] = [];
  for (const component of text.split(",")) {
    const parsed = parseComponent(component, field);
    if (isProblem(parsed)) return parsed;
    const { from, to, step, isRange } = parsed;
    spans.push({ from, to: step !== null && !isRange ? field.max : to, step: step ?? 1 });
  }
  return spans;
}

type Component = { from: number; to: number; step: number | null; isRange: boolean };

function parseComponent(text: string, field: Field): Component | ScheduleProblem {
  const [, fromText, toText, stepText] = COMPONENT.exec(text) ?? [];
  if (fromText === undefined) {
    return { reason: STAR_STEP.test(text) ? "star" : "term", field: field.name, text };
  }
  const from = valueOf(fromText, field);
  const to = valueOf(toText ?? fromText, field);
  const step = stepText === undefined ? null : Number(stepText);
  if (step === 0) return { reason: "step", field: field.name, text };
  const { name, min, max } = field;
  const outside = [from, to].find((value) => value < min || value > max);
  if (outside !== undefined) return { reason: "range", field: name, text: String(outside), min, max };
  if (from > to) return { reason: "reversed", field: name, text };
  return { from, to, step, isRange: toText !== undefined };
}

function valueOf(text: string, field: Field): number {
  const value = Number(text);
  if (field !== YEAR || value >= 100) return value;
  return value < 70 ? value + 2_000 : value + 1_900;
}
