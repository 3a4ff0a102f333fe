// The picture of the timeline: time axis, runs at once, and a line for each check or tag. Marks are drawn on canvases;
// names are links, which arrow keys move between.
import {
  type KeyboardEvent,
  memo,
  type MouseEvent,
  type PointerEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { Link, useLocation } from "wouter";
import type { Timeline, TimelineClockChange, TimelineLane } from "../../src/contract/api/timeline-marks.ts";
import { checkName, STATE_WORDS } from "../../src/contract/api/words.ts";
import { siteUrl, userZone, useTheme } from "../boot.ts";
import { pageHref } from "../page-location.ts";
import { Icon } from "../ui/button.tsx";
import { StateShape } from "../ui/marks.tsx";
import { formatClock } from "../words/format.ts";
import {
  countTexts,
  factsOf,
  groupName,
  spokenRow,
  spokenSummary,
  stoppedText,
  timelineWords as words,
} from "../words/timeline.ts";
import {
  atOf,
  type Axis,
  axisOf,
  type Column,
  columnsOf,
  dayHours,
  type Frame,
  labelPx,
  lastMark,
  markAt,
  NOW_PILL_PX,
  type Shape,
  shapesOf,
  steppedMark,
  xOf,
} from "./timeline-drawing.ts";
import {
  heightsOf,
  type Line,
  linesOf,
  marksOf,
  type RowLine,
  topsOf,
  visibleLines,
} from "./timeline-lines.ts";
import { type Colors, contextOf, paintLane, paintLoad, paintRow, readColors } from "./timeline-paint.ts";
import { type Range, type TimelineView, writeTimelineView } from "./timeline-view.ts";

const PHONE = "(max-width: 720px)";
const AXIS_PX = 50;
const LOAD_PX = 48;
const WIDTH_FIRST = 800;
/** One run at a time is not a load. */
const LOAD_MOST_MIN = 4;
/** Labels of the axis keep this distance from the edges of a phone. */
const PHONE_EDGE_PX = 14;
/** Lines beyond the window that are drawn, too. */
const LINES_SPARE = 12;
/** A shorter drag is a click. */
const DRAG_MIN_PX = 8;
const CARD_PX = { width: 288, height: 190 };

type ChartProps = {
  timeline: Timeline;
  /** What is shown; other than that of the answer as long as the next one is being loaded. */
  range: Range;
  view: TimelineView;
  now: number;
  clocks: readonly TimelineClockChange[];
  onSelect: (range: Range) => void;
};

/** The line with the focus or the pointer, and the mark on it. */
type Cursor = { key: string; mark: number | null; isAbove: boolean };

/** Rendered again only if one of its properties has changed. */
export const TimelineChart = memo(function TimelineChart(props: ChartProps) {
  const { timeline, range, view, now, clocks, onSelect } = props;
  const isPhone = useMedia(PHONE);
  const [width, headRef] = usePlotWidth();
  const ratio = useRatio();
  const colors = useColors();
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const [stop, setStop] = useState<string | null>(null);
  const [focused, setFocused] = useState<Cursor | null>(null);
  const [pointed, setPointed] = useState<Cursor | null>(null);
  const [spoken, setSpoken] = useState("");
  const bodyRef = useRef<HTMLDivElement>(null);

  const { fromAt, toAt } = range;
  const frame = useMemo(() => ({ fromAt, toAt, width }), [fromAt, toAt, width]);
  const lines = useMemo(() => linesOf(timeline, folded, view.isGrouped), [timeline, folded, view.isGrouped]);
  const heights = useMemo(() => heightsOf(isPhone ? "phone" : "desk", rem()), [isPhone]);
  const placed = useMemo(() => topsOf(lines, heights), [lines, heights]);
  const stopKey = lines.some(({ key }) => key === stop) ? stop : (lines[0]?.key ?? null);
  const shown = useVisible(bodyRef, placed, stopIndex(lines, focused === null ? null : stopKey));
  const reader = { now, zone: userZone };
  const axis = useMemo(
    () => axisOf(frame, { zone: userZone, now, edgePx: isPhone ? PHONE_EDGE_PX : 0 }),
    [frame, now, isPhone],
  );
  useDrawnMark();

  const cursor = pointed ?? focused;
  const cursorLine = lines.find((line): line is RowLine => line.kind === "row" && line.key === cursor?.key);
  const chosen = cursorLine === undefined ? null : (cursorLine.marks[cursor?.mark ?? -1] ?? null);

  const pointer = usePointer({ frame, lines, bodyRef, onSelect, onPoint: setPointed, pointed });

  const focusLine = (index: number) => {
    const line = lines[Math.max(0, Math.min(lines.length - 1, index))];
    if (line === undefined) return;
    setStop(line.key);
    setFocused({ key: line.key, mark: null, isAbove: false });
    wanted.current = line.key;
  };
  /** The line that gets the focus once it is drawn. */
  const wanted = useRef<string | null>(null);
  useLayoutEffect(() => {
    if (wanted.current === null) return;
    const place = bodyRef.current?.querySelector<HTMLElement>(`[data-stop="${CSS.escape(wanted.current)}"]`);
    if (place === null || place === undefined) return;
    wanted.current = null;
    place.focus();
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const index = lines.findIndex(({ key }) => key === stopKey);
    const line = lines[index];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const runStep = { ArrowRight: 1 as const, ArrowLeft: -1 as const }[event.key];
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (step !== undefined) focusLine(index + step);
    else if (event.key === "Home") focusLine(0);
    else if (event.key === "End") focusLine(lines.length - 1);
    else if (event.key === "Escape" && cursor !== null) {
      setFocused(null);
      setPointed(null);
    } else if (runStep !== undefined && event.shiftKey && line?.kind === "row") {
      const mark = steppedMark(line.marks, focused?.key === line.key ? focused.mark : null, runStep);
      setPointed(null);
      setFocused({ key: line.key, mark, isAbove: event.target instanceof Element && isLow(event.target) });
      setSpoken(spokenRow(line.row, line.marks[mark ?? -1] ?? null, reader));
    } else return;
    event.preventDefault();
  };
  // The same as long as nothing on the lines changes: the pointer moves often.
  const common = useMemo(
    (): Common => ({
      frame,
      heights,
      colors,
      ratio,
      timeline,
      view,
      now,
      isPhone,
      onFocus: (line, place) => {
        setStop(line.key);
        // A click opens the check; only keys choose a run.
        const isByKey = place.matches(":focus-visible");
        const mark = line.kind === "row" && isByKey ? lastMark(line.marks) : null;
        setFocused({ key: line.key, mark, isAbove: isLow(place) });
      },
      onFold: (key) => setFolded((before) => toggled(before, key)),
    }),
    [frame, heights, colors, ratio, timeline, view, now, isPhone],
  );
  const cardIndex = cursorLine === undefined ? -1 : lines.indexOf(cursorLine);

  return (
    <div className="tl-frame">
      <div
        className="tl"
        role="group"
        aria-label={spokenSummary(timeline, reader)}
        data-from={fromAt}
        data-to={toAt}
        data-mode={timeline.mode}
        {...pointer.handlers}
      >
        <ChartHead {...{ timeline, frame, axis, now, colors, ratio, isPhone, headRef }} />
        <div
          className="tl-body"
          role="presentation"
          ref={bodyRef}
          onKeyDown={onKeyDown}
          onBlur={({ currentTarget, relatedTarget }) => {
            if (!currentTarget.contains(relatedTarget)) setFocused(null);
          }}
        >
          <Ground {...{ timeline, frame, axis, now, clocks }} />
          <div className="tl-lines" style={{ height: placed.height }}>
            {shown.map((index) => {
              const line = lines[index];
              if (line === undefined) return null;
              const isCursor = line.key === cursor?.key;
              return (
                <ChartLine
                  key={line.key}
                  line={line}
                  index={index}
                  top={placed.tops[index] ?? 0}
                  isStop={line.key === stopKey}
                  chosen={isCursor ? (cursor?.mark ?? null) : null}
                  shapes={line.kind === "row" ? shapesIn(frame, line) : NONE}
                  common={common}
                />
              );
            })}
          </div>
          <div className="tl-over" aria-hidden="true">
            {now >= fromAt && now <= toAt && (
              <i className="tl-now" style={{ left: `${xOf(now, frame) - 1}px` }} />
            )}
            {pointer.selection !== null && (
              <i
                className="tl-selection"
                style={{ left: `${pointer.selection.x}px`, width: `${pointer.selection.width}px` }}
              />
            )}
          </div>
        </div>
        <Legend timeline={timeline} />
      </div>
      {cursorLine !== undefined && chosen !== null && (
        <Card
          line={cursorLine}
          markIndex={cursor?.mark ?? 0}
          reader={reader}
          isTouched={pointer.isTouch && pointed !== null}
          style={cardPlace({
            frame,
            mark: chosen,
            isPhone,
            labelPx: isPhone ? 0 : (headRef.current?.offsetLeft ?? 0),
            top: AXIS_PX + LOAD_PX + 1 + (placed.tops[cardIndex] ?? 0),
            lineHeight: heights.line.row,
            isAbove: cursor?.isAbove ?? false,
          })}
        />
      )}
      <p className="sr" aria-live="polite">
        {spoken}
      </p>
    </div>
  );
});

const NONE: readonly Shape[] = [];

function stopIndex(lines: readonly Line[], key: string | null): number | null {
  const index = key === null ? -1 : lines.findIndex((line) => line.key === key);
  return index === -1 ? null : index;
}

function toggled(before: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(before);
  if (!next.delete(key)) next.add(key);
  return next;
}

/** Whether a line is so far down that its card has to be above it. */
function isLow(place: Element): boolean {
  return place.getBoundingClientRect().bottom + CARD_PX.height > window.innerHeight;
}

function rem(): number {
  return Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;
}

/** Set after the first picture: measured by benchmarks. */
function useDrawnMark(): void {
  useEffect(() => {
    const frame = requestAnimationFrame(() => performance.mark("timeline-drawn"));
    return () => cancelAnimationFrame(frame);
  }, []);
}

// What depends on the browser: width, sharpness, colors, and which lines can be seen.

function useMedia(query: string): boolean {
  const media = useMemo(() => matchMedia(query), [query]);
  return useSyncExternalStore(
    (listener) => {
      media.addEventListener("change", listener);
      return () => media.removeEventListener("change", listener);
    },
    () => media.matches,
  );
}

/** The pixels of the screen for one of the page. */
function useRatio(): number {
  const [ratio, setRatio] = useState(window.devicePixelRatio);
  useEffect(() => {
    const media = matchMedia(`(resolution: ${ratio}dppx)`);
    const read = () => setRatio(window.devicePixelRatio);
    media.addEventListener("change", read);
    return () => media.removeEventListener("change", read);
  }, [ratio]);
  return ratio;
}

function useColors(): Colors {
  const theme = useTheme();
  const isDark = useMedia("(prefers-color-scheme: dark)");
  const isForced = useMedia("(forced-colors: active)");
  return useMemo(() => readColors(), [theme, isDark, isForced]);
}

function usePlotWidth(): [number, RefObject<HTMLDivElement | null>] {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(WIDTH_FIRST);
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    const measure = () => setWidth((before) => element.clientWidth || before);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [width, ref];
}

/** The shapes of rows by their marks, computed once for a frame. */
const shapesByFrame = new WeakMap<Frame, Map<RowLine["marks"], readonly Shape[]>>();

function shapesIn(frame: Frame, { marks }: RowLine): readonly Shape[] {
  const known = shapesByFrame.get(frame) ?? new Map<RowLine["marks"], readonly Shape[]>();
  shapesByFrame.set(frame, known);
  const shapes = known.get(marks) ?? shapesOf(marks, frame);
  known.set(marks, shapes);
  return shapes;
}

/** The indexes of the lines in the window, and of the one that must not be lost. */
function useVisible(
  place: RefObject<HTMLDivElement | null>,
  placed: { tops: readonly number[]; height: number },
  keptIndex: number | null,
): number[] {
  const [seen, setSeen] = useState({ fromY: 0, toY: window.innerHeight });
  useLayoutEffect(() => {
    let asked = 0;
    const read = () => {
      asked = 0;
      const top = place.current?.getBoundingClientRect().top ?? 0;
      // In steps, so that a small movement renders nothing.
      const fromY = Math.floor(-top / STEP_PX) * STEP_PX;
      const toY = fromY + window.innerHeight + STEP_PX;
      setSeen((before) => (before.fromY === fromY && before.toY === toY ? before : { fromY, toY }));
    };
    const ask = () => {
      asked ||= requestAnimationFrame(read);
    };
    read();
    addEventListener("scroll", ask, { passive: true });
    addEventListener("resize", ask);
    return () => {
      removeEventListener("scroll", ask);
      removeEventListener("resize", ask);
      cancelAnimationFrame(asked);
    };
  }, [place]);
  const { first, last } = visibleLines(placed, { ...seen, spare: LINES_SPARE });
  const indexes = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
  if (keptIndex === null || (keptIndex >= first && keptIndex <= last)) return indexes;
  return keptIndex < first ? [keptIndex, ...indexes] : [...indexes, keptIndex];
}

const STEP_PX = 120;

// The pointer: it shows cards, opens runs, and selects a range.

type Pointing = {
  frame: Frame;
  lines: readonly Line[];
  bodyRef: RefObject<HTMLDivElement | null>;
  onSelect: (range: Range) => void;
  onPoint: (cursor: Cursor | null) => void;
  pointed: Cursor | null;
};

function usePointer({ frame, lines, bodyRef, onSelect, onPoint, pointed }: Pointing) {
  const [, navigate] = useLocation();
  const [selection, setSelection] = useState<{ x: number; width: number } | null>(null);
  const [isTouch, setTouch] = useState(false);
  const drag = useRef<{ startX: number; id: number; isOn: boolean } | null>(null);
  /** A click follows every drag. */
  const isDragged = useRef(false);

  const placeOf = (event: { clientX: number; target: EventTarget }) => {
    const plot = bodyRef.current?.querySelector(".tl-over")?.getBoundingClientRect();
    const x = event.clientX - (plot?.left ?? 0);
    const element = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-line]") : null;
    const line = element === null ? undefined : lines[Number(element.dataset["line"])];
    return { x, line, element };
  };
  const cursorAt = (event: { clientX: number; target: EventTarget }): Cursor | null => {
    const { x, line, element } = placeOf(event);
    if (line?.kind !== "row" || x < 0 || element === null) return null;
    const mark = markAt(shapesIn(frame, line), line.marks, x, frame);
    return mark === null ? null : { key: line.key, mark, isAbove: isLow(element) };
  };
  const end = () => {
    drag.current = null;
    setSelection(null);
  };
  useEffect(() => {
    const cancel = (event: globalThis.KeyboardEvent) => {
      if (event.key !== "Escape" || drag.current === null) return;
      isDragged.current = true;
      end();
    };
    addEventListener("keydown", cancel);
    return () => removeEventListener("keydown", cancel);
  }, []);

  const handlers = {
    onPointerDown: (event: PointerEvent<HTMLDivElement>) => {
      isDragged.current = false;
      setTouch(event.pointerType === "touch");
      const { x } = placeOf(event);
      const isControl = event.target instanceof Element && event.target.closest("a, button") !== null;
      if (event.button !== 0 || !event.isPrimary || isControl || x < 0) return;
      drag.current = { startX: x, id: event.pointerId, isOn: false };
    },
    onPointerMove: (event: PointerEvent<HTMLDivElement>) => {
      const going = drag.current;
      if (going === null) {
        if (event.pointerType !== "touch") onPoint(cursorAt(event));
        return;
      }
      const x = Math.max(0, Math.min(frame.width, placeOf(event).x));
      if (!going.isOn && Math.abs(x - going.startX) < DRAG_MIN_PX) return;
      if (!going.isOn) {
        going.isOn = true;
        event.currentTarget.setPointerCapture(going.id);
        onPoint(null);
      }
      setSelection({ x: Math.min(x, going.startX), width: Math.abs(x - going.startX) });
    },
    onPointerUp: (event: PointerEvent<HTMLDivElement>) => {
      const going = drag.current;
      end();
      if (going?.isOn !== true) return;
      isDragged.current = true;
      const x = Math.max(0, Math.min(frame.width, placeOf(event).x));
      const [left, right] = [Math.min(x, going.startX), Math.max(x, going.startX)];
      if (right - left >= DRAG_MIN_PX) onSelect({ fromAt: atOf(left, frame), toAt: atOf(right, frame) });
    },
    onPointerCancel: end,
    onPointerLeave: (event: PointerEvent) => {
      if (event.pointerType !== "touch") onPoint(null);
    },
    onClick: (event: MouseEvent<HTMLDivElement>) => {
      if (isDragged.current || (event.target instanceof Element && event.target.closest("a, button"))) return;
      const { line } = placeOf(event);
      const cursor = cursorAt(event);
      if (cursor === null || line?.kind !== "row") {
        onPoint(null);
        return;
      }
      // A finger has no hover: the first tap shows the card, the second opens.
      if (isTouch && (pointed?.key !== cursor.key || pointed.mark !== cursor.mark)) {
        onPoint(cursor);
        return;
      }
      const href = markHref(line, cursor.mark);
      if (event.ctrlKey || event.metaKey) window.open(siteUrl(href), "_blank", "noopener");
      else navigate(href);
    },
  };
  return { handlers, selection, isTouch };
}

/** The page of a run, or that of the check if the run has none. */
function markHref({ row, marks }: RowLine, mark: number | null): string {
  const run = marks[mark ?? -1];
  return run === undefined || run.n === 0 || run.count !== 1
    ? pageHref("check", { check: row.id })
    : pageHref("run", { check: row.id, n: String(run.n) });
}

// The head: time zone, axis, and the strip of runs at once.

type HeadProps = {
  timeline: Timeline;
  frame: Frame;
  axis: Axis;
  now: number;
  colors: Colors;
  ratio: number;
  isPhone: boolean;
  headRef: RefObject<HTMLDivElement | null>;
};

function ChartHead({ timeline, frame, axis, now, colors, ratio, isPhone, headRef }: HeadProps) {
  const hours = dayHours(now, userZone);
  return (
    <div className="tl-head">
      <div className="tl-line">
        <span className="tl-cap tl-wide">
          {words.zone(userZone)}
          {hours !== 24 && <br />}
          {hours !== 24 && words.hours(hours)}
        </span>
        <div className="tl-cell" ref={headRef}>
          <svg className="tl-axis" height={AXIS_PX} width="100%" aria-hidden="true">
            {axis.labels.map(({ key, line, text, x, anchor, kind }) => (
              <g key={key}>
                {kind === "now" && (
                  <rect x={x - NOW_PILL_PX / 2} y="29" width={NOW_PILL_PX} height="18" rx="9" />
                )}
                <text className={`is-${kind}`} x={x} y={line === 0 ? 20 : 42} textAnchor={anchor}>
                  {text}
                </text>
              </g>
            ))}
          </svg>
        </div>
      </div>
      <LoadStrip {...{ timeline, frame, now, colors, ratio, isPhone }} />
    </div>
  );
}

function LoadStrip({ timeline, frame, now, colors, ratio }: Omit<HeadProps, "headRef" | "axis">) {
  const { load } = timeline;
  const columns = useMemo(
    () =>
      columnsOf({ fromAt: load.from, stepMs: load.columnMs, values: load.counts }, frame, {
        leastPx: 3,
        by: "max",
      }),
    [load, frame],
  );
  const most = columns.reduce((max, { value }) => Math.max(max, value), LOAD_MOST_MIN);
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const context =
      canvas.current === null ? null : contextOf(canvas.current, { width: frame.width, height: LOAD_PX });
    const nowX = Math.max(0, xOf(now, frame));
    if (context !== null) paintLoad(context, columns, { height: LOAD_PX, most, nowX, colors });
  }, [columns, most, frame, now, colors, ratio]);
  const { peak } = load;
  const isMean = load.measure === "mean";
  const name = isMean ? words.loadMean : words.load;
  const peakText = peak === null ? "" : isMean ? words.peakMean(peak.count) : words.peak(peak.count);
  const label = peak === null ? name : `${name}: ${peakText} (${formatClock(peak.at, userZone)})`;
  return (
    <div className="tl-line">
      <span className="tl-cap" title={load.isEstimate ? words.loadEstimate : undefined}>
        {name}
      </span>
      <div className="tl-cell tl-load" role="img" aria-label={label}>
        <canvas ref={canvas} style={{ height: `${LOAD_PX}px` }} />
        {peak !== null && peak.count > 1 && (
          <Peak x={xOf(peak.at, frame)} text={peakText} width={frame.width} />
        )}
      </div>
    </div>
  );
}

