// How a check is drawn: status, fuse, recent runs, channel kinds and tags. Each status has its own shape, not only a
// color.
import { memo, type ReactNode } from "react";
import {
  type CheckRow,
  drawnAt,
  type DrawnState,
  type Fuse,
  type RunMark,
} from "../../src/contract/api/check-row.ts";
import { STATE_WORDS } from "../../src/contract/api/words.ts";
import { plural } from "../words/format.ts";
import { RUN_OUTCOME_WORDS, words } from "../words/shared.ts";

const SHAPES: Readonly<Record<DrawnState, ReactNode>> = {
  up: (
    <>
      <circle cx="8" cy="8" r="6.5" fill="var(--up-mark)" />
      <path
        d="m5.2 8.2 2 2 3.7-4.2"
        fill="none"
        stroke="var(--surface)"
        strokeWidth="1.7"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </>
  ),
  late: (
    <>
      <circle cx="8" cy="8" r="5.7" fill="none" stroke="var(--late-mark)" strokeWidth="1.8" />
      <path d="M8 2.3a5.7 5.7 0 0 1 0 11.4Z" fill="var(--late-mark)" />
    </>
  ),
  down: (
    <>
      <path d="M8 1 15 8l-7 7-7-7Z" fill="var(--down-mark)" />
      <path d="M8 4.8v3.8M8 10.9v.2" stroke="var(--surface)" strokeWidth="1.7" strokeLinecap="round" />
    </>
  ),
  running: (
    <>
      <circle cx="8" cy="8" r="5.7" fill="none" stroke="var(--idle-mark)" strokeWidth="1.8" />
      <path
        className="turning"
        d="M8 2.3a5.7 5.7 0 0 1 5.7 5.7"
        fill="none"
        stroke="var(--run-mark)"
        strokeWidth="2.2"
        strokeLinecap="round"
      />
    </>
  ),
  paused: (
    <>
      <rect x="3.2" y="2.5" width="3.4" height="11" rx="1" fill="var(--idle-mark)" />
      <rect x="9.4" y="2.5" width="3.4" height="11" rx="1" fill="var(--idle-mark)" />
    </>
  ),
  new: (
    <circle
      cx="8"
      cy="8"
      r="5.7"
      fill="none"
      stroke="var(--idle-mark)"
      strokeWidth="1.8"
      strokeDasharray="2.2 2.4"
    />
  ),
};

/** Shapes of what is not a state of a check. */
const MARKS = {
  silenced: (
    <>
      <path
        d="M3 8a5 5 0 0 1 8.4-3.6M13 8a5 5 0 0 1-8.4 3.6"
        fill="none"
        stroke="var(--idle)"
        strokeWidth="1.6"
        strokeLinecap="round"
      />
      <path d="m2.5 13.5 11-11" stroke="var(--idle)" strokeWidth="1.6" strokeLinecap="round" />
    </>
  ),
  planned: (
    <>
      <rect
        x="2.4"
        y="3.2"
        width="11.2"
        height="10.4"
        rx="2"
        fill="none"
        stroke="var(--run-mark)"
        strokeWidth="1.6"
      />
      <path
        d="M2.6 6.6h10.8M5.4 1.8v2.6M10.6 1.8v2.6"
        stroke="var(--run-mark)"
        strokeWidth="1.6"
        strokeLinecap="round"
      />
    </>
  ),
  acknowledged: (
    <>
      <circle cx="8" cy="8" r="5.7" fill="none" stroke="var(--run-mark)" strokeWidth="1.8" />
      <path
        d="M5.4 8h5.2M8.4 5.6 10.8 8l-2.4 2.4"
        fill="none"
        stroke="var(--run-mark)"
        strokeWidth="1.7"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </>
  ),
} as const;

/** Its word is shown beside it. */
export function Mark({ mark, size = 16 }: { mark: keyof typeof MARKS; size?: number }) {
  return (
    <svg className="shape" viewBox="0 0 16 16" width={size} height={size} aria-hidden="true">
      {MARKS[mark]}
    </svg>
  );
}

/** The shape alone; use `label={null}` if the word is shown beside it. */
export function StateShape(props: { state: DrawnState; size?: number; label?: string | null }) {
  const { state, size = 16, label = STATE_WORDS[state] } = props;
  const named = label === null ? { "aria-hidden": true } : { role: "img", "aria-label": label };
  return (
    <svg className="shape" viewBox="0 0 16 16" width={size} height={size} {...named}>
      {SHAPES[state]}
    </svg>
  );
}

/** Shape and word in the state's color. */
export function StateMark(props: { state: DrawnState; text?: ReactNode; size?: number }) {
  const { state, text, size = 16 } = props;
  return (
    <span className={`state is-${state}`}>
      <StateShape state={state} size={size} label={null} />
      <span className="state-word">{text ?? STATE_WORDS[state]}</span>
    </span>
  );
}

