// The strip of the last expected runs and the line of durations in a row of the list. Both are drawn by hand: there
// are many of them, and each has a sentence for those who do not see it.
import { memo } from "react";
import type { Beat } from "../../../src/contract/web/check-row.ts";
import { beatPaths, beatsSentence, sparkPoints, TREND_NOTABLE } from "./beats-arithmetic.ts";

const BEATS_MAX = 30;
const STRIP = { width: 132, height: 20 };
const SPARK = { width: 72, height: 20 };

/** At most thirty beats, oldest first; missing ones are drawn as not yet. One line for each kind, not for each beat. */
export const BeatStrip = memo(function BeatStrip({ beats }: { beats: string | null }) {
  const letters = (beats ?? "").split("").slice(-BEATS_MAX) as Beat[];
  const said = beatsSentence(letters);
  return (
    <svg className="beats" viewBox={`0 0 ${STRIP.width} ${STRIP.height}`} role="img" aria-label={said}>
      <title>{said}</title>
      {beatPaths(letters, { ...STRIP, count: BEATS_MAX }).map(({ kind, path }) => (
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
