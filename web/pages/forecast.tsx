// The forecast page: what will be different from usual in the next 12 months, as a calendar and as a list with fixes.
import "./forecast.css";
import { useQuery } from "@tanstack/react-query";
import { Fragment, useState } from "react";
import type { Forecast, ForecastCrowd, ForecastEntry } from "../../src/contract/api/forecast.ts";
import { call } from "../api.ts";
import { mayIn } from "../boot.ts";
import { useMinute } from "../live/clock.ts";
import { type PageProps, usePageTitle } from "../page-location.ts";
import {
  Badge,
  FixDialog,
  ForecastItem,
  forecastKey,
  shortDate,
  useIntend,
  weekday,
} from "../parts/forecast-entry.tsx";
import { useWidth } from "../parts/hooks.ts";
import { Button } from "../ui/button.tsx";
import { DocsLink } from "../ui/docs-link.tsx";
import { Empty, Queried } from "../ui/page-state.tsx";
import { badgeText, forecastWords as words } from "../words/forecast.ts";
import { FeedDialog } from "./forecast-feed.tsx";

export function ForecastPage({ params }: PageProps) {
  const project = params.project ?? "";
  const query = useQuery({
    queryKey: [...forecastKey, project],
    queryFn: ({ signal }) => call("getForecast", { project }, signal),
    refetchOnWindowFocus: true,
  });
  const [isFeedOpen, setFeedOpen] = useState(false);
  const { data } = query;
  const isNone = data?.checkCount === 0;
  const title = data === undefined ? words.tab : isNone ? words.none.title : words.title(data.total);
  usePageTitle(title);
  return (
    <>
      <header className="top">
        <h1>{title}</h1>
        <DocsLink to="forecast" />
        {data !== undefined && !isNone && (
          <Button onClick={() => setFeedOpen(true)}>{words.feed.open}</Button>
        )}
      </header>
      <Queried query={query}>
        {(forecast) =>
          forecast.checkCount === 0 ? (
            <Empty title={words.none.title} docs="forecast">
              <p>{words.none.text}</p>
            </Empty>
          ) : (
            <Shown forecast={forecast} project={project} />
          )
        }
      </Queried>
      {isFeedOpen && data !== undefined && (
        <FeedDialog project={project} createdAt={data.feedCreatedAt} onClose={() => setFeedOpen(false)} />
      )}
    </>
  );
}

const LISTED_FIRST = 20;

function Shown({ forecast, project }: { forecast: Forecast; project: string }) {
  const now = useMinute();
  const mayEdit = mayIn(project, "editChecks");
  const [shown, setShown] = useState(LISTED_FIRST);
  const { entries, intended, crowd } = forecast;
  const item = { project, mayEdit, now, check: null };
  const hidden = entries.length - shown;
  return (
    <>
      <Lead forecast={forecast} now={now} />
      <YearCalendar forecast={forecast} now={now} />
      <div className={`forecast-cols${crowd === null || crowd.isIntended ? " is-single" : ""}`}>
        <div>
          {entries.length > 0 && (
            <section aria-labelledby="forecast-list">
              <h2 id="forecast-list">{words.comingUp}</h2>
              {entries.slice(0, shown).map((entry) => (
                <ForecastItem key={entry.id} entry={entry} {...item} />
              ))}
              {hidden > 0 && (
                <Button onClick={() => setShown(shown + LISTED_FIRST)}>
                  {words.more(Math.min(hidden, LISTED_FIRST))}
                </Button>
              )}
              {forecast.isTruncated && <p className="forecast-note">{words.truncated}</p>}
            </section>
          )}
          {intended.length > 0 && (
            <section className="forecast-intended" aria-labelledby="forecast-intended">
              <h2 id="forecast-intended">{words.intended}</h2>
              <p className="forecast-note">{words.intendedAbout}</p>
              {intended.map((entry) => (
                <ForecastItem key={entry.id} entry={entry} {...item} />
              ))}
            </section>
          )}
        </div>
        {crowd !== null && !crowd.isIntended && (
          <CrowdPanel crowd={crowd} project={project} mayEdit={mayEdit} />
        )}
      </div>
    </>
  );
}

/** The nearest surprise and the worst one, in one sentence each. */
function Lead({ forecast: { entries, worst: worstId }, now }: { forecast: Forecast; now: number }) {
  if (entries.length === 0) return <p className="forecast-lead">{words.calm}</p>;
  const nearest = entries.find(({ dates }) => dates.length > 0);
  const worst = entries.find(({ id, dates }) => id === worstId && dates.length > 0);
  return (
    <p className="forecast-lead">
      {nearest !== undefined && <LeadPart start={words.nearest} entry={nearest} now={now} />}{" "}
      {worst !== undefined && worst !== nearest && <LeadPart start={words.worst} entry={worst} now={now} />}
    </p>
  );
}

