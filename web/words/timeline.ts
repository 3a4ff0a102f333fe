// The texts of the timeline.
import { checkName, formatCount, STATE_WORDS } from "../../src/contract/api/words.ts";
import {
  type Mark,
  type MarkKind,
  type Timeline,
  type TimelineClockChange,
  type TimelineGroup,
  type TimelineLane,
  type TimelineRange,
  type TimelineRow,
  type TimelineSilence,
  unpackMarks,
} from "../../src/contract/api/timeline-marks.ts";
import type { FilterState } from "../pages/timeline-view.ts";
import {
  dayNumber,
  formatClock,
  formatDate,
  formatDuration,
  formatSpan,
  formatWhen,
  plural,
  type Reader,
} from "./format.ts";

export const timelineWords = {
  search: "Find a check or tag",
  searchLabel: "Search checks and tags",
  zoom: "Time range",
  zooms: {
    "6h": "6 h",
    "24h": "24 h",
    "7d": "7 d",
    "30d": "30 d",
    "90d": "90 d",
  } as const satisfies Record<TimelineRange, string>,
  earlier: "Earlier",
  later: "Later",
  now: "Now",
  detail: "Detail",
  rows: "Rows",
  density: "Density",
  group: (isGrouped: boolean) => `Group by: ${isGrouped ? "tag" : "none"}`,
  groupLabel: "Group by",
  groups: { tag: "Tag", none: "None" },
  state: (state: FilterState | null) => `Status: ${state === null ? "any" : stateName(state)}`,
  stateLabel: "Status",
  anyState: "Any",
  tag: (tag: string) => `Tag: ${tag}`,
  removeTag: (tag: string) => `Show all tags, not only ${tag}`,
  filters: "Filters",
  table: "View as a table",
  chart: "View as a chart",
  zone: (zone: string) => `${zone.split("/").at(-1)?.replaceAll("_", " ") ?? zone} time`,
  hours: (hours: number) => `${hours} hours today`,
  load: "Running at once",
  loadMean: "Running on average",
  loadEstimate: "Estimated from schedules and usual durations",
  peak: (count: number) => `${formatCount(count)} at once`,
  peakMean: (count: number) => `${formatCount(count)} on average`,
  untagged: "No tag",
  ungrouped: "All checks",
  rest: "Other tags",
  fold: (name: string) => `Collapse ${name}`,
  unfold: (name: string) => `Expand ${name}`,
  onTime: "all on time",
  more: (count: number) => `${formatCount(count)} more`,
  moreRows: "Show more checks",
  silenced: (reason: string) => (reason === "" ? "silenced" : `silenced: ${reason}`),
  gap: "not monitored",
  legend: "Legend",
  keys: {
    ran: "ran",
    ribbon: "ran often, merged",
    late: "ran late",
    failed: "failed",
    missed: "no ping",
    running: "running",
    ahead: "predicted",
    silenced: "silenced",
    paused: "paused",
    changed: "schedule changed",
    gap: "not monitored",
    laneRan: "ran, above the line",
    laneFailed: "failed, below the line",
    laneMissed: "no ping, below the line",
  },
  hints: { move: "move", zoom: "zoom", now: "now", runs: "runs", drag: "drag to zoom" },
  shortcuts: {
    group: "Timeline",
    earlier: "Earlier",
    later: "Later",
    zoomIn: "Zoom in",
    zoomOut: "Zoom out",
    now: "Back to now",
    search: "Search",
    up: "Previous row",
    down: "Next row",
    previous: "Previous run in the row",
    next: "Next run in the row",
  },
  none: {
    title: "No checks yet",
    what: "Every run on one time axis",
    text: "Once jobs send pings, this page shows when they ran, how long they took, and when they are expected next.",
    act: "Go to checks",
  },
  noMatch: { title: "No matching checks", text: "Change the search or the filters.", act: "Show all checks" },
  open: "Open",
  lanesFrom: {
    schedule: "Past runs are estimated from schedules and outages.",
    days: "Past runs are daily totals in UTC.",
  },
} as const;

