// What the timeline of a project shows: marks of a row, runs counted per column, predicted runs, how many run at once,
// and clock changes. The work is bounded by the width of the drawing, not by the number of pings.
import { type Instant, type Interval, MINUTE_MS, SECOND_MS } from "./instant.ts";
import { TIMELINE_TROUBLE_MARKS_MAX } from "./limits.ts";
import { isLateRun, latenessMs, usualOf } from "./run.ts";
import { nextAfter, parseSchedule } from "./schedule/schedule.ts";
import { stretchAt, zoneOf } from "./schedule/zone.ts";
import { type CheckState, expectedAt, type Flip, graceMs, startLimitMs, type Timing } from "./state.ts";
import type { Mark, MarkKind } from "./timeline-marks.ts";

/** The shown time. `pixelMs`: the time that a pixel stands for. */
export type TimelineView = { from: Instant; to: Instant; now: Instant; pixelMs: number };

/** Runs that begin closer together than this are one mark. */
const MERGED_PIXELS = 7;

type Span = { from: Instant; to: Instant };

// Firings: when a check is expected to run, as far as its schedule says.

type Expectation = { timing: Timing; state: Pick<CheckState, "lastPingAt" | "expectFromAt"> };

/** How many more times the next firing of a schedule may be computed. */
export type FiringBudget = { left: number };

/** Without a budget, firings of one check that are computed exactly; those after it are at the same distance. */
const EXACT_FIRINGS_MAX = 400;

/**
 * When a check is expected in [from, to). After `max` firings, further ones are at the mean distance of these: a check
 * that runs every minute has 10,000 a week.
 */
export function firingsIn({ timing, state }: Expectation, { from, to }: Span, max: number): Instant[] {
  if (timing.kind === "simple") {
    const base = Math.max(state.lastPingAt ?? -Infinity, state.expectFromAt ?? -Infinity);
    if (base === -Infinity) return [];
    const everyMs = timing.timeoutSeconds * SECOND_MS;
    return evenly({ from: base + Math.ceil((from - base) / everyMs) * everyMs, to }, everyMs);
  }
  const schedule = parseSchedule({ text: timing.schedule, tz: timing.tz });
  const firings: Instant[] = [];
  if (schedule === null) return firings;
  for (let at = nextAfter(schedule, from - 1); at !== null && at < to; at = nextAfter(schedule, at)) {
    firings.push(at);
    if (firings.length < max) continue;
    const [first = at] = firings;
    const everyMs = Math.max(SECOND_MS, (at - first) / Math.max(1, firings.length - 1));
    return [...firings, ...evenly({ from: at + everyMs, to }, everyMs)];
  }
  return firings;
}

/** No more than a screen can show of any check. */
const FIRINGS_LISTED_MAX = 50_000;

function evenly({ from, to }: Span, everyMs: number): Instant[] {
  const count = Math.min(FIRINGS_LISTED_MAX, Math.max(0, Math.ceil((to - from) / everyMs)));
  return Array.from({ length: count }, (_, index) => from + index * everyMs);
}

// The marks of one check.

export type TimelineRun = {
  endAt: Instant;
  durationMs: number | null;
  outcome: "success" | "fail";
  n: number;
};

export type TimelineFlip = Pick<Flip, "at" | "to" | "reason">;

/** Everything about a check that its row shows. All lists are ordered by time. */
export type TimelineHistory = {
  timing: Timing;
  state: Pick<CheckState, "status" | "lastPingAt" | "lastStartAt" | "expectFromAt">;
  isLate: boolean;
  lastDurationMs: number | null;
  runs: readonly TimelineRun[];
  /** Older runs of which only the number is known. */
  sums: readonly (Span & { count: number })[];
  /** Without retracted ones. */
  flips: readonly TimelineFlip[];
  /** Expected times of runs that did not come while the check was already down, or tolerated. */
  misses: readonly Instant[];
  /** `to` null: still paused. */
  pauses: readonly Interval[];
  changes: readonly Instant[];
  silences: readonly (Span & { index: number })[];
  /** Times in which the server could not receive pings. */
  gaps: readonly Span[];
};

export type TimelineMarks = { marks: Mark[]; usualMs: number | null };

/** The newest successes that the usual duration is computed from. */
const USUAL_RUNS_MAX = 100;

