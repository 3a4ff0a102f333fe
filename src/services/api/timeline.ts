// The timeline of a project: which checks it shows, in which groups or lanes, and what surrounds them.
import type { StateCounts } from "../../contract/api/boot.ts";
import { naturalKey } from "../../contract/api/check-row.ts";
import {
  TIMELINE_RANGE_DEFAULT,
  TIMELINE_WIDTH_DEFAULT,
  windowOf,
} from "../../contract/api/timeline-marks.ts";
import {
  type Timeline,
  type TimelineClockChange,
  type TimelineGroup,
  type TimelineLane,
  type TimelineLoad,
  type TimelineQuery,
  type timelineRoutes,
  type TimelineSilence,
  type TimelineState,
} from "../../contract/api/timeline.ts";
import { AppError } from "../../core/errors.ts";
import { splitTags } from "../../core/identity.ts";
import { DAY_MS, type Instant, MINUTE_MS } from "../../core/instant.ts";
import {
  TIMELINE_AHEAD_DAYS_MAX,
  TIMELINE_CHECKS_MAX,
  TIMELINE_CLOCK_CHANGES_MAX,
  TIMELINE_DAYS_MAX,
  TIMELINE_FIRINGS_MAX,
  TIMELINE_FLIPS_EACH_MAX,
  TIMELINE_FLIPS_READ_MAX,
  TIMELINE_GAPS_MAX,
  TIMELINE_LANE_ROWS_MAX,
  TIMELINE_LANES_MAX,
  TIMELINE_PULLED_ROWS_MAX,
  TIMELINE_ROWS_MAX,
  TIMELINE_SILENCES_MAX,
  TIMELINE_TAGS_MAX,
  TIMELINE_WINDOWS_MAX,
} from "../../core/limits.ts";
import { dueAfter } from "../../core/run.ts";
import { nextWindows } from "../../core/silence.ts";
import { quickStatusAt } from "../../core/state.ts";
import {
  clockChanges,
  columnLength,
  commonStop,
  mergeSpans,
  peakOf,
  type TimelineFlip,
  type TimelineView,
} from "../../core/timeline.ts";
import type { Db } from "../../store/db.ts";
import { listBlindIntervals } from "../../store/intakes.ts";
import { listCurrentSilences, type StoredSilence } from "../../store/silences.ts";
import {
  listFlipsOfChecks,
  listTimelineChecks,
  sumTagDays,
  type TagDay,
  type TimelineCheck,
} from "../../store/timeline.ts";
import type { ApiContext, ApiHandlers } from "./route.ts";
import { countLanes, daysOf, LOAD_COLUMNS_MAX } from "./timeline-lanes.ts";
import { readRows, type ShownCheck, type ShownSilence, type Surroundings } from "./timeline-rows.ts";

export type TimelineRequest = {
  context: Pick<ApiContext, "database">;
  project: { id: number };
  query: TimelineQuery;
  now: Instant;
};

type Span = { from: Instant; to: Instant };