// The fuse: the time until an alert that has passed. Solid up to the expected time, hatched during the grace period.

type Props = { row: Pick<CheckRow, "state" | "fuse" | "runningSince">; now: number; size?: "row" | "page" };

/** The fuse of a row at the given time; the caller decides how often it is rendered. */
export function FuseBar({ row, now, size = "row" }: Props) {
  const state = drawnAt(row, now);
  const sized = size === "page" ? " is-page" : "";
  if (state === "down") {
    return <span className={`fuse is-down${sized}`} role="img" aria-label={words.fuse.elapsed} />;
  }
  if (row.fuse === null || state === "paused" || state === "new") {
    return <span className={`fuse is-off${sized}`} role="img" aria-label={words.fuse.none} />;
  }
  const { used, grace } = fuseShares(row.fuse, now);
  const percent = Math.round(used * 100);
  const label = state === "late" ? words.fuse.late(percent) : words.fuse.used(percent);
  const style = { "--used": used.toFixed(4), "--grace": grace.toFixed(4) } as React.CSSProperties;
  return (
    <span className={`fuse is-${state}${sized}`} style={style} role="img" aria-label={label}>
      <i />
    </span>
  );
}

// The status and fuse of a row at a given time. A row becomes late by the clock, and down only when the server says
// so.

type Timed = Pick<CheckRow, "state" | "fuse">;

/** How much of the time until the alert is used up, and at what share grace begins; both between 0 and 1. */
export type FuseShares = { used: number; grace: number };

export function fuseShares({ fromAt, lateAt, alertAt }: Fuse, now: number): FuseShares {
  const wholeMs = alertAt - fromAt;
  if (wholeMs <= 0) return { used: 1, grace: 1 };
  return { used: within((now - fromAt) / wholeMs), grace: within((lateAt - fromAt) / wholeMs) };
}

/** The next time at which one of these rows changes without an event; infinite when none does. */
export function nextLateAt(rows: Iterable<Timed>, now: number): number {
  let next = Number.POSITIVE_INFINITY;
  for (const { state, fuse } of rows) {
    if (state === "up" && fuse !== null && fuse.lateAt > now && fuse.lateAt < next) next = fuse.lateAt;
  }
  return next;
}

function within(share: number): number {
  return Math.min(1, Math.max(0, share));
}

// The strip of recent runs and the sparkline of durations, each with a text for screen readers.

const BEATS_MAX = 30;
const STRIP = { width: 132, height: 20 };
const SPARK = { width: 72, height: 20 };

/** At most thirty runs, oldest first; missing ones are drawn as not yet. One path for each kind, not for each run. */
export const RunStrip = memo(function RunStrip({ beats }: { beats: string | null }) {
  const letters = (beats ?? "").split("").slice(-BEATS_MAX) as RunMark[];
  const label = runsSentence(letters);
  return (
    <svg className="beats" viewBox={`0 0 ${STRIP.width} ${STRIP.height}`} role="img" aria-label={label}>
      <title>{label}</title>
      {runPaths(letters, { ...STRIP, count: BEATS_MAX }).map(({ kind, path }) => (
        <path key={kind} className={`b-${kind}`} d={path} />
      ))}
    </svg>
  );
});

/** The line of durations; its end is marked when the last runs were clearly longer than the ones before. */
export const Spark = memo(function Spark({ durationsMs }: { durationsMs: readonly number[] }) {
  const { points, end, trend } = sparkPoints(durationsMs, SPARK);
  if (end === null) return null;
  return (
    <svg
      className="spark-line"
      viewBox={`0 0 ${SPARK.width} ${SPARK.height}`}
      width={SPARK.width}
      height={SPARK.height}
      aria-hidden="true"
    >
      <polyline points={points} fill="none" stroke="var(--ink-3)" strokeWidth="1.3" strokeLinejoin="round" />
      <circle
        cx={end.x}
        cy={end.y}
        r="1.9"
        fill={trend > TREND_NOTABLE ? "var(--late-mark)" : "var(--ink-2)"}
      />
    </svg>
  );
});

// Texts of the strip, and points of the sparkline.

/** From this multiple of the usual duration on, the last runs are notably long. */
export const TREND_NOTABLE = 1.3;

/** As in ui.css. */
const STROKE = 2.9;

const RECENT_RUNS = 3;
const EDGE = 2;

/** "last 30 runs: 27 success, 2 failure, 1 running" */
export function runsSentence(beats: readonly RunMark[]): string {
  if (beats.length === 0) return "no runs yet";
  const counts = new Map<RunMark, number>();
  for (const beat of beats) counts.set(beat, (counts.get(beat) ?? 0) + 1);
  const parts = [...counts]
    .toSorted((a, b) => b[1] - a[1])
    .map(([beat, count]) => `${count} ${RUN_OUTCOME_WORDS[beat]}`);
  return `last ${plural(beats.length, "run")}: ${parts.join(", ")}`;
}