function Peak({ x, text, width }: { x: number; text: string; width: number }) {
  if (x < 0 || x > width) return null;
  const half = labelPx(text) / 2;
  const middle = Math.max(half + 2, Math.min(width - half - 2, x));
  return (
    <span className="tl-peak" style={{ left: `${middle}px` }} aria-hidden="true">
      {text}
    </span>
  );
}

// What lies behind the lines: the future, the grid, changes of the clocks, monitoring gaps.

type GroundProps = Pick<HeadProps, "timeline" | "frame" | "axis" | "now"> & {
  clocks: readonly TimelineClockChange[];
};

function Ground({ timeline, frame, axis, now, clocks }: GroundProps) {
  const nowX = Math.max(0, xOf(now, frame));
  return (
    <div className="tl-ground" aria-hidden="true">
      {nowX < frame.width && <i className="tl-ahead" style={{ left: `${nowX}px` }} />}
      {axis.ticks.map(({ x, isDay }) => (
        <i key={x} className={isDay ? "tl-day" : "tl-tick"} style={{ left: `${x}px` }} />
      ))}
      {clocks.map(({ at, zone, isOwn, offsetBefore, offsetAfter }) => {
        const x = xOf(at, frame);
        const wide = xOf(at + Math.abs(offsetBefore - offsetAfter) * 1_000, frame) - x;
        return (
          <i
            key={`${zone} ${at}`}
            className={isOwn ? "tl-clock" : "tl-clock is-other"}
            style={{ left: `${x}px`, width: `${Math.max(3, wide)}px` }}
          />
        );
      })}
      {timeline.gaps.map(({ from, to }) => {
        const x = Math.max(0, xOf(from, frame));
        const width = Math.max(3, Math.min(frame.width, xOf(to, frame)) - x);
        return <i key={from} className="tl-gap" style={{ left: `${x}px`, width: `${width}px` }} />;
      })}
    </div>
  );
}

