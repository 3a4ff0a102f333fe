// When a schedule fires, by walking through time minute by minute and looking at the clock on the wall. Reads only
// what the worlds use of both languages, and refuses the rest aloud.
import type { Settings } from "./history.ts";
import { offsetMinutes } from "./zone.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** A walk covers so many days at once. */
const WALK_DAYS = 8;

/** A time on the wall, as if the zone were UTC. */
type Reading = number;
type Matches = (reading: Date) => boolean;

type Language = {
  matches: Matches;
  /** Of a repeated hour: both passes, the first, or the first unless asked from within the second. */
  repeated: "both" | "first" | "first unless begun";
  /** Of a skipped hour: its jobs are done when it is over. */
  isCaughtUp: boolean;
};

type Firing = { at: number; isSecondPass: boolean };

/** The firings of one schedule in one zone, walked as far as anybody asked. */
export class Schedule {
  readonly #language: Language;
  readonly #tz: string;
  readonly #fromAt: number;
  #walkedAt: number;
  readonly #firings: Firing[] = [];
  /** Instants of the second pass of a repeated hour. */
  readonly #secondPasses: { from: number; to: number }[] = [];
  #newest: Reading;

  constructor(given: { kind: "cron" | "oncalendar"; schedule: string; tz: string; fromAt: number }) {
    this.#language = given.kind === "cron" ? cron(given.schedule) : oncalendar(given.schedule);
    this.#tz = given.tz;
    // Some days earlier, so that a repeated hour at the beginning is known for what it is.
    this.#fromAt = Math.floor(given.fromAt / MINUTE_MS) * MINUTE_MS - 2 * DAY_MS;
    this.#walkedAt = this.#fromAt;
    this.#newest = this.#readingAt(this.#fromAt - MINUTE_MS);
  }

  /** The first firing after an instant; null when none comes within so many days. */
  nextAfter(at: number, withinDays = 400): number | null {
    if (at < this.#fromAt) throw new Error("asked about a time before the walk began");
    const untilAt = at + withinDays * DAY_MS;
    for (let index = this.#firstAfter(at); ; index += 1) {
      const firing = this.#firings[index];
      if (firing === undefined) {
        if (this.#walkedAt > untilAt) return null;
        this.#walk();
        index = this.#firstAfter(at) - 1;
      } else if (!firing.isSecondPass || this.#isSecondPass(at)) return firing.at;
    }
  }

  #firstAfter(at: number): number {
    let low = 0;
    let high = this.#firings.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#firings[middle]?.at ?? 0) > at) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #isSecondPass(at: number): boolean {
    return this.#secondPasses.some(({ from, to }) => at >= from && at < to);
  }

  #readingAt(at: number): Reading {
    return at + offsetMinutes(this.#tz, at) * MINUTE_MS;
  }

  #walk(): void {
    const untilAt = this.#walkedAt + WALK_DAYS * DAY_MS;
    for (let at = this.#walkedAt; at < untilAt; at += MINUTE_MS) this.#look(at);
    this.#walkedAt = untilAt;
  }

  /** Looks at one minute. */
  #look(at: number): void {
    const { matches, repeated, isCaughtUp } = this.#language;
    const reading = this.#readingAt(at);
    const isRepeated = reading <= this.#newest;
    if (isRepeated) this.#noteSecondPass(at);
    let fires = matches(new Date(reading)) && !(isRepeated && repeated === "first");
    // The readings between the last one and this one have never been on the wall.
    const skippedFrom = isCaughtUp ? this.#newest + MINUTE_MS : reading;
    for (let skipped = skippedFrom; skipped < reading; skipped += MINUTE_MS) {
      fires ||= matches(new Date(skipped));
    }
    if (fires) {
      this.#firings.push({ at, isSecondPass: isRepeated && repeated === "first unless begun" });
    }
    if (!isRepeated) this.#newest = reading;
  }

  #noteSecondPass(at: number): void {
    const newest = this.#secondPasses.at(-1);
    if (newest?.to === at) newest.to = at + MINUTE_MS;
    else this.#secondPasses.push({ from: at, to: at + MINUTE_MS });
  }
}

/** The schedules of a world, each walked once for all checks that share it. */
export class Schedules {
  readonly #fromAt: number;
  readonly #walked = new Map<string, Schedule>();

  /** Nobody asks about a time before this one. */
  constructor(fromAt: number) {
    this.#fromAt = fromAt;
  }

