// Why a schedule is invalid, as data and as a sentence. The Management API has its own recorded texts.

export type FieldName = "second" | "minute" | "hour" | "day of month" | "month" | "day of week" | "year";

export type ScheduleProblem =
  | { reason: "empty" }
  | { reason: "length"; max: number }
  | { reason: "characters" }
  /** A cron expression with too few or too many fields. */
  | { reason: "fields"; expected: number; got: number }
  | { reason: "range"; field: FieldName; text: string; min: number; max: number }
  | { reason: "name"; field: FieldName; text: string; names: readonly string[] }
  | { reason: "reversed"; field: FieldName; text: string }
  | { reason: "step"; field: FieldName; text: string }
  | { reason: "term"; field: FieldName; text: string }
  /** OnCalendar has no star with a step. */
  | { reason: "star"; field: FieldName; text: string }
  /** None of the months has that day. */
  | { reason: "date"; day: number; months: readonly number[] }
  /** A word of an OnCalendar expression that is none of weekdays, date, time and zone, or stands in the wrong place. */
  | { reason: "word"; text: string }
  | { reason: "macro"; text: string; macros: readonly string[] }
  /** It can be parsed, but never matches. */
  | { reason: "never" };

/** A problem and the line that has it, counted from 1; 0 where there is one line only. */
export type LocatedProblem = { problem: ScheduleProblem; line: number };

const MONTHS = "January February March April May June July August September October November December".split(
  " ",
);

export function isProblem(found: object): found is ScheduleProblem {
  return "reason" in found;
}

/** "Invalid schedule: minute: 61 is out of range 0-59." */
export function problemSentence({ problem, line }: LocatedProblem): string {
  return `Invalid schedule: ${line > 0 ? `line ${line}: ` : ""}${problemText(problem)}.`;
}

function problemText(problem: ScheduleProblem): string {
  switch (problem.reason) {
    case "empty":
      return "the expression is empty";
    case "length":
      return `at most ${problem.max} characters are allowed`;
    case "characters":
      return "only ASCII letters, digits, and punctuation are allowed";
    case "fields":
      return `expected ${problem.expected} fields, got ${problem.got}`;
    case "range":
      return `${problem.field}: ${problem.text} is out of range ${problem.min}-${problem.max}`;
    case "name":
      return `${problem.field}: unknown name ${problem.text}, use ${problem.names.join(", ")}`;
    case "reversed":
      return `${problem.field}: the range ${problem.text} ends before it begins`;
    case "step":
      return `${problem.field}: the step in ${problem.text} must be at least 1`;
    case "term":
      return problem.text === ""
        ? `${problem.field}: a value is missing`
        : `${problem.field}: “${problem.text}” is not valid`;
    case "star":
      return `${problem.field}: “${problem.text}” is not valid, use ${problem.text.replace("*", "0")}`;
    case "date":
      return problem.months.length === 1
        ? `${MONTHS[(problem.months[0] ?? 1) - 1]} has no day ${problem.day}`
        : `none of these months has a day ${problem.day}`;
    case "word":
      return `“${problem.text}” is not valid here, expected weekdays, date, time, zone`;
    case "macro":
      return problem.text.toLowerCase() === "@reboot"
        ? "@reboot has no time of day, so no ping can be expected"
        : `unknown macro ${problem.text}, use ${problem.macros.join(", ")}`;
    case "never":
      return "it never matches a date";
  }
}

const WORD = /[^\t-\r ]+/g;
const OTHER_THAN_ASCII = /[^\t-\r -~]/;

/** The words in order. */
export function splitWords(text: string): readonly string[] {
  return text.match(WORD) ?? [];
}

/** Whether the text has only printable ASCII and white space: no schedule needs anything else. */
export function isPlainText(text: string): boolean {
  return !OTHER_THAN_ASCII.test(text);
}