// The lines.

type Common = {
  frame: Frame;
  heights: ReturnType<typeof heightsOf>;
  colors: Colors;
  ratio: number;
  timeline: Timeline;
  view: TimelineView;
  now: number;
  isPhone: boolean;
  onFocus: (line: Line, place: Element) => void;
  onFold: (key: string) => void;
};

type LineProps = {
  line: Line;
  index: number;
  top: number;
  /** Whether the tab key leads here. */
  isStop: boolean;
  chosen: number | null;
  shapes: readonly Shape[];
  common: Common;
};

const ChartLine = memo(function ChartLine(props: LineProps) {
  const { line, index, top, isStop, chosen, shapes, common } = props;
  const { heights, onFocus } = common;
  const isBad = line.kind === "row" && (line.row.state === "down" || line.row.state === "late");
  const stop: Stop = {
    tabIndex: isStop ? 0 : -1,
    "data-stop": line.key,
    onFocus: (event) => onFocus(line, event.currentTarget),
  };
  return (
    <div
      className={`tl-line tl-${line.kind}${isBad ? " is-bad" : ""}`}
      data-line={index}
      style={{ height: `${heights.line[line.kind]}px`, transform: `translateY(${top}px)` }}
    >
      {line.kind === "row" && <Row {...{ line, chosen, shapes, stop, common }} />}
      {line.kind === "group" && <Group {...{ line, stop, common }} />}
      {line.kind === "lane" && <Lane {...{ lane: line.lane, stop, common }} />}
      {line.kind === "more" && (
        <span className="tl-name">
          <Link className="link" href={laneHref(line.lane, common.view, true)} {...stop}>
            {words.more(line.lane.moreCount)}
            <span className="sr"> {groupName(line.lane)}</span>
          </Link>
        </span>
      )}
    </div>
  );
});

