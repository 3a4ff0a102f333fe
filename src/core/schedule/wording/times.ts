// The time of day of a schedule in English: "at 03:00", "every 5 minutes", "every hour from 09:30 to
// 17:30". Works from the sets of values, so that it is true however the expression was written.

import type { CalendarRule } from "../calendar.ts";
import { members } from "../number-set.ts";
import { clock, isRun, listed, listedRuns, ordinal, progressionOf } from "./phrases.ts";

export type TimePhrase = {
  text: string;
  /** Whether a day has to be named, if only by "every day": the times are not spread over all of it. */
  partOfDay: boolean;
};

const HOURS = 24;
const SIXTY = 60;
/** Up to this many times of day are told one by one. */
export const MAX_LISTED_TIMES = 6;

type Times = { hours: readonly number[]; minutes: readonly number[]; seconds: readonly number[] };

export function timePhrase(rule: CalendarRule, listedMax: number): TimePhrase {
  const times = {
    hours: members(rule.hours),
    minutes: members(rule.minutes),
    seconds: members(rule.seconds),
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

/** Minutes that follow each other evenly over hours that do too, told by the first and the last time. */
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

/** Minutes of an hour or seconds of a minute; `complete` when it need not be said of what. */
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
