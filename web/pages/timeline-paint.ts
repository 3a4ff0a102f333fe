// Draws rows, lanes and the strip of runs at once onto canvases, in the colors of the theme.
import { type Column, loadLevel, type Shape } from "./timeline-drawing.ts";

/** The tokens that are drawn with. */
const TOKENS = [
  "surface",
  "line-strong",
  "up-mark",
  "late",
  "late-mark",
  "down-mark",
  "down-soft",
  "run",
  "run-mark",
  "idle-mark",
  "ahead",
  "clock",
  "accent",
  "line",
  "load-1",
  "load-2",
  "load-3",
  "load-4",
] as const;
export type Colors = Readonly<Record<(typeof TOKENS)[number], string>>;

/** The colors of the current theme, as a canvas understands them. */
export function readColors(): Colors {
  const probe = document.createElement("span");
  probe.className = "tl-probe";
  document.body.append(probe);
  const read = TOKENS.map((token) => {
    probe.style.color = `var(--${token})`;
    return [token, getComputedStyle(probe).color] as const;
  });
  probe.remove();
  return Object.fromEntries(read) as Colors;
}

/** Prepares a canvas for a size in CSS pixels, sharp on every screen; null: it cannot draw. */
export function contextOf(
  canvas: HTMLCanvasElement,
  { width, height }: { width: number; height: number },
): CanvasRenderingContext2D | null {
  const ratio = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
  }
  const context = canvas.getContext("2d");
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  context?.clearRect(0, 0, width, height);
  return context;
}

type Context = CanvasRenderingContext2D;

const BAR_PX = 12;
const BAR_SLIM_PX = 10;
const RIBBON_PX = 5;
const RADIUS_PX = 2.5;
const RIBBON_ALPHA = 0.62;
const LANE_ALPHA = 0.6;
const HATCH_PX = 6;

type RowPicture = { height: number; colors: Colors; chosen: Shape | null };

/** The marks of a row. */
export function paintRow(
  context: Context,
  shapes: readonly Shape[],
  { height, colors, chosen }: RowPicture,
): void {
  const middle = height / 2;
  const bar = height < 20 ? BAR_SLIM_PX : BAR_PX;
  const top = middle - bar / 2;
  for (const shape of shapes) {
    const { kind, x, width, isRibbon } = shape;
    switch (kind) {
      case "silenced":
        hatch(context, { x, y: 1, width, height: height - 2 }, colors["idle-mark"]);
        break;
      case "paused":
        dashed(context, { x, endX: x + width, y: middle, color: colors["idle-mark"], dash: [1, 4] });
        break;
      case "changed":
        flag(context, { x, top: 2, bottom: height - 2, color: colors.clock });
        break;
      case "ran":
        if (isRibbon) ribbon(context, { x, y: middle - RIBBON_PX / 2, width, color: colors["up-mark"] });
        else fillBar(context, { x, y: top, width, height: bar, color: colors["up-mark"] });
        break;
      case "running":
        fillBar(context, { x, y: top, width, height: bar, color: colors["run-mark"] });
        context.fillStyle = colors.run;
        context.fillRect(x + width - 2, top, 2, bar);
        break;
      case "ahead":
        if (isRibbon) rails(context, { x, y: middle - RIBBON_PX / 2, width, color: colors.ahead });
        else outline(context, { x, y: top, width, height: bar, colors });
        break;
      case "late":
        late(context, shape, { top, bar, middle, colors });
        break;
      case "failed":
        failed(context, shape, { top, bar, middle, color: colors["down-mark"] });
        break;
      case "missed":
        missed(context, shape, { top: top + 1, bar: bar - 2, colors });
        break;
    }
  }
  if (chosen !== null) frame(context, chosen, { height, color: colors.accent });
}

type Box = { x: number; y: number; width: number; height: number };

function roundBox(context: Context, { x, y, width, height }: Box): void {
  context.beginPath();
  context.roundRect(x, y, width, height, Math.min(RADIUS_PX, width / 2));
}

function fillBar(context: Context, { color, ...box }: Box & { color: string }): void {
  roundBox(context, box);
  context.fillStyle = color;
  context.fill();
}