/** The marks of a check. `budget` is shared by the rows of a response: without any left, no run is late. */
export function marksOf(history: TimelineHistory, view: TimelineView, budget: FiringBudget): TimelineMarks {
  const { from, to, now } = view;
  const usualMs = usualDuration(history);
  const lengthMs = usualMs ?? 0;
  const gapMs = MERGED_PIXELS * view.pixelMs;
  const found = sortRuns(history, { view, budget, gapMs });
  const missed = mergeTimes(missedTimes(history, view), { kind: "missed", lengthMs, gapMs });
  const running = history.state.lastStartAt;
  const marks: Mark[] = [
    ...history.silences.map(({ index, ...span }) => ({ ...spanMark("silenced", span), n: index })),
    ...history.pauses.map((pause) => spanMark("paused", { from: pause.from, to: pause.to ?? now })),
    ...history.sums.map(({ count, ...span }) => ({ ...spanMark("ran", span), count })),
    ...found.ran,
    ...boundTrouble(found.late, gapMs),
    ...boundTrouble(found.failed, gapMs),
    ...boundTrouble(missed, gapMs),
    ...history.changes.map((at) => spanMark("changed", { from: at, to: at })),
    ...(running === null
      ? []
      : [{ ...spanMark("running", { from: Math.min(running, now), to: now }), count: 1 }]),
    ...lateNow(history, now),
    ...mergeTimes(aheadTimes(history, view), { kind: "ahead", lengthMs, gapMs }),
  ];
  return { marks: marks.filter((mark) => mark.to >= from && mark.expectedAt < to), usualMs };
}

function spanMark(kind: MarkKind, { from, to }: Span): Mark {
  return { kind, from, to: Math.max(from, to), count: 0, expectedAt: from, n: 0 };
}

function usualDuration({ runs, lastDurationMs }: TimelineHistory): number | null {
  const durations: number[] = [];
  for (let i = runs.length - 1; i >= 0 && durations.length < USUAL_RUNS_MAX; i -= 1) {
    const run = runs[i];
    if (run?.outcome === "success" && run.durationMs !== null) durations.push(run.durationMs);
  }
  return usualOf(durations)?.medianMs ?? lastDurationMs;
}

type Sorting = { view: TimelineView; budget: FiringBudget; gapMs: number };

/** Successes merged into ribbons, and late and failed runs, each on its own. */
function sortRuns(
  history: TimelineHistory,
  { view, budget, gapMs }: Sorting,
): Record<"ran" | "late" | "failed", Mark[]> {
  const ran: Mark[] = [];
  const late: Mark[] = [];
  const failed: Mark[] = [];
  let lastStart = -Infinity;
  let before: Instant | null = null;
  for (const run of history.runs) {
    const { endAt, durationMs, n } = run;
    const from = endAt - (durationMs ?? 0);
    const previousEndAt = before;
    before = endAt;
    if (endAt < view.from || from >= view.to) continue;
    const mark: Mark = { kind: "ran", from, to: endAt, count: 1, expectedAt: from, n };
    if (run.outcome === "fail") {
      failed.push({ ...mark, kind: "failed" });
      continue;
    }
    const lateMs = previousEndAt === null ? 0 : lateBy(history, { run, previousEndAt, budget });
    if (lateMs > 0) {
      late.push({ ...mark, kind: "late", expectedAt: from - lateMs });
      continue;
    }
    const ribbon = ran.at(-1);
    if (ribbon !== undefined && from - lastStart < gapMs) {
      ribbon.to = Math.max(ribbon.to, endAt);
      ribbon.count += 1;
      ribbon.n = 0;
    } else ran.push(mark);
    lastStart = from;
  }
  return { ran, late, failed };
}

type Preceded = { run: TimelineRun; previousEndAt: Instant; budget: FiringBudget };

/** How late a run began; 0 if it was in time, or if its expected time is unknown. */
function lateBy(history: TimelineHistory, { run, previousEndAt, budget }: Preceded): number {
  const { timing } = history;
  const startAt = run.durationMs === null ? null : run.endAt - run.durationMs;
  const at = startAt ?? run.endAt;
  if (at - previousEndAt <= graceMs(timing) / 2 || budget.left <= 0) return 0;
  if (isInterrupted(history, { from: previousEndAt, to: run.endAt })) return 0;
  budget.left -= 1;
  const placed = { previousEndAt, startAt, endAt: run.endAt };
  return isLateRun(timing, placed) ? latenessMs(timing, placed) : 0;
}