/** The timeline as it is drawn. Throws "invalid" for a range that is too long or too far away. */
export async function readTimeline({ context, project, query, now }: TimelineRequest): Promise<Timeline> {
  const { database } = context;
  const { from, to } = rangeOf(query, now);
  const view = { from, to, now, pixelMs: (to - from) / (query.width ?? TIMELINE_WIDTH_DEFAULT) };
  const days = query.mode === "rows" ? null : daysOf(view);
  const isWhole = query.q === undefined && query.state === undefined;
  const sums = { projectId: project.id, tag: query.tag ?? null, checkIds: null, tagsMax: TIMELINE_LANES_MAX };
  const [found, blind, silencesOf, wholeDays] = await Promise.all([
    listTimelineChecks(database, {
      projectId: project.id,
      from,
      hasDays: days !== null,
      limit: TIMELINE_CHECKS_MAX,
    }),
    listBlindIntervals(database, { from, to }),
    listCurrentSilences(database, { projectIds: [project.id], since: from }),
    days !== null && isWhole ? pastDays(database, { ...sums, ...days }, now) : null,
  ]);
  const all = found.map((check) => Object.assign(check, { shown: shownState(check, now) }));
  const chosen = all.filter((check) => isChosen(check, query));
  const silences = shownSilences(silencesOf.get(project.id) ?? [], view);
  const gaps = mergeSpans(blind.map((gap) => ({ from: gap.from, to: gap.to ?? now })))
    .map((gap) => ({ from: Math.max(from, gap.from), to: Math.min(now, gap.to) }))
    .filter((gap) => gap.to > gap.from)
    .slice(-TIMELINE_GAPS_MAX);
  const mode = query.mode ?? (chosen.length > TIMELINE_ROWS_MAX ? "density" : "rows");
  const around = { view, gaps, silences, budget: { left: TIMELINE_FIRINGS_MAX } };
  const drawn =
    mode === "rows"
      ? await drawRows(database, { checks: chosen, query, around })
      : await drawLanes(database, {
          checks: chosen,
          query,
          around,
          days:
            days !== null && wholeDays === null
              ? sumTagDays(database, { ...sums, ...days, checkIds: chosen.map(({ id }) => id) })
              : Promise.resolve(wholeDays),
        });
  return {
    from,
    to,
    now,
    mode,
    total: chosen.length,
    counts: countStates(chosen),
    tags: tagCounts(all),
    ...drawn,
    gaps,
    silences: silences.map(presentSilence),
    clockChanges: changesOfClocks(chosen, { view, own: query.zone ?? null }),
  };
}

export const timelineHandlers: ApiHandlers<typeof timelineRoutes> = {
  getTimeline: async (request) => ({ json: await readTimeline(request) }),
};

/** Totals of past days hardly change: the current day of each check is in its state, which is always read. */
const PAST_DAYS_KEPT_MS = MINUTE_MS;
const PAST_DAYS_KEPT_MAX = 200;

type KeptDays = { at: Instant; days: Promise<TagDay[]> };
const keptDays = new WeakMap<Db, Map<string, KeptDays>>();

/** The totals of a project, read at most once a minute: moving and zooming asks for the same ones again and again. */
function pastDays(db: Db, chosen: Parameters<typeof sumTagDays>[1], now: Instant): Promise<TagDay[]> {
  const kept = keptDays.get(db) ?? new Map<string, KeptDays>();
  keptDays.set(db, kept);
  const key = JSON.stringify(chosen);
  const known = kept.get(key);
  if (known !== undefined && Math.abs(now - known.at) < PAST_DAYS_KEPT_MS) return known.days;
  if (kept.size >= PAST_DAYS_KEPT_MAX) kept.clear();
  const days = sumTagDays(db, chosen);
  kept.set(key, { at: now, days });
  days.catch(() => kept.delete(key));
  return days;
}

/** The shortest range. */
const RANGE_MS_MIN = 10 * MINUTE_MS;

function rangeOf({ range, from, to }: TimelineQuery, now: Instant): Span {
  if (from === undefined && to === undefined) return windowOf(range ?? TIMELINE_RANGE_DEFAULT, now);
  if (from === undefined || to === undefined) {
    throw new AppError("invalid", "Give both from and to.", from === undefined ? "from" : "to");
  }
  if (to - from < RANGE_MS_MIN)
    throw new AppError("invalid", "to must be at least 10 minutes after from.", "to");
  if (to - from > TIMELINE_DAYS_MAX * DAY_MS) {
    throw new AppError("invalid", `The range can be at most ${TIMELINE_DAYS_MAX} days long.`, "to");
  }
  if (to > now + TIMELINE_AHEAD_DAYS_MAX * DAY_MS) {
    throw new AppError("invalid", `to can be at most ${TIMELINE_AHEAD_DAYS_MAX} days from now.`, "to");
  }
  return { from, to };
}

// Which checks are shown.