type Stop = {
  tabIndex: number;
  "data-stop": string;
  onFocus: (event: { currentTarget: Element }) => void;
};

type RowProps = Pick<LineProps, "chosen" | "shapes" | "common"> & { line: RowLine; stop: Stop };

function Row({ line, chosen, shapes, stop, common }: RowProps) {
  const { row, marks } = line;
  const { frame, heights, colors, ratio } = common;
  const name = checkName(row);
  return (
    <>
      <span className="tl-name">
        <StateShape state={row.state} size={12} label={null} />
        <Link href={markHref(line, chosen)} title={name} {...stop}>
          <span className="clip">{name}</span>
          <span className="sr">
            , {STATE_WORDS[row.state]}, {row.expected}
          </span>
        </Link>
      </span>
      <div className="tl-cell">
        <RowPlot
          shapes={shapes}
          chosen={chosen === null ? null : shapeOfMark(shapes, marks, chosen)}
          width={frame.width}
          height={heights.plot.row}
          colors={colors}
          ratio={ratio}
        />
      </div>
    </>
  );
}

function shapeOfMark(shapes: readonly Shape[], marks: RowLine["marks"], mark: number): Shape | null {
  const kind = marks[mark]?.kind;
  return shapes.find((shape) => shape.kind === kind && shape.first <= mark && shape.last >= mark) ?? null;
}

