// Scales of the chart of durations. Pure.

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Steps that people read without thinking. */
const STEPS_MS = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND_MS),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE_MS),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR_MS),
  ...[1, 2, 5, 10, 30, 100].map((count) => count * DAY_MS),
];
const TICKS_MAX = 4;

type Scale = { topMs: number; ticksMs: number[] };

/** Lines at round durations, at most four above zero; the highest bar reaches the top of the scale at most. */
export function scaleFor(highestMs: number): Scale {
  const step = STEPS_MS.find((ms) => ms * TICKS_MAX >= highestMs) ?? Math.ceil(highestMs / TICKS_MAX);
  // A little air above the highest bar.
  const topMs = Math.max(highestMs * 1.06, step);
  const ticksMs = Array.from({ length: Math.floor(topMs / step) + 1 }, (_, index) => index * step);
  return { topMs, ticksMs };
}

/** Up to here steps are told in milliseconds; with longer ones the axis reaches seconds. */
const MILLISECONDS_STEP_MAX = 200;

/** "15 m", "1 h", "0.5 s": short, for the axis. */
export function tickText(ms: number, stepMs: number): string {
  if (stepMs >= DAY_MS) return `${ms / DAY_MS} d`;
  if (stepMs >= HOUR_MS) return `${ms / HOUR_MS} h`;
  if (stepMs >= MINUTE_MS) return `${ms / MINUTE_MS} m`;
  if (stepMs > MILLISECONDS_STEP_MAX) return `${ms / SECOND_MS} s`;
  return `${ms} ms`;
}

/** Indexes of the bars that are named below: evenly spread, the first and, if there is room, the last among them. */
export function namedBars(count: number, most: number): number[] {
  if (count <= 1 || most <= 1) return count === 0 ? [] : [0];
  const wanted = Math.min(most, count);
  return [...new Set(Array.from({ length: wanted }, (_, k) => Math.round((k * (count - 1)) / (wanted - 1))))];
}
