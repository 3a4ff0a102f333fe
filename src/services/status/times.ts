// Dates and times on status pages and in their feeds, in the time zone of the page.
import type { Instant } from "../../core/instant.ts";

export type PageTimes = {
  /** "06:01". */
  clock(at: Instant): string;
  /** "25 Oct". */
  day(at: Instant): string;
  /** "Sun 25 Oct". */
  weekday(at: Instant): string;
  /** "Sun 25 Oct, 06:01". */
  moment(at: Instant): string;
  /** "06:01", or with the day if it is another one than that of `now`. */
  recent(at: Instant, now: Instant): string;
  /** "02:00 to 05:00", "Sun 18 Oct, 09:10 to Mon 19 Oct, 08:02". */
  range(from: Instant, to: Instant): string;
  /** "12 to 23 Oct", "28 Sep to 3 Oct". */
  days(from: Instant, to: Instant): string;
  /** Equal for instants of the same day. */
  dayKey(at: Instant): string;
  /** "EET", or "GMT+5:30" where a zone has no abbreviation. */
  zoneName(at: Instant): string;
};

const LOCALE = "en-GB";
/** Zones are those of projects; more are created again when they are needed. */
const ZONES_KEPT_MAX = 100;
const kept = new Map<string, PageTimes>();

export function pageTimes(zone: string): PageTimes {
  const known = kept.get(zone);
  if (known !== undefined) return known;
  if (kept.size >= ZONES_KEPT_MAX) kept.clear();
  const made = createTimes(zone);
  kept.set(zone, made);
  return made;
}

function createTimes(zone: string): PageTimes {
  const formatter = (options: Intl.DateTimeFormatOptions) => {
    const made = new Intl.DateTimeFormat(LOCALE, { ...options, timeZone: zone });
    return (at: Instant) => made.format(at).replaceAll(",", "");
  };
  const clock = formatter({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const day = formatter({ day: "numeric", month: "short" });
  const weekday = formatter({ weekday: "short", day: "numeric", month: "short" });
  const dayKey = formatter({ year: "numeric", month: "2-digit", day: "2-digit" });
  const zoneParts = new Intl.DateTimeFormat(LOCALE, { timeZone: zone, timeZoneName: "short" });
  const month = formatter({ month: "short", year: "numeric" });
  const dayOfMonth = formatter({ day: "numeric" });
  const moment = (at: Instant) => `${weekday(at)}, ${clock(at)}`;
  return {
    clock,
    day,
    weekday,
    moment,
    dayKey,
    recent: (at, now) => (dayKey(at) === dayKey(now) ? clock(at) : moment(at)),
    range: (from, to) =>
      dayKey(from) === dayKey(to)
        ? `${weekday(from)}, ${clock(from)} to ${clock(to)}`
        : `${moment(from)} to ${moment(to)}`,
    days: (from, to) => `${month(from) === month(to) ? dayOfMonth(from) : day(from)} to ${day(to)}`,
    zoneName: (at) => zoneParts.formatToParts(at).find(({ type }) => type === "timeZoneName")?.value ?? zone,
  };
}
