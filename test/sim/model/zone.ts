// The local time of a zone, the slow and plain way: ask Intl every quarter of an hour and remember the answer.
// Knows nothing of schedules.

const MINUTE_MS = 60_000;
const QUARTER_MS = 15 * MINUTE_MS;

/** Offsets from UTC in minutes, one for each quarter of an hour since 1970 that was asked for. */
type OffsetTable = { format: Intl.DateTimeFormat; offsets: Map<number, number> };

const tables = new Map<string, OffsetTable>();

/** How many minutes the clocks of a zone are ahead of UTC. No zone changes them within a quarter of an hour. */
export function offsetMinutes(tz: string, at: number): number {
  if (tz === "UTC") return 0;
  const table = tables.get(tz) ?? newTable(tz);
  const quarter = Math.floor(at / QUARTER_MS);
  const known = table.offsets.get(quarter);
  if (known !== undefined) return known;
  const offset = ask(table.format, quarter * QUARTER_MS);
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

function ask(format: Intl.DateTimeFormat, at: number): number {
  const part = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  const read = (name: Intl.DateTimeFormatPartTypes) => part.get(name) ?? Number.NaN;
  const local = Date.UTC(read("year"), read("month") - 1, read("day"), read("hour"), read("minute"));
  return (local - at) / MINUTE_MS;
}