/** After a pause, a monitoring gap, another schedule or a missed run, the due time is unknown or shown otherwise. */
function isInterrupted(
  { pauses, gaps, changes, flips, misses }: TimelineHistory,
  { from, to }: Span,
): boolean {
  return (
    pauses.some((pause) => pause.from < to && (pause.to ?? to) >= from) ||
    gaps.some((gap) => gap.from < to && gap.to >= from) ||
    changes.some((at) => at >= from && at < to) ||
    misses.some((at) => at >= from && at < to) ||
    flips.some(
      ({ at, to: status, reason }) => status === "down" && reason === "timeout" && at >= from && at < to,
    )
  );
}

/** Expected times of the runs that did not come, in order. */
function missedTimes(history: TimelineHistory, view: TimelineView): Instant[] {
  const { timing, state, flips, misses } = history;
  const limitMs = startLimitMs(timing);
  const times = new Set(misses);
  for (const [index, flip] of flips.entries()) {
    if (flip.to !== "down" || flip.reason !== "timeout") continue;
    const until = flips.slice(index + 1).find(({ to }) => to === "up")?.at ?? null;
    times.add(flip.at - limitMs);
    if (until === null) continue;
    const span = { from: Math.max(flip.at - limitMs + 1, view.from), to: until - limitMs };
    for (const at of firingsIn(history, span, EXACT_FIRINGS_MAX)) times.add(at);
  }
  if (state.status === "down" && state.lastPingAt !== null) {
    const span = {
      from: Math.max(state.lastPingAt + 1, view.from),
      to: Math.min(view.now - limitMs, view.to),
    };
    for (const at of firingsIn(history, span, EXACT_FIRINGS_MAX)) times.add(at);
  }
  return [...times].toSorted((one, other) => one - other);
}

function aheadTimes(history: TimelineHistory, { from, to, now }: TimelineView): Instant[] {
  const { status } = history.state;
  if (status === "new" || status === "paused") return [];
  return firingsIn(history, { from: Math.max(from, now), to }, EXACT_FIRINGS_MAX);
}

/** A check that is late has no run yet: the mark leads from the expected time to now. */
function lateNow({ timing, state, isLate }: TimelineHistory, now: Instant): Mark[] {
  const expected = isLate ? expectedAt({ timing, state }) : null;
  if (expected === null || expected >= now) return [];
  return [{ kind: "late", from: now, to: now, count: 0, expectedAt: expected, n: 0 }];
}

type Merging = { kind: MarkKind; lengthMs: number; gapMs: number };

/** Marks at these times; those that would be too close together are one. */
export function mergeTimes(times: readonly Instant[], { kind, lengthMs, gapMs }: Merging): Mark[] {
  const marks: Mark[] = [];
  let last = -Infinity;
  for (const at of times) {
    const mark = marks.at(-1);
    if (mark !== undefined && at - last < gapMs) {
      mark.to = at + lengthMs;
      mark.count += 1;
    } else marks.push({ kind, from: at, to: at + lengthMs, count: 1, expectedAt: at, n: 0 });
    last = at;
  }
  return marks;
}

/** Trouble is drawn mark by mark; if there is very much of it, it is counted in columns of seven pixels. */
export function boundTrouble(marks: readonly Mark[], columnMs: number): Mark[] {
  if (marks.length <= TIMELINE_TROUBLE_MARKS_MAX) return [...marks];
  const counted: Mark[] = [];
  for (const mark of marks) {
    const last = counted.at(-1);
    if (last !== undefined && mark.from - last.from < columnMs) {
      last.to = Math.max(last.to, mark.to);
      last.count += mark.count;
      last.n = 0;
    } else counted.push({ ...mark });
  }
  return counted;
}

// Runs at once.

/** Counts runs by minute; added up once at the end. */
export class RunningAtOnce {
  readonly #view: TimelineView;
  readonly #changes: Float64Array;

  constructor(view: TimelineView) {
    this.#view = view;
    this.#changes = new Float64Array(Math.ceil((view.to - view.from) / MINUTE_MS) + 2);
  }