type PlotProps = {
  shapes: readonly Shape[];
  chosen: Shape | null;
  width: number;
  height: number;
  colors: Colors;
  ratio: number;
};

/** Drawn again only if something on it has changed. */
const RowPlot = memo(function RowPlot({ shapes, chosen, width, height, colors, ratio }: PlotProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const context = canvas.current === null ? null : contextOf(canvas.current, { width, height });
    if (context !== null) paintRow(context, shapes, { height, colors, chosen });
  }, [shapes, chosen, width, height, colors, ratio]);
  useEffect(() => {
    // Or else a browser takes a tap on a run for one on the name above it: the chart handles the click.
    const place = canvas.current;
    const ignore = () => undefined;
    place?.addEventListener("click", ignore);
    return () => place?.removeEventListener("click", ignore);
  }, []);
  return <canvas ref={canvas} aria-hidden="true" style={{ height: `${height}px` }} />;
});

function Group(props: { line: Extract<Line, { kind: "group" }>; stop: Stop; common: Common }) {
  const { line, stop, common } = props;
  const { group, isFolded } = line;
  const { frame, timeline, now, isPhone, onFold } = common;
  const name = groupName(group);
  return (
    <>
      <button
        type="button"
        className="tl-name"
        aria-expanded={!isFolded}
        onClick={() => onFold(line.key)}
        {...stop}
      >
        <Icon name={isFolded ? "right" : "down"} size={12} />
        <b className="clip">{name}</b>
        <Counts {...group} />
      </button>
      <div className="tl-cell tl-notes">
        {!isPhone && group.stopped !== null && (
          <Note
            at={group.stopped.at}
            frame={frame}
            kind="stopped"
            text={stoppedText(group, { now, zone: userZone })}
          />
        )}
        {silenceNotes(timeline, group.rows, frame).map(({ at, text }) => (
          <Note key={`${at} ${text}`} at={at} frame={frame} kind="silenced" text={text} />
        ))}
      </div>
    </>
  );
}