function LeadPart({ start, entry, now }: { start: string; entry: ForecastEntry; now: number }) {
  return (
    <span>
      {start} <b>{shortDate(entry.dates[0] ?? "", now)}</b>, <span dir="auto">{entry.title}</span>.
    </span>
  );
}

// The year as a calendar: a row for each month, aligned by weekday.

const MONTH_ROWS = 13;
const COLUMNS = 37;
const WEEK = 7;
const PHONE_WIDTH = 640;
const TOP = 18;
const WEEKDAY_LETTERS = ["M", "T", "W", "T", "F", "S", "S"];

type Mark = { date: string; entry: ForecastEntry; all: ForecastEntry[] };

/** Of several surprises of a day, the one that says most is drawn. */
const WEIGHT: Readonly<Record<ForecastEntry["kind"], number>> = {
  missed: 6,
  repeated: 5,
  skipped: 4,
  moved: 3,
  last: 2,
  crowded: 1,
  either: 0,
  ended: 0,
};

function marksOf(entries: readonly ForecastEntry[]): Map<string, Mark> {
  const marks = new Map<string, Mark>();
  for (const entry of entries) {
    for (const date of entry.dates) {
      const mark = marks.get(date) ?? { date, entry, all: [] };
      mark.all.push(entry);
      if (WEIGHT[entry.kind] > WEIGHT[mark.entry.kind]) mark.entry = entry;
      marks.set(date, mark);
    }
  }
  return marks;
}

const isoDate = (day: Date) => day.toISOString().slice(0, 10);
const monthName = (day: Date, length: "short" | "long") =>
  new Intl.DateTimeFormat("en-US", { month: length, timeZone: "UTC" }).format(day);

function YearCalendar({ forecast, now }: { forecast: Forecast; now: number }) {
  const [width, ref] = useWidth<HTMLDivElement>(974);
  const isPhone = width < PHONE_WIDTH;
  const left = isPhone ? 30 : 62;
  const cell = (width - left) / COLUMNS;
  const rowHeight = isPhone ? 18 : 25;
  const start = new Date(forecast.from);
  const months = Array.from(
    { length: MONTH_ROWS },
    (_, index) => new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + index, 1)),
  );
  const marks = marksOf(forecast.entries);
  const [first = start] = months;
  const last = months.at(-1) ?? start;
  const named = (day: Date) => `${monthName(day, "long")} ${day.getUTCFullYear()}`;
  const height = TOP + MONTH_ROWS * rowHeight;
  const grid = { left, cell, rowHeight, isPhone };
  return (
    <section className="panel forecast-year">
      <div ref={ref}>
        <svg
          width={width}
          height={height}
          viewBox={`0 0 ${width} ${height}`}
          role="img"
          aria-label={words.calendar.label(named(first), named(last))}
        >
          {Array.from({ length: COLUMNS }, (_, column) => (
            <Fragment key={column}>
              {column % WEEK > 4 && (
                <rect
                  className="forecast-weekend"
                  x={left + column * cell}
                  y={TOP}
                  width={cell}
                  height={MONTH_ROWS * rowHeight}
                />
              )}
              {(!isPhone || column % WEEK === 0) && (
                <text className="forecast-axis" x={left + (column + 0.5) * cell} y={11} textAnchor="middle">
                  {WEEKDAY_LETTERS[column % WEEK]}
                </text>
              )}
            </Fragment>
          ))}
          {months.map((month, index) => (
            <MonthRow
              key={isoDate(month)}
              month={month}
              index={index}
              grid={grid}
              marks={marks}
              forecast={forecast}
            />
          ))}
        </svg>
      </div>
      <Legend
        kinds={new Set([...marks.values()].map(({ entry }) => entry.kind))}
        entries={forecast.entries}
      />
      <CalendarTable marks={marks} now={now} />
    </section>
  );
}

type Grid = { left: number; cell: number; rowHeight: number; isPhone: boolean };
type MonthProps = {
  month: Date;
  index: number;
  grid: Grid;
  marks: ReadonlyMap<string, Mark>;
  forecast: Forecast;
};

