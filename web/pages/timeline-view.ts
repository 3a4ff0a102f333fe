// What the timeline shows, kept in the URL: time range, filters, grouping and form. The parameters are those of the API.
import {
  TIMELINE_RANGE_DEFAULT,
  TIMELINE_RANGES,
  type TimelineRange,
  type TimelineState,
  windowOf,
} from "../../src/contract/api/timeline-marks.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** A part of the time axis. */
export type Range = { fromAt: number; toAt: number };

/** A shorter range has nothing to show between two marks. */
const SPAN_MIN_MS = 10 * MINUTE_MS;
const SPAN_MAX_MS = 90 * DAY_MS;
/** How far the history reaches back, and the prediction ahead. */
const PAST_MAX_MS = 92 * DAY_MS;
const AHEAD_MAX_MS = 7 * DAY_MS;

/** One row for each check, or one lane for each tag; null leaves it to the number of checks. */
export type Mode = "rows" | "density";
const MODES = ["rows", "density"] as const satisfies readonly Mode[];

/** In the order of the filter. */
export const FILTER_STATES = [
  "trouble",
  "down",
  "late",
  "running",
  "up",
  "new",
  "paused",
] as const satisfies readonly (TimelineState | "trouble")[];
export type FilterState = (typeof FILTER_STATES)[number];

export type TimelineView = {
  zoom: TimelineRange;
  /** A range that was selected or moved; null: around now, as the zoom says. */
  range: Range | null;
  search: string;
  tag: string;
  state: FilterState | null;
  mode: Mode | null;
  isGrouped: boolean;
  isTable: boolean;
};

export const FIRST_VIEW: TimelineView = {
  zoom: TIMELINE_RANGE_DEFAULT,
  range: null,
  search: "",
  tag: "",
  state: null,
  mode: null,
  isGrouped: true,
  isTable: false,
};

/** The view in a URL; what is invalid is ignored. */
export function readTimelineView(search: string): TimelineView {
  const query = new URLSearchParams(search);
  return {
    zoom:
      TIMELINE_RANGES.find((zoom) => zoom === (query.get("range") ?? query.get("zoom"))) ??
      TIMELINE_RANGE_DEFAULT,
    range: readRange(query.get("from"), query.get("to")),
    search: query.get("q") ?? "",
    tag: query.get("tag") ?? "",
    state: FILTER_STATES.find((state) => state === query.get("state")) ?? null,
    mode: MODES.find((mode) => mode === query.get("mode")) ?? null,
    isGrouped: query.get("group") !== "none",
    isTable: query.get("view") === "table",
  };
}

/** The query string; empty for the first view. */
export function writeTimelineView(view: TimelineView): string {
  const query = new URLSearchParams(askedOf(view) as Record<string, string>);
  // The level to return to from a range that was moved or selected.
  if (view.range !== null && view.zoom !== TIMELINE_RANGE_DEFAULT) query.set("zoom", view.zoom);
  if (view.isTable) query.set("view", "table");
  return query.toString();
}

/** The same as parameters of the request, as far as they are not the default. */
export function askedOf({ zoom, range, search, tag, state, mode, isGrouped }: TimelineView) {
  return {
    ...(range === null
      ? zoom !== TIMELINE_RANGE_DEFAULT && { range: zoom }
      : { from: range.fromAt, to: range.toAt }),
    ...(tag !== "" && { tag }),
    ...(search.trim() !== "" && { q: search.trim() }),
    ...(state !== null && { state }),
    ...(mode !== null && { mode }),
    ...(!isGrouped && { group: "none" as const }),
  };
}

export function isFilteredView({ search, tag, state }: TimelineView): boolean {
  return search.trim() !== "" || tag !== "" || state !== null;
}

const MS_TEXT = /^\d{12,14}$/;

function readRange(from: string | null, to: string | null): Range | null {
  if (!MS_TEXT.test(from ?? "") || !MS_TEXT.test(to ?? "")) return null;
  const range = { fromAt: Number(from), toAt: Number(to) };
  const spanMs = range.toAt - range.fromAt;
  return spanMs >= SPAN_MIN_MS && spanMs <= SPAN_MAX_MS ? range : null;
}

// Moves and zooms. Ranges begin and end with a minute, as in the URL.

/** The range of a view at an instant. */
export function rangeOf({ zoom, range }: Pick<TimelineView, "zoom" | "range">, now: number): Range {
  if (range !== null) return range;
  const { from, to } = windowOf(zoom, now);
  return { fromAt: from, toAt: to };
}

/** The range, cut to a length that can be shown, and moved to where there is anything. */
export function boundedRange({ fromAt, toAt }: Range, now: number): Range {
  const spanMs = Math.min(SPAN_MAX_MS, Math.max(SPAN_MIN_MS, toAt - fromAt));
  const middle = (fromAt + toAt) / 2;
  const first = floorMinute(now - PAST_MAX_MS);
  const last = floorMinute(now + AHEAD_MAX_MS) - spanMs;
  const start = Math.max(first, Math.min(last, floorMinute(middle - spanMs / 2)));
  return { fromAt: start, toAt: floorMinute(start + spanMs) };
}

const MOVED_SHARE = 0.25;

/** A quarter of the range earlier (-1) or later (1). */
export function movedView(view: TimelineView, direction: -1 | 1, now: number): TimelineView {
  const { fromAt, toAt } = rangeOf(view, now);
  const byMs = (toAt - fromAt) * MOVED_SHARE * direction;
  return { ...view, range: boundedRange({ fromAt: fromAt + byMs, toAt: toAt + byMs }, now) };
}

/** The next zoom level, around now; a range that was selected is halved or doubled around its middle. */
export function zoomedView(view: TimelineView, direction: "in" | "out", now: number): TimelineView {
  const { range } = view;
  if (range === null) {
    const next = TIMELINE_RANGES[TIMELINE_RANGES.indexOf(view.zoom) + (direction === "in" ? -1 : 1)];
    return next === undefined ? view : { ...view, zoom: next };
  }
  const middle = (range.fromAt + range.toAt) / 2;
  const halfMs = ((range.toAt - range.fromAt) / 2) * (direction === "in" ? 0.5 : 2);
  return { ...view, range: boundedRange({ fromAt: middle - halfMs, toAt: middle + halfMs }, now) };
}

/** The range that was selected with the pointer. */
export function selectedView(view: TimelineView, range: Range, now: number): TimelineView {
  return { ...view, range: boundedRange(range, now) };
}

/** The current range, at the zoom level. */
export function nowView(view: TimelineView): TimelineView {
  return { ...view, range: null };
}

function floorMinute(at: number): number {
  return Math.floor(at / MINUTE_MS) * MINUTE_MS;
}