export function stateName(state: FilterState): string {
  return state === "trouble" ? "down or late" : STATE_WORDS[state];
}

/** The name of a group or lane. */
export function groupName({ tag, isRest = false }: { tag: string | null; isRest?: boolean }): string {
  return isRest ? timelineWords.rest : (tag ?? timelineWords.untagged);
}

type Counted = { count: number; downCount: number; lateCount: number };

/** "12 checks · 3 down · 1 late"; what needs attention is separate, as it has a color. */
export function countTexts({ count, downCount, lateCount }: Counted): {
  checks: string;
  down: string | null;
  late: string | null;
} {
  return {
    checks: plural(count, "check"),
    down: downCount > 0 ? `${formatCount(downCount)} down` : null,
    late: lateCount > 0 ? `${formatCount(lateCount)} late` : null,
  };
}

/** "all 12 stopped at 05:23" */
export function stoppedText(
  { count, stopped }: Pick<TimelineGroup, "count" | "stopped">,
  reader: Reader,
): string {
  if (stopped === null) return "";
  const who = stopped.count === count ? `all ${formatCount(count)}` : formatCount(stopped.count);
  return `${who} stopped ${atText(stopped.at, reader)}`;
}

/** "at 05:23", and with the day unless it is today: "yesterday at 05:23". */
function atText(at: number, reader: Reader): string {
  const isToday = dayNumber(at, reader.zone) === dayNumber(reader.now, reader.zone);
  return isToday ? `at ${formatClock(at, reader.zone)}` : formatWhen(at, reader);
}

// The title: what matters now.

type Titled = Pick<Timeline, "total" | "counts" | "groups" | "lanes" | "mode">;

export function timelineTitle({ total, counts, groups, lanes, mode }: Titled, reader: Reader): string {
  const { down, late } = counts;
  const parts: readonly (TimelineGroup | TimelineLane)[] = mode === "rows" ? groups : lanes;
  const quiet = parts
    // A few checks of a large group do not make the group quiet.
    .filter(({ stopped, tag, count }) => stopped !== null && tag !== null && stopped.count * 2 >= count)
    .toSorted((a, b) => (b.stopped?.count ?? 0) - (a.stopped?.count ?? 0))[0];
  if (total === 0) return timelineWords.none.title;
  if (quiet !== undefined && quiet.stopped !== null && quiet.stopped.count * 2 > down) {
    const rest = down + late - quiet.stopped.count;
    const others =
      rest <= 0
        ? "everything else runs"
        : `${formatCount(rest)} more ${rest === 1 ? "needs" : "need"} attention`;
    return `${groupName(quiet)} went quiet ${atText(quiet.stopped.at, reader)}, ${others}`;
  }
  if (mode === "density" && down + late > 0)
    return `${formatCount(down + late)} of ${plural(total, "check")} need${down + late === 1 ? "s" : ""} attention`;
  if (down > 0) {
    const lateText = late > 0 ? `, ${formatCount(late)} ${late === 1 ? "is" : "are"} late` : "";
    return `${plural(down, "check")} ${down === 1 ? "is" : "are"} down${lateText}`;
  }
  if (late > 0) return `${plural(late, "check")} ${late === 1 ? "is" : "are"} late`;
  return counts.new === total ? "Waiting for the first pings" : "Everything runs on time";
}

// The sentence below it: at most two facts.

/** Parts of the lead; those that are strong say what is special. */
export type LeadPart = { text: string; isStrong?: boolean };

