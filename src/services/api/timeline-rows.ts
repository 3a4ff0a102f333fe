// The rows of the timeline: the history of a limited number of checks, read with a few statements.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { TimelineRow, TimelineState } from "../../contract/api/timeline.ts";
import { splitTags } from "../../core/identity.ts";
import { HOUR_MS, type Instant, type Interval } from "../../core/instant.ts";
import { RUN_PAIRING_HOURS_MAX, TIMELINE_FLIPS_EACH_MAX, TIMELINE_RUNS_READ_MAX } from "../../core/limits.ts";
import { covers } from "../../core/silence.ts";
import {
  type FiringBudget,
  marksOf,
  RunningAtOnce,
  type TimelineFlip,
  type TimelineHistory,
  type TimelineRun,
  type TimelineView,
} from "../../core/timeline.ts";
import { packMarks } from "../../core/timeline-marks.ts";
import type { Db } from "../../store/db.ts";
import type { StoredSilence } from "../../store/silences.ts";
import {
  listLoggedRunsOfChecks,
  listPackedRunsOfChecks,
  listTimelineEvents,
  type TimelineCheck,
  type TimelineEvent,
} from "../../store/timeline.ts";
import { inShort } from "./check-rows.ts";

/** A check with its state now. */
export type ShownCheck = TimelineCheck & { shown: TimelineState };

type Span = { from: Instant; to: Instant };

/** A silence with its windows in the shown time. */
export type ShownSilence = { silence: StoredSilence; windows: readonly Span[] };

export type Surroundings = {
  view: TimelineView;
  gaps: readonly Span[];
  silences: readonly ShownSilence[];
  /** By check, oldest first. */
  flips: ReadonlyMap<number, readonly TimelineFlip[]>;
  budget: FiringBudget;
};

/** Rows that are computed before other requests get a turn. */
const ROWS_AT_ONCE = 10;

/** The rows of these checks, in their order, and how many of them ran at once. */
export async function readRows(
  db: Db,
  checks: readonly ShownCheck[],
  around: Surroundings,
): Promise<{ rows: TimelineRow[]; load: RunningAtOnce }> {
  const { view } = around;
  const load = new RunningAtOnce(view);
  if (checks.length === 0) return { rows: [], load };
  const checkIds = checks.map(({ id }) => id);
  // A run that ended after the range may have begun in it.
  const range = {
    checkIds,
    from: view.from,
    to: Math.min(view.now + 1, view.to + RUN_PAIRING_HOURS_MAX * HOUR_MS),
  };
  const [logged, packed, events] = await Promise.all([
    listLoggedRunsOfChecks(db, range),
    listPackedRunsOfChecks(db, { ...range, limit: TIMELINE_RUNS_READ_MAX }),
    listTimelineEvents(db, { ...range, limitEach: TIMELINE_FLIPS_EACH_MAX }),
  ]);
  const loggedOf = Map.groupBy(logged, ({ checkId }) => checkId);
  const packedOf = Map.groupBy(packed.runs, ({ checkId }) => checkId);
  const sumsOf = Map.groupBy(packed.sums, ({ checkId }) => checkId);
  const eventsOf = Map.groupBy(events, ({ checkId }) => checkId);
  const rows: TimelineRow[] = [];
  for (const [index, check] of checks.entries()) {
    if (index % ROWS_AT_ONCE === ROWS_AT_ONCE - 1) await nextTurn();
    const { id } = check;
    const runs = joined(packedOf.get(id) ?? [], loggedOf.get(id) ?? []);
    const history = historyOf(check, {
      ...around,
      runs,
      sums: sumsOf.get(id) ?? [],
      events: eventsOf.get(id) ?? [],
    });
    rows.push(rowOf(check, { history, around, load }));
  }
  return { rows, load };
}

/** Runs leave the log in order, so packed ones come first; only replayed ones may not. */
function joined(packed: readonly Omit<TimelineRun, "n">[], logged: readonly TimelineRun[]): TimelineRun[] {
  const runs = packed.map(
    ({ endAt, durationMs, outcome }): TimelineRun => ({ endAt, durationMs, outcome, n: 0 }),
  );
  return [...runs, ...logged].toSorted((one, other) => one.endAt - other.endAt);
}

type Found = Surroundings & {
  runs: readonly TimelineRun[];
  sums: TimelineHistory["sums"];
  events: readonly TimelineEvent[];
};

function historyOf(
  check: ShownCheck,
  { view, gaps, silences, flips, runs, sums, events }: Found,
): TimelineHistory {
  const at = (kind: TimelineEvent["kind"]) => events.filter((event) => event.kind === kind);
  return {
    timing: check.timing,
    state: check.state,
    isLate: check.shown === "late",
    lastDurationMs: check.lastDurationMs,
    runs,
    sums,
    flips: flips.get(check.id) ?? [],
    misses: at("missed").map(({ at: deadlineAt, detail }) => {
      const from = detail["from"];
      return typeof from === "number" ? from : deadlineAt;
    }),
    pauses: pausesOf(check, { events, view }),
    changes: at("edited").map((event) => event.at),
    silences: silences.flatMap(({ silence, windows }, index) => {
      if (!covers(silence, check)) return [];
      const success = (run: TimelineRun) => run.outcome === "success" && run.endAt >= silence.from;
      const until = silence.untilSuccess ? (runs.find(success)?.endAt ?? Infinity) : Infinity;
      return windows.map(({ from, to }) => ({ from, to: Math.min(to, until), index }));
    }),
    gaps,
  };
}

/** Pauses by their events; one that began before the shown time has no event here. */
function pausesOf(
  { state }: ShownCheck,
  { events, view }: { events: readonly TimelineEvent[]; view: TimelineView },
): Interval[] {
  const pauses: Interval[] = [];
  let from: Instant | null = null;
  for (const { kind, at } of events) {
    if (kind === "paused") from ??= at;
    if (kind !== "resumed") continue;
    pauses.push({ from: from ?? view.from, to: at });
    from = null;
  }
  if (state.status === "paused")
    pauses.push({ from: from ?? Math.max(view.from, state.lastPingAt ?? 0), to: null });
  else if (from !== null) pauses.push({ from, to: Math.max(from, state.lastPingAt ?? from) });
  return pauses;
}

type Drawn = { history: TimelineHistory; around: Surroundings; load: RunningAtOnce };

function rowOf(check: ShownCheck, { history, around, load }: Drawn): TimelineRow {
  const { view, budget } = around;
  const { marks, usualMs } = marksOf(history, view, budget);
  for (const { endAt, durationMs } of history.runs) {
    if (durationMs !== null) load.add({ from: endAt - durationMs, to: endAt });
  }
  for (const mark of marks) {
    if (mark.kind === "running" || (mark.kind === "ahead" && mark.count === 1)) load.add(mark);
    else if (mark.kind === "ahead") load.add(mark, meanOf(mark, usualMs ?? 0));
  }
  const lastDown = history.flips.findLast(({ to }) => to === "down");
  return {
    id: check.uuid,
    name: check.name,
    tags: [...new Set(splitTags(check.tags))],
    state: check.shown,
    expected: inShort(check.timing),
    usualMs,
    downSince: check.shown === "down" ? (lastDown?.at ?? null) : null,
    marks: packMarks(marks, view.from),
  };
}

/** How many runs of a ribbon are in progress on average. */
function meanOf({ from, to, count }: Span & { count: number }, lengthMs: number): number {
  return to > from ? Math.min(1, (count * lengthMs) / (to - from)) : 0;
}
