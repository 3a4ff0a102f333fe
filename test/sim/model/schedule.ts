// Computes when a schedule fires by stepping through local time minute by minute. Supports only the syntax that the
// worlds use and rejects everything else.
import { offsetMinutes } from "./zone.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Days per step of the search. */
const STEP_DAYS = 8;

/** A local time, represented as if the zone were UTC. */
type Reading = number;
type Matches = (reading: Date) => boolean;

type Language = {
  matches: Matches;
  /**
   * In a repeated hour: fires in both passes, in the first, or in the first unless the search starts in the second.
   */
  repeated: "both" | "first" | "first unless started in second";
  /** Whether firings in a skipped hour are made up for when it ends. */
  isCaughtUp: boolean;
};

type Firing = { at: number; isSecondPass: boolean };

/** The firings of one schedule in one zone, computed on demand. */
export class Schedule {
  readonly #language: Language;
  readonly #tz: string;
  readonly #fromAt: number;
  #computedUntil: number;
  readonly #firings: Firing[] = [];
  /** Intervals of the second passes of repeated hours. */
  readonly #secondPasses: { from: number; to: number }[] = [];
  #newest: Reading;

  constructor(given: { kind: "cron" | "oncalendar"; schedule: string; tz: string; fromAt: number }) {
    this.#language = given.kind === "cron" ? cron(given.schedule) : oncalendar(given.schedule);
    this.#tz = given.tz;
    // Starts two days earlier, so that a repeated hour at the beginning is recognized.
    this.#fromAt = Math.floor(given.fromAt / MINUTE_MS) * MINUTE_MS - 2 * DAY_MS;
    this.#computedUntil = this.#fromAt;
    this.#newest = this.#readingAt(this.#fromAt - MINUTE_MS);
  }

  /** The first firing after an instant, or null if there is none within the given number of days. */
  nextAfter(at: number, withinDays = 400): number | null {
    if (at < this.#fromAt) throw new Error("nextAfter was called with a time before the start");
    const untilAt = at + withinDays * DAY_MS;
    for (let index = this.#firstAfter(at); ; index += 1) {
      const firing = this.#firings[index];
      if (firing === undefined) {
        if (this.#computedUntil > untilAt) return null;
        this.#computeMore();
        index = this.#firstAfter(at) - 1;
      } else if (!firing.isSecondPass || this.#isSecondPass(at)) return firing.at;
    }
  }

  /** The last firing before one that `nextAfter` has returned; -Infinity if it lies before the start. */
  lastBefore(at: number): number {
    const before = this.#firings.slice(0, this.#firstAfter(at - 1));
    return before.findLast(({ isSecondPass }) => !isSecondPass)?.at ?? -Infinity;
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

  #computeMore(): void {
    const untilAt = this.#computedUntil + STEP_DAYS * DAY_MS;
    for (let at = this.#computedUntil; at < untilAt; at += MINUTE_MS) this.#addMinute(at);
    this.#computedUntil = untilAt;
  }

  #addMinute(at: number): void {
    const { matches, repeated, isCaughtUp } = this.#language;
    const reading = this.#readingAt(at);
    const isRepeated = reading <= this.#newest;
    if (isRepeated) this.#noteSecondPass(at);
    let fires = matches(new Date(reading)) && !(isRepeated && repeated === "first");
    // Local times between the last one and this one were skipped.
    const skippedFrom = isCaughtUp ? this.#newest + MINUTE_MS : reading;
    for (let skipped = skippedFrom; skipped < reading; skipped += MINUTE_MS) {
      fires ||= matches(new Date(skipped));
    }
    if (fires) {
      this.#firings.push({ at, isSecondPass: isRepeated && repeated === "first unless started in second" });
    }
    if (!isRepeated) this.#newest = reading;
  }

  #noteSecondPass(at: number): void {
    const newest = this.#secondPasses.at(-1);
    if (newest?.to === at) newest.to = at + MINUTE_MS;
    else this.#secondPasses.push({ from: at, to: at + MINUTE_MS });
  }
}

/** The schedules of a world, computed once for all checks that share them. */
export class Schedules {
  readonly #fromAt: number;
  readonly #computed = new Map<string, Schedule>();

  /** Times before `fromAt` are not supported. */
  constructor(fromAt: number) {
    this.#fromAt = fromAt;
  }

  of({ kind, schedule, tz }: { kind: "cron" | "oncalendar"; schedule: string; tz: string }): Schedule {
    const key = `${kind} ${tz} ${schedule}`;
    const known = this.#computed.get(key);
    if (known !== undefined) return known;
    const made = new Schedule({ kind, schedule, tz, fromAt: this.#fromAt });
    this.#computed.set(key, made);
    return made;
  }
}

function cron(text: string): Language {
  const fields = text.split(" ");
  const [minute = "", hour = "", date = "", month = "", weekday = ""] = fields;
  if (fields.length !== 5) throw new Error(`expected five fields: ${text}`);
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
    // A single value with a step continues to the maximum.
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
  if (parts.length > 0) throw new Error(`expected only weekdays, date and time: ${text}`);
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
  return { matches, repeated: "first unless started in second", isCaughtUp: false };
}

function weekdaysOf(text: string): Set<number> {
  const days = new Set<number>();
  for (const item of text.split(",")) {
    const [from, to = from] = item.split("..").map((name) => WEEKDAYS.indexOf(name));
    if (from === undefined || to === undefined || from < 0 || to < 0)
      throw new Error(`not a weekday: ${item}`);
    // The week begins on Monday, so Sunday is the last day.
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
  throw new Error(`unsupported schedule syntax: ${text}`);
}