function MonthRow({ month, index, grid, marks, forecast }: MonthProps) {
  const { left, cell, rowHeight, isPhone } = grid;
  const year = month.getUTCFullYear();
  const number = month.getUTCMonth();
  const dayCount = new Date(Date.UTC(year, number + 1, 0)).getUTCDate();
  const offset = (month.getUTCDay() + WEEK - 1) % WEEK;
  const y = TOP + index * rowHeight;
  const isStrong = index === 0 || number === 0;
  const today = isoDate(new Date(forecast.from));
  const name = monthName(month, "short");
  return (
    <>
      <path className="forecast-rule" d={`M0 ${y}H${left + COLUMNS * cell}`} />
      <text className={`forecast-month${isStrong ? " is-strong" : ""}`} x={0} y={y + rowHeight / 2 + 4}>
        {isStrong && !isPhone ? `${name} ${year}` : name}
      </text>
      {Array.from({ length: dayCount }, (_, day) => {
        const date = isoDate(new Date(Date.UTC(year, number, day + 1)));
        const at = Date.parse(date);
        const x = left + (offset + day) * cell;
        const mark = marks.get(date);
        const isOut = at < forecast.from || at >= forecast.until;
        return (
          <Fragment key={date}>
            {date === today && (
              <rect
                className="forecast-today"
                x={x + 1}
                y={y + 1}
                width={cell - 2}
                height={rowHeight - 2}
                rx={5}
              />
            )}
            {mark !== undefined ? (
              <DayMark mark={mark} x={x} y={y} grid={grid} />
            ) : isOut ? null : isPhone ? (
              <circle className="forecast-dot" cx={x + cell / 2} cy={y + rowHeight / 2} r={1.1} />
            ) : (
              <text className="forecast-axis" x={x + cell / 2} y={y + rowHeight / 2 + 4} textAnchor="middle">
                {day + 1}
              </text>
            )}
          </Fragment>
        );
      })}
    </>
  );
}

function DayMark({ mark, x, y, grid }: { mark: Mark; x: number; y: number; grid: Grid }) {
  const { cell, rowHeight, isPhone } = grid;
  const inset = isPhone ? 0.3 : 2;
  const box = { x: x + inset, y: y + 4, width: cell - inset * 2, height: rowHeight - 8, rx: isPhone ? 2 : 5 };
  const { kind } = mark.entry;
  return (
    <g className={`forecast-mark is-${kind}`}>
      <title>{mark.all.map(({ title }) => title).join("; ")}</title>
      <rect {...box} />
      {kind === "skipped" ? (
        <path d={`M${box.x + 3} ${box.y + box.height - 2}L${box.x + box.width - 3} ${box.y + 2}`} />
      ) : (
        !isPhone && (
          <text x={x + cell / 2} y={y + rowHeight / 2 + 4} textAnchor="middle">
            {badgeText(mark.entry)}
          </text>
        )
      )}
    </g>
  );
}

type LegendKind = "repeated" | "missed" | "moved" | "skipped" | "crowded" | "last";
const LEGEND: readonly LegendKind[] = ["repeated", "missed", "moved", "skipped", "crowded", "last"];

function Legend({
  kinds,
  entries,
}: {
  kinds: ReadonlySet<ForecastEntry["kind"]>;
  entries: readonly ForecastEntry[];
}) {
  return (
    <p className="forecast-legend">
      {LEGEND.filter((kind) => kinds.has(kind)).map((kind) => (
        <span key={kind}>
          <Badge entry={{ kind, count: entries.find((entry) => entry.kind === kind)?.count ?? 0 }} />
          {words.calendar.legend[kind]}
        </span>
      ))}
      <span>
        <i className="forecast-today-key" />
        {words.calendar.legend.today}
      </span>
    </p>
  );
}

