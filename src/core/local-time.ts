// Days, weeks and months as the clocks of a time zone show them. A time that a clock change skips becomes the first
// one after it; of a time that occurs twice, the first one counts.
import type { Period } from "./downtime.ts";
import { type Instant, SECOND_MS } from "./instant.ts";
import { DEFAULT_TZ } from "./limits.ts";
import { instantOf, stretchAfterGap, stretchAt, type Zone, zoneOf } from "./schedule/zone.ts";

export type PeriodLength = "daily" | "weekly" | "monthly";

/** A day of the calendar; months count from 1. */
export type LocalDay = { year: number; month: number; day: number };

/** The time zone of emails to a user who has chosen this one, or none. */
export function zoneOfMails(chosen: string | null): string {
  return chosen ?? DEFAULT_TZ;
}

/** The day that the clocks of a zone show. Unknown zones count as UTC. */
export function localDay(now: Instant, zone: string): LocalDay {
  const date = new Date(readingAt(now, zone));
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
}

/** The instant at which clocks show this many minutes after the start of a day; days may exceed their month. */
export function instantOfLocal(
  { year, month, day }: LocalDay,
  at: { minutes: number; zone: string },
): Instant {
  const reading = Date.UTC(year, month - 1, day, 0, at.minutes) / SECOND_MS;
  const zone = zoneNamed(at.zone);
  const second =
    instantOf(zone, { reading, after: -Infinity }) ?? stretchAfterGap(zone, reading)?.from ?? reading;
  return second * SECOND_MS;
}

/** The first day of the day, week or month that contains a day, or of the one this many before or after it. */
export function firstDayOf(
  length: PeriodLength,
  { year, month, day }: LocalDay,
  { offset }: { offset: number },
): LocalDay {
  if (length === "monthly") return normal({ year, month: month + offset, day: 1 });
  if (length === "daily") return normal({ year, month, day: day + offset });
  return normal({ year, month, day: day - weekdayOf({ year, month, day }) + offset * DAYS_OF_WEEK });
}

/** The last complete days, weeks or months before the one that contains `now`, oldest first. */
export function periodsBefore(
  now: Instant,
  { length, zone, count }: { length: PeriodLength; zone: string; count: number },
): Period[] {
  const today = localDay(now, zone);
  const starts = Array.from({ length: count + 1 }, (_, index) =>
    instantOfLocal(firstDayOf(length, today, { offset: index - count }), { minutes: 0, zone }),
  );
  return starts.slice(1).map((to, index) => ({ from: starts[index] ?? to, to }));
}

const DAYS_OF_WEEK = 7;

/** Monday is 0. */
function weekdayOf({ year, month, day }: LocalDay): number {
  return (new Date(Date.UTC(year, month - 1, day)).getUTCDay() + DAYS_OF_WEEK - 1) % DAYS_OF_WEEK;
}

/** Normalizes days and months that exceed their range. */
function normal({ year, month, day }: LocalDay): LocalDay {
  const date = new Date(Date.UTC(year, month - 1, day));
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
}

/** The local time, as if it were UTC. */
function readingAt(now: Instant, zone: string): number {
  return now + stretchAt(zoneNamed(zone), Math.floor(now / SECOND_MS)).offset * SECOND_MS;
}

const UTC: Zone = { name: "UTC", index: 0, fixed: { from: -Infinity, to: Infinity, offset: 0 } };

function zoneNamed(name: string): Zone {
  return zoneOf(name) ?? UTC;
}
