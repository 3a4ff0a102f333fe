// Schedules: which language a text is in, whether it is valid, and when it fires next. Only parsed texts are
// cached.
import { type Instant, SECOND_MS } from "../instant.ts";
import { type Calendar, compileCalendar, nextReading, NO_READING, yearOf } from "./calendar.ts";
import { MACRO_NAMES, parseCron } from "./cron.ts";
import { parseOnCalendarLine } from "./oncalendar.ts";
import { isPlainText, isProblem, type LocatedProblem, type ScheduleProblem, splitWords } from "./problem.ts";
import { instantOf, type Stretch, stretchAfterGap, stretchAt, type Zone, zoneOf } from "./zone.ts";

export type ScheduleKind = "cron" | "oncalendar";

/** A parsed text in the zone of its check. Only `parseSchedule` creates it. */
export type ParsedSchedule = {
  readonly kind: ScheduleKind;
  readonly text: string;
  readonly tz: string;
  /** One for cron; one for each line of OnCalendar. */
  readonly lines: readonly Line[];
};

/** Characters, counted before anything is trimmed. */
export const MAX_SCHEDULE_LENGTH = 100;

/**
 * Cached schedules: up to twice this many, about 2 kB each. When the recent ones are full they become the
 * older ones, and the previous older ones are dropped.
 */
const MAX_RECENT = 4_096;

const CRON_WORDS = 5;

/** The supported range: 1970 to 2199, the last year of OnCalendar, plus a day for time zones. */
const FIRST_SECOND = 0;
const LAST_SECOND = 7_258_204_799;

/** A schedule must fire at least once after this, 1 January 2000, to be accepted. */
const MUST_FIRE_AFTER = 946_684_800;

let recent = new Map<string, ParsedSchedule>();
let older = new Map<string, ParsedSchedule>();

/** Five words on one line are cron; anything else is taken for OnCalendar. */
export function detectKind(text: string): ScheduleKind {
  return splitWords(text).length === CRON_WORDS && !text.trim().includes("\n") ? "cron" : "oncalendar";
}

/** The schedule, or null if the text or the zone is invalid. Cheap for recently used texts. */
export function parseSchedule({ text, tz }: { text: string; tz: string }): ParsedSchedule | null {
  const zone = zoneOf(tz);
  if (zone === null || text.length > MAX_SCHEDULE_LENGTH) return null;
  // No zone name contains a space, so the two parts of the key cannot be confused.
  const key = `${tz} ${text}`;
  const known = recent.get(key);
  if (known !== undefined) return known;
  const read = older.get(key) ?? parseAfresh(text, { zone, kind: detectKind(text) });
  const schedule = "problem" in read ? null : read;
  if (schedule !== null) {
    if (recent.size >= MAX_RECENT) {
      older = recent;
      recent = new Map();
    }
    recent.set(key, schedule);
  }
  return schedule;
}

/**
 * Whether the text is accepted from a user: it can be parsed and fires at least once after 1 January 2000. With
 * `oncalendar` false, only cron is accepted. The zone of the check does not matter, so UTC is used.
 */
export function isValidSchedule(text: string, { oncalendar }: { oncalendar: boolean }): boolean {
  if (!oncalendar && detectKind(text) === "oncalendar") return false;
  const schedule = parseSchedule({ text, tz: "UTC" });
  return schedule !== null && earliestFiring(schedule.lines, MUST_FIRE_AFTER) !== null;
}

/**
 * The first firing strictly after `at`, or null if there is none. Instants before 1970 count as 1970; after 2199
 * there is no result.
 */
export function nextAfter(schedule: ParsedSchedule, at: Instant): Instant | null {
  const start = Math.max(Math.floor(at / SECOND_MS), FIRST_SECOND - 1);
  // Written so that NaN is covered, too.
  if (!(start <= LAST_SECOND)) return null;
  const second = earliestFiring(schedule.lines, start);
  return second === null ? null : second * SECOND_MS;
}

function earliestFiring(lines: readonly Line[], start: number): number | null {
  let earliest: number | null = null;
  for (const line of lines) {
    const second = nextFiring(line, start);
    if (second !== null && (earliest === null || second < earliest)) earliest = second;
  }
  return earliest;
}

type Read = { zone: Zone; kind: ScheduleKind };

function parseAfresh(text: string, { zone, kind }: Read): ParsedSchedule | LocatedProblem {
  if (!isPlainText(text)) return { problem: { reason: "characters" }, line: 0 };
  const lines = kind === "cron" ? readCron(text, zone) : readOnCalendar(text, zone);
  return "problem" in lines ? lines : { kind, text, tz: zone.name, lines };
}

function readCron(text: string, zone: Zone): Line[] | LocatedProblem {
  const cron = parseCron(text);
  if (isProblem(cron)) return { problem: cron, line: 0 };
  return [{ calendar: compileCalendar(cron.rule), zone, mode: cron.byClock ? "clock" : "interval" }];
}

function readOnCalendar(text: string, zone: Zone): Line[] | LocatedProblem {
  const lines: Line[] = [];
  const texts = text.trim().split("\n");
  for (const [index, line] of texts.entries()) {
    const found = parseOnCalendarLine(line);
    if (isProblem(found)) return { problem: found, line: texts.length > 1 ? index + 1 : 0 };
    const own = found.zone === null ? null : zoneOf(found.zone);
    lines.push({ calendar: compileCalendar(found.rule), zone: own ?? zone, mode: "calendar" });
  }
  return lines;
}

