// What the strip of beats says in words, and where the line of durations runs. Pure.
import type { Beat } from "../../../src/contract/web/check-row.ts";
import { plural } from "../../words/number.ts";
import { BEAT_WORDS } from "../../words/shared.ts";

/** From so many times the usual duration on, the last runs are notably long. */
export const TREND_NOTABLE = 1.3;

/** As in ui.css. */
const STROKE = 2.9;

const RECENT_RUNS = 3;
const EDGE = 2;

/** "last 30 runs: 27 success, 2 failure, 1 running" */
export function beatsSentence(beats: readonly Beat[]): string {
  if (beats.length === 0) return "no runs yet";
  const counts = new Map<Beat, number>();
  for (const beat of beats) counts.set(beat, (counts.get(beat) ?? 0) + 1);
  const told = [...counts]
    .toSorted((a, b) => b[1] - a[1])
    .map(([beat, count]) => `${count} ${BEAT_WORDS[beat]}`);
  return `last ${plural(beats.length, "run")}: ${told.join(", ")}`;
}

/** How high a beat stands; height tells outcomes apart where colour does not. */
const HEIGHTS: Readonly<Record<Beat | "none", number>> = {
  u: 20,
  l: 14,
  f: 9,
  m: 5,
  r: 20,
  x: 20,
  p: 5,
  none: 3,
};

/** Lines with round ends, one path for each kind of beat; what is missing stands at the old end. */
export function beatPaths(
  beats: readonly Beat[],
  box: { width: number; height: number; count: number },
): { kind: Beat | "none"; path: string }[] {
  const step = box.width / box.count;
  const paths = new Map<Beat | "none", string>();
  const missing = box.count - beats.length;
  for (let index = 0; index < box.count; index += 1) {
    const kind = index < missing ? "none" : (beats[index - missing] ?? "none");
    const x = (index * step + step / 2).toFixed(1);
    // The ends are round: half the stroke stands out at either side.
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
  // A job that always takes about as long is a calm line in the middle, not noise blown up to the full height.
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
