// When a schedule fires in a zone, clock changes included. The three ways of treating a change are the
// three functions here; all count in whole seconds and only ever move forward.

import { type Calendar, NO_READING, nextReading, yearOf } from "./calendar.ts";
import { instantOf, type Stretch, stretchAfterGap, stretchAt, type Zone } from "./zone.ts";

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
/** OnCalendar knows no later year. */
const LAST_ONCALENDAR_YEAR = 2199;
/** A line whose every reading falls into a clock change, this many times running, never fires. */
const MAX_SKIPPED_GAPS = 50;

/** The largest offset ahead of UTC, and the widest spread of two offsets, each with some to spare. */
const AHEAD_SECONDS = 15 * 3_600;
const SPREAD_SECONDS = 30 * 3_600;

/** The first second after `start` at which the line fires, or null when it never does again. */
export function nextFiring(line: Line, start: number): number | null {
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
    // Skipped: go on with the first reading behind the gap, over all others that lie in it.
    const behind = stretchAfterGap(zone, reading);
    const skipped = behind === null ? reading : behind.from + behind.offset - 1;
    reading = nextReading(calendar, { after: skipped, lastYear: LAST_ONCALENDAR_YEAR });
  }
  return null;
}