/** The same as a table. */
function CalendarTable({ marks, now }: { marks: ReadonlyMap<string, Mark>; now: number }) {
  const days = [...marks.values()].toSorted((one, other) => one.date.localeCompare(other.date));
  if (days.length === 0) return null;
  return (
    <details className="chart-twin">
      <summary>{words.calendar.table}</summary>
      <div className="chart-twin-scroll" tabIndex={0} role="region" aria-label={words.calendar.table}>
        <table className="table">
          <thead>
            <tr>
              <th scope="col">{words.calendar.day}</th>
              <th scope="col">{words.calendar.what}</th>
            </tr>
          </thead>
          <tbody>
            {days.map(({ date, all }) => (
              <tr key={date}>
                <th scope="row">
                  {weekday(date)} {shortDate(date, now)}
                </th>
                <td>{all.map(({ title }) => title).join("; ")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

// Crowded minutes

const CHART = { width: 310, height: 112, left: 18, bottom: 94, bar: 9, step: 12.2, rise: 81 };

function CrowdPanel({
  crowd,
  project,
  mayEdit,
}: {
  crowd: ForecastCrowd;
  project: string;
  mayEdit: boolean;
}) {
  const [isOpen, setOpen] = useState(false);
  const intend = useIntend(project);
  const { time, count, changes, spreadMinutes, atOnce, endsAt } = crowd;
  return (
    <section className="panel forecast-crowd" aria-labelledby="forecast-crowd">
      <h2 id="forecast-crowd">{words.crowd.title(time)}</h2>
      <HoursChart crowd={crowd} />
      <p>
        {words.crowd.text(count, time)}{" "}
        {changes.length > 0 && (
          <>
            {words.crowd.plan(spreadMinutes, atOnce)}
            {endsAt === null ? "." : words.crowd.end(endsAt)}
          </>
        )}
      </p>
      {mayEdit && (
        <div className="forecast-acts">
          {changes.length > 0 && <Button onClick={() => setOpen(true)}>{words.crowd.act}</Button>}
          <Button
            kind="bare"
            isBusy={intend.isBusy}
            onClick={() =>
              void intend.mark({
                entry: "crowd",
                check: null,
                isIntended: true,
                done: words.crowd.fineDone(time),
              })
            }
          >
            {words.crowd.fine}
          </Button>
        </div>
      )}
      {isOpen && (
        <FixDialog
          project={project}
          entry="crowd"
          fix={{ kind: "spread", changes }}
          title={words.crowd.window}
          rest={0}
          onClose={() => setOpen(false)}
        />
      )}
    </section>
  );
}

const hourText = (hour: number) => `${String(hour).padStart(2, "0")}:00`;

function HoursChart({ crowd: { hours, spreadHours, time, count } }: { crowd: ForecastCrowd }) {
  const { width, height, left, bottom, bar, step, rise } = CHART;
  const most = Math.max(1, ...hours);
  const y = (value: number) => bottom - (value / most) * rise;
  const lines = [1, 2, 3].map((third) => Math.round((most * third) / 3)).filter((value) => value > 0);
  const peak = hours.indexOf(most);
  const isLate = peak > 12;
  const labelX = left + peak * step + (isLate ? -6 : bar + 6);
  const anchor = isLate ? "end" : "start";
  return (
    <>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={words.crowd.label(count, time)}>
        {[...new Set(lines)].map((value) => (
          <Fragment key={value}>
            <path className="forecast-rule" d={`M16 ${y(value)}H${width}`} />
            <text className="forecast-axis" x={0} y={y(value) + 4}>
              {value}
            </text>
          </Fragment>
        ))}
        {hours.map((value, hour) => {
          const x = left + hour * step;
          const spread = spreadHours[hour] ?? value;
          const level = value > most * 0.7 ? 4 : value > most * 0.25 ? 3 : 2;
          return (
            <Fragment key={hour}>
              <rect
                className={`forecast-load is-${level}`}
                x={x}
                y={y(value)}
                width={bar}
                height={bottom - y(value)}
                rx={2}
              />
              {spread !== value && <path className="forecast-spread" d={`M${x - 2} ${y(spread)}h13`} />}
            </Fragment>
          );
        })}
        <path className="forecast-base" d={`M16 ${bottom + 0.5}H${width}`} />
        {[0, 6, 12, 18].map((hour) => (
          <text key={hour} className="forecast-axis" x={left + hour * step} y={109}>
            {hourText(hour)}
          </text>
        ))}
        <text className="forecast-peak" x={labelX} y={20} textAnchor={anchor}>
          {words.crowd.peak(count, time)}
        </text>
        <text className="forecast-key" x={labelX} y={38} textAnchor={anchor}>
          <tspan className="forecast-key-line">━</tspan> {words.crowd.spread}
        </text>
      </svg>
      <details className="chart-twin">
        <summary>{words.crowd.table}</summary>
        <div className="chart-twin-scroll" tabIndex={0} role="region" aria-label={words.crowd.title(time)}>
          <table className="table">
            <thead>
              <tr>
                <th scope="col">{words.crowd.hour}</th>
                <th scope="col">{words.crowd.now}</th>
                <th scope="col">{words.crowd.after}</th>
              </tr>
            </thead>
            <tbody>
              {hours.map((value, hour) => (
                <tr key={hour}>
                  <th scope="row">{hourText(hour)}</th>
                  <td>{value}</td>
                  <td>{spreadHours[hour] ?? value}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </>
  );
}
