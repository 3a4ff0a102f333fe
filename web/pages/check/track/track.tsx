// The time track: from the last signal over the expected run and its grace to now, drawn to scale.
import type { CheckPage } from "../../../../src/contract/web/check-page.ts";
import type { CheckRow } from "../../../../src/contract/web/check-row.ts";
import type { RunRow } from "../../../../src/contract/web/history.ts";
import { readerZone } from "../../../boot/boot.ts";
import { useNow } from "../../../live/clock.ts";
import { trackWords as words } from "../../../words/check/page.ts";
import { formatClock, formatDay, formatDuration, formatWhen, type Reader } from "../../../words/time.ts";
import { type Bar, type BarKind, placeOf, type Track, trackOf } from "./track-arithmetic.ts";

const SECOND_MS = 1_000;
/** Top and height of each kind of bar; the line lies at 44. */
const BOXES: Readonly<Record<BarKind, { y: number; height: number; minWidth: number }>> = {
  success: { y: 36, height: 16, minWidth: 10 },
  "late-run": { y: 36, height: 16, minWidth: 10 },
  fail: { y: 36, height: 16, minWidth: 10 },
  running: { y: 36, height: 16, minWidth: 10 },
  expected: { y: 32, height: 24, minWidth: 12 },
  grace: { y: 38, height: 12, minWidth: 2 },
  late: { y: 38, height: 12, minWidth: 2 },
  down: { y: 38, height: 12, minWidth: 3 },
};

type Props = { page: CheckPage; row: CheckRow; runs: readonly RunRow[] };

export function TimeTrack({ page, row, runs }: Props) {
  const now = useNow();
  const track = trackOf({
    row,
    runs,
    now,
    graceMs: page.settings.graceSeconds * SECOND_MS,
    usualMs: page.usual?.medianMs ?? 0,
  });
  if (track === null) return null;
  return <TrackPicture track={track} reader={{ now, zone: readerZone }} runningSince={row.runningSince} />;
}

type PictureProps = { track: Track; reader: Reader; runningSince: number | null };

export function TrackPicture({ track, reader, runningSince }: PictureProps) {
  const { left, right, nowText } = legendOf(track, { runningSince, reader });
  return (
    <div className="check-track">
      <svg
        height="84"
        width="100%"
        role="img"
        aria-label={words.label([left, ...right, nowText].filter((text) => text !== null))}
      >
        <line className="track-line" x1="0" x2="100%" y1="44" y2="44" />
        {track.bars.map((bar, index) => (
          <TrackBar key={index} bar={bar} track={track} />
        ))}
        {track.alertAt !== null && <Post at={track.alertAt} track={track} is="alert" />}
        {track.isPast !== true && <Post at={track.now} track={track} is="now" />}
      </svg>
      <div className="check-legend">
        <span>{left}</span>
        <span>
          {right.join(" · ")}
          {nowText !== null && (
            <>
              {" · "}
              <b>{nowText}</b>
            </>
          )}
        </span>
      </div>
    </div>
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
  return <line className={`track-post is-${is}`} x1={x} x2={x} y1={44 - reach} y2={44 + reach} />;
}

function legendOf(track: Track, { runningSince, reader }: Omit<PictureProps, "track">) {
  const { last, expectedAt, alertAt, now } = track;
  const clock = (at: number) => {
    const day = formatDay(at, reader);
    return day === "today" ? formatClock(at, reader.zone) : formatWhen(at, reader);
  };
  const took = last?.durationMs === null || last === null ? null : formatDuration(last.durationMs);
  const left =
    last === null
      ? null
      : last.outcome === "fail"
        ? words.failed(clock(last.at))
        : words.success(clock(last.at), took);
  return {
    left: left === null ? null : `${last?.outcome === "fail" ? "✗" : "✓"} ${left}`,
    right: [
      runningSince === null ? null : words.started(clock(runningSince)),
      expectedAt === null ? null : words.expected(clock(expectedAt)),
      alertAt === null ? null : words.alert(clock(alertAt)),
    ].filter((text) => text !== null),
    nowText: track.isPast === true ? null : words.now(formatClock(now, reader.zone)),
  };
}
