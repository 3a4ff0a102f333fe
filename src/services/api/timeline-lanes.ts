// The density view of the timeline: runs of many checks, counted per tag and column.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { TimelineLane, TimelineLoad } from "../../contract/api/timeline.ts";
import { DAY_MS, type Instant } from "../../core/instant.ts";
import { TIMELINE_FIRINGS_MAX } from "../../core/limits.ts";
import { dayOf } from "../../core/run.ts";
import {
  columnCount,
  columnLength,
  type Columns,
  emptyLane,
  type LaneCheck,
  LaneCounter,
  type LaneCounts,
  observedShares,
  type TimelineFlip,
  type TimelineView,
  wholeNumbers,
} from "../../core/timeline.ts";
import type { TagDay } from "../../store/timeline.ts";
import type { ShownCheck } from "./timeline-rows.ts";

type Span = { from: Instant; to: Instant };

/** Longer ranges are counted by day, from totals. */
const SCHEDULE_MS_MAX = 10 * DAY_MS;

/** The days whose totals are needed; null: the range is short enough to be counted by schedule. */
export function daysOf({ from, to, now }: TimelineView): { fromDay: string; toDay: string } | null {
  if (to - from <= SCHEDULE_MS_MAX) return null;
  return { fromDay: dayOf(from), toDay: dayOf(Math.min(now, to)) };
}
const LANE_COLUMNS_MAX = 170;
/** Checks that are counted before other requests get a turn. */
const CHECKS_AT_ONCE = 1_000;

export type CountedLanes = {
  columns: Columns;
  from: "schedule" | "days";
  /** Of each lane; up to now, and for `ahead` from now on. */
  counts: readonly Pick<TimelineLane, "ran" | "failed" | "missed" | "ahead">[];
  /** How many ran at once: at most with schedules, on average with days. */
  load: Pick<TimelineLoad, "from" | "columnMs" | "counts" | "measure">;
};

export type LanesRead = {
  view: TimelineView;
  gaps: readonly Span[];
  flips: ReadonlyMap<number, readonly TimelineFlip[]>;
  /** The lanes of checks, by position. */
  laneOf: readonly number[];
  laneCount: number;
  /** Daily totals with their lane; null: count by schedule. */
  days: readonly (TagDay & { lane: number })[] | null;
};

/** The counts of lanes: from schedules and flips, or over a long range from daily totals. */
export async function countLanes(checks: readonly ShownCheck[], read: LanesRead): Promise<CountedLanes> {
  const { from, to, now } = read.view;
  if (read.days !== null) return countByDay(checks, read, read.days);
  const columnMs = columnLength({ from, to }, LANE_COLUMNS_MAX);
  const columns = { from: Math.floor(from / columnMs) * columnMs, to, now, columnMs };
  const { lanes, load } = await countBySchedule(checks, { ...read, columns });
  const loadMs = columnLength({ from, to }, LOAD_COLUMNS_MAX);
  return {
    columns,
    from: "schedule",
    counts: presented(lanes, { columns, gaps: read.gaps }),
    load: { from: columns.from, columnMs: loadMs, counts: load.columns(loadMs), measure: "most" },
  };
}

export const LOAD_COLUMNS_MAX = 360;

async function countBySchedule(
  checks: readonly ShownCheck[],
  { columns, flips, laneOf, laneCount }: LanesRead & { columns: Columns },
) {
  const counter = new LaneCounter(columns, { laneCount, budget: { left: TIMELINE_FIRINGS_MAX } });
  for (const [index, check] of checks.entries()) {
    if (index % CHECKS_AT_ONCE === CHECKS_AT_ONCE - 1) await nextTurn();
    counter.add(laneCheck(check, { lane: laneOf[index] ?? 0, flips: flips.get(check.id) ?? [] }));
  }
  await nextTurn();
  return counter.finish();
}

function laneCheck(
  { timing, state, createdAt, lastDurationMs }: ShownCheck,
  { lane, flips }: Pick<LaneCheck, "lane" | "flips">,
): LaneCheck {
  return { lane, timing, state, createdAt, durationMs: lastDurationMs ?? 0, flips };
}

