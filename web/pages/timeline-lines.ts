// The lines of the timeline from top to bottom: groups with their rows, or lanes with the checks in trouble.
import {
  type Mark,
  type Timeline,
  type TimelineGroup,
  type TimelineLane,
  type TimelineRow,
  unpackMarks,
} from "../../src/contract/api/timeline-marks.ts";

export type Line =
  | { kind: "group"; key: string; group: TimelineGroup; isFolded: boolean }
  | { kind: "row"; key: string; row: TimelineRow; marks: readonly Mark[] }
  | { kind: "lane"; key: string; lane: TimelineLane }
  | { kind: "more"; key: string; lane: TimelineLane };
export type RowLine = Extract<Line, { kind: "row" }>;

/** The pages of an answer as one: a group may be on several. */
export function joinedPages(pages: readonly Timeline[]): Timeline | null {
  const [first] = pages;
  const last = pages.at(-1);
  if (first === undefined || last === undefined || pages.length === 1) return first ?? null;
  const groups = new Map<string | null, TimelineGroup>();
  for (const group of pages.flatMap((page) => sameStart(page, first))) {
    const known = groups.get(group.tag);
    groups.set(group.tag, known === undefined ? group : { ...known, rows: [...known.rows, ...group.rows] });
  }
  return { ...first, groups: [...groups.values()], next: last.next };
}

/** Marks count from the start of their page, which may be a minute after that of the first one. */
function sameStart(page: Timeline, first: Timeline): TimelineGroup[] {
  const shift = Math.round((page.from - first.from) / 1_000);
  if (shift === 0) return page.groups;
  const moved = (row: TimelineRow): TimelineRow => ({
    ...row,
    marks: row.marks.map((value, index) => (index === 1 ? value + shift : value)),
  });
  return page.groups.map((group) => ({ ...group, rows: group.rows.map(moved) }));
}

const unpacked = new WeakMap<TimelineRow, { from: number; marks: readonly Mark[] }>();

/** The marks of a row, unpacked once. */
export function marksOf(timeline: Pick<Timeline, "from">, row: TimelineRow): readonly Mark[] {
  const known = unpacked.get(row);
  if (known?.from === timeline.from) return known.marks;
  const marks = unpackMarks(timeline, row);
  unpacked.set(row, { from: timeline.from, marks });
  return marks;
}

/** The lines that are shown. Folded groups are given by their key. */
export function linesOf(timeline: Timeline, folded: ReadonlySet<string>, isGrouped: boolean): Line[] {
  const rowLine = (row: TimelineRow): Line => ({
    kind: "row",
    key: row.id,
    row,
    marks: marksOf(timeline, row),
  });
  if (timeline.mode === "density") {
    return timeline.lanes.flatMap((lane): Line[] => {
      const key = laneKey(lane);
      const more: Line[] = lane.moreCount > 0 ? [{ kind: "more", key: `more ${key}`, lane }] : [];
      return [{ kind: "lane", key: `lane ${key}`, lane }, ...lane.rows.map(rowLine), ...more];
    });
  }
  return timeline.groups.flatMap((group): Line[] => {
    if (!isGrouped) return group.rows.map(rowLine);
    const key = `group ${group.tag ?? ""}`;
    const isFolded = folded.has(key);
    return [{ kind: "group", key, group, isFolded }, ...(isFolded ? [] : group.rows.map(rowLine))];
  });
}

function laneKey({ tag, isRest }: TimelineLane): string {
  return isRest ? "rest" : (tag ?? "");
}

// Heights, in pixels at the default font size.

const REM_PX = 16;
const HEIGHTS = {
  desk: { group: 34, row: 24, lane: 62, more: 26 },
  phone: { group: 44, row: 44, lane: 96, more: 44 },
} as const;
/** On a phone, the name stands above the marks. */
const PHONE_NAME_PX = 20;
const PHONE_PLOT_PX = 18;

export type Heights = {
  line: Readonly<Record<Line["kind"], number>>;
  plot: Readonly<Record<Line["kind"], number>>;
};

export function heightsOf(screen: "desk" | "phone", remPx: number): Heights {
  const scale = remPx / REM_PX;
  const scaled = (px: number) => Math.round(px * scale);
  const { group, row, lane, more } = HEIGHTS[screen];
  const line = { group: scaled(group), row: scaled(row), lane: scaled(lane), more: scaled(more) };
  if (screen === "desk") return { line, plot: line };
  return { line, plot: { ...line, row: PHONE_PLOT_PX, lane: line.lane - scaled(2 * PHONE_NAME_PX) } };
}

/** The top of each line, and the height of all. */
export function topsOf(lines: readonly Line[], { line }: Heights): { tops: number[]; height: number } {
  let height = 0;
  const tops = lines.map(({ kind }) => {
    const top = height;
    height += line[kind];
    return top;
  });
  return { tops, height };
}

/** The lines between two places, with some more on either side. */
export function visibleLines(
  { tops, height }: { tops: readonly number[]; height: number },
  { fromY, toY, spare }: { fromY: number; toY: number; spare: number },
): { first: number; last: number } {
  const isAbove = (y: number) => {
    let low = 0;
    let high = tops.length;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((tops[middle] ?? height) <= y) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  };
  return {
    first: Math.max(0, isAbove(fromY) - spare),
    last: Math.min(tops.length - 1, isAbove(Math.min(height, toY)) + spare),
  };
}