function ribbon(context: Context, { color, ...place }: Omit<Box, "height"> & { color: string }): void {
  context.globalAlpha = RIBBON_ALPHA;
  fillBar(context, { ...place, height: RIBBON_PX, color });
  context.globalAlpha = 1;
}

/** Predicted runs that are too close to be drawn apart. */
function rails(context: Context, { x, y, width, color }: Omit<Box, "height"> & { color: string }): void {
  context.fillStyle = color;
  context.fillRect(x, Math.round(y), width, 1);
  context.fillRect(x, Math.round(y + RIBBON_PX), width, 1);
}

function outline(context: Context, { colors, x, y, width, height }: Box & { colors: Colors }): void {
  roundBox(context, { x: x + 0.5, y: y + 0.5, width, height: height - 1 });
  context.fillStyle = colors.surface;
  context.fill();
  context.strokeStyle = colors.ahead;
  context.lineWidth = 1;
  context.stroke();
}

type Place = { top: number; bar: number; middle: number };

function late(
  context: Context,
  { x, width, leadX }: Shape,
  { top, bar, middle, colors }: Place & { colors: Colors },
): void {
  if (leadX !== null && x - leadX > 3) {
    dashed(context, { x: leadX, endX: x, y: middle, color: colors.late, dash: [2, 2] });
    context.fillStyle = colors.late;
    context.fillRect(leadX - 0.75, top + 1, 1.5, bar - 2);
  }
  if (width > 0) fillBar(context, { x, y: top, width, height: bar, color: colors["late-mark"] });
}

function failed(
  context: Context,
  { x, width }: Shape,
  { top, bar, middle, color }: Place & { color: string },
): void {
  const isLong = width > 8;
  if (isLong) fillBar(context, { x, y: top, width: width - 3, height: bar, color });
  const tip = bar / 2 + 1;
  const center = x + width - (isLong ? 1 : 2);
  context.beginPath();
  context.moveTo(center, middle - tip);
  context.lineTo(center + tip, middle);
  context.lineTo(center, middle + tip);
  context.lineTo(center - tip, middle);
  context.closePath();
  context.fillStyle = color;
  context.fill();
}

/** A hollow box with a line through it: one for each missing run, or one for many. */
function missed(
  context: Context,
  { x, width }: Shape,
  { top, bar, colors }: Pick<Place, "top" | "bar"> & { colors: Colors },
): void {
  context.fillStyle = colors["down-soft"];
  context.strokeStyle = colors["down-mark"];
  context.lineWidth = 1.2;
  context.fillRect(x, top, width, bar);
  context.strokeRect(x, top, width, bar);
  context.beginPath();
  context.moveTo(x, top);
  context.lineTo(x + width, top + bar);
  context.stroke();
}

type Line = { x: number; endX: number; y: number; color: string; dash: number[] };

function dashed(context: Context, { x, endX, y, color, dash }: Line): void {
  context.beginPath();
  context.setLineDash(dash);
  context.moveTo(x, y);
  context.lineTo(endX, y);
  context.strokeStyle = color;
  context.lineWidth = 1.5;
  context.stroke();
  context.setLineDash([]);
}

/** A change of the schedule. */
function flag(
  context: Context,
  { x, top, bottom, color }: { x: number; top: number; bottom: number; color: string },
): void {
  context.fillStyle = color;
  context.fillRect(x - 0.5, top, 1, bottom - top);
  context.beginPath();
  context.moveTo(x, top);
  context.lineTo(x + 6, top + 3);
  context.lineTo(x, top + 6);
  context.fill();
}

/** Thin diagonal lines, which continue from row to row. */
function hatch(context: Context, { x, y, width, height }: Box, color: string): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.beginPath();
  const first = Math.floor(x / HATCH_PX) * HATCH_PX;
  for (let at = first; at < x + width + height; at += HATCH_PX) {
    context.moveTo(at, y - 1);
    context.lineTo(at - height - 2, y + height + 1);
  }
  context.strokeStyle = color;
  context.lineWidth = 1;
  context.stroke();
  context.restore();
}

/** Around the run whose card is shown. */
function frame(
  context: Context,
  { x, width, kind }: Shape,
  { height, color }: { height: number; color: string },
): void {
  const reach = kind === "failed" ? 8 : 3;
  context.beginPath();
  context.roundRect(x - reach, 2, width + 2 * reach, height - 4, 4);
  context.strokeStyle = color;
  context.lineWidth = 1.5;
  context.stroke();
}