function Counts({ isLane = false, ...counts }: Parameters<typeof countTexts>[0] & { isLane?: boolean }) {
  const { checks, down, late } = countTexts(counts);
  return (
    <em>
      {checks}
      {isLane && down === null && late === null && ` · ${words.onTime}`}
      {down !== null && <b className="is-down"> · {down}</b>}
      {late !== null && <b className="is-late"> · {late}</b>}
    </em>
  );
}

/** A text at an instant, on the side where there is room. */
function Note({
  at,
  frame,
  kind,
  text,
}: {
  at: number;
  frame: Frame;
  kind: "stopped" | "silenced";
  text: string;
}) {
  const x = Math.max(2, xOf(at, frame));
  if (x > frame.width) return null;
  const isLeft = kind === "stopped" ? x > labelPx(text) + 12 : x + labelPx(text) > frame.width;
  const style = isLeft ? { right: `${frame.width - x + 6}px` } : { left: `${x}px` };
  return (
    <span className={`tl-note is-${kind}`} style={style}>
      {text}
    </span>
  );
}

const SILENCE_NOTES_MAX = 2;

/** The silences of a group: where each one begins. */
function silenceNotes(
  timeline: Timeline,
  rows: readonly RowLine["row"][],
  frame: Frame,
): { at: number; text: string }[] {
  const first = new Map<number, number>();
  for (const row of rows) {
    for (const { kind, n, from, to } of marksOf(timeline, row)) {
      if (kind === "silenced" && to > frame.fromAt && !first.has(n)) first.set(n, from);
    }
  }
  const notes = [...first].map(([index, at]) => ({
    at,
    text: words.silenced(timeline.silences[index]?.reason ?? ""),
  }));
  return notes.toSorted((a, b) => a.at - b.at).slice(0, SILENCE_NOTES_MAX);
}

