// Small pieces of English that descriptions of schedules are put together from. Knows numbers and names,
// not schedules.

/** Monday first, as people count the days of a week. */
export const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

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

/** From this many on, neighbours are told as a range. */
const MIN_RUN = 3;

/** January is 1. */
export function monthName(month: number): string {
  return MONTHS[month - 1] ?? "";
}

/** 1 is "first"; up to five. */
export function nthWord(nth: number): string {
  return NTH[nth - 1] ?? "";
}

/** "a", "a and b", "a, b and c". */
export function listed(items: readonly string[]): string {
  if (items.length < 2) return items.join("");
  return `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
}

/** "1st", "2nd", "3rd", "4th", "11th", "21st". */
export function ordinal(value: number): string {
  const tens = value % 100;
  const ending = tens >= 11 && tens <= 13 ? "th" : (["th", "st", "nd", "rd"][value % 10] ?? "th");
  return `${value}${ending}`;
}

/** "03:05", and with seconds that are not 0 "03:05:09". */
export function clock({
  hour,
  minute,
  second = 0,
}: {
  hour: number;
  minute: number;
  second?: number;
}): string {
  const parts = second === 0 ? [hour, minute] : [hour, minute, second];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}

export type Progression = { first: number; step: number; last: number };

/** The even strides that ascending values follow; null for less than three or uneven ones. */
export function progressionOf(values: readonly number[]): Progression | null {
  const [first = 0, second = 0] = values;
  const last = values.at(-1) ?? 0;
  const step = second - first;
  const even = values.every((value, index) => value === first + index * step);
  return values.length >= MIN_RUN && even ? { first, step, last } : null;
}

/** Ascending values one by one, neighbours drawn together: "1, 4 to 7 and 12". */
export function listedRuns(values: readonly number[], name: (value: number) => string = String): string {
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

/** Whether the values follow each other without a hole. */
export function isRun(values: readonly number[]): boolean {
  return (values.at(-1) ?? 0) - (values[0] ?? 0) === values.length - 1;
}
