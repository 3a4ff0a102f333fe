// Where everything on the timeline is drawn, in pixels: marks of a row, the time axis, changes of the clocks, the strip
// of runs at once, and lanes. Nothing here draws or reads the page.
import type { Mark, MarkKind } from "../../src/contract/api/timeline-marks.ts";
import { formatClock, formatDate, zoneOffsetMs } from "../words/format.ts";
import type { Range } from "./timeline-view.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A range and the width that it is drawn in. */
export type Frame = Range & { width: number };

/** The place of an instant. */
export function xOf(at: number, { fromAt, toAt, width }: Frame): number {
  return ((at - fromAt) / Math.max(1, toAt - fromAt)) * width;
}

/** The instant at a place. */
export function atOf(x: number, { fromAt, toAt, width }: Frame): number {
  return fromAt + (x / Math.max(1, width)) * (toAt - fromAt);
}

// Local times. A range needs hundreds of offsets, and most of them again after a move.

const QUARTER_MS = 15 * MINUTE_MS;
const OFFSETS_MAX = 20_000;
const offsets = new Map<string, number>();

/** How far the clocks of a zone are ahead of UTC; they change at quarters of an hour. */
function offsetOf(at: number, zone: string): number {
  const quarter = Math.floor(at / QUARTER_MS);
  const key = `${quarter} ${zone}`;
  let offset = offsets.get(key);
  if (offset === undefined) {
    if (offsets.size >= OFFSETS_MAX) offsets.clear();
    offset = zoneOffsetMs(quarter * QUARTER_MS, zone);
    offsets.set(key, offset);
  }
  return offset;
}

/** The days since 1970 of an instant, as a local calendar counts them. */
function localDay(at: number, zone: string): number {
  return Math.floor((at + offsetOf(at, zone)) / DAY_MS);
}

/** When a local day begins: at midnight, or when the clocks skip that, right after. */
function dayStart(day: number, zone: string): number {
  const before = day * DAY_MS - offsetOf(day * DAY_MS - DAY_MS, zone);
  const after = day * DAY_MS - offsetOf(day * DAY_MS + DAY_MS, zone);
  const found = [before, after].find(
    (at) => localDay(at, zone) === day && localDay(at - 1, zone) === day - 1,
  );
  return found ?? before;
}

// Marks of a row.

/** Successes and predictions closer than this are one ribbon. */
const MERGED_PX = 7;
/** A ribbon of two would hide that they are two. */
const RIBBON_MIN = 3;
const WIDTH_MIN: Readonly<Record<MarkKind, number>> = {
  ran: 3,
  late: 3,
  failed: 3,
  missed: 7,
  running: 3,
  ahead: 3,
  silenced: 2,
  paused: 2,
  changed: 1,
};

/** What is drawn: a mark, or a ribbon of several. */
export type Shape = {
  kind: MarkKind;
  isRibbon: boolean;
  x: number;
  width: number;
  /** The start of the dashed line before a late run. */
  leadX: number | null;
  /** The marks that it stands for, first and last. */
  first: number;
  last: number;
};

/** Only these are combined: another problem is always drawn by itself. */
const COMBINED: ReadonlySet<MarkKind> = new Set(["ran", "ahead", "missed"]);
/** What lies behind the runs. */
const GROUND: ReadonlySet<MarkKind> = new Set(["silenced", "paused"]);
const TROUBLE: ReadonlySet<MarkKind> = new Set(["late", "failed", "missed"]);

/** Whether a mark is a run, or stands for one that is missing or will come: it has a card. */
function isRun({ kind }: Pick<Mark, "kind">): boolean {
  return !GROUND.has(kind) && kind !== "changed";
}

/** The shapes of a row: what lies behind first, problems last. The marks are in order of time. */
export function shapesOf(marks: readonly Mark[], frame: Frame): Shape[] {
  const layers: [Shape[], Shape[], Shape[]] = [[], [], []];
  const add = (shape: Shape) =>
    layers[GROUND.has(shape.kind) ? 0 : TROUBLE.has(shape.kind) ? 2 : 1].push(shape);
  const near = new Map<MarkKind, Shape[]>();
  const close = (kind: MarkKind) => {
    for (const shape of ribbonOf(near.get(kind) ?? [], marks)) add(shape);
    near.delete(kind);
  };
  for (const [index, mark] of marks.entries()) {
    const shape = shapeOf(mark, index, frame);
    if (shape === null) continue;
    if (!COMBINED.has(mark.kind)) {
      add(shape);
      continue;
    }
    const run = near.get(mark.kind);
    if (run !== undefined && isNear(run.at(-1), shape)) run.push(shape);
    else {
      close(mark.kind);
      near.set(mark.kind, [shape]);
    }
  }
  for (const kind of COMBINED) close(kind);
  const [ground, calm, trouble] = layers;
  return [...ground, ...calm, ...withoutCovered(trouble.toSorted((a, b) => a.x - b.x))];
}

