// UTC offsets of time zones: a deliberately simple implementation that calls Intl once per quarter of an hour.

const MINUTE_MS = 60_000;
const QUARTER_MS = 15 * MINUTE_MS;

/** Offsets from UTC in minutes, keyed by quarter hours since 1970. */
type OffsetTable = { format: Intl.DateTimeFormat; offsets: Map<number, number> };

const tables = new Map<string, OffsetTable>();

/** The UTC offset of a zone in minutes. Assumes that it changes only at full quarter hours. */
export function offsetMinutes(tz: string, at: number): number {
  if (tz === "UTC") return 0;
  const table = tables.get(tz) ?? newTable(tz);
  const quarter = Math.floor(at / QUARTER_MS);
  const known = table.offsets.get(quarter);
  if (known !== undefined) return known;
  const offset = computeOffset(table.format, quarter * QUARTER_MS);
  table.offsets.set(quarter, offset);
  return offset;
}

function newTable(tz: string): OffsetTable {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: tz,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
  });
  const table = { format, offsets: new Map<number, number>() };
  tables.set(tz, table);
  return table;
}

function computeOffset(format: Intl.DateTimeFormat, at: number): number {
  const part = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  const read = (name: Intl.DateTimeFormatPartTypes) => part.get(name) ?? Number.NaN;
  const local = Date.UTC(read("year"), read("month") - 1, read("day"), read("hour"), read("minute"));
  return (local - at) / MINUTE_MS;
}
