// The timeline as tables: checks or tags, runs at once, and what is marked on the axis.
import { Link } from "wouter";
import type {
  Mark,
  Timeline,
  TimelineClockChange,
  TimelineRow,
} from "../../src/contract/api/timeline-marks.ts";
import { checkName, formatCount } from "../../src/contract/api/words.ts";
import { userZone } from "../boot.ts";
import { pageHref } from "../page-location.ts";
import { StateMark } from "../ui/marks.tsx";
import { When } from "../ui/when.tsx";
import { formatWhen, type Reader } from "../words/format.ts";
import { groupName, PROBLEM_WORDS, tableWords as words } from "../words/timeline.ts";
import { columnsOf } from "./timeline-drawing.ts";
import { marksOf } from "./timeline-lines.ts";
import type { Range } from "./timeline-view.ts";

type Props = { timeline: Timeline; range: Range; now: number; clocks: readonly TimelineClockChange[] };

export function TimelineTable({ timeline, range, now, clocks }: Props) {
  const reader = { now, zone: userZone };
  return (
    <div className="tl-tables">
      {timeline.mode === "density" && <LaneTable timeline={timeline} />}
      <CheckTable timeline={timeline} reader={reader} />
      <LoadTable timeline={timeline} range={range} reader={reader} />
      <EventTable timeline={timeline} clocks={clocks} />
    </div>
  );
}

function CheckTable({ timeline, reader }: { timeline: Timeline; reader: Reader }) {
  const groups: readonly { tag: string | null; isRest?: boolean; rows: readonly TimelineRow[] }[] =
    timeline.mode === "density" ? timeline.lanes : timeline.groups;
  if (groups.every(({ rows }) => rows.length === 0)) return null;
  return (
    <table className="table tl-table">
      <caption>{words.checks}</caption>
      <thead>
        <tr>
          {[words.check, words.state, words.tag, words.ran, words.late, words.failed, words.missed].map(
            (text) => (
              <th key={text} scope="col">
                {text}
              </th>
            ),
          )}
          <th scope="col">{words.problems}</th>
          <th scope="col">{words.last}</th>
          <th scope="col">{words.next}</th>
        </tr>
      </thead>
      <tbody>
        {groups.flatMap((group) =>
          group.rows.map((row) => (
            <CheckLine
              key={row.id}
              row={row}
              marks={marksOf(timeline, row)}
              tag={groupName(group)}
              reader={reader}
            />
          )),
        )}
      </tbody>
    </table>
  );
}

/** More problems than these are counted. */
const PROBLEMS_MAX = 5;

type LineProps = { row: TimelineRow; marks: readonly Mark[]; tag: string; reader: Reader };

function CheckLine({ row, marks, tag, reader }: LineProps) {
  const { ran, late, failed, missed } = countsOf(marks);
  const problems = problemsOf(marks);
  const last = marks.findLast(
    ({ kind, count }) => count > 0 && (kind === "ran" || kind === "late" || kind === "failed"),
  );
  const next = marks.find(({ kind }) => kind === "ahead");
  return (
    <tr>
      <th scope="row">
        <Link className="link" href={pageHref("check", { check: row.id })}>
          {checkName(row)}
        </Link>
      </th>
      <td>
        <StateMark state={row.state} />
      </td>
      <td>{tag}</td>
      {[ran, late, failed, missed].map((count, index) => (
        <td key={index} className="tl-figure">
          {formatCount(count)}
        </td>
      ))}
      <td>
        {problems
          .slice(-PROBLEMS_MAX)
          .map(({ kind, count, from, expectedAt }) => {
            const at = formatWhen(count === 0 ? expectedAt : from, reader);
            return `${PROBLEM_WORDS[kind]} ${at}`;
          })
          .join(", ")}
        {problems.length > PROBLEMS_MAX && `, ${words.moreProblems(problems.length - PROBLEMS_MAX)}`}
        {problems.length === 0 && words.nothing}
      </td>
      <td>{last === undefined ? words.nothing : <When at={last.count > 1 ? last.to : last.from} />}</td>
      <td>{next === undefined ? words.nothing : <When at={next.from} />}</td>
    </tr>
  );
}

