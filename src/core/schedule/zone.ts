// Time zones as stretches of constant offset, found by asking the runtime's zone data and remembered.
// Must not judge names by what Intl accepts: the fixed list in zone-names.ts decides.

import { ZONE_NAMES } from "./zone-names.ts";

/** From `from` (seconds, included) to `to` (excluded) clocks show UTC plus `offset` seconds. */
export type Stretch = { from: number; to: number; offset: number };

export type Zone = {
  name: string;
  index: number;
  /** Set when the offset never changes. */
  fixed: Stretch | null;
};

/** A piece of a zone's time line; `second` begins with the clock change, when there is one in it. */
type Slot = { first: Stretch; second: Stretch | null };

/**
 * Length of a slot: six days and an hour or so. Since 1970 no zone has changed its clock twice in less than
 * six days and 23 hours, so that a slot holds one change at most, and equal offsets at both ends mean none.
 */
const SLOT_SECONDS = 2 ** 19;
/** Room for the slots of one zone among the keys; covers 1969 to 2251 with some to spare. */
const SLOTS_PER_ZONE = 2 ** 15;
const FIRST_SLOT = -1_000;

/** About 10 MB when full: a year of every zone. The oldest entry makes room. */
const MAX_SLOTS = 32_768;
/** Formatters are heavy and needed only for a slot that is not known yet. */
const MAX_FORMATTERS = 64;

/** Clock changes fall on quarters of an hour, but for a few that are searched to the second. */
const USUAL_GRID_SECONDS = 900;

/** No clock is further ahead of or behind UTC than this. */
const MAX_OFFSET_SECONDS = 15 * 3_600;

const FIXED_NAME = /^(?:Etc\/.+|GMT.*|UTC|UCT|Greenwich|Universal|Zulu)$/;
const ZERO_NAME = /^(?:Etc\/)?(?:UTC|UCT|GMT[+-]?0?|Greenwich|Universal|Zulu)$/;
const OFFSET_TEXT = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?/;

const zoneIndex = new Map(ZONE_NAMES.map((name, index) => [name, index]));
const zones = new Map<string, Zone>();
const slots = new Map<number, Slot>();
const formatters = new Map<string, Intl.DateTimeFormat>();

/** Whether the name is on the list, letter case included. */
export function isZone(name: string): boolean {
  return zoneIndex.has(name);
}

/** The zone of that name, or null when the name is not on the list. */
export function zoneOf(name: string): Zone | null {
  const known = zones.get(name);
  if (known !== undefined) return known;
  const index = zoneIndex.get(name);
  if (index === undefined) return null;
  const zone: Zone = { name, index, fixed: FIXED_NAME.test(name) ? fixedStretch(name) : null };
  zones.set(name, zone);
  return zone;
}

/** The stretch that holds the instant (in seconds); it may end before the offset really changes. */
export function stretchAt(zone: Zone, second: number): Stretch {
  if (zone.fixed !== null) return zone.fixed;
  const number = Math.floor(second / SLOT_SECONDS);
  const key = zone.index * SLOTS_PER_ZONE + number - FIRST_SLOT;
  const slot = slots.get(key) ?? remember(key, findSlot(zone, number));
  return slot.second !== null && second >= slot.second.from ? slot.second : slot.first;
}

/** The first instant after `after` at which the zone's clocks show the reading; null when none does. */
export function instantOf(zone: Zone, { reading, after }: { reading: number; after: number }): number | null {
  let stretch = stretchAt(zone, reading - MAX_OFFSET_SECONDS);
  for (;;) {
    const second = reading - stretch.offset;
    if (second >= stretch.from && second < stretch.to && second > after) return second;
    if (stretch.to > reading + MAX_OFFSET_SECONDS) return null;
    stretch = stretchAt(zone, stretch.to);
  }
}

/** The stretch whose beginning skipped the reading, or null when no clock change did. */
export function stretchAfterGap(zone: Zone, reading: number): Stretch | null {
  let before = stretchAt(zone, reading - MAX_OFFSET_SECONDS);
  while (before.to <= reading + MAX_OFFSET_SECONDS) {
    const after = stretchAt(zone, before.to);
    if (before.to + before.offset <= reading && reading < after.from + after.offset) return after;
    before = after;
  }
  return null;
}

function remember(key: number, slot: Slot): Slot {
  if (slots.size >= MAX_SLOTS) dropOldest(slots);
  slots.set(key, slot);
  return slot;
}

function dropOldest<Key>(cache: Map<Key, unknown>): void {
  for (const key of cache.keys()) {
    cache.delete(key);
    return;
  }
}

function fixedStretch(name: string): Stretch {
  const offset = ZERO_NAME.test(name) ? 0 : offsetAt(formatterOf(name), 0);
  return { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY, offset };
}

function findSlot(zone: Zone, number: number): Slot {
  const from = number * SLOT_SECONDS;
  const to = from + SLOT_SECONDS;
  const formatter = formatterOf(zone.name);
  const offset = offsetAt(formatter, from);
  const offsetAfter = offsetAt(formatter, to - 1);
  if (offset === offsetAfter) return { first: { from, to, offset }, second: null };
  const change = findChange(formatter, { low: from, high: to - 1, offset });
  return { first: { from, to: change, offset }, second: { from: change, to, offset: offsetAfter } };
}

/** The first second after `low` whose offset is not `offset`, which is the one at `low` but not at `high`. */
function findChange(
  formatter: Intl.DateTimeFormat,
  bounds: { low: number; high: number; offset: number },
): number {
  let { low, high } = bounds;
  while (high - low > 1) {
    const half = Math.floor((low + high) / 2);
    let probe = Math.floor(half / USUAL_GRID_SECONDS) * USUAL_GRID_SECONDS;
    // One grid step is left: most changes lie right on its end, which the second before it proves.
    if (probe <= low) probe = high % USUAL_GRID_SECONDS === 0 ? high - 1 : half;
    if (offsetAt(formatter, probe) === bounds.offset) low = probe;
    else high = probe;
  }
  return high;
}

function formatterOf(name: string): Intl.DateTimeFormat {
  const known = formatters.get(name);
  if (known !== undefined) return known;
  if (formatters.size >= MAX_FORMATTERS) dropOldest(formatters);
  const made = new Intl.DateTimeFormat("en-US", {
    timeZone: name,
    day: "numeric",
    timeZoneName: "longOffset",
  });
  formatters.set(name, made);
  return made;
}

/** Seconds that clocks are ahead of UTC; the formatter's text ends like `GMT-03:30`. */
function offsetAt(formatter: Intl.DateTimeFormat, second: number): number {
  const [, sign, hours = "0", minutes = "0", seconds = "0"] =
    OFFSET_TEXT.exec(formatter.format(second * 1_000)) ?? [];
  const size = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
  return sign === "-" ? -size : size;
}
