// How long runs took: bars by run or by day, with the usual band, a line that tells what the pointer is on, and a table
// with the same figures for whoever does not see bars.
import { type PointerEvent, useState } from "react";
import { useLocation } from "wouter";
import type { UsualDuration } from "../../../../src/contract/web/check-page.ts";
import type { Durations as Figures } from "../../../../src/contract/web/history.ts";
import { readerZone } from "../../../boot/boot.ts";
import { useMinute } from "../../../live/clock.ts";
import { pageHref } from "../../../shell/page-address.ts";
import { Queried } from "../../../ui/page-state.tsx";
import { againstUsual, chartWords as words } from "../../../words/check/page.ts";
import { formatClock, formatDay, formatDuration, formatWhen } from "../../../words/time.ts";
import { useDurations } from "../use-check.ts";
import { namedBars, scaleFor, tickText } from "./chart-arithmetic.ts";
import { useWidth } from "./use-width.ts";

const HEIGHT = 198;
const FOOT = 24;
/** Room above the highest bar for what is said of the band. */
const HEAD = 26;
/** Room for "800 ms". */
const LEFT = 50;
const BAR_MAX = 7;
const LABEL_WIDTH = 92;
/** As many bars as can be told apart. */
const BARS_MAX = 120;
/** Fewer bars do not fill the width: they stand at the left, as far apart as these would. */
const BARS_SPREAD_MIN = 12;

type BarMark = {
  key: string;
  ms: number;
  is: "up" | "late" | "down";
  when: string;
  day: string;
  said: string;
  n: number | null;
};

export function DurationChart({ id, usual }: { id: string; usual: UsualDuration | null }) {
  const query = useDurations(id);
  return (
    <section className="check-part" aria-labelledby="check-durations">
      <Queried query={query} rows={3}>
        {(figures) => <Chart id={id} figures={figures} usual={usual} />}
      </Queried>
    </section>
  );
}

type ChartProps = { id: string; figures: Figures; usual: UsualDuration | null };

function Chart({ id, figures, usual }: ChartProps) {
  const [by, setBy] = useState<"runs" | "days">("runs");
  const now = useMinute();
  const bars = by === "runs" ? runBars(figures, { usual, now }) : dayBars(figures, { usual, now });
  const hasDays = figures.days.length > 1;
  return (
    <>
      <div className="check-part-head">
        <h2 id="check-durations">{words.title}</h2>
        {hasDays && (
          <div className="check-switch" role="group" aria-label={words.by}>
            {(["runs", "days"] as const).map((one) => (
              <button key={one} type="button" aria-pressed={by === one} onClick={() => setBy(one)}>
                {words[one]}
              </button>
            ))}
          </div>
        )}
      </div>
      {bars.length === 0 ? (
        <p className="muted">{words.none}</p>
      ) : (
        <>
          <Bars id={id} bars={bars} usual={usual} />
          <Twin bars={bars} />
        </>
      )}
    </>
  );
}

type Given = { usual: UsualDuration | null; now: number };

function runBars({ points }: Figures, { usual, now }: Given): BarMark[] {
  const shown = points.slice(-BARS_MAX);
  const dayOf = (at: number) => formatDay(at, { now, zone: readerZone });
  // Bars of one day would all be named alike.
  const isOneDay = new Set(shown.map(({ at }) => dayOf(at))).size === 1;
  return shown.map(({ at, durationMs, outcome, n }) => {
    const when = formatWhen(at, { now, zone: readerZone });
    const against = usual === null ? null : againstUsual(durationMs, usual);
    const said = [formatDuration(durationMs), outcome === "fail" ? words.failed : null, against];
    return {
      key: `${at} ${n ?? ""}`,
      ms: durationMs,
      is: outcome === "fail" ? "down" : usual !== null && durationMs > usual.highMs ? "late" : "up",
      when,
      day: isOneDay ? formatClock(at, readerZone) : dayOf(at),
      said: said.filter((text) => text !== null).join(" · "),
      n,
    };
  });
}

function dayBars({ days }: Figures, { usual, now }: Given): BarMark[] {
  return days.map(({ day, meanMs, maxMs }) => {
    const when = formatDay(Date.parse(day), { now, zone: "UTC" });
    return {
      key: day,
      ms: meanMs,
      is: usual !== null && meanMs > usual.highMs ? "late" : "up",
      when,
      day: when,
      said: `${words.mean(meanMs)} · ${words.max(maxMs)}`,
      n: null,
    };
  });
}

