import { formatCount } from "../../src/contract/api/words.ts";

// Times and durations, rounded, in the user's time zone. `now` and the zone are arguments. formatExact is for tooltips
// and screen readers.

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const UNITS: readonly (readonly [number, string])[] = [
  [DAY_MS, "d"],
  [HOUR_MS, "h"],
  [MINUTE_MS, "min"],
  [SECOND_MS, "s"],
];

/** Below this a duration is shown in milliseconds, and below ten seconds with one decimal. */
const FINE_MS = 10 * SECOND_MS;

const LOCALE = "en-GB";

/** The user's zone and the current time, for every relative format. */
export type Reader = { now: number; zone: string };

/** "320 ms", "4.2 s", "13 min 2 s", "2 h 11 min", "1 d 2 h": at most two units, never a zero one. */
export function formatDuration(ms: number): string {
  const whole = Math.max(0, Math.round(ms));
  if (whole < SECOND_MS) return `${whole} ms`;
  if (whole < FINE_MS) return `${trimZero((whole / SECOND_MS).toFixed(1))} s`;
  return coarse(whole, 2);
}

/** Like formatDuration, with one unit between a minute and an hour: "7 min", for narrow places. */
export function formatBrief(ms: number): string {
  if (ms < MINUTE_MS) return formatDuration(ms);
  return coarse(Math.round(ms / MINUTE_MS) * MINUTE_MS, ms < HOUR_MS ? 1 : 2);
}

/** For durations that update on screen: "48 s", "10 min", "2 h 11 min", "15 h", "1 d 2 h". */
export function formatSpan(ms: number): string {
  return coarse(Math.max(0, ms), ms < HOUR_MS ? 1 : 2);
}

/** "12 min ago", "1 d 2 h ago", "just now". */
export function formatAgo(at: number, now: number): string {
  const ms = now - at;
  if (ms < 5 * SECOND_MS) return "just now";
  return `${formatSpan(ms)} ago`;
}

/** "in 4 min", "in 1 d 3 h", "now" when the time has come. */
export function formatUntil(at: number, now: number): string {
  const ms = at - now;
  if (ms < SECOND_MS) return "now";
  return `in ${formatSpan(ms)}`;
}