  /** Adds `weight` runs. One that is much shorter than a minute does not overlap others. */
  add({ from, to }: Span, weight = 1): void {
    const last = this.#changes.length - 1;
    const begin = Math.min(last, Math.max(0, Math.round((from - this.#view.from) / MINUTE_MS)));
    const end = Math.min(last, Math.max(0, Math.round((to - this.#view.from) / MINUTE_MS)));
    if (end <= begin) return;
    this.#changes[begin] = (this.#changes[begin] ?? 0) + weight;
    this.#changes[end] = (this.#changes[end] ?? 0) - weight;
  }

  /** The most runs at once in each column. */
  columns(columnMs: number): number[] {
    const { from, to } = this.#view;
    const counts = Array.from({ length: Math.ceil((to - from) / columnMs) }, () => 0);
    let running = 0;
    for (const [minute, change] of this.#changes.entries()) {
      running += change;
      const column = Math.floor((minute * MINUTE_MS) / columnMs);
      if (column < counts.length) counts[column] = Math.max(counts[column] ?? 0, Math.round(running));
    }
    return counts;
  }

  /** The mean number of runs at once in each column. */
  means(columnMs: number): number[] {
    const { from, to } = this.#view;
    const sums = Array.from({ length: Math.ceil((to - from) / columnMs) }, () => 0);
    let running = 0;
    for (const [minute, change] of this.#changes.entries()) {
      running += change;
      const column = Math.floor((minute * MINUTE_MS) / columnMs);
      if (column < sums.length) sums[column] = (sums[column] ?? 0) + running;
    }
    return sums.map((sum) => Math.round((sum * MINUTE_MS) / columnMs));
  }
}

export type Peak = { at: Instant; count: number };

/** The first of the largest columns in a span; null if all are 0. */
export function peakOf(
  counts: readonly number[],
  { from, columnMs, span }: { from: Instant; columnMs: number; span: Span },
): Peak | null {
  let peak: Peak | null = null;
  for (const [index, count] of counts.entries()) {
    const at = from + index * columnMs;
    if (at + columnMs > span.from && at < span.to && count > (peak?.count ?? 0)) peak = { at, count };
  }
  return peak;
}

const COLUMN_MINUTES = [1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 240, 360, 720, 1_440];

/** The shortest usual length of columns of which there are no more than `max` in a range. */
export function columnLength({ from, to }: Span, max: number): number {
  const minutes = COLUMN_MINUTES.find((one) => (to - from) / (one * MINUTE_MS) <= max);
  return (minutes ?? 1_440) * MINUTE_MS;
}

// Lanes: runs of many checks, counted per column.

/** The columns of lanes. The column of now belongs to both the past and the future. */
export type Columns = { from: Instant; to: Instant; now: Instant; columnMs: number };

export type LaneCounts = Record<"ran" | "failed" | "missed" | "ahead", Float64Array>;

export function columnCount({ from, to, columnMs }: Columns): number {
  return Math.ceil((to - from) / columnMs);
}

export function emptyLane(columns: Columns): LaneCounts {
  const count = columnCount(columns);
  return {
    ran: new Float64Array(count),
    failed: new Float64Array(count),
    missed: new Float64Array(count),
    ahead: new Float64Array(count),
  };
}

/** A check as far as lanes are concerned. */
export type LaneCheck = {
  lane: number;
  timing: Timing;
  state: Pick<CheckState, "status" | "lastPingAt" | "expectFromAt">;
  /** Null: before the shown time. */
  createdAt: Instant | null;
  durationMs: number;
  /** In the shown time, oldest first, without retracted ones. */
  flips: readonly TimelineFlip[];
};

/** Firings shorter apart than this, of checks with a period, are spread evenly over the columns. */
const SPREAD_MS = 15 * MINUTE_MS;

/**
 * Counts the runs of a check by its schedule: while it was not down, each expected run came. Between its creation and
 * now, or its last ping if it is paused.
 */
function countExpected(
  check: LaneCheck,
  lane: LaneCounts,
  { columns, firings, load }: { columns: Columns; firings: readonly Instant[]; load: RunningAtOnce },
): void {
  const { status, lastPingAt } = check.state;
  const isWatched = status === "up" || status === "down";
  const pastTo = isWatched ? columns.now : (lastPingAt ?? -Infinity) + 1;
  const downs = downSpans(check, { now: columns.now, firings });
  for (const at of firings) {
    const column = Math.floor((at - columns.from) / columns.columnMs);
    if (at >= columns.now) {
      if (!isWatched) break;
      increase(lane.ahead, column, 1);
    } else if (at >= (check.createdAt ?? -Infinity) && at < pastTo) {
      const down = downs.find((one) => at >= one.from && at < one.to);
      increase(down === undefined ? lane.ran : lane[down.as], column, 1);
      if (down?.as === "missed") continue;
    } else continue;
    load.add({ from: at, to: at + check.durationMs });
  }
}

function increase(counts: Float64Array, column: number, by: number): void {
  if (column >= 0 && column < counts.length) counts[column] = (counts[column] ?? 0) + by;
}

/** Times in which a check was down, from the expected time of the first run that failed or did not come. */
function downSpans(
  { timing, state, flips }: LaneCheck,
  { now, firings }: { now: Instant; firings: readonly Instant[] },
): (Span & { as: "failed" | "missed" })[] {
  const spans: (Span & { as: "failed" | "missed" })[] = [];
  for (const [index, { at, to, reason }] of flips.entries()) {
    if (to !== "down") continue;
    const until = flips.slice(index + 1).find((flip) => flip.to === "up")?.at ?? now;
    if (reason === "timeout") spans.push({ from: at - startLimitMs(timing), to: until, as: "missed" });
    else spans.push({ from: firings.findLast((one) => one <= at) ?? at, to: until, as: "failed" });
  }
  const isDownAll = state.status === "down" && flips.length === 0;
  if (isDownAll) spans.push({ from: state.lastPingAt ?? -Infinity, to: now, as: "missed" });
  return spans;
}

/** Checks with the same schedule that have been up all the time are counted together. */
export class LaneCounter {
  readonly #columns: Columns;
  readonly #lanes: LaneCounts[];
  readonly #load: RunningAtOnce;
  readonly #budget: FiringBudget;
  readonly #together = new Map<
    string,
    { firings: Instant[]; checks: Map<string, LaneCheck & { count: number }> }
  >();

  constructor(columns: Columns, { laneCount, budget }: { laneCount: number; budget: FiringBudget }) {
    this.#columns = columns;
    this.#lanes = Array.from({ length: laneCount }, () => emptyLane(columns));
    this.#load = new RunningAtOnce({ ...columns, pixelMs: 0 });
    this.#budget = budget;
  }

  add(check: LaneCheck): void {
    const { timing, state, flips, createdAt, lane } = check;
    const counts = this.#lanes[lane];
    if (counts === undefined) return;
    const isSteady = state.status === "up" && flips.length === 0 && createdAt === null;
    if (timing.kind === "simple") {
      if (isSteady && timing.timeoutSeconds * SECOND_MS < SPREAD_MS) this.#spread(check, counts);
      else this.#count(check, counts, firingsIn(check, this.#columns, EXACT_FIRINGS_MAX));
      return;
    }
    const group = this.#groupOf(check);
    if (!isSteady) {
      this.#count(check, counts, group.firings);
      return;
    }
    const minutes = Math.round(check.durationMs / MINUTE_MS);
    const key = `${lane} ${minutes}`;
    const same = group.checks.get(key);
    if (same === undefined) group.checks.set(key, { ...check, count: 1 });
    else same.count += 1;
  }

  /** The counts of each lane, and how many ran at once. */
  finish(): { lanes: readonly LaneCounts[]; load: RunningAtOnce } {
    for (const { firings, checks } of this.#together.values()) {
      const histogram = emptyLane(this.#columns);
      for (const at of firings) {
        const column = Math.floor((at - this.#columns.from) / this.#columns.columnMs);
        increase(at < this.#columns.now ? histogram.ran : histogram.ahead, column, 1);
      }
      for (const { lane, durationMs, count } of checks.values()) {
        const counts = this.#lanes[lane];
        if (counts === undefined) continue;
        for (const [column, value] of histogram.ran.entries()) increase(counts.ran, column, value * count);
        for (const [column, value] of histogram.ahead.entries())
          increase(counts.ahead, column, value * count);
        if (durationMs < MINUTE_MS / 2) continue;
        for (const at of firings) this.#load.add({ from: at, to: at + durationMs }, count);
      }
    }
    this.#together.clear();
    return { lanes: this.#lanes, load: this.#load };
  }

  #groupOf(check: LaneCheck): { firings: Instant[]; checks: Map<string, LaneCheck & { count: number }> } {
    const { schedule, tz } = check.timing;
    const key = `${tz} ${schedule}`;
    const known = this.#together.get(key);
    if (known !== undefined) return known;
    const max = Math.max(1, Math.min(EXACT_FIRINGS_MAX, this.#budget.left));
    const firings = firingsIn(check, this.#columns, max);
    this.#budget.left -= Math.min(max, firings.length);
    const group = { firings, checks: new Map<string, LaneCheck & { count: number }>() };
    this.#together.set(key, group);
    return group;
  }

  #count(check: LaneCheck, lane: LaneCounts, firings: readonly Instant[]): void {
    countExpected(check, lane, { columns: this.#columns, firings, load: this.#load });
  }

  /** Evenly: where in a column a frequent check without a schedule runs cannot be seen. */
  #spread({ timing, durationMs }: LaneCheck, { ran, ahead }: LaneCounts): void {
    const { from, to, now, columnMs } = this.#columns;
    const everyMs = timing.timeoutSeconds * SECOND_MS;
    for (let column = 0; column < ran.length; column += 1) {
      const begin = from + column * columnMs;
      const pastMs = Math.max(0, Math.min(columnMs, now - begin));
      increase(ran, column, pastMs / everyMs);
      increase(ahead, column, (Math.min(begin + columnMs, to) - begin - pastMs) / everyMs);
    }
    this.#load.add({ from, to }, durationMs / everyMs);
  }
}

/** Counts as whole numbers with the same sum: what one column is rounded by is added to the next. */
export function wholeNumbers(counts: Float64Array): number[] {
  let sum = 0;
  let given = 0;
  return Array.from(counts, (count) => {
    sum += count;
    const whole = Math.round(sum) - given;
    given += whole;
    return whole;
  });
}

/** The share of each column in which pings could be received; nothing is known about the rest. */
export function observedShares({ from, columnMs, ...rest }: Columns, gaps: readonly Span[]): Float64Array {
  const shares = new Float64Array(columnCount({ from, columnMs, ...rest })).fill(1);
  for (const gap of gaps) {
    const first = Math.max(0, Math.floor((gap.from - from) / columnMs));
    const last = Math.min(shares.length - 1, Math.floor((gap.to - from) / columnMs));
    for (let column = first; column <= last; column += 1) {
      const begin = from + column * columnMs;
      const lostMs = Math.min(gap.to, begin + columnMs) - Math.max(gap.from, begin);
      shares[column] = Math.max(0, (shares[column] ?? 0) - lostMs / columnMs);
    }
  }
  return shares;
}

// Checks that stopped together.

/** Fewer checks that stop at about the same time are a coincidence. */
const STOPPED_TOGETHER_MIN = 3;

/**
 * The moment since which nothing came from the most of these checks, if there are enough: after the last ping of each of
 * them and before each was expected again.
 */
export function commonStop(
  stopped: readonly { lastPingAt: Instant; expectedAt: Instant }[],
): { at: Instant; count: number } | null {
  const edges = stopped
    .filter((one) => one.expectedAt >= one.lastPingAt)
    .flatMap(({ lastPingAt, expectedAt: until }) => [
      { at: lastPingAt, change: 1 },
      { at: until, change: -1 },
    ])
    .toSorted((one, other) => one.at - other.at || other.change - one.change);
  let open = 0;
  let best: { at: Instant; count: number } | null = null;
  for (const { at, change } of edges) {
    open += change;
    if (open > (best?.count ?? STOPPED_TOGETHER_MIN - 1)) best = { at, count: open };
  }
  return best;
}

// Clock changes.

export type ClockChange = { at: Instant; zone: string; offsetBefore: number; offsetAfter: number };

/** When the clocks of a zone change in a range. None for an unknown zone. */
export function clockChanges(name: string, { from, to }: Span): ClockChange[] {
  const zone = zoneOf(name);
  const changes: ClockChange[] = [];
  if (zone === null || zone.fixed !== null) return changes;
  let stretch = stretchAt(zone, Math.floor(from / SECOND_MS));
  while (stretch.to * SECOND_MS < to) {
    const next = stretchAt(zone, stretch.to);
    if (next.offset !== stretch.offset) {
      const at = stretch.to * SECOND_MS;
      changes.push({ at, zone: name, offsetBefore: stretch.offset, offsetAfter: next.offset });
    }
    stretch = next;
  }
  return changes;
}

/** Overlapping times as one, in order. */
export function mergeSpans(spans: readonly Span[]): Span[] {
  const merged: Span[] = [];
  for (const { from, to } of spans.toSorted((one, other) => one.from - other.from)) {
    const last = merged.at(-1);
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
    else merged.push({ from, to });
  }
  return merged;
}
