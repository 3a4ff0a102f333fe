// Trends of durations: whether the runs of a check are getting slower. A straight line through the average duration of
// each day, as the median of all slopes between two days (Theil and Sen), which up to a quarter of outliers do not move.
// Whether the line is more than chance is tested by counting pairs of days (Mann and Kendall).
import { TREND_DAYS_MIN, TREND_RISE_MIN, TREND_RISE_MS_MIN, TREND_Z_MIN } from "./limits.ts";

/** The average duration of the runs of one day. */
export type DayDuration = { day: number; averageMs: number };

export type Trend = {
  dayCount: number;
  /** The line on the first and on the last day. */
  startMs: number;
  endMs: number;
  /** How much the line rises, as a share of its start: 0.2 is 20 %. */
  rise: number;
  /** The share of pairs of days in which the later day was slower, from 0 to 1. */
  slowerShare: number;
  /** How many standard deviations the number of such pairs is above that of a random order. */
  z: number;
};

/** The trend of a check; null with too few days. Days are numbers that differ by 1 from one day to the next. */
export function trendOf(days: readonly DayDuration[]): Trend | null {
  if (days.length < TREND_DAYS_MIN) return null;
  const sorted = days.toSorted((one, other) => one.day - other.day);
  const slopes: number[] = [];
  let slower = 0;
  let faster = 0;
  for (const [index, later] of sorted.entries()) {
    for (const earlier of sorted.slice(0, index)) {
      const riseMs = later.averageMs - earlier.averageMs;
      if (later.day > earlier.day) slopes.push(riseMs / (later.day - earlier.day));
      if (riseMs > 0) slower += 1;
      if (riseMs < 0) faster += 1;
    }
  }
  const slope = median(slopes);
  const base = median(sorted.map(({ day, averageMs }) => averageMs - slope * day));
  const lineAt = (day: number) => Math.max(0, base + slope * day);
  const startMs = lineAt(sorted[0]?.day ?? 0);
  const endMs = lineAt(sorted.at(-1)?.day ?? 0);
  const pairs = (sorted.length * (sorted.length - 1)) / 2;
  return {
    dayCount: sorted.length,
    startMs: Math.round(startMs),
    endMs: Math.round(endMs),
    rise: startMs < 1 ? 0 : (endMs - startMs) / startMs,
    slowerShare: slower / pairs,
    z: zOf(slower - faster, sorted),
  };
}

/** Whether a trend is reported: the rise matters, and is not chance. */
export function isSlower({ startMs, endMs, rise, z }: Trend): boolean {
  return rise >= TREND_RISE_MIN && endMs - startMs >= TREND_RISE_MS_MIN && z >= TREND_Z_MIN;
}

/** The score of Mann and Kendall, with equal values taken into account. */
function zOf(score: number, days: readonly DayDuration[]): number {
  const n = days.length;
  const ties = [...Map.groupBy(days, ({ averageMs }) => averageMs).values()].map(({ length }) => length);
  const spread = (count: number) => count * (count - 1) * (2 * count + 5);
  const variance = (spread(n) - ties.reduce((sum, count) => sum + spread(count), 0)) / 18;
  if (variance <= 0 || score === 0) return 0;
  return (score - Math.sign(score)) / Math.sqrt(variance);
}

function median(numbers: readonly number[]): number {
  if (numbers.length === 0) return 0;
  const sorted = numbers.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}