/** "03:00" in the user's zone. */
export function formatClock(at: number, zone: string): string {
  return part(zone, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(at);
}

/** "today 03:00", "yesterday 03:14", "Thu 03:01", "14 Nov 03:01", "14 Nov 2025, 03:01". */
export function formatWhen(at: number, { now, zone }: Reader): string {
  const clock = formatClock(at, zone);
  const day = formatDay(at, { now, zone });
  return /\d{4}$/.test(day) ? `${day}, ${clock}` : `${day} ${clock}`;
}

/** "today", "yesterday", "tomorrow", "Thu" within six days, "14 Nov", "14 Nov 2025". */
export function formatDay(at: number, { now, zone }: Reader): string {
  const days = dayNumber(at, zone) - dayNumber(now, zone);
  if (days === 0) return "today";
  if (days === -1) return "yesterday";
  if (days === 1) return "tomorrow";
  if (Math.abs(days) < 7) return part(zone, { weekday: "short" }).format(at);
  const isSameYear =
    part(zone, { year: "numeric" }).format(at) === part(zone, { year: "numeric" }).format(now);
  return part(zone, {
    day: "numeric",
    month: "short",
    ...(isSameYear ? {} : { year: "numeric" as const }),
  }).format(at);
}

const DATE_FORMS = {
  "weekday-day": { weekday: "short", day: "numeric" },
  "weekday-day-month": { weekday: "short", day: "numeric", month: "short" },
  "day-month": { day: "numeric", month: "short" },
  "month-year": { month: "long", year: "numeric" },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>;

/** A date on an axis: "Sun 15", "Sun 15 Nov", "15 Nov", "November 2026". */
export function formatDate(at: number, zone: string, form: keyof typeof DATE_FORMS): string {
  return part(zone, DATE_FORMS[form]).format(at).replaceAll(",", "");
}

/** "Sunday 15 November 2026 at 03:00:12 EET": for tooltips and screen readers. */
export function formatExact(at: number, zone: string): string {
  return part(zone, {
    weekday: "long",
    day: "numeric",
    month: "long",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
    timeZoneName: "short",
  })
    .format(at)
    .replaceAll(",", "");
}

/** The day of a time in a zone, as a number, so that two days can be subtracted. */
export function dayNumber(at: number, zone: string): number {
  const parts = part(zone, { year: "numeric", month: "numeric", day: "numeric" }).formatToParts(at);
  const read = (type: string) => Number(parts.find((one) => one.type === type)?.value ?? 0);
  return Math.round(Date.UTC(read("year"), read("month") - 1, read("day")) / DAY_MS);
}

/** "2026-11-15T03:00" in a zone, as date and time fields have it. */
export function localMinute(at: number, zone: string): string {
  return new Date(at + zoneOffsetMs(at, zone)).toISOString().slice(0, "2026-11-15T03:00".length);
}

/**
 * The instant of a local time; null if the text is none. A time that the clocks skip is moved forward, and of a time
 * that occurs twice the first one counts.
 */
export function instantOfLocal(text: string, zone: string): number | null {
  const asUtc = Date.parse(`${text}Z`);
  if (Number.isNaN(asUtc)) return null;
  const before = asUtc - zoneOffsetMs(asUtc - DAY_MS, zone);
  const after = asUtc - zoneOffsetMs(asUtc + DAY_MS, zone);
  return localMinute(before, zone) === text || localMinute(after, zone) !== text ? before : after;
}

/** How far the clocks of a zone are ahead of UTC. */
export function zoneOffsetMs(at: number, zone: string): number {
  const minute = Math.floor(at / MINUTE_MS) * MINUTE_MS;
  const parts = part(zone, {
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    hourCycle: "h23",
  }).formatToParts(minute);
  const read = (type: string) => Number(parts.find((one) => one.type === type)?.value ?? 0);
  return Date.UTC(read("year"), read("month") - 1, read("day"), read("hour"), read("minute")) - minute;
}

/** The zone if this browser supports it, UTC otherwise. */
export function knownZone(zone: string | null | undefined): string {
  const given = zone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone;
  const names = zone === null || zone === undefined ? [CURRENT_NAMES[given] ?? given, given] : [given];
  return names.find(isKnownHere) ?? "UTC";
}

/** Browsers report their own zone by its oldest name. */
const CURRENT_NAMES: Readonly<Record<string, string>> = {
  "Africa/Asmera": "Africa/Asmara",
  "America/Buenos_Aires": "America/Argentina/Buenos_Aires",
  "America/Catamarca": "America/Argentina/Catamarca",
  "America/Coral_Harbour": "America/Atikokan",
  "America/Cordoba": "America/Argentina/Cordoba",
  "America/Godthab": "America/Nuuk",
  "America/Indianapolis": "America/Indiana/Indianapolis",
  "America/Jujuy": "America/Argentina/Jujuy",
  "America/Louisville": "America/Kentucky/Louisville",
  "America/Mendoza": "America/Argentina/Mendoza",
  "Asia/Calcutta": "Asia/Kolkata",
  "Asia/Katmandu": "Asia/Kathmandu",
  "Asia/Rangoon": "Asia/Yangon",
  "Asia/Saigon": "Asia/Ho_Chi_Minh",
  "Atlantic/Faeroe": "Atlantic/Faroe",
  "Europe/Kiev": "Europe/Kyiv",
  "Pacific/Enderbury": "Pacific/Kanton",
  "Pacific/Ponape": "Pacific/Pohnpei",
  "Pacific/Truk": "Pacific/Chuuk",
};

function isKnownHere(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat(LOCALE, { timeZone: zone }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

function coarse(ms: number, unitsMax: 1 | 2): string {
  const first = UNITS.findIndex(([size]) => ms >= size);
  if (first === -1) return "0 s";
  const [size, name] = UNITS[first] ?? [SECOND_MS, "s"];
  const count = Math.floor(ms / size);
  const next = UNITS[first + 1];
  // Hours are omitted from ten days on, and minutes from ten hours on.
  const isLong = count >= 10 && (name === "d" || name === "h");
  if (unitsMax === 1 || next === undefined || isLong) return `${count} ${name}`;
  const rest = Math.floor((ms - count * size) / next[0]);
  return rest === 0 ? `${count} ${name}` : `${count} ${name} ${rest} ${next[1]}`;
}

function trimZero(text: string): string {
  return text.replace(/\.0$/, "");
}

/** Making a formatter takes longer than using it a hundred times. */
const made = new Map<string, Intl.DateTimeFormat>();

function part(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${zone} ${JSON.stringify(options)}`;
  let format = made.get(key);
  if (format === undefined) {
    format = new Intl.DateTimeFormat(LOCALE, { ...options, timeZone: zone });
    made.set(key, format);
  }
  return format;
}

// Counts, percentages and sizes.

const PERCENT = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 1 });
/** "1 check", "3 checks". */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** "99.2%" for a share between 0 and 1; rounded down, so only 1 gives 100%. */
export function formatShare(share: number): string {
  const percent = Math.floor(share * 1_000) / 10;
  return `${PERCENT.format(percent)}%`;
}

/** "812 B", "2.1 kB", "14 MB": steps of a thousand. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let size = bytes / 1_000;
  let step = 0;
  while (size >= 1_000 && step < units.length - 1) {
    size /= 1_000;
    step += 1;
  }
  return `${size < 10 ? size.toFixed(1).replace(/\.0$/, "") : Math.round(size)} ${units[step]}`;
}

/** A name in a chart: cut to this many characters, with an ellipsis. */
export function shortened(name: string, most: number): string {
  const characters = Array.from(name);
  return characters.length > most ? `${characters.slice(0, most - 1).join("")}…` : name;
}
