// Durations as text for pages, messages and badges. There are four formats, because a setting, a run, a table cell
// and a sentence each omit something else. A fifth one is read from commands and URLs.
import { SECOND_MS } from "./instant.ts";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

type Unit = { seconds: number; one: string; many: string };

const WEEKS: Unit = { seconds: WEEK, one: "week", many: "weeks" };

const WORDS: readonly Unit[] = [
  { seconds: DAY, one: "day", many: "days" },
  { seconds: HOUR, one: "hour", many: "hours" },
  { seconds: MINUTE, one: "minute", many: "minutes" },
  { seconds: 1, one: "second", many: "seconds" },
];

const ABBREVIATIONS: readonly Unit[] = [
  { seconds: DAY, one: "day", many: "days" },
  { seconds: HOUR, one: "h", many: "h" },
  { seconds: MINUTE, one: "min", many: "min" },
  { seconds: 1, one: "sec", many: "sec" },
];

const DURATION = /^(?=[0-9])(?:([0-9]{1,6})d)?(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,6})s)?$/;

/** `45m`, `2h` or `1h30m` in seconds; null if it is not a duration. */
export function parseDuration(text: string): number | null {
  const [whole, ...counts] = DURATION.exec(text) ?? [];
  if (whole === undefined) return null;
  return counts.reduce((sum, digits, index) => sum + Number(digits ?? 0) * (WORDS[index]?.seconds ?? 0), 0);
}

/** A period or grace time: `2 weeks`, `8 days`, `1 hour 30 minutes`. Seconds beyond the minute are left out. */
export function periodText(seconds: number): string {
  if (seconds >= WEEK && seconds % WEEK === 0) return count(seconds / WEEK, WEEKS);
  return parts(seconds - (seconds % MINUTE), WORDS).join(" ");
}

/** How long a run took: `0.12 sec`, `5 sec`, `1 min 2 sec`, `1 h 0 min 0 sec`. */
export function runText(durationMs: number): string {
  const hundredths = Math.floor(durationMs / 10);
  if (hundredths > 0 && hundredths < 100) return `${(hundredths / 100).toFixed(2)} sec`;
  const total = Math.floor(durationMs / SECOND_MS);
  const hours = Math.floor(total / HOUR);
  const minutes = Math.floor((total % HOUR) / MINUTE);
  const texts = [`${total % MINUTE} sec`];
  if (hours > 0 || minutes > 0) texts.unshift(`${minutes} min`);
  if (hours > 0) texts.unshift(`${hours} h`);
  return texts.join(" ");
}

/** A downtime in a table: `24 sec`, `12 min 24 sec`, `6 h 12 min`, `3 days 6 h`. */
export function downtimeText(seconds: number): string {
  return twoLargest(seconds, ABBREVIATIONS).join(" ");
}

/** A duration inside a sentence: `0 seconds`, `12 minutes, 1 second`, `3 days, 6 hours`. */
export function sentenceText(seconds: number): string {
  return twoLargest(seconds, WORDS).join(", ");
}

// The largest unit that fits and the next smaller one: days with minutes would suggest false precision.
function twoLargest(seconds: number, units: readonly Unit[]): string[] {
  const largest = units.findIndex((unit) => seconds >= unit.seconds);
  return largest === -1
    ? units.slice(-1).map((smallest) => count(0, smallest))
    : parts(seconds, units.slice(largest, largest + 2));
}

// The whole number of each unit, largest first, without those that are zero.
function parts(seconds: number, units: readonly Unit[]): string[] {
  const texts: string[] = [];
  let rest = seconds;
  for (const unit of units) {
    const number = Math.floor(rest / unit.seconds);
    if (number > 0) texts.push(count(number, unit));
    rest -= number * unit.seconds;
  }
  return texts;
}

function count(number: number, unit: Unit): string {
  return `${number} ${number === 1 ? unit.one : unit.many}`;
}