export function leadOf(
  timeline: Timeline,
  clocks: readonly TimelineClockChange[],
  reader: Reader,
): LeadPart[][] {
  const facts: LeadPart[][] = [];
  const change = clocks.find(({ isOwn, checkCount }) => isOwn || checkCount > 0);
  if (change !== undefined) facts.push(clockFact(change, reader));
  const [gap] = timeline.gaps;
  if (gap !== undefined) {
    facts.push([
      { text: `Overdue could not receive pings ` },
      { text: `for ${formatSpan(gap.to - gap.from)}`, isStrong: true },
      { text: `, ${formatWhen(gap.from, reader)}.` },
    ]);
  }
  if (timeline.mode === "density") {
    return [
      [
        { text: "Each lane is a tag. Runs that came are above the line, failed and missed ones below. " },
        { text: "Checks that are down or late", isStrong: true },
        { text: " are listed under their lane." },
      ],
    ];
  }
  const { peak } = timeline.load;
  if (peak !== null && peak.count > 1) {
    facts.push([
      { text: "At most " },
      { text: `${formatCount(peak.count)} ran at once`, isStrong: true },
      { text: `, ${formatWhen(peak.at, reader)}.` },
    ]);
  }
  const next = nextRun(timeline);
  if (facts.length === 0 && next !== null) {
    facts.push([
      { text: "Next: " },
      { text: checkName(next.row), isStrong: true },
      { text: `, ${formatWhen(next.at, reader)}.` },
    ]);
  }
  return facts.slice(0, 2);
}

function nextRun({ groups, now, from }: Timeline): { row: TimelineRow; at: number } | null {
  let next: { row: TimelineRow; at: number } | null = null;
  for (const row of groups.flatMap(({ rows }) => rows)) {
    const at = unpackMarks({ from }, row).find((mark) => mark.kind === "ahead" && mark.from > now)?.from;
    if (at !== undefined && (next === null || at < next.at)) next = { row, at };
  }
  return next;
}

function clockFact(
  { at, zone, offsetBefore, offsetAfter, isOwn, checkCount }: TimelineClockChange,
  reader: Reader,
): LeadPart[] {
  const isPast = at <= reader.now;
  const where = isOwn ? "" : ` in ${zone}`;
  const way = offsetAfter < offsetBefore ? "back" : "forward";
  const who = checkCount === 0 ? "." : `, which affects ${plural(checkCount, "check")}.`;
  const before = new Date(at + offsetBefore * 1_000).toISOString().slice(11, 16);
  return [
    { text: `The clocks${where} ` },
    { text: `${isPast ? "went" : "go"} ${way}`, isStrong: true },
    { text: ` on ${formatDate(at, zone, "weekday-day-month")} at ${before}${who}` },
  ];
}

// The card of a run, and what screen readers are told about it.

/** What each kind of mark is. */
const KIND_WORDS: Readonly<Record<MarkKind, string>> = {
  ran: "Success",
  late: "Success, late",
  failed: "Failed",
  missed: "No ping",
  running: "Running",
  ahead: "Predicted",
  silenced: "Silenced",
  paused: "Paused",
  changed: "Schedule changed",
};

export type Fact = { name: string; text: string; note?: string };

/** How much longer than usual is worth a note. */
const LONGER_MIN = 0.1;

/** The facts of a mark: what it was, when, how long, and what was expected. */
export function factsOf(row: Pick<TimelineRow, "usualMs" | "expected">, mark: Mark, reader: Reader): Fact[] {
  const { kind, from, to, count, expectedAt } = mark;
  if (kind === "late" && count === 0) {
    return [
      { name: "Late", text: `by ${formatSpan(from - expectedAt)}, no ping yet` },
      { name: "Expected", text: formatWhen(expectedAt, reader) },
    ];
  }
  const isSpan = to - from >= 1_000 && kind !== "missed";
  const end =
    dayNumber(from, reader.zone) === dayNumber(to, reader.zone)
      ? formatClock(to, reader.zone)
      : formatWhen(to, reader);
  const isSameMinute = formatClock(from, reader.zone) === end;
  const until = kind === "running" ? " to now" : isSpan && !isSameMinute ? ` to ${end}` : "";
  const facts: Fact[] = [{ name: KIND_WORDS[kind], text: `${formatWhen(from, reader)}${until}` }];
  if (count > 1) facts.push({ name: "Runs", text: formatCount(count) });
  else if (kind === "ahead") {
    if (row.usualMs !== null) facts.push({ name: "Usually", text: formatDuration(row.usualMs) });
  } else if (isSpan) {
    const longer = row.usualMs === null || row.usualMs === 0 ? 0 : (to - from) / row.usualMs - 1;
    facts.push({
      name: kind === "running" ? "So far" : "Took",
      text: formatDuration(to - from),
      ...(longer >= LONGER_MIN && { note: `+${formatCount(Math.round(longer * 100))}%` }),
    });
  }
  if (kind === "late" && expectedAt < from) {
    const late = formatSpan(from - expectedAt);
    facts.push({ name: "Expected", text: `${formatClock(expectedAt, reader.zone)}, started ${late} late` });
  }
  return facts;
}

