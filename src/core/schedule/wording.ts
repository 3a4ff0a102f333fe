// Describes schedules in English.
import type { CheckSettings } from "../check.ts";
import { type CalendarRule, type DayRule, hasMember, setMembers } from "./calendar.ts";
import { type FieldName, splitWords } from "./problem.ts";
import { detectKind, type Line, type ParsedSchedule, parseSchedule } from "./schedule.ts";

/**
 * A sentence that describes when the schedule fires and in which time zone. More than `listedMax` times per day are
 * described by their interval, if they have one.
 */
export function describeSchedule(schedule: ParsedSchedule, listedMax = MAX_LISTED_TIMES): string {
  const zones = new Set(schedule.lines.map((line) => line.zone.name));
  const [zone = ""] = zones;
  const oneOfMany = zones.size > 1;
  const phrases = schedule.lines.map((line) => {
    const phrase = linePhrase(line, listedMax);
    return oneOfMany ? `${phrase}, ${zonePhrase(line.zone.name)}` : phrase;
  });
  const counted = [...new Set(phrases)];
  const text = counted.join("; and ");
  if (oneOfMany) return sentence(text);
  return sentence(
    counted.length === 1 ? `${text}, ${zonePhrase(zone)}` : `${text} (all in ${zonePhrase(zone)})`,
  );
}

function linePhrase({ calendar: { rule } }: Line, listedMax: number): string {
  const time = timePhrase(rule, listedMax);
  const days = dayPhrase(rule);
  const named = days.everyDay && time.partOfDay ? `every day ${days.text}`.trimEnd() : days.text;
  if (named === "") return time.text;
  // "At 09:00, Monday to Friday", but "At 09:00 every Monday".
  const apart = WEEKDAYS.some((name) => named.startsWith(name));
  return `${time.text}${apart ? "," : ""} ${named}`;
}

