// How pings arrive over a day, as Healthchecks.io published it: 80,000 checks send 256 pings per second on average, 8 times
// as many at the start of a minute, and 20 times as many at the start of an hour.

/** Pings per second of one check, on average. */
export const PINGS_PER_CHECK = 256 / 80_000;
export const MINUTE_PEAK = 8;
export const HOUR_PEAK = 20;
/** How long a peak lasts. Not published: this is an assumption. */
const PEAK_SECONDS = 5;
const MINUTE_SECONDS = 60;
const HOUR_SECONDS = 3_600;
export const DAY_SECONDS = 86_400;

const MINUTES = HOUR_SECONDS / MINUTE_SECONDS;
/** Between peaks: as much as is needed for the average. */
const BETWEEN_PEAKS =
  (HOUR_SECONDS - PEAK_SECONDS * (HOUR_PEAK + (MINUTES - 1) * MINUTE_PEAK)) /
  (HOUR_SECONDS - MINUTES * PEAK_SECONDS);

/** Pings in a second of the day, relative to the average. */
export function loadAt(second: number): number {
  if (second % MINUTE_SECONDS >= PEAK_SECONDS) return BETWEEN_PEAKS;
  return second % HOUR_SECONDS < PEAK_SECONDS ? HOUR_PEAK : MINUTE_PEAK;
}
