// The history of a check: 90-day strip, downtimes, chart of durations, runs and log. Each drawing has a table with
// the same data.
import {
  type InfiniteData,
  keepPreviousData,
  useInfiniteQuery,
  type UseInfiniteQueryResult,
} from "@tanstack/react-query";
import { type PointerEvent, useState } from "react";
import { Link, useLocation } from "wouter";
import type { UsualDuration } from "../../src/contract/api/check-page.ts";
import type { DrawnState } from "../../src/contract/api/check-row.ts";
import type {
  Availability,
  DayMark,
  Durations as Figures,
  EventRow,
  MonthDowntime,
  PingKind,
  RunRow,
  RunsPage,
} from "../../src/contract/api/history.ts";
import { eventSentence, formatCount } from "../../src/contract/api/words.ts";
import { call, checkKey } from "../api.ts";
import { userZone } from "../boot.ts";
import { useMinute } from "../live/clock.ts";
import { pageHref } from "../page-location.ts";
import { useWidth } from "../parts/hooks.ts";
import { Button } from "../ui/button.tsx";
import { LearnMore } from "../ui/docs-link.tsx";
import { StateShape } from "../ui/marks.tsx";
import { Failed, Loading, Queried } from "../ui/page-state.tsx";
import { When } from "../ui/when.tsx";
import {
  againstUsual,
  chartWords,
  historyWords,
  logWords,
  outcomeWord,
  runsWords,
  runTitle,
} from "../words/check.ts";
import { eventsWords } from "../words/events.ts";
import {
  formatClock,
  formatDay,
  formatDuration,
  formatSpan,
  formatWhen,
  knownZone,
} from "../words/format.ts";
import { useDurations } from "./use-check.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** The minimum red part of a column, so that it is visible. */
const DOWN_SHARE_MIN = 0.3;

export function NinetyDays({ days, last90Days }: Pick<Availability, "days" | "last90Days">) {
  const now = useMinute();
  const named = (day: string) => formatDay(Date.parse(day), { now, zone: "UTC" });
  const kinds = days.map(kindOfDay);
  return (
    <section className="check-part" aria-labelledby="check-ninety">
      <h2 id="check-ninety">{historyWords.ninety}</h2>
      <div className="ninety" role="img" aria-label={stripText(kinds, last90Days.unmonitoredDays)}>
        {days.map((day, index) => (
          <i
            key={day.day}
            className={`is-${kinds[index]}`}
            title={historyWords.day.title(named(day.day), dayText(day))}
            style={downStyle(day)}
          />
        ))}
      </div>
      <div className="check-legend ninety-legend">
        <span>{named(days[0]?.day ?? "")}</span>
        <Summary last90Days={last90Days} />
        <span>{historyWords.today}</span>
      </div>
      <Keys kinds={new Set(kinds)} />
      <DaysTable days={days} named={named} />
    </section>
  );
}