// Lanes.

const LANE_COLUMN_PX = 6;
const LANE_COLUMN_PHONE_PX = 4;

function Lane({ lane, stop, common }: { lane: TimelineLane; stop: Stop; common: Common }) {
  const { frame, timeline, heights, colors, ratio, now, isPhone, view } = common;
  const columns = useMemo(
    () => laneColumns(lane, timeline, frame, isPhone),
    [lane, timeline, frame, isPhone],
  );
  const canvas = useRef<HTMLCanvasElement>(null);
  const height = heights.plot.lane;
  useLayoutEffect(() => {
    const context =
      canvas.current === null ? null : contextOf(canvas.current, { width: frame.width, height });
    if (context !== null)
      paintLane(context, { height, ...columns, nowX: Math.max(0, xOf(now, frame)), colors });
  }, [columns, frame, height, now, colors, ratio]);
  const name = groupName(lane);
  const label = (
    <>
      <Icon name="right" size={12} />
      <span>
        <b className="clip">{name}</b>
        <Counts {...lane} isLane />
      </span>
    </>
  );
  return (
    <>
      <Link className="tl-name" href={laneHref(lane, view, false)} title={name} {...stop}>
        {label}
      </Link>
      <div className="tl-cell">
        <canvas ref={canvas} aria-hidden="true" style={{ height: `${height}px` }} />
      </div>
    </>
  );
}

type LaneColumns = Pick<
  Parameters<typeof paintLane>[1],
  "ran" | "failed" | "missed" | "ahead" | "most" | "worst"
>;

function laneColumns(lane: TimelineLane, timeline: Timeline, frame: Frame, isPhone: boolean): LaneColumns {
  const { columnMs: stepMs, columnsFrom, now } = timeline;
  const leastPx = isPhone ? LANE_COLUMN_PHONE_PX : LANE_COLUMN_PX;
  const of = (values: readonly number[], fromAt: number) =>
    columnsOf({ fromAt, stepMs, values }, frame, { leastPx, by: "sum" });
  const nowIndex = Math.floor((now - columnsFrom) / stepMs);
  const ran = of(lane.ran, columnsFrom);
  const failed = of(lane.failed, columnsFrom);
  const missed = of(lane.missed, columnsFrom);
  const ahead = of(lane.ahead, columnsFrom + nowIndex * stepMs);
  const greatest = (columns: readonly Column[]) =>
    columns.reduce((most, { value }) => Math.max(most, value), 1);
  return {
    ran,
    failed,
    missed,
    ahead,
    most: Math.max(greatest(ran), greatest(ahead)),
    worst: Math.max(greatest(failed), greatest(missed)),
  };
}

/** The checks of a lane as rows: all, or those in trouble. */
function laneHref({ tag, isRest }: TimelineLane, view: TimelineView, isTrouble: boolean): string {
  const isTagged = tag !== null && !isRest;
  const query = writeTimelineView({
    ...view,
    mode: "rows",
    ...(isTagged && { tag }),
    ...(isTrouble && { state: "trouble" as const }),
  });
  return `?${query}`;
}

// The card of a run.

type CardProps = {
  line: RowLine;
  markIndex: number;
  reader: { now: number; zone: string };
  isTouched: boolean;
  style: Readonly<Record<string, string>>;
};

const CARD_STATES = {
  ran: "up",
  late: "late",
  failed: "down",
  missed: "down",
  running: "running",
  ahead: "new",
  silenced: "paused",
  paused: "paused",
  changed: "new",
} as const;