/** A run in progress is shown unless the check is late or down. */
function shownState(check: TimelineCheck, now: Instant): TimelineState {
  const status = quickStatusAt(check, now);
  if (status === "down") return "down";
  if (status === "grace") return "late";
  return check.state.lastStartAt === null ? status : "running";
}

function isChosen({ name, tags, shown }: ShownCheck, { tag, q, state }: TimelineQuery): boolean {
  if (state !== undefined && state !== shown && !(state === "trouble" && isTrouble(shown))) return false;
  if (tag !== undefined && !tagsOf(tags).includes(tag)) return false;
  if (q === undefined) return true;
  const text = `${name} ${tags}`.toLowerCase();
  return q
    .toLowerCase()
    .split(" ")
    .every((word) => text.includes(word));
}

/** Thousands of checks have few different tags. */
const TAGS_KEPT_MAX = 10_000;
const knownTags = new Map<string, readonly string[]>();

function tagsOf(text: string): readonly string[] {
  const known = knownTags.get(text);
  if (known !== undefined) return known;
  if (knownTags.size >= TAGS_KEPT_MAX) knownTags.clear();
  const tags = [...new Set(splitTags(text))];
  knownTags.set(text, tags);
  return tags;
}

function isTrouble(state: TimelineState): boolean {
  return state === "down" || state === "late";
}

function countStates(checks: readonly ShownCheck[]): StateCounts {
  const counts = { new: 0, up: 0, late: 0, down: 0, paused: 0, running: 0 };
  for (const { shown } of checks) counts[shown] += 1;
  return counts;
}

function tagCounts(checks: readonly ShownCheck[]): Timeline["tags"] {
  const counts = new Map<string, number>();
  for (const { tags } of checks) {
    for (const tag of tagsOf(tags)) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  }
  return [...counts]
    .map(([name, count]) => ({ name, count }))
    .toSorted((one, other) => other.count - one.count || (one.name < other.name ? -1 : 1))
    .slice(0, TIMELINE_TAGS_MAX);
}

// Groups and lanes.

type Drawing = {
  checks: readonly ShownCheck[];
  query: TimelineQuery;
  around: Omit<Surroundings, "flips">;
};

type Drawn = Pick<Timeline, "groups" | "next" | "columnMs" | "columnsFrom" | "lanesFrom" | "lanes" | "load">;

/** Checks by their first tag; null: they have none, or are not grouped. */
function groupsOf(checks: readonly ShownCheck[], { group }: TimelineQuery): Map<string | null, ShownCheck[]> {
  return Map.groupBy(checks, ({ tags }) => (group === "none" ? null : (tagsOf(tags)[0] ?? null)));
}

async function readFlips(
  db: Db,
  checks: readonly ShownCheck[],
  { from, to, now }: TimelineView,
): Promise<ReadonlyMap<number, readonly TimelineFlip[]>> {
  if (checks.length === 0) return new Map();
  const flips = await listFlipsOfChecks(db, {
    checkIds: checks.map(({ id }) => id),
    from,
    to: Math.min(to, now + 1),
    limit: TIMELINE_FLIPS_READ_MAX,
    limitEach: TIMELINE_FLIPS_EACH_MAX,
  });
  return Map.groupBy(flips, ({ checkId }) => checkId);
}

/** A page of rows. The cursor is the position of the next row. */
async function drawRows(db: Db, { checks, query, around }: Drawing): Promise<Drawn> {
  const groups = [...groupsOf(checks, query)]
    .map(([tag, members]) => ({ tag, members: byName(members), ...troubleOf(members) }))
    .toSorted((one, other) => other.downCount - one.downCount || compareTags(one.tag, other.tag));
  const first = Number(query.cursor ?? "0");
  const ordered = groups.flatMap(({ members }) => members);
  const page = ordered.slice(first, first + TIMELINE_ROWS_MAX);
  const flips = await readFlips(db, page, around.view);
  const { rows, load } = await readRows(db, page, { ...around, flips });
  const rowOf = new Map(rows.map((row) => [row.id, row]));
  const { from, to } = around.view;
  const columnMs = columnLength({ from, to }, LOAD_COLUMNS_MAX);
  const next = first + page.length;
  return {
    groups: groups.flatMap(({ tag, members, ...trouble }): TimelineGroup[] => {
      const shown = members.flatMap(({ uuid }) => rowOf.get(uuid) ?? []);
      return shown.length === 0 ? [] : [{ tag, count: members.length, ...trouble, rows: shown }];
    }),
    next: next < ordered.length ? String(next) : null,
    columnMs,
    columnsFrom: from,
    lanesFrom: null,
    lanes: [],
    load: presentLoad(
      { from, columnMs, counts: load.columns(columnMs), measure: "most" },
      { view: around.view, isEstimate: false },
    ),
  };
}