// The strip of runs at once.

/** The label of the peak stands above the columns. */
const LOAD_LABEL_PX = 14;

export function paintLoad(
  context: Context,
  columns: readonly Column[],
  { height, most, nowX, colors }: { height: number; most: number; nowX: number; colors: Colors },
): void {
  const base = height - 4;
  const reach = base - LOAD_LABEL_PX;
  const highOf = (value: number) => (value / Math.max(1, most)) * reach;
  context.fillStyle = colors.line;
  const endX = columns.reduce((end, { x, width }) => Math.max(end, x + width), 0);
  context.fillRect(0, base, endX, 1);
  for (const { x, width, value } of columns) {
    if (x >= nowX || value === 0) continue;
    const high = Math.max(1, highOf(value));
    context.fillStyle = colors[`load-${loadLevel(value, most)}`];
    context.fillRect(x, base - high, Math.min(width, nowX - x), high);
  }
  stairs(context, columns, { base, nowX, highOf, color: colors.ahead });
}

type Stairs = { base: number; nowX: number; highOf: (value: number) => number; color: string };

/** The outline of what is predicted, from now on. */
function stairs(context: Context, columns: readonly Column[], { base, nowX, highOf, color }: Stairs): void {
  context.beginPath();
  let isFirst = true;
  for (const { x, width, value } of columns) {
    if (x + width <= nowX) continue;
    const y = Math.round(base - highOf(value)) + 0.5;
    if (isFirst) context.moveTo(Math.max(x, nowX), y);
    else context.lineTo(x, y);
    isFirst = false;
    context.lineTo(x + width, y);
  }
  context.strokeStyle = color;
  context.lineWidth = 1;
  context.stroke();
}

// A lane: what ran above its line, what failed or did not come below.

export type LanePicture = {
  height: number;
  ran: readonly Column[];
  failed: readonly Column[];
  missed: readonly Column[];
  ahead: readonly Column[];
  /** The greatest number above the line, and below it. */
  most: number;
  worst: number;
  nowX: number;
  colors: Colors;
};

const LANE_BELOW_PX = 20;
const LANE_GAP_PX = 1.5;

export function paintLane(context: Context, picture: LanePicture): void {
  const { height, ran, failed: bad, missed: gone, ahead, most, worst, nowX, colors } = picture;
  const base = height - LANE_BELOW_PX - 4;
  const reach = base - 4;
  const endX = [...ran, ...ahead].reduce((end, { x, width }) => Math.max(end, x + width), 0);
  context.fillStyle = colors["line-strong"];
  context.fillRect(0, base + 0.5, endX, 1);
  const wide = (x: number, width: number) =>
    Math.max(0, Math.min(Math.max(1, width - LANE_GAP_PX), nowX - x));
  context.globalAlpha = LANE_ALPHA;
  context.fillStyle = colors["up-mark"];
  for (const { x, width, value } of ran) {
    const high = value === 0 ? 0 : Math.max(1.5, (value / Math.max(1, most)) * reach);
    context.fillRect(x, base - high, wide(x, width), high);
  }
  context.globalAlpha = 1;
  for (const [index, { x, width, value }] of bad.entries()) {
    const scale = (count: number) =>
      count === 0 ? 0 : Math.max(2.5, (count / Math.max(1, worst)) * (LANE_BELOW_PX - 4));
    const failHigh = scale(value);
    context.fillStyle = colors["down-mark"];
    context.fillRect(x, base + 2.5, wide(x, width), failHigh);
    const goneHigh = scale(gone[index]?.value ?? 0);
    if (goneHigh === 0) continue;
    context.fillStyle = colors["down-soft"];
    context.strokeStyle = colors["down-mark"];
    context.lineWidth = 1;
    context.fillRect(x + 0.5, base + 3 + failHigh, wide(x, width) - 1, goneHigh);
    context.strokeRect(x + 0.5, base + 3 + failHigh, wide(x, width) - 1, goneHigh);
  }
  const highOf = (value: number) => (value / Math.max(1, most)) * reach;
  stairs(context, ahead, { base, nowX, highOf, color: colors.ahead });
}