/** "nightly-backup, down. Success, late: today 02:23 to 03:15. Took: 51 min." */
export function spokenRow(row: TimelineRow, mark: Mark | null, reader: Reader): string {
  const head = `${checkName(row)}, ${STATE_WORDS[row.state]}.`;
  if (mark === null) return head;
  return [
    head,
    ...factsOf(row, mark, reader).map(
      ({ name, text, note }) => `${name}: ${text}${note === undefined ? "" : ` (${note})`}.`,
    ),
  ].join(" ");
}

/** What the chart shows, in a few sentences. */
export function spokenSummary(timeline: Timeline, reader: Reader): string {
  const { counts, total, from, to, load } = timeline;
  const states = (["down", "late", "running", "up", "new", "paused"] as const)
    .filter((state) => counts[state] > 0)
    .map((state) => `${formatCount(counts[state])} ${STATE_WORDS[state]}`);
  const peak =
    load.peak === null
      ? ""
      : ` At most ${formatCount(load.peak.count)} at once, ${formatWhen(load.peak.at, reader)}.`;
  return `Timeline of ${plural(total, "check")}, ${formatWhen(from, reader)} to ${formatWhen(to, reader)}. ${states.join(", ")}.${peak}`;
}

/** After a move, a zoom or a filter. */
export function spokenRange(timeline: Timeline, reader: Reader): string {
  const { from, to, total } = timeline;
  return `${formatWhen(from, reader)} to ${formatWhen(to, reader)}, ${plural(total, "check")}`;
}

// The table.

export const tableWords = {
  checks: "Checks",
  check: "Check",
  state: "Status",
  tag: "Tag",
  schedule: "Schedule",
  ran: "Ran",
  late: "Late",
  failed: "Failed",
  missed: "No ping",
  problems: "Problems",
  last: "Last run",
  next: "Next run",
  nothing: "–",
  lanes: "Runs by tag",
  checkCount: "Checks",
  down: "Down",
  load: "Running at once",
  time: "From",
  most: "Most at once",
  predicted: (text: string) => `${text} (predicted)`,
  moreProblems: (count: number) => `${formatCount(count)} more`,
  marks: "Silences, monitoring gaps and clock changes",
  what: "What",
  from: "From",
  to: "To",
  silence: (silence: Pick<TimelineSilence, "reason" | "tag" | "isForAll">) =>
    `Silence${silence.isForAll ? " of all checks" : silence.tag === null ? "" : ` of ${silence.tag}`}${silence.reason === "" ? "" : `: ${silence.reason}`}`,
  gap: "Not monitored",
  clock: ({
    zone,
    offsetBefore,
    offsetAfter,
  }: Pick<TimelineClockChange, "zone" | "offsetBefore" | "offsetAfter">) =>
    `Clocks go ${offsetAfter < offsetBefore ? "back" : "forward"} (${zone})`,
} as const;

/** One word for each problem of a row: "failed", "late", "no ping". */
export const PROBLEM_WORDS = { late: "late", failed: "failed", missed: "no ping" } as const;