function byName(checks: readonly ShownCheck[]): ShownCheck[] {
  return checks
    .map((check) => ({ check, key: naturalKey(check.name) }))
    .toSorted((one, other) =>
      one.key < other.key ? -1 : one.key > other.key ? 1 : one.check.id - other.check.id,
    )
    .map(({ check }) => check);
}

function compareTags(one: string | null, other: string | null): number {
  if (one === null || other === null) return one === other ? 0 : one === null ? 1 : -1;
  return one < other ? -1 : one > other ? 1 : 0;
}

type Trouble = Pick<TimelineGroup, "downCount" | "lateCount" | "stopped">;

function troubleOf(checks: readonly ShownCheck[]): Trouble {
  const down = checks.filter(({ shown }) => shown === "down");
  const stopped = down.flatMap(({ timing, state: { lastPingAt } }) => {
    const expectedAt = lastPingAt === null ? null : dueAfter(timing, lastPingAt);
    return lastPingAt === null || expectedAt === null ? [] : [{ lastPingAt, expectedAt }];
  });
  return {
    downCount: down.length,
    lateCount: checks.filter(({ shown }) => shown === "late").length,
    stopped: commonStop(stopped),
  };
}

type LaneMembers = { tag: string | null; isRest: boolean; members: ShownCheck[] };

/** The largest groups; those beyond the limit are one lane. */
function lanesOf(checks: readonly ShownCheck[], query: TimelineQuery): LaneMembers[] {
  const lanes = [...groupsOf(checks, query)]
    .map(([tag, members]) => ({ tag, isRest: false, members }))
    .toSorted((one, other) => other.members.length - one.members.length || compareTags(one.tag, other.tag));
  if (lanes.length <= TIMELINE_LANES_MAX) return lanes;
  const rest = lanes.slice(TIMELINE_LANES_MAX - 1).flatMap(({ members }) => members);
  return [...lanes.slice(0, TIMELINE_LANES_MAX - 1), { tag: null, isRest: true, members: rest }];
}

/** `days`: the daily totals by first tag; null: the range is counted by schedule. */
type LanesDrawing = Drawing & { days: Promise<readonly TagDay[] | null> };

async function drawLanes(db: Db, { checks, query, around, days }: LanesDrawing): Promise<Drawn> {
  const lanes = lanesOf(checks, query);
  const ordered = lanes.flatMap(({ members }) => members);
  const laneOf = lanes.flatMap(({ members }, lane) => members.map(() => lane));
  const pulled = pulledOf(lanes);
  const tagDays = await days;
  // Daily totals contain the missed deadlines of all checks.
  const flips = await readFlips(db, tagDays === null ? ordered : pulled.flat(), around.view);
  const laneDays = tagDays?.map((day) => ({ ...day, lane: laneOfTag(lanes, day.tag) })) ?? null;
  const [counted, { rows }] = await Promise.all([
    countLanes(ordered, { ...around, flips, laneOf, laneCount: lanes.length, days: laneDays }),
    readRows(db, pulled.flat(), { ...around, flips }),
  ]);
  const rowOf = new Map(rows.map((row) => [row.id, row]));
  return {
    groups: [],
    next: null,
    columnMs: counted.columns.columnMs,
    columnsFrom: counted.columns.from,
    lanesFrom: counted.from,
    lanes: lanes.map(({ tag, isRest, members }, index): TimelineLane => {
      const trouble = troubleOf(members);
      const shown = (pulled[index] ?? []).flatMap(({ uuid }) => rowOf.get(uuid) ?? []);
      const counts = counted.counts[index] ?? { ran: [], failed: [], missed: [], ahead: [] };
      const moreCount = trouble.downCount + trouble.lateCount - shown.length;
      return { tag, isRest, count: members.length, ...trouble, ...counts, rows: shown, moreCount };
    }),
    load: presentLoad(counted.load, { view: around.view, isEstimate: true }),
  };
}

