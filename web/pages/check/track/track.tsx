// The time track: from the last signal over the expected run and its grace to now, drawn to scale. Every mark has its
// label, and what the colours mean stands below.
import type { CheckPage } from "../../../../src/contract/web/check-page.ts";
import type { CheckRow } from "../../../../src/contract/web/check-row.ts";
import type { RunRow } from "../../../../src/contract/web/history.ts";
import { readerZone } from "../../../boot/boot.ts";
import { useNow } from "../../../live/clock.ts";
import { trackWords as words } from "../../../words/check/page.ts";
import { formatClock, formatDay, formatDuration, formatWhen, type Reader } from "../../../words/time.ts";
import { useWidth } from "../history/use-width.ts";
import { type Bar, type BarKind, placeOf, type Track, trackOf } from "./track-arithmetic.ts";
import { type Labelled, labelWidth, type Placed, placeLabels } from "./track-labels.ts";

/** Top and height of each kind of bar, from the line. */
const BOXES: Readonly<Record<BarKind, { y: number; height: number; minWidth: number }>> = {
  success: { y: -8, height: 16, minWidth: 10 },
  "late-run": { y: -8, height: 16, minWidth: 10 },
  fail: { y: -8, height: 16, minWidth: 10 },
  running: { y: -8, height: 16, minWidth: 10 },
  expected: { y: -12, height: 24, minWidth: 12 },
  grace: { y: -6, height: 12, minWidth: 2 },
  late: { y: -6, height: 12, minWidth: 2 },
  down: { y: -6, height: 12, minWidth: 3 },
};
/** How far the lanes of labels lie from the line. */
const LANES_Y = [-32, -48, 42, 58] as const;
/** Without labels on a side, the marks alone need so much. */
const MARKS_REACH = 28;
const WIDTH_FIRST = 900;

type Props = { page: CheckPage; row: CheckRow; runs: readonly RunRow[] };

export function TimeTrack({ page, row, runs }: Props) {
  const now = useNow();
  const track = trackOf({
    row,
    runs,
    now,
    missedAt: page.missedAt,
    usualMs: page.usual?.medianMs ?? 0,
  });
  if (track === null) return null;
  return <TrackPicture track={track} reader={{ now, zone: readerZone }} runningSince={row.runningSince} />;
}

type PictureProps = { track: Track; reader: Reader; runningSince: number | null };

export function TrackPicture({ track, reader, runningSince }: PictureProps) {
  const [width, ref] = useWidth<HTMLDivElement>(WIDTH_FIRST);
  const labels = placeLabels(labelsOf(track, { runningSince, reader, width }), width);
  const lanes = new Set(labels.map(({ lane }) => lane));
  const above = lanes.has(1) ? 60 : lanes.has(0) ? 44 : MARKS_REACH;
  const below = lanes.has(3) ? 62 : lanes.has(2) ? 46 : MARKS_REACH;
  return (
    <div className="check-track">
      <div ref={ref}>
        <svg
          height={above + below}
          width="100%"
          role="img"
          aria-label={words.label(labels.map(({ text }) => text))}
        >
          <g transform={`translate(0 ${above})`}>
            <line className="track-line" x1="0" x2="100%" y1="0" y2="0" />
            {labels.map((label) => (
              <Lead key={label.kind} label={label} />
            ))}
            {track.bars.map((bar, index) => (
              <TrackBar key={index} bar={bar} track={track} />
            ))}
            {track.alertAt !== null && <Post at={track.alertAt} track={track} is="alert" />}
            {track.isPast !== true && <Post at={track.now} track={track} is="now" />}
            {labels.map((label) => (
              <Label key={label.kind} label={label} width={width} />
            ))}
          </g>
        </svg>
      </div>
      <Keys kinds={new Set(track.bars.map(({ kind }) => kind))} />
    </div>
  );
}

/** From a mark to its label. */
function Lead({ label: { x, lane } }: { label: Placed }) {
  return (
    <line className="track-lead" x1={x} x2={x} y1="0" y2={(LANES_Y[lane] ?? 0) + (lane < 2 ? 3 : -10)} />
  );
}

function Label({ label, width }: { label: Placed; width: number }) {
  const { kind, text, left, lane } = label;
  const wide = labelWidth(text);
  const y = LANES_Y[lane] ?? 0;
  const place =
    left === 0
      ? { x: 0, textAnchor: "start" as const }
      : left + wide >= width
        ? { x: width, textAnchor: "end" as const }
        : { x: left + wide / 2, textAnchor: "middle" as const };
  return (
    <text className={`is-${kind}`} y={y} {...place}>
      {text}
    </text>
  );
}

function TrackBar({ bar, track }: { bar: Bar; track: Track }) {
  const { y, height, minWidth } = BOXES[bar.kind];
  const x = placeOf(bar.fromAt, track);
  const width = placeOf(bar.toAt, track) - x;
  // What is too short to be seen is drawn as wide as can be seen.
  const style = { width: `max(${minWidth}px, ${width}%)` };
  return <rect className={`track-${bar.kind}`} x={`${x}%`} y={y} height={height} rx="3" style={style} />;
}

function Post({ at, track, is }: { at: number; track: Track; is: "alert" | "now" }) {
  const x = `${placeOf(at, track)}%`;
  const reach = is === "now" ? 26 : 18;
  return <line className={`track-post is-${is}`} x1={x} x2={x} y1={-reach} y2={reach} />;
}

/** What the colours mean, as far as there are such. */
function Keys({ kinds }: { kinds: ReadonlySet<BarKind> }) {
  const shown = (Object.keys(words.keys) as BarKind[]).filter((kind) => kinds.has(kind));
  return (
    <ul className="ninety-keys track-keys" aria-hidden="true">
      {shown.map((kind) => (
        <li key={kind}>
          <svg width="12" height="12">
            <rect className={`track-${kind}`} x="1" y="1" width="10" height="10" rx="2" />
          </svg>
          {words.keys[kind]}
        </li>
      ))}
    </ul>
  );
}

/** On a track so narrow a label has room for when, and not for how long. */
const NARROW = 600;

function labelsOf(
  track: Track,
  { runningSince, reader, width }: Omit<PictureProps, "track"> & { width: number },
): Labelled[] {
  const { last, expectedAt, alertAt, now } = track;
  const clock = (at: number) => {
    const day = formatDay(at, reader);
    return day === "today" ? formatClock(at, reader.zone) : formatWhen(at, reader);
  };
  const label = (kind: Labelled["kind"], at: number | null, text: (clock: string) => string): Labelled[] =>
    at === null ? [] : [{ kind, text: text(clock(at)), x: (placeOf(at, track) / 100) * width }];
  const lastMs = last?.durationMs ?? null;
  const took = lastMs === null || width < NARROW ? null : formatDuration(lastMs);
  return [
    ...label("last", last?.at ?? null, (at) =>
      last?.outcome === "fail" ? words.failed(at, took) : words.success(at, took),
    ),
    ...label("started", runningSince, words.started),
    ...label("expected", expectedAt, words.expected),
    ...label("alert", alertAt, words.alert),
    ...label("now", track.isPast === true ? null : now, () => words.now(formatClock(now, reader.zone))),
  ];
}