  of({ kind, schedule, tz }: Settings & { kind: "cron" | "oncalendar" }): Schedule {
    const key = `${kind} ${tz} ${schedule}`;
    const known = this.#walked.get(key);
    if (known !== undefined) return known;
    const made = new Schedule({ kind, schedule, tz, fromAt: this.#fromAt });
    this.#walked.set(key, made);
    return made;
  }
}

function cron(text: string): Language {
  const fields = text.split(" ");
  const [minute = "", hour = "", date = "", month = "", weekday = ""] = fields;
  if (fields.length !== 5) throw new Error(`not five fields: ${text}`);
  const minutes = cronField(minute, { min: 0, max: 59 });
  const hours = cronField(hour, { min: 0, max: 23 });
  const dates = cronField(date, { min: 1, max: 31 });
  const months = cronField(month, { min: 1, max: 12 });
  const weekdays = cronField(weekday, { min: 0, max: 7 });
  if (weekdays.has(7)) weekdays.add(0);
  const isBoth = date.startsWith("*") || weekday.startsWith("*");
  const isDay = (at: Date) => {
    const isDate = dates.has(at.getUTCDate());
    const isWeekday = weekdays.has(at.getUTCDay());
    return isBoth ? isDate && isWeekday : isDate || isWeekday;
  };
  const matches = (at: Date) =>
    minutes.has(at.getUTCMinutes()) &&
    hours.has(at.getUTCHours()) &&
    months.has(at.getUTCMonth() + 1) &&
    isDay(at);
  const isInterval = minute.startsWith("*") || hour.startsWith("*");
  return { matches, repeated: isInterval ? "both" : "first", isCaughtUp: !isInterval };
}

function cronField(text: string, { min, max }: { min: number; max: number }): Set<number> {
  const members = new Set<number>();
  for (const term of text.split(",")) {
    const [, from, to, step] = /^(?:\*|(\d+)(?:-(\d+))?)(?:\/(\d+))?$/.exec(term) ?? refuse(term);
    const first = from === undefined ? min : Number(from);
    // A single value with a step runs on to the end, however it is written.
    const isOpen = from === undefined || (step !== undefined && Number(to ?? from) === first);
    const last = isOpen ? max : Number(to ?? from);
    for (let value = first; value <= last; value += Number(step ?? 1)) members.add(value);
  }
  return members;
}

const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const SHORTHANDS: Readonly<Record<string, string>> = {
  hourly: "*-*-* *:00",
  daily: "*-*-* 00:00",
  weekly: "Mon *-*-* 00:00",
  monthly: "*-*-01 00:00",
};

function oncalendar(text: string): Language {
  const parts = (SHORTHANDS[text] ?? text).split(" ");
  const days = /^[A-Z]/.test(parts[0] ?? "")
    ? weekdaysOf(parts.shift() ?? "")
    : new Set([0, 1, 2, 3, 4, 5, 6]);
  const dateText = (parts[0] ?? "").includes(":") ? "*-*-*" : (parts.shift() ?? "*-*-*");
  const [, months = "", dates = ""] = /^\*-([^-]+)-([^-]+)$/.exec(dateText) ?? refuse(dateText);
  const [, hours = "", minutes = ""] = /^([^:]+):([^:]+)$/.exec(parts.shift() ?? "00:00") ?? refuse(text);
  if (parts.length > 0) throw new Error(`more than weekdays, date and time: ${text}`);
  const isMonth = calendarField(months, 12);
  const isDate = calendarField(dates, 31);
  const isHour = calendarField(hours, 23);
  const isMinute = calendarField(minutes, 59);
  const matches = (at: Date) =>
    isMinute.has(at.getUTCMinutes()) &&
    isHour.has(at.getUTCHours()) &&
    days.has(at.getUTCDay()) &&
    isDate.has(at.getUTCDate()) &&
    isMonth.has(at.getUTCMonth() + 1);
  return { matches, repeated: "first unless begun", isCaughtUp: false };
}

function weekdaysOf(text: string): Set<number> {
  const days = new Set<number>();
  for (const item of text.split(",")) {
    const [from, to = from] = item.split("..").map((name) => WEEKDAYS.indexOf(name));
    if (from === undefined || to === undefined || from < 0 || to < 0)
      throw new Error(`not a weekday: ${item}`);
    // The week begins on Monday, so that Sunday is the last of it.
    for (let day = from === 0 ? 7 : from; day <= (to === 0 ? 7 : to); day += 1) days.add(day % 7);
  }
  return days;
}

function calendarField(text: string, max: number): Set<number> {
  const members = new Set<number>();
  for (const term of text.split(",")) {
    if (term === "*") for (let value = 0; value <= max; value += 1) members.add(value);
    else {
      const [, from, to, step] = /^(\d+)(?:\.\.(\d+))?(?:\/(\d+))?$/.exec(term) ?? refuse(term);
      const last = to === undefined && step !== undefined ? max : Number(to ?? from);
      for (let value = Number(from); value <= last; value += Number(step ?? 1)) members.add(value);
    }
  }
  return members;
}

function refuse(text: string): never {
  throw new Error(`the model does not read this in a schedule: ${text}`);
}
