// What a person should know about steps in a schedule that can be read: `*/90` in minutes is once an hour, and `*/7`
// starts anew every hour. The schedule is accepted all the same.
import type { FieldName } from "./problem.ts";
import { detectKind } from "./schedule.ts";
import { words } from "./words.ts";

export type ScheduleNote = {
  /** `single`: the step never takes effect. `uneven`: the last interval is shorter than the others. */
  kind: "single" | "uneven";
  field: FieldName;
  /** The part of the expression, as it was written. */
  text: string;
  first: number;
  /** The last value before the field starts anew. */
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

/** For an expression that is accepted; none for one that is not. */
export function scheduleNotes(text: string): ScheduleNote[] {
  if (detectKind(text) === "cron") {
    return words(text).flatMap((word, index) => notesOf(word, CRON_FIELDS[index], CRON_STEP));
  }
  return text.split("\n").flatMap((line) => words(line).flatMap(calendarNotes));
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