/** Distinguishes an OnCalendar expression from a cron expression, even if it is invalid. */
const LIKE_ON_CALENDAR = /[:~\n]|\.\.|\*-|-\*|\d-\d+-\d|^[A-Za-z]/;

/**
 * Why the text is not accepted from a user; null if it is. `kind` is the language chosen by the user; without it, an
 * invalid text is explained in the language that it resembles.
 */
export function findScheduleProblem(text: string, kind: ScheduleKind | null): LocatedProblem | null {
  const whole = (problem: ScheduleProblem): LocatedProblem => ({ problem, line: 0 });
  const trimmed = text.trim();
  if (trimmed === "") return whole({ reason: "empty" });
  if (text.length > MAX_SCHEDULE_LENGTH) return whole({ reason: "length", max: MAX_SCHEDULE_LENGTH });
  if (trimmed.startsWith("@")) return whole({ reason: "macro", text: trimmed, macros: MACRO_NAMES });
  const utc = zoneOf("UTC");
  if (utc === null) return null;
  const read = parseAfresh(text, { zone: utc, kind: kind ?? detectKind(text) });
  if ("problem" in read) {
    const isLikeCron = kind === null && !LIKE_ON_CALENDAR.test(trimmed);
    return isLikeCron ? explained(parseAfresh(text, { zone: utc, kind: "cron" }), read) : read;
  }
  return earliestFiring(read.lines, MUST_FIRE_AFTER) === null ? whole({ reason: "never" }) : null;
}

function explained(read: ParsedSchedule | LocatedProblem, otherwise: LocatedProblem): LocatedProblem {
  return "problem" in read ? read : otherwise;
}

/**
 * How a schedule treats clock changes. `interval`: it fires whenever the clock shows a matching time, so
 * not at all in a skipped hour and twice in a repeated one. `clock`: a skipped time fires when the gap
 * ends, a repeated one only the first time. `calendar`: a skipped time is left out, a repeated one fires
 * once.
 */
export type FiringMode = "interval" | "clock" | "calendar";

export type Line = { calendar: Calendar; zone: Zone; mode: FiringMode };

/** How far a cron search looks: every date that exists comes round within 40 years. */
const CRON_SEARCH_YEARS = 50;
/** OnCalendar supports no later year. */
const LAST_ONCALENDAR_YEAR = 2199;
/** A line whose every reading falls into a clock change, this many times running, never fires. */
const MAX_SKIPPED_GAPS = 50;

/** The largest offset ahead of UTC, and the widest spread of two offsets, each with some to spare. */
const AHEAD_SECONDS = 15 * 3_600;
const SPREAD_SECONDS = 30 * 3_600;

/** The first second after `start` at which the line fires, or null when it never does again. */
function nextFiring(line: Line, start: number): number | null {
  const stretch = stretchAt(line.zone, start);
  switch (line.mode) {
    case "interval":
      return nextByInterval(line, start, stretch);
    case "clock":
      return nextByClock(line, start, stretch);
    case "calendar":
      return nextByCalendar(line, start, stretch);
  }
}

function nextByInterval({ calendar, zone }: Line, start: number, first: Stretch): number | null {
  let origin = start;
  let stretch = first;
  const lastYear = yearOf(start + stretch.offset) + CRON_SEARCH_YEARS;
  let reading = nextReading(calendar, { after: start + stretch.offset, lastYear });
  while (reading !== NO_READING) {
    if (reading - stretch.offset < stretch.to) return reading - stretch.offset;
    // Clocks that are set back can show an earlier matching time, but only within a day or so. Later
    // than that nothing can match before the reading that was found, and the search jumps close to it.
    const jump = stretch.to > origin + SPREAD_SECONDS ? reading - AHEAD_SECONDS : stretch.to;
    origin = Math.max(stretch.to, jump);
    stretch = stretchAt(zone, origin);
    reading = nextReading(calendar, { after: origin + stretch.offset - 1, lastYear });
  }
  return null;
}

function nextByClock({ calendar, zone }: Line, start: number, { offset }: Stretch): number | null {
  const lastYear = yearOf(start + offset) + CRON_SEARCH_YEARS;
  let reading = nextReading(calendar, { after: start + offset, lastYear });
  while (reading !== NO_READING) {
    const second =
      instantOf(zone, { reading, after: Number.NEGATIVE_INFINITY }) ??
      stretchAfterGap(zone, reading)?.from ??
      null;
    if (second !== null && second > start) return second;
    // The start lies in the second pass of a repeated hour, and this reading fired in the first.
    reading = nextReading(calendar, { after: reading, lastYear });
  }
  return null;
}

function nextByCalendar({ calendar, zone }: Line, start: number, { offset }: Stretch): number | null {
  let reading = nextReading(calendar, { after: start + offset, lastYear: LAST_ONCALENDAR_YEAR });
  for (let gaps = 0; reading !== NO_READING && gaps < MAX_SKIPPED_GAPS; gaps += 1) {
    const second = instantOf(zone, { reading, after: start });
    if (second !== null) return second;
    // Skipped: continue with the first reading after the gap.
    const behind = stretchAfterGap(zone, reading);
    const skipped = behind === null ? reading : behind.from + behind.offset - 1;
    reading = nextReading(calendar, { after: skipped, lastYear: LAST_ONCALENDAR_YEAR });
  }
  return null;
}
