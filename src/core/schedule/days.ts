// Which days of a month a schedule means. Everything about a month that matters here is the weekday of
// its first day and its length, so a rule is turned into 28 bit masks once and never asked again.

import { lowestBit, members, type NumberSet } from "./number-set.ts";

/** The day part of a schedule; weekdays count from Sunday = 0. */
export type DayRule = {
  /** Days counted from the start of the month, 1 to 31. */
  dates: NumberSet;
  /** Days counted from its end: 1 is the last day. */
  lastDates: NumberSet;
  /** The last day of the month that is no Saturday or Sunday. */
  lastWorkday: boolean;
  weekdays: NumberSet;
  nthWeekdays: readonly { weekday: number; nth: number }[];
  lastWeekdays: NumberSet;
  /** Whether a day has to satisfy the dates and the weekdays, or one of the two. */
  join: "and" | "or";
};

/** How many kinds of month there are: four lengths, each beginning on any of seven weekdays. */
const MONTH_KINDS = 28;

const SHORTEST_MONTH = 28;
const DAYS_IN_WEEK = 7;
const ALL_31 = 0x7fffffff;
const SATURDAY = 6;

/** What matters about a month: the weekday of its 1st, and how many days it has. */
type Month = { first: number; length: number };

export function monthKind({ first, length }: Month): number {
  return (length - SHORTEST_MONTH) * DAYS_IN_WEEK + first;
}

/** For each kind of month the days that match: bit 0 is the 1st. */
export function dayMasks(rule: DayRule): readonly number[] {
  const masks: number[] = [];
  const fromStart = fromFirst(rule.dates);
  const fromEnd = mirrored(fromFirst(rule.lastDates));
  const lastWeekdays = members(rule.lastWeekdays);
  for (let kind = 0; kind < MONTH_KINDS; kind += 1) {
    const first = kind % DAYS_IN_WEEK;
    const length = SHORTEST_MONTH + Math.floor(kind / DAYS_IN_WEEK);
    let dates = fromStart | (fromEnd >>> (31 - length));
    if (rule.lastWorkday) dates |= 1 << lastWorkday({ first, length });
    let weekdays = weekdayMask({ weekdays: rule.weekdays.low, first });
    for (const { weekday, nth } of rule.nthWeekdays) {
      const index = (nth - 1) * DAYS_IN_WEEK + distance({ from: first, to: weekday });
      if (index < length) weekdays |= 1 << index;
    }
    for (const weekday of lastWeekdays) weekdays |= 1 << lastSuchDay({ first, length, weekday });
    masks.push((rule.join === "and" ? dates & weekdays : dates | weekdays) & (ALL_31 >>> (31 - length)));
  }
  return masks;
}

/** Members 1 to 31 as bits 0 to 30. */
function fromFirst(set: NumberSet): number {
  return (set.low >>> 1) | ((set.high & 3) << 29);
}

/** The same 31 bits in opposite order, so that the nth last day of a 31-day month sits at its own place. */
function mirrored(bits: number): number {
  let result = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) result |= 1 << (30 - lowestBit(rest));
  return result;
}

/** The week's pattern turned so that it begins on `first`, repeated over 31 days. */
function weekdayMask({ weekdays, first }: { weekdays: number; first: number }): number {
  const week = ((weekdays >>> first) | (weekdays << (DAYS_IN_WEEK - first))) & 0x7f;
  return (week | (week << 7) | (week << 14) | (week << 21) | (week << 28)) & ALL_31;
}

/** How many days after weekday `from` the weekday `to` comes. */
function distance({ from, to }: { from: number; to: number }): number {
  return (to - from + DAYS_IN_WEEK) % DAYS_IN_WEEK;
}

function lastSuchDay({ first, length, weekday }: Month & { weekday: number }): number {
  const last = (first + length - 1) % DAYS_IN_WEEK;
  return length - 1 - distance({ from: weekday, to: last });
}

function lastWorkday({ first, length }: Month): number {
  const last = (first + length - 1) % DAYS_IN_WEEK;
  if (last === SATURDAY) return length - 2;
  return last === 0 ? length - 3 : length - 1;
}
