// How the browser reads a timeline: ranges, and the marks of a row, which are packed into a list of integers. The schemas
// are in timeline.ts, which the browser does not load.
import type { Timeline, TimelineRange, TimelineRow } from "./timeline.ts";

export type {
  Timeline,
  TimelineClockChange,
  TimelineGroup,
  TimelineLane,
  TimelineLoad,
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

/**
 * What a mark stands for. `ran`: a success. `late`: a success that began late. `failed`. `missed`: nothing came.
 * `running`: a run in progress. `ahead`: predicted. `silenced`: no notifications were or will be sent. `paused`: not
 * monitored now. `changed`: the schedule was changed.
 */
export const MARK_KINDS = [
  "ran",
  "late",
  "failed",
  "missed",
  "running",
  "ahead",
  "silenced",
  "paused",
  "changed",
] as const;
export type MarkKind = (typeof MARK_KINDS)[number];

export type Mark = {
  kind: MarkKind;
  /** A single run: when it began, or when it ended if that is unknown. */
  from: number;
  /** Not before `from`. `running`: now. */
  to: number;
  /** Number of runs; more than one are drawn as a ribbon. 0 for marks that are not runs. */
  count: number;
  /** `late`: when the run was expected, before `from`; for other marks, `from`. */
  expectedAt: number;
  /** The number of a single logged run, for its page. 0: unknown. `silenced`: the index in `silences`. */
  n: number;
};

/** Integers per mark. */
export const MARK_LENGTH = 6;

/**
 * The marks of a row in order of their start. Each is six integers: kind, start after that of the previous mark, length,
 * count, time between the expected time and the start, and number. Times are in seconds from `from` on.
 */
export function unpackMarks({ from }: Pick<Timeline, "from">, { marks }: Pick<TimelineRow, "marks">): Mark[] {
  const found: Mark[] = [];
  let start = from;
  for (let i = 0; i + MARK_LENGTH <= marks.length; i += MARK_LENGTH) {
    const [kind = 0, distance = 0, length = 0, count = 0, lead = 0, n = 0] = marks.slice(i, i + MARK_LENGTH);
    start += distance * 1_000;
    found.push({
      kind: MARK_KINDS[kind] ?? "ran",
      from: start,
      to: start + length * 1_000,
      count,
      expectedAt: start - lead * 1_000,
      n,
    });
  }
  return found;
}