function shapeOf(mark: Mark, index: number, frame: Frame): Shape | null {
  const x = xOf(mark.from, frame);
  // A check that is late now: nothing has come yet, and only the wait is drawn.
  const isWaiting = mark.kind === "late" && mark.count === 0;
  const width = isWaiting ? 0 : Math.max(WIDTH_MIN[mark.kind], xOf(mark.to, frame) - x);
  const leadX = mark.kind === "late" && mark.expectedAt < mark.from ? xOf(mark.expectedAt, frame) : null;
  if (x > frame.width || x + width < 0) return null;
  return { kind: mark.kind, isRibbon: mark.count > 1, x, width, leadX, first: index, last: index };
}

function isNear(before: Shape | undefined, shape: Shape): boolean {
  if (before === undefined) return false;
  const endX = before.x + before.width;
  // A missing run is drawn alone as long as it can be seen alone.
  if (shape.kind === "missed") return shape.x < endX;
  return shape.x - before.x < MERGED_PX || (before.isRibbon && shape.x - endX < MERGED_PX);
}

/** One shape for marks that lie close together; two of them stay apart. */
function ribbonOf(run: readonly Shape[], marks: readonly Mark[]): Shape[] {
  const [first] = run;
  const last = run.at(-1);
  if (first === undefined || last === undefined || run.length === 1) return [...run];
  const count = run.reduce((sum, shape) => sum + Math.max(1, marks[shape.first]?.count ?? 1), 0);
  if (count < RIBBON_MIN && first.kind !== "missed") return [...run];
  const endX = Math.max(...run.map(({ x, width }) => x + width));
  return [{ ...first, isRibbon: true, width: endX - first.x, last: last.last }];
}

/** Problems of the same kind in the same pixel are drawn once. */
function withoutCovered(shapes: readonly Shape[]): Shape[] {
  const lastX = new Map<MarkKind, number>();
  return shapes.filter(({ kind, x, width }) => {
    const before = lastX.get(kind);
    if (before !== undefined && x - before < 1 && width <= WIDTH_MIN[kind]) return false;
    lastX.set(kind, x);
    return true;
  });
}

/** How far from a mark the pointer may be. */
const NEAR_PX = 12;

/** The mark at a place, or the nearest one: the topmost, if several are there. Null: there is none. */
export function markAt(
  shapes: readonly Shape[],
  marks: readonly Mark[],
  x: number,
  frame: Frame,
): number | null {
  let best: Shape | null = null;
  let bestPx = NEAR_PX;
  for (const shape of shapes) {
    if (!isRun(shape)) continue;
    // The diamond of a failure is wider than its run.
    const startX = shape.leadX ?? shape.x - (shape.kind === "failed" ? 6 : 0);
    const px = Math.max(0, startX - x, x - shape.x - shape.width);
    if (px <= bestPx) {
      best = shape;
      bestPx = px;
    }
  }
  return best === null ? null : nearestOf(best, marks, atOf(x, frame));
}

/** Of the marks of a ribbon, the one that is nearest to an instant. */
function nearestOf({ kind, first, last }: Shape, marks: readonly Mark[], at: number): number {
  let best = first;
  let bestMs = Number.POSITIVE_INFINITY;
  for (let index = first; index <= last; index += 1) {
    const mark = marks[index];
    if (mark === undefined || mark.kind !== kind) continue;
    const ms = Math.max(0, mark.from - at, at - mark.to);
    if (ms < bestMs) {
      best = index;
      bestMs = ms;
    }
  }
  return best;
}

/** The next run before or after a mark of a row; of the last one, itself. Null: start at the last run until now. */
export function steppedMark(marks: readonly Mark[], from: number | null, step: -1 | 1): number | null {
  if (from === null) return lastMark(marks);
  for (let index = from + step; index >= 0 && index < marks.length; index += step) {
    const mark = marks[index];
    if (mark !== undefined && isRun(mark)) return index;
  }
  return from;
}

/** The last run that has come or should have; without one, the first predicted. */
export function lastMark(marks: readonly Mark[]): number | null {
  const last = marks.findLastIndex((mark) => isRun(mark) && mark.kind !== "ahead");
  if (last !== -1) return last;
  const first = marks.findIndex(isRun);
  return first === -1 ? null : first;
}

// The time axis.

export type Tick = { x: number; isDay: boolean };
/** `line` 0 is the upper line of the axis, with days and months; 1 has the times. */
export type AxisLabel = {
  key: string;
  line: 0 | 1;
  text: string;
  x: number;
  anchor: "start" | "middle" | "end";
  kind: "time" | "day" | "clock" | "now";
};
export type Axis = { ticks: Tick[]; labels: AxisLabel[] };