function Bars({ id, bars, usual }: { id: string; bars: readonly BarMark[]; usual: UsualDuration | null }) {
  const [width, ref] = useWidth<HTMLDivElement>(720);
  const [pointed, setPointed] = useState<number | null>(null);
  const [, navigate] = useLocation();
  const highest = Math.max(...bars.map(({ ms }) => ms), usual?.highMs ?? 0, 1);
  const { topMs, ticksMs } = scaleFor(highest);
  const slot = (width - LEFT) / Math.max(bars.length, BARS_SPREAD_MIN);
  const x = (index: number) => LEFT + (index + 0.5) * slot;
  const y = (ms: number) => HEIGHT - FOOT - (ms / topMs) * (HEIGHT - FOOT - HEAD);
  const barAt = (event: PointerEvent<SVGSVGElement>) => {
    const left = event.clientX - event.currentTarget.getBoundingClientRect().left - LEFT;
    const index = Math.floor(left / slot);
    return bars[index] === undefined ? null : index;
  };
  const open = (event: PointerEvent<SVGSVGElement>) => {
    const n = bars[barAt(event) ?? -1]?.n;
    if (n !== null && n !== undefined) navigate(pageHref("run", { check: id, n: String(n) }));
  };
  const told = pointed === null ? null : bars[pointed];
  return (
    <div ref={ref} className="check-chart">
      <p className="chart-said figures" aria-hidden="true">
        {told !== null && told !== undefined && (
          <>
            <b>{told.when}</b> {told.said}
          </>
        )}
      </p>
      <svg
        width={width}
        height={HEIGHT}
        viewBox={`0 0 ${width} ${HEIGHT}`}
        role="img"
        aria-label={words.label(bars.length, usual === null ? null : formatDuration(usual.medianMs))}
        onPointerMove={(event) => setPointed(barAt(event))}
        onPointerLeave={() => setPointed(null)}
        onPointerUp={open}
      >
        <Lines ticksMs={ticksMs} y={y} width={width} />
        {usual !== null && <Usual usual={usual} y={y} width={width} />}
        {bars.map((bar, index) => (
          <line
            key={bar.key}
            className={`chart-bar is-${bar.is}${pointed === index ? " is-pointed" : ""}`}
            x1={x(index)}
            x2={x(index)}
            y1={y(0)}
            y2={Math.min(y(bar.ms), y(0) - 1)}
            strokeWidth={Math.max(1.5, Math.min(BAR_MAX, slot * 0.62))}
          />
        ))}
        {usual !== null && <UsualText usual={usual} />}
        <DayNames bars={bars} x={x} width={width} />
      </svg>
    </div>
  );
}

function Lines(props: { ticksMs: readonly number[]; y: (ms: number) => number; width: number }) {
  const { ticksMs, y, width } = props;
  return ticksMs.map((ms) => (
    <g key={ms}>
      <line className="chart-line" x1={LEFT} x2={width} y1={y(ms)} y2={y(ms)} />
      <text x={LEFT - 8} y={y(ms) + 4} textAnchor="end">
        {tickText(ms, ticksMs[1] ?? 1)}
      </text>
    </g>
  ));
}

function Usual(props: { usual: UsualDuration; y: (ms: number) => number; width: number }) {
  const { usual, y, width } = props;
  const height = Math.max(3, y(usual.lowMs) - y(usual.highMs));
  return <rect className="chart-usual" x={LEFT} width={width - LEFT} y={y(usual.highMs)} height={height} />;
}

/** Above the bars, where none reaches it, with a piece of the band beside it. */
function UsualText({ usual }: { usual: UsualDuration }) {
  return (
    <>
      <rect className="chart-usual is-key" x={LEFT} y={2} width={10} height={10} rx={2} />
      <text x={LEFT + 16} y={11}>
        {words.usual(usual.lowMs, usual.highMs)}
      </text>
    </>
  );
}

function DayNames(props: { bars: readonly BarMark[]; x: (index: number) => number; width: number }) {
  const { bars, x, width } = props;
  // Few bars stand close together at the left.
  const most = Math.floor((x(bars.length - 1) - x(0)) / LABEL_WIDTH) + 1;
  const named = namedBars(bars.length, most);
  return named.map((index) => {
    const isLast = index === bars.length - 1 && bars.length > BARS_SPREAD_MIN;
    return (
      <text
        key={index}
        x={isLast ? Math.min(width, x(index) + 4) : x(index)}
        y={HEIGHT - 5}
        textAnchor={isLast ? "end" : index === 0 ? "start" : "middle"}
      >
        {bars[index]?.day}
      </text>
    );
  });
}

/** The same figures to be read. */
function Twin({ bars }: { bars: readonly BarMark[] }) {
  return (
    <details className="chart-twin">
      <summary>{words.table}</summary>
      <div className="chart-twin-scroll" tabIndex={0} role="region" aria-label={words.title}>
        <table className="table">
          <thead>
            <tr>
              <th scope="col">{words.columns.when}</th>
              <th scope="col">{words.columns.took}</th>
            </tr>
          </thead>
          <tbody>
            {bars.toReversed().map(({ key, when, said }) => (
              <tr key={key}>
                <th scope="row">{when}</th>
                <td>{said}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
