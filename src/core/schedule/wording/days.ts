// The days of a schedule in English: weekdays, dates, months and years, and whether dates and weekdays
// both have to hold or one of them is enough.

import type { CalendarRule } from "../calendar.ts";
import type { DayRule } from "../days.ts";
import { has, members } from "../number-set.ts";
import {
  isRun,
  listed,
  listedRuns,
  monthName,
  nthWord,
  ordinal,
  progressionOf,
  WEEKDAYS,
} from "./phrases.ts";

const LAST_YEAR = 2199;
/** Up to this many dates are told one by one rather than by their strides. */
const MAX_LISTED_DATES = 4;

/** The days a schedule names, or "" when it names no day, month or year at all. */
export function dayPhrase({ days, months, years }: CalendarRule): { text: string; everyDay: boolean } {
  const listedMonths = members(months);
  const span = { months: listedMonths.length === 12 ? null : listedMonths, years };
  const anyDate = members(days.dates).length === 31 || members(days.lastDates).length === 31;
  const anyWeekday = members(days.weekdays).length === 7;
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
  const dates = members(days.dates);
  const single = dates.length === 1 && !days.lastWorkday && members(days.lastDates).length === 0;
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
  const fromStart = members(dates);
  const fromEnd = members(lastDates);
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
  const plain = members(days.weekdays)
    .map((day) => (day + 6) % 7)
    .toSorted((a, b) => a - b);
  const names = plain.map((day) => WEEKDAYS[day] ?? "");
  const ranked: string[] = [];
  WEEKDAYS.forEach((name, index) => {
    const weekday = (index + 1) % 7;
    const ranks = days.nthWeekdays.filter((item) => item.weekday === weekday).map((item) => item.nth);
    const rankWords = [...new Set(ranks)].toSorted((a, b) => a - b).map(nthWord);
    if (has(days.lastWeekdays, weekday)) rankWords.push("last");
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
