// How the browser reads a timeline: ranges, and the marks of a row. The schemas are in timeline.ts, which the browser does
// not load.
import type { TimelineRange } from "./timeline.ts";

export { type Mark, type MarkKind, unpackMarks } from "../../core/timeline-marks.ts";

export type {
  Timeline,
  TimelineClockChange,
  TimelineGroup,
  TimelineLane,
  TimelineRange,
  TimelineRow,
  TimelineSilence,
  TimelineState,
} from "./timeline.ts";

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** The hours before and after now that a range shows. */
const RANGE_HOURS: Readonly<Record<TimelineRange, readonly [before: number, after: number]>> = {
  "6h": [4, 2],
  "24h": [15, 9],
  "7d": [96, 72],
  "30d": [552, 168],
  "90d": [1_992, 168],
};

/** From the shortest to the longest. */
export const TIMELINE_RANGES = Object.keys(RANGE_HOURS) as readonly TimelineRange[];
export const TIMELINE_RANGE_DEFAULT: TimelineRange = "24h";
/** The plot is assumed to be this wide, in pixels, if a request does not say. */
export const TIMELINE_WIDTH_DEFAULT = 1_000;

/** The window of a range around now, on full minutes. */
export function windowOf(range: TimelineRange, now: number): { from: number; to: number } {
  const [before, after] = RANGE_HOURS[range];
  const minute = Math.floor(now / MINUTE_MS) * MINUTE_MS;
  return { from: minute - before * HOUR_MS, to: minute + after * HOUR_MS };
}