function zonePhrase(name: string): string {
  return name === "UTC" ? name : `${name} time`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

export type TimePhrase = {
  text: string;
  /** Whether a day has to be named, if only by "every day": the times are not spread over all of it. */
  partOfDay: boolean;
};

const HOURS = 24;
const SIXTY = 60;
/** Up to this many times of day are listed individually. */
const MAX_LISTED_TIMES = 6;

type Times = { hours: readonly number[]; minutes: readonly number[]; seconds: readonly number[] };

function timePhrase(rule: CalendarRule, listedMax: number): TimePhrase {
  const times = {
    hours: setMembers(rule.hours),
    minutes: setMembers(rule.minutes),
    seconds: setMembers(rule.seconds),
  };
  return { text: textOf(times, listedMax), partOfDay: times.hours.length < HOURS };
}

function textOf(times: Times, listedMax: number): string {
  const { hours, minutes, seconds } = times;
  const count = hours.length * minutes.length * seconds.length;
  if (hours.length < HOURS && count <= listedMax) return listTimes(times);
  if (seconds.length > 1 || seconds[0] !== 0) return secondsText(times);
  const [minute = 0] = minutes;
  if (minutes.length === 1) return hourlyText(times, minute);
  return clockSpan(times) ?? minutesText(times);
}

function listTimes({ hours, minutes, seconds }: Times): string {
  const all = hours.flatMap((hour) =>
    minutes.flatMap((minute) => seconds.map((second) => clock({ hour, minute, second }))),
  );
  return `at ${listed(all)}`;
}

/** One minute of several hours. */
function hourlyText(times: Times, minute: number): string {
  const { hours } = times;
  if (hours.length === HOURS) {
    if (minute === 0) return "every hour, on the hour";
    return `at ${minute} ${minute === 1 ? "minute" : "minutes"} past every hour`;
  }
  const progression = progressionOf(hours);
  if (progression === null) return listTimes(times);
  const { first, step, last } = progression;
  return `every ${step === 1 ? "hour" : `${step} hours`} from ${clock({ hour: first, minute })} to ${clock({ hour: last, minute })}`;
}

/** Evenly spaced minutes in evenly spaced hours, described by the first and last time. */
function clockSpan({ hours, minutes }: Times): string | null {
  const strides = stridesOf(minutes);
  const [hour = 0] = hours;
  if (hours.length === HOURS || strides === null) return null;
  if (hours.length > 1 && !(isRun(hours) && strides.roundTheClock)) return null;
  const to = clock({ hour: hours.at(-1) ?? hour, minute: strides.last });
  return `${everyUnit("minute", strides.step)} from ${clock({ hour, minute: strides.first })} to ${to}`;
}

type Strides = { first: number; step: number; last: number; roundTheClock: boolean };

/** Even strides through minutes or seconds; `roundTheClock` when the next hour goes on in the same step. */
function stridesOf(values: readonly number[]): Strides | null {
  const [first = 0, second] = values;
  const halves = values.length === 2 && second === first + SIXTY / 2;
  const progression = halves ? { first, step: SIXTY / 2, last: second } : progressionOf(values);
  return progression && { ...progression, roundTheClock: progression.step * values.length === SIXTY };
}

function everyUnit(unit: string, step: number): string {
  return step === 1 ? `every ${unit}` : `every ${step} ${unit}s`;
}

function minutesText({ hours, minutes }: Times): string {
  const { text, complete } = withinText("minute", minutes);
  if (!complete) return `${text} of ${hoursNoun(hours)}`;
  return hours.length === HOURS ? text : `${text} during ${hoursNoun(hours)}`;
}

function secondsText({ hours, minutes, seconds }: Times): string {
  const { text, complete } = withinText("second", seconds);
  if (minutes.length < SIXTY) {
    return `${text} ${complete ? "in" : "of"} ${minutesNoun(minutes)} of ${hoursNoun(hours)}`;
  }
  const all = complete ? text : `${text} of every minute`;
  return hours.length === HOURS ? all : `${all} during ${hoursNoun(hours)}`;
}

/** Minutes of an hour or seconds of a minute; `complete` if the unit they belong to can be omitted. */
function withinText(
  unit: "minute" | "second",
  values: readonly number[],
): { text: string; complete: boolean } {
  const strides = stridesOf(values);
  if (strides === null) {
    return { text: `at ${unit}${values.length === 1 ? "" : "s"} ${listedRuns(values)}`, complete: false };
  }
  const { first, step, last, roundTheClock } = strides;
  const every = everyUnit(unit, step);
  if (roundTheClock && first === 0) return { text: every, complete: true };
  const span = roundTheClock ? `starting at ${unit} ${first}` : `from ${unit} ${first} to ${unit} ${last}`;
  return { text: `${every} ${span}`, complete: false };
}

function minutesNoun(minutes: readonly number[]): string {
  const strides = stridesOf(minutes);
  if (strides === null || strides.step === 1) {
    return `${minutes.length === 1 ? "minute" : "minutes"} ${listedRuns(minutes)}`;
  }
  return `every ${ordinal(strides.step)} minute from ${strides.first} to ${strides.last}`;
}

function hoursNoun(hours: readonly number[]): string {
  const [first = 0] = hours;
  const last = hours.at(-1) ?? first;
  if (hours.length === HOURS) return "every hour";
  if (isRun(hours)) {
    const window = `${clock({ hour: first, minute: 0 })} and ${clock({ hour: last, minute: 59 })}`;
    return `${hours.length === 1 ? "the" : "every"} hour between ${window}`;
  }
  const progression = progressionOf(hours);
  if (progression === null) return `hours ${listedRuns(hours)}`;
  return `every ${ordinal(progression.step)} hour from ${first} to ${last}`;
}

const LAST_YEAR = 2199;
/** Up to this many dates are listed individually rather than by their interval. */
const MAX_LISTED_DATES = 4;

/** The days a schedule names, or "" if it names no day, month or year. */
function dayPhrase({ days, months, years }: CalendarRule): { text: string; everyDay: boolean } {
  const listedMonths = setMembers(months);
  const span = { months: listedMonths.length === 12 ? null : listedMonths, years };
  const anyDate = setMembers(days.dates).length === 31 || setMembers(days.lastDates).length === 31;
  const anyWeekday = setMembers(days.weekdays).length === 7;
  const restsOnDates = !anyDate && !(days.join === "or" && anyWeekday);
  const restsOnWeekdays = !anyWeekday && !(days.join === "or" && anyDate);
  if (restsOnDates && restsOnWeekdays) return { text: jointText(days, span), everyDay: false };
  if (restsOnDates) return { text: datesText(days, span), everyDay: false };
  if (restsOnWeekdays) return { text: weekdaysText(days, span) + inYears(years), everyDay: false };
  return { text: (inMonths(span.months) + inYears(years)).trimStart(), everyDay: true };
}

/** Null stands for all of them. */
type Span = { months: readonly number[] | null; years: readonly number[] | null };

function jointText(days: DayRule, { months, years }: Span): string {
  if (days.join === "and") {
    const weekdays = weekdaysText(days, { months, years: null });
    return `${weekdays}, but only on ${dateNoun(days)} of the month${inYears(years)}`;
  }
  const weekdays = weekdayParts(days);
  const ranked = weekdays.ranked === "" ? "" : `on ${weekdays.ranked} of the month`;
  const either = listed([weekdays.plain, ranked].filter((part) => part !== ""));
  if (months === null) return `on ${dateNoun(days)} of every month, and also ${either}${inYears(years)}`;
  return `on ${dateNoun(days)}, and also ${either},${inMonths(months)}${inYears(years)}`;
}

function datesText(days: DayRule, { months, years }: Span): string {
  const dates = setMembers(days.dates);
  const single = dates.length === 1 && !days.lastWorkday && setMembers(days.lastDates).length === 0;
  if (single && months?.length === 1) {
    const date = `on ${monthName(months[0] ?? 0)} ${dates[0]}`;
    return years?.length === 1 ? `${date}, ${years[0]}` : `${date}${inYears(years)}`;
  }
  return `on ${dateNoun(days)} of ${monthNoun(months)}${inYears(years)}`;
}

function weekdaysText(days: DayRule, { months }: Span): string {
  const { plain, ranked } = weekdayParts(days);
  if (ranked === "") return `${plain}${inMonths(months)}`;
  const lead = plain === "" ? "" : `${plain} and `;
  return `${lead}on ${ranked} of ${monthNoun(months)}`;
}

/** "the 1st, 5th to 7th and the last day", without its preposition. */
function dateNoun({ dates, lastDates, lastWorkday }: DayRule): string {
  const parts: string[] = [];
  const fromStart = setMembers(dates);
  const fromEnd = setMembers(lastDates);
  if (fromStart.length > 0) parts.push(fromStartNoun(fromStart));
  if (fromEnd.length > 0) parts.push(fromEndNoun(fromEnd));
  if (lastWorkday) parts.push("the last weekday");
  return listed(parts);
}

function fromStartNoun(dates: readonly number[]): string {
  const progression = progressionOf(dates);
  if (progression === null || progression.step === 1 || dates.length <= MAX_LISTED_DATES) {
    return `the ${listedRuns(dates, ordinal)}`;
  }
  const { first, step, last } = progression;
  if (step === 2 && first < 3 && last + step > 31) return first === 1 ? "the odd days" : "the even days";
  return `every ${ordinal(step)} day from the ${ordinal(first)} to the ${ordinal(last)}`;
}

function fromEndNoun(days: readonly number[]): string {
  const [first = 0] = days;
  if (days.length > 1 && first === 1 && isRun(days)) return `the last ${days.length} days`;
  const name = (day: number): string => (day === 1 ? "last" : `${ordinal(day)}-to-last`);
  return `the ${listedRuns(days, name)} day`;
}

/** Weekdays that hold in every week, and those that hold once a month. */
function weekdayParts(days: DayRule): { plain: string; ranked: string } {
  // Members count from Sunday, the names here from Monday.
  const plain = setMembers(days.weekdays)
    .map((day) => (day + 6) % 7)
    .toSorted((a, b) => a - b);
  const names = plain.map((day) => WEEKDAYS[day] ?? "");
  const ranked: string[] = [];
  WEEKDAYS.forEach((name, index) => {
    const weekday = (index + 1) % 7;
    const ranks = days.nthWeekdays.filter((item) => item.weekday === weekday).map((item) => item.nth);
    const rankWords = [...new Set(ranks)].toSorted((a, b) => a - b).map(nthWord);
    if (hasMember(days.lastWeekdays, weekday)) rankWords.push("last");
    if (rankWords.length > 0) ranked.push(`the ${listed(rankWords)} ${name}`);
  });
  const asRange = plain.length > 2 && isRun(plain);
  const every = asRange ? `${names[0]} to ${names.at(-1)}` : `every ${listed(names)}`;
  return { plain: names.length === 0 ? "" : every, ranked: listed(ranked) };
}

function monthNoun(months: readonly number[] | null): string {
  if (months === null) return "every month";
  if (months.length > 2 && isRun(months)) return `every month from ${listedRuns(months, monthName)}`;
  return listed(months.map(monthName));
}

function inMonths(months: readonly number[] | null): string {
  if (months === null) return "";
  return months.length > 2 && isRun(months)
    ? ` from ${listedRuns(months, monthName)}`
    : ` in ${monthNoun(months)}`;
}

function inYears(years: readonly number[] | null): string {
  if (years === null) return "";
  const progression = progressionOf(years);
  if (progression === null) return ` in ${listedRuns(years)}`;
  const { first, step, last } = progression;
  const until = last + step > LAST_YEAR ? "" : ` to ${last}`;
  if (step === 1) return until === "" ? ` starting in ${first}` : ` from ${first}${until}`;
  return ` every ${step} years starting in ${first}${until}`;
}

/** Monday first. */
const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

export const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];