const STEPS_MS = [
  5 * MINUTE_MS,
  10 * MINUTE_MS,
  15 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
  4 * HOUR_MS,
  6 * HOUR_MS,
  12 * HOUR_MS,
  DAY_MS,
  2 * DAY_MS,
  7 * DAY_MS,
  14 * DAY_MS,
  28 * DAY_MS,
] as const;
const LABEL_ROOM_PX = 62;
const LETTER_PX = 6.4;
const LABEL_GAP_PX = 10;

/** The step between two labels. */
export function stepOf({ fromAt, toAt, width }: Frame): number {
  const leastMs = ((toAt - fromAt) / Math.max(1, width)) * LABEL_ROOM_PX;
  return STEPS_MS.find((step) => step >= leastMs) ?? 28 * DAY_MS;
}

/** Lines and labels; those that would cover a more important label are left out. */
export function axisOf(
  frame: Frame,
  { zone, now, edgePx = 0 }: { zone: string; now: number; edgePx?: number },
): Axis {
  const step = stepOf(frame);
  const instants = step < DAY_MS ? timesOf(frame, step, zone) : daysOf(frame, step, zone);
  const ticks = instants.map(({ at, isDay }) => ({
    x: xOf(at, frame),
    isDay: isDay && (step < DAY_MS || (step < 7 * DAY_MS && isMonday(at, zone))),
  }));
  const isFine = step < DAY_MS;
  const times = instants.map(({ at }): AxisLabel => {
    const text = isFine
      ? formatClock(at, zone)
      : formatDate(at, zone, step === DAY_MS ? "weekday-day" : "day-month");
    return {
      key: `t${at}`,
      line: 1,
      text,
      x: xOf(at, frame),
      anchor: isFine ? "middle" : "start",
      kind: "time",
    };
  });
  const labels = [
    ...nowLabel(frame, { zone, now }),
    ...clockLabels(frame, { zone, isFine }),
    ...captionsOf(frame, zone, isFine ? "day" : "month"),
    ...times,
  ];
  return { ticks, labels: placed(labels, { leftPx: edgePx, rightPx: frame.width - edgePx }) };
}

type Instant = { at: number; isDay: boolean };

/** Local times of day that are multiples of the step. */
function timesOf({ fromAt, toAt }: Frame, step: number, zone: string): Instant[] {
  const found: Instant[] = [];
  const base = Math.min(step, QUARTER_MS);
  for (let at = Math.ceil(fromAt / base) * base; at <= toAt; at += base) {
    const local = at + offsetOf(at, zone);
    if (local % step === 0) found.push({ at, isDay: local % DAY_MS === 0 });
  }
  return found;
}

/** Local midnights, every so many days. */
function daysOf({ fromAt, toAt }: Frame, step: number, zone: string): Instant[] {
  const found: Instant[] = [];
  const days = step / DAY_MS;
  const lastDay = localDay(toAt, zone);
  for (let day = localDay(fromAt, zone); day <= lastDay; day += 1) {
    // Day 0 was a Thursday: weeks begin with a Monday.
    if ((day + 3) % days !== 0) continue;
    const at = dayStart(day, zone);
    if (at >= fromAt) found.push({ at, isDay: true });
  }
  return found;
}

function isMonday(at: number, zone: string): boolean {
  return (localDay(at, zone) + 3) % 7 === 0;
}

/** The day or month at the left edge, and where the next ones begin. */
function captionsOf(frame: Frame, zone: string, unit: "day" | "month"): AxisLabel[] {
  const form = unit === "day" ? "weekday-day-month" : "month-year";
  const label = (at: number, x: number): AxisLabel => ({
    key: `c${at}`,
    line: 0,
    text: formatDate(at, zone, form),
    x,
    anchor: "start",
    kind: "day",
  });
  const starts = daysOf(frame, DAY_MS, zone)
    .map(({ at }) => at)
    .filter((at) => unit === "day" || new Date(localDay(at, zone) * DAY_MS).getUTCDate() === 1)
    .map((at) => label(at, xOf(at, frame) + 5));
  return [...starts, label(frame.fromAt, 0)];
}

function nowLabel(frame: Frame, { zone, now }: { zone: string; now: number }): AxisLabel[] {
  if (now < frame.fromAt || now > frame.toAt) return [];
  const x = xOf(now, frame);
  return [{ key: "now", line: 1, text: `now ${formatClock(now, zone)}`, x, anchor: "middle", kind: "now" }];
}