type Problem = Mark & { kind: keyof typeof PROBLEM_WORDS };

function problemsOf(marks: readonly Mark[]): Problem[] {
  return marks.filter((mark): mark is Problem => mark.kind in PROBLEM_WORDS);
}

/** How many runs of each kind are on a row. */
function countsOf(marks: readonly Mark[]): Record<"ran" | "late" | "failed" | "missed", number> {
  const counts = { ran: 0, late: 0, failed: 0, missed: 0 };
  for (const { kind, count } of marks) {
    if (kind === "ran" || kind === "late" || kind === "failed" || kind === "missed") counts[kind] += count;
  }
  return counts;
}

function LaneTable({ timeline }: { timeline: Timeline }) {
  const sum = (values: readonly number[]) => formatCount(values.reduce((total, value) => total + value, 0));
  return (
    <table className="table tl-table">
      <caption>{words.lanes}</caption>
      <thead>
        <tr>
          {[words.tag, words.checkCount, words.down, words.late, words.ran, words.failed, words.missed].map(
            (text) => (
              <th key={text} scope="col">
                {text}
              </th>
            ),
          )}
        </tr>
      </thead>
      <tbody>
        {timeline.lanes.map((lane) => (
          <tr key={`${lane.isRest} ${lane.tag}`}>
            <th scope="row">{groupName(lane)}</th>
            {[
              formatCount(lane.count),
              formatCount(lane.downCount),
              formatCount(lane.lateCount),
              sum(lane.ran),
              sum(lane.failed),
              sum(lane.missed),
            ].map((text, index) => (
              <td key={index} className="tl-figure">
                {text}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Lines of the table of runs at once: as many as can be read. */
const LOAD_LINES = 24;

function LoadTable({ timeline, range, reader }: { timeline: Timeline; range: Range; reader: Reader }) {
  const { load } = timeline;
  const columns = columnsOf(
    { fromAt: load.from, stepMs: load.columnMs, values: load.counts },
    { ...range, width: LOAD_LINES },
    { leastPx: 1, by: "max" },
  );
  if (columns.length === 0) return null;
  return (
    <table className="table tl-table is-narrow">
      <caption>{words.load}</caption>
      <thead>
        <tr>
          <th scope="col">{words.time}</th>
          <th scope="col">{words.most}</th>
        </tr>
      </thead>
      <tbody>
        {columns.map(({ at, value }) => (
          <tr key={at}>
            <th scope="row">
              {at > reader.now ? words.predicted(formatWhen(at, reader)) : formatWhen(at, reader)}
            </th>
            <td className="tl-figure">{formatCount(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function EventTable({ timeline, clocks }: Pick<Props, "timeline" | "clocks">) {
  const events = [
    ...timeline.silences.flatMap((silence) =>
      silence.windows.map(({ from, until }) => ({ what: words.silence(silence), from, to: until })),
    ),
    ...timeline.gaps.map(({ from, to }) => ({ what: words.gap, from, to })),
    ...clocks.map((change) => ({ what: words.clock(change), from: change.at, to: null })),
  ].toSorted((a, b) => a.from - b.from);
  if (events.length === 0) return null;
  return (
    <table className="table tl-table is-narrow">
      <caption>{words.marks}</caption>
      <thead>
        <tr>
          <th scope="col">{words.what}</th>
          <th scope="col">{words.from}</th>
          <th scope="col">{words.to}</th>
        </tr>
      </thead>
      <tbody>
        {events.map(({ what, from, to }) => (
          <tr key={`${what} ${from}`}>
            <th scope="row">{what}</th>
            <td>
              <When at={from} />
            </td>
            <td>{to === null ? words.nothing : <When at={to} />}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
