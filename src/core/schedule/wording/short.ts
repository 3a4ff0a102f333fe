// What is expected of a check in a few words, for a list: "every 5 minutes", "at 03:00 every day, Riga". Where the
// words would be many, the expression itself is shorter.
import type { CheckSettings } from "../../check.ts";
import { parseSchedule } from "../schedule.ts";
import { describe } from "./describe.ts";

/** A column of a list holds no more. */
const WORDS_LENGTH_MAX = 60;
/** Where the times of a day fill the column, only so few of them are told one by one. */
const TIMES_LISTED = 2;

type Expected = Pick<CheckSettings, "kind" | "timeoutSeconds" | "schedule" | "tz">;

/** A few words without a full stop. */
export function expectedInShort({ kind, timeoutSeconds, schedule, tz }: Expected): string {
  if (kind === "simple") return `every ${periodInWords(timeoutSeconds)}`;
  const parsed = parseSchedule({ text: schedule, tz });
  if (parsed === null) return schedule;
  const zone = tz === "UTC" ? "UTC" : placeOf(tz);
  for (const listedMax of [undefined, TIMES_LISTED]) {
    const words = describe(parsed, listedMax)
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
function placeOf(tz: string): string {
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
  const told = (number: number, unit: string) => `${number} ${unit}${number === 1 ? "" : "s"}`;
  return rest === 0 || second === undefined
    ? told(count, first[0])
    : `${told(count, first[0])} ${told(rest, second[0])}`;
}