function Card({ line, markIndex, reader, isTouched, style }: CardProps) {
  const { row, marks } = line;
  const mark = marks[markIndex];
  if (mark === undefined) return null;
  return (
    <div className={`tl-card${isTouched ? " is-touched" : ""}`} style={style}>
      <h2>
        <StateShape state={CARD_STATES[mark.kind]} size={14} label={null} />
        <span className="clip">{checkName(row)}</span>
      </h2>
      <dl>
        {factsOf(row, mark, reader).map(({ name, text, note }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {text} {note !== undefined && <b className="is-late">{note}</b>}
            </dd>
          </div>
        ))}
      </dl>
      <CardFoot>
        <span className="clip">{row.expected}</span>
        {isTouched ? (
          <Link className="link" href={markHref(line, markIndex)}>
            {words.open}
          </Link>
        ) : (
          <kbd>↵</kbd>
        )}
      </CardFoot>
    </div>
  );
}

function CardFoot({ children }: { children: ReactNode }) {
  return <p>{children}</p>;
}

type CardPlace = {
  frame: Frame;
  mark: { from: number; to: number };
  isPhone: boolean;
  labelPx: number;
  top: number;
  lineHeight: number;
  isAbove: boolean;
};

/** Beside the run: to the right of it, if there is room. */
function cardPlace({ frame, mark, isPhone, labelPx: before, top, lineHeight, isAbove }: CardPlace) {
  const vertical = isAbove ? { bottom: `calc(100% - ${top - 4}px)` } : { top: `${top + lineHeight + 2}px` };
  if (isPhone) return { ...vertical, left: "16px", right: "16px" };
  const endX = Math.min(frame.width, xOf(mark.to, frame)) + 12;
  const startX = Math.max(0, xOf(mark.from, frame)) - 12 - CARD_PX.width;
  const x = endX + CARD_PX.width <= frame.width ? endX : Math.max(-before + 8, startX);
  return { ...vertical, left: `${before + x}px` };
}

// The legend.

const ALWAYS = ["ran", "ribbon", "late", "failed", "missed", "running", "ahead", "silenced", "gap"] as const;
const OF_LANES = ["laneRan", "laneFailed", "laneMissed"] as const;

function Legend({ timeline }: { timeline: Timeline }) {
  const kinds = new Set(
    timeline.groups.flatMap(({ rows }) =>
      rows.flatMap((row) => marksOf(timeline, row).map(({ kind }) => kind)),
    ),
  );
  const extra = (["paused", "changed"] as const).filter((kind) => kinds.has(kind));
  const shown = [...(timeline.mode === "density" ? OF_LANES : []), ...ALWAYS, ...extra];
  return (
    <ul className="tl-legend" aria-label={words.legend}>
      {shown.map((key) => (
        <li key={key}>
          <svg width="22" height="14" aria-hidden="true">
            {LEGEND[key]}
          </svg>
          {words.keys[key]}
        </li>
      ))}
    </ul>
  );
}

const hatched = (className: string, step: number): ReactNode => (
  <path
    className={className}
    d={Array.from({ length: Math.ceil(34 / step) }, (_, index) => `M${index * step} 1l-12 12`).join("")}
  />
);

const LEGEND: Readonly<Record<keyof typeof words.keys, ReactNode>> = {
  ran: <rect className="k-ran" x="2" y="1" width="16" height="12" rx="2.5" />,
  ribbon: <rect className="k-ribbon" x="0" y="4.5" width="22" height="5" rx="2.5" />,
  late: (
    <>
      <path className="k-lead" d="M1 3v8M1 7h9" />
      <rect className="k-late" x="10" y="1" width="11" height="12" rx="2.5" />
    </>
  ),
  failed: <path className="k-failed" d="M2 1h9v12h-9zM14 0l7 7-7 7-7-7z" />,
  missed: <path className="k-missed" d="M3 2h14v10h-14zl14 10" />,
  running: (
    <>
      <rect className="k-running" x="2" y="1" width="16" height="12" rx="2.5" />
      <path className="k-running-end" d="M17 1v12" />
    </>
  ),
  ahead: <rect className="k-ahead" x="2.5" y="1.5" width="15" height="11" rx="2.5" />,
  silenced: hatched("k-silenced", 6),
  gap: hatched("k-gap", 5),
  paused: <path className="k-paused" d="M1 7h20" />,
  changed: <path className="k-changed" d="M8 1v12M8 1l6 3-6 3z" />,
  laneRan: <path className="k-ribbon" d="M4 5h3v8h-3zM9 2h3v11h-3zM14 6h3v7h-3z" />,
  laneFailed: <path className="k-failed" d="M6 2h4v7h-4zM12 2h4v10h-4z" />,
  laneMissed: <path className="k-missed" d="M6 2h4v7h-4zM12 2h4v10h-4z" />,
};