/** The lane of checks with this first tag: if it has none of its own, the last one. */
function laneOfTag(lanes: readonly LaneMembers[], tag: string | null): number {
  const own = lanes.findIndex((lane) => lane.tag === tag && !lane.isRest);
  return own === -1 ? lanes.length - 1 : own;
}

/** The checks in trouble that are drawn below each lane: down first, the newest first. */
function pulledOf(lanes: readonly LaneMembers[]): ShownCheck[][] {
  let left = TIMELINE_PULLED_ROWS_MAX;
  return lanes.map(({ members }) => {
    const pulled = members
      .filter(({ shown }) => isTrouble(shown))
      .toSorted(
        (one, other) =>
          Number(one.shown === "late") - Number(other.shown === "late") ||
          (other.state.lastPingAt ?? 0) - (one.state.lastPingAt ?? 0) ||
          one.id - other.id,
      )
      .slice(0, Math.min(TIMELINE_LANE_ROWS_MAX, left));
    left -= pulled.length;
    return pulled;
  });
}

function presentLoad(
  load: Pick<TimelineLoad, "from" | "columnMs" | "counts" | "measure">,
  { view, isEstimate }: { view: TimelineView; isEstimate: boolean },
): TimelineLoad {
  const { from, columnMs, counts } = load;
  const { now } = view;
  return {
    ...load,
    isEstimate,
    peak: peakOf(counts, { from, columnMs, span: { from: view.from, to: now } }),
    peakAhead: peakOf(counts, { from, columnMs, span: { from: now, to: view.to } }),
  };
}

// Silences and clock changes.

/** Silences with a window in the shown time, the newest. */
function shownSilences(silences: readonly StoredSilence[], { from, to }: TimelineView): ShownSilence[] {
  return silences
    .flatMap((silence) => {
      const windows = nextWindows(silence, { at: from, count: TIMELINE_WINDOWS_MAX }).filter(
        (window) => window.from < to,
      );
      return windows.length === 0 ? [] : [{ silence, windows }];
    })
    .slice(-TIMELINE_SILENCES_MAX);
}

function presentSilence({ silence, windows }: ShownSilence): TimelineSilence {
  return {
    id: silence.uuid,
    reason: silence.reason,
    tag: silence.scope.kind === "tag" ? silence.scope.tag : null,
    isForAll: silence.scope.kind === "all",
    windows: windows.map((window) => ({ from: window.from, until: window.to })),
  };
}

/** In the reader's zone, and in those of checks with a schedule. */
function changesOfClocks(
  checks: readonly ShownCheck[],
  { view, own }: { view: TimelineView; own: string | null },
): TimelineClockChange[] {
  const zones = new Map<string, number>(own === null ? [] : [[own, 0]]);
  for (const { timing } of checks) {
    if (timing.kind !== "simple") zones.set(timing.tz, (zones.get(timing.tz) ?? 0) + 1);
  }
  return [...zones]
    .flatMap(([zone, checkCount]) =>
      clockChanges(zone, view).map((change) => ({ ...change, isOwn: zone === own, checkCount })),
    )
    .toSorted(
      (one, other) =>
        Number(other.isOwn) - Number(one.isOwn) || other.checkCount - one.checkCount || one.at - other.at,
    )
    .slice(0, TIMELINE_CLOCK_CHANGES_MAX)
    .toSorted((one, other) => one.at - other.at);
}