/** The height of a run: outcomes differ in height as well as in color. */
const HEIGHTS: Readonly<Record<RunMark | "none", number>> = {
  u: 20,
  l: 14,
  f: 9,
  m: 5,
  r: 20,
  x: 20,
  p: 5,
  none: 3,
};

/** Lines with round ends, one path for each kind of run; missing ones are at the old end. */
export function runPaths(
  beats: readonly RunMark[],
  box: { width: number; height: number; count: number },
): { kind: RunMark | "none"; path: string }[] {
  const step = box.width / box.count;
  const paths = new Map<RunMark | "none", string>();
  const missing = box.count - beats.length;
  for (let index = 0; index < box.count; index += 1) {
    const kind = index < missing ? "none" : (beats[index - missing] ?? "none");
    const x = (index * step + step / 2).toFixed(1);
    // The ends are round: half the stroke extends on either side.
    const length = Math.max(0.01, HEIGHTS[kind] - STROKE);
    const line = `M${x} ${box.height - STROKE / 2}v${(-length).toFixed(2)}`;
    paths.set(kind, (paths.get(kind) ?? "") + line);
  }
  return [...paths].map(([kind, path]) => ({ kind, path }));
}

export type SparkLine = { points: string; end: { x: number; y: number } | null; trend: number };

/** Points of a polyline that fills the box; the lowest duration is not drawn as zero, but never above half. */
export function sparkPoints(
  durationsMs: readonly number[],
  box: { width: number; height: number },
): SparkLine {
  if (durationsMs.length < 2) return { points: "", end: null, trend: 1 };
  const most = Math.max(...durationsMs, 1);
  const least = Math.min(...durationsMs);
  // A job with similar durations gets a flat line in the middle, not noise scaled up to the full height.
  const spread = Math.max(most - least, most * 0.5);
  const step = (box.width - EDGE) / (durationsMs.length - 1);
  const middle = (most + least) / 2;
  const place = (ms: number, index: number) => ({
    x: Number((index * step).toFixed(1)),
    y: Number((box.height / 2 - ((ms - middle) / spread) * (box.height - 2 * EDGE)).toFixed(1)),
  });
  const places = durationsMs.map(place);
  return {
    points: places.map(({ x, y }) => `${x},${y}`).join(" "),
    end: places.at(-1) ?? null,
    trend: median(durationsMs.slice(-RECENT_RUNS)) / Math.max(1, median(durationsMs.slice(0, -RECENT_RUNS))),
  };
}

function median(values: readonly number[]): number {
  if (values.length === 0) return 0;
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

// Icons of channel kinds.
const PATHS: Readonly<Record<string, string>> = {
  email: "M2.5 4h11v8h-11zM2.5 4.5 8 8.7l5.5-4.2",
  webhook: "M6 4 2.5 8 6 12M10 4l3.5 4-3.5 4",
  slack: "M6.7 2.5 5.2 13.5M10.8 2.5 9.3 13.5M2.8 6h10.7M2.5 10h10.7",
  discord: "M2.5 3.5h11v7H8.3L5.5 13v-2.5h-3z",
  telegram: "M13.7 2.6 2.3 7.4l4 1.7 1.6 4.5zM6.3 9.1l3.2-2.6",
  ntfy: "M4.3 11V7a3.7 3.7 0 0 1 7.4 0v4M2.8 11h10.4M7 13.6h2",
  pagerduty: "M4.8 2.5h6.4v11H4.8zM7.3 11.2h1.4",
  group:
    "M6 7.6a2.1 2.1 0 1 0 0-4.2 2.1 2.1 0 0 0 0 4.2ZM2 13c.1-2.1 1.7-3.2 4-3.2s3.9 1.1 4 3.2M10.6 7.4a1.9 1.9 0 0 0 0-3.8M11.6 9.9c1.5.4 2.3 1.5 2.4 3.1",
};
/** For a kind that this release does not support. */
const OTHER = "M8 12.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9Z";

export function ChannelMark({ kind, isOff }: { kind: string; isOff: boolean }) {
  return (
    <svg
      className={`channel-mark${isOff ? " is-off" : ""}`}
      viewBox="0 0 16 16"
      width={14}
      height={14}
      aria-hidden="true"
    >
      <path d={PATHS[kind] ?? OTHER} fill="none" stroke="currentColor" strokeWidth="1.4" />
    </svg>
  );
}

// Tags; those that do not fit are counted and listed in the tooltip.
function Tag({ name }: { name: string }) {
  return <span className="tag clip">{name}</span>;
}

export function Tags({ names, most }: { names: readonly string[]; most: number }) {
  const rest = names.slice(most);
  return (
    <>
      {names.slice(0, most).map((name) => (
        <Tag key={name} name={name} />
      ))}
      {rest.length > 0 && (
        <span className="tag" title={rest.join(" ")}>
          +{rest.length}
        </span>
      )}
    </>
  );
}