function clockLabels(frame: Frame, { zone, isFine }: { zone: string; isFine: boolean }): AxisLabel[] {
  return clockChanges(frame, zone).flatMap(({ at, byMs }): AxisLabel[] => {
    const x = xOf(at, frame);
    const common = { x, anchor: "middle", kind: "clock" } as const;
    const hours = `${byMs < 0 ? "−" : "+"}${Number((Math.abs(byMs) / HOUR_MS).toFixed(1))} h`;
    const isRoomy = isFine && frame.width >= 480;
    const after = formatClock(at, zone);
    const before = clockBefore(at, zone);
    return [
      { ...common, key: `d${at}`, line: 0, text: isRoomy ? `${before} → ${after}` : `clocks ${hours}` },
      ...(isRoomy && byMs < 0
        ? [{ ...common, key: `e${at}`, line: 1 as const, text: `${after.slice(0, 2)} again` }]
        : []),
    ];
  });
}

/** What the clock would have shown without the change. */
function clockBefore(at: number, zone: string): string {
  const ms = at + offsetOf(at - MINUTE_MS, zone);
  return new Date(ms).toISOString().slice("2026-10-25T".length, "2026-10-25T04:00".length);
}

export function labelPx(text: string): number {
  return text.length * LETTER_PX;
}

/** The pill around the label of now. */
export const NOW_PILL_PX = 66;

/** Labels that fit, without overlaps: earlier ones win. */
function placed(
  labels: readonly AxisLabel[],
  { leftPx, rightPx }: { leftPx: number; rightPx: number },
): AxisLabel[] {
  const kept: { line: number; left: number; right: number }[] = [];
  return labels.flatMap((label) => {
    const wide = label.kind === "now" ? NOW_PILL_PX : labelPx(label.text);
    const want =
      label.anchor === "start" ? label.x : label.anchor === "end" ? label.x - wide : label.x - wide / 2;
    const left = label.kind === "time" ? want : Math.max(leftPx, Math.min(rightPx - wide, want));
    // Only a day that begins at the right edge would be moved far from its line.
    if (left < leftPx || left + wide > rightPx || (label.kind === "day" && left < want)) return [];
    const isFree = kept.every(
      (one) =>
        one.line !== label.line || left >= one.right + LABEL_GAP_PX || left + wide + LABEL_GAP_PX <= one.left,
    );
    if (!isFree) return [];
    kept.push({ line: label.line, left, right: left + wide });
    return [{ ...label, x: label.x + (left - want) }];
  });
}

// Changes of the clocks.

/** By how much the clocks change, and their offset afterwards. */
export type ClockChange = { at: number; byMs: number; offsetMs: number };

/** When the clocks of a zone change in a range, and by how much. */
export function clockChanges({ fromAt, toAt }: Range, zone: string): ClockChange[] {
  const found: ClockChange[] = [];
  let before = fromAt;
  while (before < toAt) {
    const after = Math.min(toAt, before + DAY_MS);
    const offsetMs = offsetOf(after, zone);
    const byMs = offsetMs - offsetOf(before, zone);
    if (byMs !== 0) found.push({ at: changeBetween(before, after, zone), byMs, offsetMs });
    before = after;
  }
  return found;
}

function changeBetween(before: number, after: number, zone: string): number {
  const old = offsetOf(before, zone);
  let low = Math.floor(before / MINUTE_MS);
  let high = Math.ceil(after / MINUTE_MS);
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetOf(middle * MINUTE_MS, zone) === old) low = middle;
    else high = middle;
  }
  return high * MINUTE_MS;
}

/** The hours of the local day: 23 or 25 when the clocks change. */
export function dayHours(now: number, zone: string): number {
  const day = localDay(now, zone);
  return Number(((dayStart(day + 1, zone) - dayStart(day, zone)) / HOUR_MS).toFixed(1));
}

// Series: values of equal steps from an instant on.

export type Series = { fromAt: number; stepMs: number; values: readonly number[] };
export type Column = { x: number; width: number; value: number; at: number };

/** Columns of at least `leastPx`, each with the greatest or total value of the steps in it. */
export function columnsOf(
  { fromAt, stepMs, values }: Series,
  frame: Frame,
  { leastPx, by }: { leastPx: number; by: "max" | "sum" },
): Column[] {
  const stepPx = (stepMs / Math.max(1, frame.toAt - frame.fromAt)) * frame.width;
  const each = Math.max(1, Math.ceil(leastPx / Math.max(stepPx, 0.001)));
  const columns: Column[] = [];
  for (let index = 0; index < values.length; index += each) {
    const at = fromAt + index * stepMs;
    const x = xOf(at, frame);
    const width = stepPx * each;
    if (x + width <= 0 || x >= frame.width) continue;
    let value = 0;
    for (const one of values.slice(index, index + each))
      value = by === "sum" ? value + one : Math.max(value, one);
    columns.push({ x, width, value, at });
  }
  return columns;
}

/** The step of color for a value: 1 to 4. */
export function loadLevel(value: number, most: number): 1 | 2 | 3 | 4 {
  if (value >= most * 0.8) return 4;
  if (value >= most * 0.5) return 3;
  return value >= most * 0.25 ? 2 : 1;
}