const NTH = ["first", "second", "third", "fourth", "fifth"];

/** From this many on, consecutive values are shown as a range. */
const MIN_RUN = 3;

/** January is 1. */
function monthName(month: number): string {
  return MONTHS[month - 1] ?? "";
}

/** 1 is "first"; up to five. */
function nthWord(nth: number): string {
  return NTH[nth - 1] ?? "";
}

/** "a", "a and b", "a, b and c". */
function listed(items: readonly string[]): string {
  if (items.length < 2) return items.join("");
  return `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
}

/** "1st", "2nd", "3rd", "4th", "11th", "21st". */
function ordinal(value: number): string {
  const tens = value % 100;
  const ending = tens >= 11 && tens <= 13 ? "th" : (["th", "st", "nd", "rd"][value % 10] ?? "th");
  return `${value}${ending}`;
}

/** "03:05", and with seconds that are not 0 "03:05:09". */
function clock({ hour, minute, second = 0 }: { hour: number; minute: number; second?: number }): string {
  const parts = second === 0 ? [hour, minute] : [hour, minute, second];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}

export type Progression = { first: number; step: number; last: number };

/** The even strides that ascending values follow; null for less than three or uneven ones. */
function progressionOf(values: readonly number[]): Progression | null {
  const [first = 0, second = 0] = values;
  const last = values.at(-1) ?? 0;
  const step = second - first;
  const even = values.every((value, index) => value === first + index * step);
  return values.length >= MIN_RUN && even ? { first, step, last } : null;
}

/** Ascending values, consecutive ones combined: "1, 4 to 7 and 12". */
function listedRuns(values: readonly number[], name: (value: number) => string = String): string {
  const items: string[] = [];
  for (let index = 0; index < values.length; ) {
    let end = index;
    while (values[end + 1] === (values[end] ?? 0) + 1) end += 1;
    const run = values.slice(index, end + 1);
    if (run.length >= MIN_RUN) items.push(`${name(run[0] ?? 0)} to ${name(run.at(-1) ?? 0)}`);
    else items.push(...run.map(name));
    index = end + 1;
  }
  return listed(items);
}

/** Whether the values are consecutive. */
function isRun(values: readonly number[]): boolean {
  return (values.at(-1) ?? 0) - (values[0] ?? 0) === values.length - 1;
}

// Short descriptions for lists: "every 5 minutes", "at 03:00 every day, Riga". If the description is long,
// the expression itself is used.

/** A column of a list holds no more. */
const WORDS_LENGTH_MAX = 60;
/** If the times of a day fill the column, at most this many are listed individually. */
const TIMES_LISTED = 2;

type Expected = Pick<CheckSettings, "kind" | "timeoutSeconds" | "schedule" | "tz">;

/** A short description without a period. */
export function shortScheduleText({ kind, timeoutSeconds, schedule, tz }: Expected): string {
  if (kind === "simple") return `every ${periodInWords(timeoutSeconds)}`;
  const parsed = parseSchedule({ text: schedule, tz });
  if (parsed === null) return schedule;
  const zone = tz === "UTC" ? "UTC" : placeOf(tz);
  for (const listedMax of [undefined, TIMES_LISTED]) {
    const words = describeSchedule(parsed, listedMax)
      .slice(0, -1)
      .replace(` ${tz} time`, ` ${zone}`)
      .replace(/^(At|Every|On|In)\b/, (word) => word.toLowerCase());
    if (words.length <= WORDS_LENGTH_MAX) return words;
  }
  const expression = schedule
    .trim()
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join("; ");
  return `${expression}, ${zone}`;
}

/** "Riga" of "Europe/Riga". */
export function placeOf(tz: string): string {
  return (tz.split("/").at(-1) ?? tz).replaceAll("_", " ");
}

const UNITS = [
  ["week", 604_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
] as const;

/** "5 minutes", "day", "1 day 12 hours": at most two units, the rest is rounded away. */
function periodInWords(seconds: number): string {
  const whole = UNITS.find(([, size]) => seconds >= size && seconds % size === 0);
  if (whole !== undefined && seconds / whole[1] < 100) {
    const count = seconds / whole[1];
    return count === 1 ? whole[0] : `${count} ${whole[0]}s`;
  }
  const at = UNITS.findIndex(([, size]) => seconds >= size);
  const [first, second] = [UNITS[at] ?? UNITS[4], UNITS[at + 1]];
  const count = Math.floor(seconds / first[1]);
  const rest = second === undefined ? 0 : Math.round((seconds - count * first[1]) / second[1]);
  const counted = (number: number, unit: string) => `${number} ${unit}${number === 1 ? "" : "s"}`;
  return rest === 0 || second === undefined
    ? counted(count, first[0])
    : `${counted(count, first[0])} ${counted(rest, second[0])}`;
}

// Notes about steps in valid schedules: `*/90` in minutes is once an hour, and `*/7` restarts every hour.

export type ScheduleNote = {
  /** `single`: the step never takes effect. `uneven`: the last interval is shorter than the others. */
  kind: "single" | "uneven";
  field: FieldName;
  /** The part of the expression, as it was written. */
  text: string;
  first: number;
  /** The last value before the field restarts. */
  last: number;
  step: number;
};

type Field = { name: FieldName; min: number; max: number };

const SECOND: Field = { name: "second", min: 0, max: 59 };
const MINUTE: Field = { name: "minute", min: 0, max: 59 };
const HOUR: Field = { name: "hour", min: 0, max: 23 };
const DATE: Field = { name: "day of month", min: 1, max: 31 };
const MONTH: Field = { name: "month", min: 1, max: 12 };
const WEEKDAY: Field = { name: "day of week", min: 0, max: 6 };
const CRON_FIELDS = [MINUTE, HOUR, DATE, MONTH, WEEKDAY];

const CRON_STEP = /^(?:\*|([0-9]+)(?:-([0-9]+))?)\/([0-9]+)$/;
const CALENDAR_STEP = /^([0-9]+)(?:\.\.([0-9]+))?\/([0-9]+)$/;

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const STARTS_ANEW: Readonly<Record<FieldName, string>> = {
  second: "minute",
  minute: "hour",
  hour: "day",
  "day of month": "month",
  month: "year",
  "day of week": "week",
  year: "century",
};

/** For valid expressions; invalid ones have none. */
export function scheduleNotes(text: string): ScheduleNote[] {
  if (detectKind(text) === "cron") {
    return splitWords(text).flatMap((word, index) => notesOf(word, CRON_FIELDS[index], CRON_STEP));
  }
  return text.split("\n").flatMap((line) => splitWords(line).flatMap(calendarNotes));
}

function calendarNotes(word: string): ScheduleNote[] {
  const isTime = word.includes(":");
  const parts = word.split(isTime ? ":" : "-");
  // Of a date the last two count, of a time the first comes first.
  const fields = isTime
    ? [HOUR, MINUTE, SECOND]
    : parts.length === 3
      ? [undefined, MONTH, DATE]
      : [MONTH, DATE];
  return parts.flatMap((part, index) => notesOf(part, fields[index], CALENDAR_STEP));
}

function notesOf(word: string, field: Field | undefined, step: RegExp): ScheduleNote[] {
  if (field === undefined) return [];
  return word.split(",").flatMap((term) => {
    const match = step.exec(term);
    return match === null ? [] : noteOf(match, field);
  });
}

function noteOf([text, fromText, toText, stepText]: RegExpExecArray, field: Field): ScheduleNote[] {
  const first = fromText === undefined ? field.min : Number(fromText);
  const isRange = toText !== undefined && toText !== fromText;
  const to = isRange ? Number(toText) : field.max;
  const step = Number(stepText);
  if (step <= 1) return [];
  const last = first + Math.floor((to - first) / step) * step;
  const note = { field: field.name, text, first, last, step };
  if (last === first) return [{ kind: "single", ...note }];
  // Months are of different length, so no step fits all of them.
  const isEven = field !== DATE && (field.max - field.min + 1) % step === 0;
  return isRange || isEven ? [] : [{ kind: "uneven", ...note }];
}

/** “0/90” matches minute 0 only, which is once every hour. */
export function noteSentence({ kind, field, text, first, last, step }: ScheduleNote): string {
  const anew = STARTS_ANEW[field];
  if (kind === "uneven") {
    return `“${text}” restarts every ${anew}: ${valueName(field, last)} is followed by ${valueName(field, first)}.`;
  }
  const once = `“${text}” matches ${valueName(field, first)} only, which is once every ${anew}.`;
  return field === "minute" || field === "hour"
    ? `${once} For every ${step} ${field}s, choose an interval instead of an expression.`
    : once;
}

function valueName(field: FieldName, value: number): string {
  if (field === "day of week") return DAYS[value % DAYS.length] ?? String(value);
  return field === "day of month" ? `day ${value}` : `${field} ${value}`;
}