/** The days that were not simply good, for screen readers. */
function DaysTable({ days, named }: { days: readonly DayMark[]; named: (day: string) => string }) {
  const listed = days.filter(isListed);
  // A table would be as wide as its text, even if it is hidden.
  return (
    <div className="sr">
      <table>
        <caption>{historyWords.day.table}</caption>
        <thead>
          <tr>
            <th scope="col">{historyWords.day.column}</th>
            <th scope="col">{historyWords.day.what}</th>
          </tr>
        </thead>
        <tbody>
          {listed.map((day) => (
            <tr key={day.day}>
              <th scope="row">{named(day.day)}</th>
              <td>{dayText(day)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function downStyle({ downMs }: DayMark): React.CSSProperties {
  const share = Math.max(DOWN_SHARE_MIN, Math.min(1, (downMs ?? 0) / DAY_MS));
  return { "--down-share": share.toFixed(3) } as React.CSSProperties;
}

function Summary({ last90Days }: Pick<Availability, "last90Days">) {
  const { upShare, downCount, downMs, unmonitoredDays } = last90Days;
  return (
    <span className="ninety-sum">
      {upShare !== null ? (
        <>
          <b>{historyWords.share(upShare)}</b> {historyWords.onTime} ·{" "}
        </>
      ) : (
        downCount !== null && `${historyWords.tooShort} · `
      )}
      {downCount === null || downMs === null
        ? historyWords.uncounted
        : downCount === 0
          ? historyWords.noDowntime
          : historyWords.downtimes(downCount, downMs)}
      {unmonitoredDays > 0 && ` · ${historyWords.unmonitored(unmonitoredDays)}`}
    </span>
  );
}

/** The legend, for the kinds of columns that are shown. */
function Keys({ kinds }: { kinds: ReadonlySet<DayKind> }) {
  const shown = (["up", "down", "quiet", "unmonitored", "uncounted", "before"] as const).filter((kind) =>
    kinds.has(kind),
  );
  return (
    <ul className="ninety-keys" aria-hidden="true">
      {shown.map((kind) => (
        <li key={kind}>
          <i className={`is-${kind}`} />
          {historyWords.keys[kind]}
        </li>
      ))}
    </ul>
  );
}

// One day of the strip.

export type DayKind = "up" | "down" | "unmonitored" | "uncounted" | "quiet" | "before";

export function kindOfDay(day: DayMark): DayKind {
  const { isBeforeCreation, downMs, failCount, successCount, isUnmonitored } = day;
  if (isBeforeCreation) return "before";
  if ((downMs ?? 0) > 0 || failCount > 0) return "down";
  if (isUnmonitored) return "unmonitored";
  if (downMs === null) return "uncounted";
  return successCount > 0 ? "up" : "quiet";
}

/** Whether the table lists a day: it was neither simply good nor simply without pings. */
export function isListed(day: DayMark): boolean {
  const kind = kindOfDay(day);
  return ["down", "unmonitored", "uncounted"].includes(kind) || (kind !== "before" && day.unmonitoredMs > 0);
}

/** A day in a few words. */
export function dayText(day: DayMark): string {
  const { isBeforeCreation, downMs, failCount, successCount, unmonitoredMs } = day;
  if (isBeforeCreation) return historyWords.day.before;
  const parts = [
    successCount > 0 ? historyWords.day.success(successCount) : null,
    failCount > 0 ? historyWords.day.fail(failCount) : null,
    downMs === null ? historyWords.day.uncounted : downMs > 0 ? historyWords.day.down(downMs) : null,
    unmonitoredMs > 0 ? historyWords.day.unmonitored(unmonitoredMs) : null,
  ].filter((text) => text !== null);
  return parts.length === 0 ? historyWords.day.noPings : parts.join(", ");
}

/** The whole strip in one sentence. Days that were not fully observed may be good ones otherwise. */
export function stripText(kinds: readonly DayKind[], unmonitoredDays: number): string {
  const count = (kind: DayKind) => kinds.filter((one) => one === kind).length;
  const parts = [
    historyWords.goodDays(count("up")),
    count("down") > 0 ? historyWords.problemDays(count("down")) : null,
    count("quiet") > 0 ? historyWords.daysWithoutPings(count("quiet")) : null,
    count("uncounted") > 0 ? historyWords.uncountedDays(count("uncounted")) : null,
    unmonitoredDays > 0 ? historyWords.unmonitored(unmonitoredDays) : null,
  ].filter((text) => text !== null);
  return historyWords.strip(parts);
}

// Downtimes of this month and the two before it.

const MONTH = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });

export function Months({ months }: { months: readonly MonthDowntime[] }) {
  return (
    <table className="table check-months">
      <caption>{historyWords.months}</caption>
      <thead>
        <tr>
          <th scope="col">{historyWords.month}</th>
          <th scope="col">{historyWords.count}</th>
          <th scope="col">{historyWords.lasted}</th>
          <th scope="col">{historyWords.available}</th>
        </tr>
      </thead>
      <tbody>
        {months.map(({ month, count, downMs, upShare, isUncounted }, index) => (
          <tr key={month}>
            <th scope="row">
              {MONTH.format(Date.parse(`${month}-01`))}
              {index === 0 && <span className="muted"> · {historyWords.soFar}</span>}
            </th>
            {count === null ? (
              <td colSpan={3} className="muted">
                {isUncounted ? historyWords.uncounted : historyWords.noMonth}
              </td>
            ) : (
              <>
                <td>{formatCount(count)}</td>
                <td>{downMs === null || downMs === 0 ? "–" : formatSpan(downMs)}</td>
                <td>{upShare === null ? historyWords.tooShort : historyWords.share(upShare)}</td>
              </>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// The chart of durations.

const HEIGHT = 198;
const FOOT = 24;
/** Space above the highest bar for the label of the band. */
const HEAD = 26;
/** Room for "800 ms". */
const LEFT = 50;
const BAR_MAX = 7;
const LABEL_WIDTH = 92;
/** As many bars as can be distinguished. */
const BARS_MAX = 120;
/** Fewer bars do not fill the width: they stand at the left, as far apart as these would. */
const BARS_SPREAD_MIN = 12;

type BarMark = {
  key: string;
  ms: number;
  is: "up" | "late" | "down";
  when: string;
  day: string;
  text: string;
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
        <h2 id="check-durations">{chartWords.title}</h2>
        {hasDays && (
          <div className="check-switch" role="group" aria-label={chartWords.by}>
            {(["runs", "days"] as const).map((one) => (
              <button key={one} type="button" aria-pressed={by === one} onClick={() => setBy(one)}>
                {chartWords[one]}
              </button>
            ))}
          </div>
        )}
      </div>
      {bars.length === 0 ? (
        <p className="muted">
          {chartWords.none} <LearnMore to="pings" />
        </p>
      ) : (
        <>
          <Bars id={id} bars={bars} usual={usual} />
          <DurationsTable bars={bars} />
        </>
      )}
    </>
  );
}

type Given = { usual: UsualDuration | null; now: number };

function runBars({ points }: Figures, { usual, now }: Given): BarMark[] {
  const shown = points.slice(-BARS_MAX);
  const dayOf = (at: number) => formatDay(at, { now, zone: userZone });
  // Bars of one day would all have the same label.
  const isOneDay = new Set(shown.map(({ at }) => dayOf(at))).size === 1;
  return shown.map(({ at, durationMs, outcome, n }) => {
    const when = formatWhen(at, { now, zone: userZone });
    const against = usual === null ? null : againstUsual(durationMs, usual);
    const parts = [formatDuration(durationMs), outcome === "fail" ? chartWords.failed : null, against];
    return {
      key: `${at} ${n ?? ""}`,
      ms: durationMs,
      is: outcome === "fail" ? "down" : usual !== null && durationMs > usual.highMs ? "late" : "up",
      when,
      day: isOneDay ? formatClock(at, userZone) : dayOf(at),
      text: parts.filter((text) => text !== null).join(" · "),
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
      text: `${chartWords.mean(meanMs)} · ${chartWords.max(maxMs)}`,
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
  const hovered = pointed === null ? null : bars[pointed];
  return (
    <div ref={ref} className="check-chart">
      <p className="chart-said figures" aria-hidden="true">
        {hovered !== null && hovered !== undefined && (
          <>
            <b>{hovered.when}</b> {hovered.text}
          </>
        )}
      </p>
      <svg
        width={width}
        height={HEIGHT}
        viewBox={`0 0 ${width} ${HEIGHT}`}
        role="img"
        aria-label={chartWords.label(bars.length, usual === null ? null : formatDuration(usual.medianMs))}
        onPointerMove={(event) => setPointed(barAt(event))}
        onPointerLeave={() => setPointed(null)}
        onPointerUp={open}
      >
        <GridLines ticksMs={ticksMs} y={y} width={width} />
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

function GridLines(props: { ticksMs: readonly number[]; y: (ms: number) => number; width: number }) {
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
        {chartWords.usual(usual.lowMs, usual.highMs)}
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

/** The same figures as text. */
function DurationsTable({ bars }: { bars: readonly BarMark[] }) {
  return (
    <details className="chart-twin">
      <summary>{chartWords.table}</summary>
      <div className="chart-twin-scroll" tabIndex={0} role="region" aria-label={chartWords.title}>
        <table className="table">
          <thead>
            <tr>
              <th scope="col">{chartWords.columns.when}</th>
              <th scope="col">{chartWords.columns.took}</th>
            </tr>
          </thead>
          <tbody>
            {bars.toReversed().map(({ key, when, text }) => (
              <tr key={key}>
                <th scope="row">{when}</th>
                <td>{text}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

// Scales of the chart.

/** Round steps. */
const STEPS_MS = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND_MS),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE_MS),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR_MS),
  ...[1, 2, 5, 10, 30, 100].map((count) => count * DAY_MS),
];
const TICKS_MAX = 4;

type Scale = { topMs: number; ticksMs: number[] };

/** Lines at round durations, at most four above zero; the highest bar reaches the top of the scale at most. */
export function scaleFor(highestMs: number): Scale {
  const step = STEPS_MS.find((ms) => ms * TICKS_MAX >= highestMs) ?? Math.ceil(highestMs / TICKS_MAX);
  // Some space above the highest bar.
  const topMs = Math.max(highestMs * 1.06, step);
  const ticksMs = Array.from({ length: Math.floor(topMs / step) + 1 }, (_, index) => index * step);
  return { topMs, ticksMs };
}

/** Up to here the axis is in milliseconds. */
const MILLISECONDS_STEP_MAX = 200;

/** "15 m", "1 h", "0.5 s": short, for the axis. */
export function tickText(ms: number, stepMs: number): string {
  if (stepMs >= DAY_MS) return `${ms / DAY_MS} d`;
  if (stepMs >= HOUR_MS) return `${ms / HOUR_MS} h`;
  if (stepMs >= MINUTE_MS) return `${ms / MINUTE_MS} m`;
  if (stepMs > MILLISECONDS_STEP_MAX) return `${ms / SECOND_MS} s`;
  return `${ms} ms`;
}

/** Indexes of the bars that have a label: evenly spread, including the first and, if there is room, the last. */
export function namedBars(count: number, most: number): number[] {
  if (count <= 1 || most <= 1) return count === 0 ? [] : [0];
  const wanted = Math.min(most, count);
  return [...new Set(Array.from({ length: wanted }, (_, k) => Math.round((k * (count - 1)) / (wanted - 1))))];
}

// The table of runs.

/** A page from the server is longer than a screen; it is shown in steps of this size. */
const SHOWN_STEP = 15;

type Props = {
  id: string;
  query: UseInfiniteQueryResult<InfiniteData<RunsPage>>;
  usual: UsualDuration | null;
};

export function Runs({ checkZone, ...props }: Props & { checkZone: string }) {
  const [shown, setShown] = useState<"runs" | "log">("runs");
  return (
    <section className="check-part" aria-labelledby="check-runs">
      <div className="check-part-head">
        <h2 id="check-runs">{runsWords.titles[shown]}</h2>
        <div className="check-switch" role="group" aria-label={runsWords.list}>
          {(["runs", "log"] as const).map((one) => (
            <button key={one} type="button" aria-pressed={shown === one} onClick={() => setShown(one)}>
              {runsWords.lists[one]}
            </button>
          ))}
        </div>
      </div>
      {shown === "runs" ? <RunsTable {...props} /> : <Log id={props.id} checkZone={checkZone} />}
    </section>
  );
}

function RunsTable({ id, query, usual }: Props) {
  const [most, setMost] = useState(SHOWN_STEP);
  if (query.data === undefined) {
    return query.isError ? <Failed error={query.error} onRetry={() => void query.refetch()} /> : <Loading />;
  }
  const runs = query.data.pages.flatMap((page) => page.runs);
  const showMore = () => {
    setMost(most + SHOWN_STEP);
    if (most + SHOWN_STEP > runs.length && query.hasNextPage) void query.fetchNextPage();
  };
  const { columns } = runsWords;
  return (
    <>
      {runs.length === 0 ? (
        <p className="muted">
          {runsWords.none} <LearnMore to="firstPing" />
        </p>
      ) : (
        <table className="table check-runs" aria-labelledby="check-runs">
          <thead>
            <tr>
              <th scope="col">{columns.outcome}</th>
              <th scope="col">{columns.started}</th>
              <th scope="col">{columns.took}</th>
              <th scope="col" className="is-wide">
                {columns.against}
              </th>
              <th scope="col" className="is-wide">
                {columns.output}
              </th>
            </tr>
          </thead>
          <tbody>
            {runs.slice(0, most).map((run) => (
              <RunLine key={`${run.at} ${run.outcome} ${run.n ?? ""}`} id={id} run={run} usual={usual} />
            ))}
          </tbody>
        </table>
      )}
      {(query.hasNextPage || runs.length > most) && (
        <Button className="check-older" isBusy={query.isFetchingNextPage} onClick={showMore}>
          {runsWords.older}
        </Button>
      )}
    </>
  );
}

/** The shape for the outcome of a run. */
function shapeOf({ outcome, isLate }: Pick<RunRow, "outcome" | "isLate">): DrawnState {
  switch (outcome) {
    case "success":
      return isLate ? "late" : "up";
    case "fail":
    case "missing":
      return "down";
    case "running":
      return "running";
    case "unmonitored":
      return "new";
  }
}

function RunLine({ id, run, usual }: { id: string; run: RunRow; usual: UsualDuration | null }) {
  const now = useMinute();
  const word = outcomeWord(run);
  const startedAt = run.startAt ?? run.at;
  const label = runsWords.open(word, formatWhen(startedAt, { now, zone: userZone }));
  const against =
    run.durationMs === null || usual === null || run.outcome !== "success"
      ? runsWords.nothing
      : againstUsual(run.durationMs, usual);
  return (
    <tr className={run.n === null ? undefined : "is-link"}>
      <td>
        <span className="check-outcome">
          <StateShape state={shapeOf(run)} label={null} />
          {run.n === null ? (
            word
          ) : (
            <Link
              href={pageHref("run", { check: id, n: String(run.n) })}
              className="cover"
              aria-label={label}
            >
              {word}
            </Link>
          )}
        </span>
      </td>
      <td>
        <When at={startedAt} />
      </td>
      <td>{run.durationMs === null ? runsWords.nothing : formatDuration(run.durationMs)}</td>
      <td className="is-wide">{against}</td>
      <td className="is-wide">
        {run.excerpt !== null && (
          <code className="clip" dir="auto">
            {run.excerpt}
          </code>
        )}
      </td>
    </tr>
  );
}

// The log: pings, flips and events, newest first.

/** `checkZone`: the time zone of the check's schedule. */
function Log({ id, checkZone }: { id: string; checkZone: string }) {
  const [chosen, setChosen] = useState<readonly LogKind[]>([]);
  const [zone, setZone] = useState(userZone);
  const zones = [...new Set([userZone, "UTC", knownZone(checkZone)])];
  const asked = askedFor(chosen);
  const query = useInfiniteQuery({
    queryKey: [...checkKey(id), "events", asked],
    queryFn: ({ pageParam }) =>
      call("listEvents", {
        check: id,
        query: { ...asked, ...(pageParam !== null && { cursor: pageParam }) },
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <Chooser {...{ chosen, zone, zones }} onChosen={setChosen} onZone={setZone} />
      <Queried query={query} rows={6}>
        {({ pages }) => <LogTable id={id} events={pages.flatMap(({ events }) => events)} zone={zone} />}
      </Queried>
      {query.hasNextPage && (
        <Button
          className="check-older"
          isBusy={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          {logWords.older}
        </Button>
      )}
    </>
  );
}

type ChooserProps = {
  chosen: readonly LogKind[];
  zone: string;
  zones: readonly string[];
  onChosen: (chosen: readonly LogKind[]) => void;
  onZone: (zone: string) => void;
};

function Chooser({ chosen, zone, zones, onChosen, onZone }: ChooserProps) {
  const turn = (kind: LogKind) =>
    onChosen(chosen.includes(kind) ? chosen.filter((one) => one !== kind) : [...chosen, kind]);
  return (
    <div className="check-log-bar">
      <span className="check-log-kinds" role="group" aria-label={logWords.filter}>
        {LOG_KINDS.map((kind) => (
          <button
            key={kind}
            type="button"
            className="chip is-quiet"
            aria-pressed={chosen.includes(kind)}
            onClick={() => turn(kind)}
          >
            {logWords.kinds[kind]}
          </button>
        ))}
      </span>
      <select
        className="select-bare"
        aria-label={eventsWords.zone}
        value={zone}
        onChange={(change) => onZone(change.target.value)}
      >
        {zones.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </div>
  );
}

function LogTable({ id, events, zone }: { id: string; events: readonly EventRow[]; zone: string }) {
  const { columns } = logWords;
  if (events.length === 0) return <p className="muted">{logWords.none}</p>;
  return (
    <table className="table check-runs check-log" aria-labelledby="check-runs">
      <thead>
        <tr>
          <th scope="col">{columns.what}</th>
          <th scope="col">{columns.when}</th>
          <th scope="col">{columns.took}</th>
          <th scope="col" className="is-wide">
            {columns.from}
          </th>
        </tr>
      </thead>
      <tbody>
        {events.map((event) => (
          <Line
            key={`${event.type} ${event.type === "ping" ? event.n : event.id}`}
            {...{ id, event, zone }}
          />
        ))}
      </tbody>
    </table>
  );
}

const PING_MARKS: Readonly<Record<string, DrawnState>> = { success: "up", fail: "down", start: "running" };
const EVENT_MARKS: Readonly<Record<string, DrawnState>> = { paused: "paused", not_observed: "new" };

function markOf(event: EventRow): DrawnState | undefined {
  if (event.type === "flip") return event.to;
  return event.type === "ping" ? PING_MARKS[event.kind] : EVENT_MARKS[event.kind];
}

function Line({ id, event, zone }: { id: string; event: EventRow; zone: string }) {
  const mark = markOf(event);
  const isPing = event.type === "ping";
  return (
    <tr className={isPing ? "is-link" : undefined}>
      <td>
        <span className="check-outcome">
          {mark === undefined ? <i className="check-no-mark" /> : <StateShape state={mark} label={null} />}
          {isPing ? <PingLink id={id} ping={event} /> : eventSentence(event)}
        </span>
        {isPing && event.excerpt !== null && (
          <code className="clip" dir="auto">
            {event.excerpt}
          </code>
        )}
      </td>
      <td>
        <When at={event.at} zone={zone} />
      </td>
      <td>{isPing && event.durationMs !== null ? formatDuration(event.durationMs) : runsWords.nothing}</td>
      <td className="is-wide muted">{isPing ? event.source : event.type === "event" && event.by}</td>
    </tr>
  );
}

function PingLink({ id, ping }: { id: string; ping: Extract<EventRow, { type: "ping" }> }) {
  const title = runTitle(ping);
  const when = formatWhen(ping.at, { now: useMinute(), zone: userZone });
  return (
    <Link
      href={pageHref("run", { check: id, n: String(ping.n) })}
      className="cover"
      aria-label={logWords.open(title, when)}
    >
      {title}
    </Link>
  );
}

// Filters of the log.

const PING_KINDS = ["success", "fail", "start", "log", "ign"] as const satisfies readonly PingKind[];

export const LOG_KINDS = [...PING_KINDS, "flip", "event"] as const;
export type LogKind = (typeof LOG_KINDS)[number];

/** The filters as parameters of the request. No filter means everything. */
export function askedFor(chosen: readonly LogKind[]): { types?: string; pingKinds?: string } {
  if (chosen.length === 0) return {};
  const pingKinds = PING_KINDS.filter((kind) => chosen.includes(kind));
  const others = (["flip", "event"] as const).filter((kind) => chosen.includes(kind));
  return {
    types: [...(pingKinds.length > 0 ? ["ping"] : []), ...others].join(","),
    ...(pingKinds.length > 0 && { pingKinds: pingKinds.join(",") }),
  };
}