/** Past days from totals, and what is ahead from schedules. */
async function countByDay(
  checks: readonly ShownCheck[],
  read: LanesRead,
  days: readonly (TagDay & { lane: number })[],
): Promise<CountedLanes> {
  const { view, laneOf, laneCount } = read;
  const columns = {
    from: startOfDay(view.from),
    to: startOfDay(view.to - 1) + DAY_MS,
    now: view.now,
    columnMs: DAY_MS,
  };
  const today = Math.min(columns.to, Math.max(columns.from, startOfDay(view.now)));
  const ahead = await countBySchedule(checks, {
    ...read,
    columns: { ...columns, from: today },
    flips: new Map(),
  });
  const totals = new DayTotals(columns, laneCount);
  for (const { lane, day, ...sums } of days) totals.add(lane, Date.parse(day), sums);
  for (const [index, check] of checks.entries()) {
    const lane = laneOf[index] ?? 0;
    if (check.today !== null)
      totals.add(lane, Date.parse(check.today.day), { ...check.today, missedCount: 0 });
  }
  const offset = Math.round((today - columns.from) / DAY_MS);
  for (const [lane, { ahead: counts }] of ahead.lanes.entries())
    totals.lanes[lane]?.ahead.set(counts, offset);
  const expected = ahead.load.means(DAY_MS);
  const running = Array.from(totals.runningMs, (ms) => Math.round(ms / DAY_MS));
  return {
    columns,
    from: "days",
    counts: presented(totals.lanes, { columns, gaps: [] }),
    load: {
      from: columns.from,
      columnMs: DAY_MS,
      counts: [...running.slice(0, offset), ...expected],
      measure: "mean",
    },
  };
}

function startOfDay(at: Instant): Instant {
  return Math.floor(at / DAY_MS) * DAY_MS;
}

type DaySums = Pick<TagDay, "successCount" | "failCount" | "durationSumMs" | "missedCount">;

/** Daily totals, added up by lane. */
class DayTotals {
  readonly lanes: readonly LaneCounts[];
  readonly runningMs: Float64Array;
  readonly #columns: Columns;

  constructor(columns: Columns, laneCount: number) {
    this.#columns = columns;
    this.lanes = Array.from({ length: laneCount }, () => emptyLane(columns));
    this.runningMs = new Float64Array(columnCount(columns));
  }

  add(lane: number, at: Instant, { successCount, failCount, durationSumMs, missedCount }: DaySums): void {
    const column = this.#columnOf(at);
    const counts = this.lanes[lane];
    if (counts === undefined || column === null) return;
    counts.ran[column] = (counts.ran[column] ?? 0) + successCount;
    counts.failed[column] = (counts.failed[column] ?? 0) + failCount;
    counts.missed[column] = (counts.missed[column] ?? 0) + missedCount;
    this.runningMs[column] = (this.runningMs[column] ?? 0) + durationSumMs;
  }

  #columnOf(at: Instant): number | null {
    const column = Math.floor((at - this.#columns.from) / DAY_MS);
    return column >= 0 && column < this.runningMs.length ? column : null;
  }
}

/** Whole numbers, up to now and from now on. In a monitoring gap, nothing is known to have run. */
function presented(
  lanes: readonly LaneCounts[],
  { columns, gaps }: { columns: Columns; gaps: readonly Span[] },
): CountedLanes["counts"] {
  const shares = observedShares(columns, gaps);
  const current = Math.floor((columns.now - columns.from) / columns.columnMs);
  const past = (counts: Float64Array) => wholeNumbers(counts.subarray(0, Math.max(0, current + 1)));
  return lanes.map(({ ran, failed, missed, ahead }) => ({
    ran: past(ran.map((count, column) => count * (shares[column] ?? 1))),
    failed: past(failed),
    missed: past(missed),
    ahead: wholeNumbers(ahead.subarray(Math.max(0, current))),
  }));
}
