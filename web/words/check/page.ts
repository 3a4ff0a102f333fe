// What the page of a check says around its history: title, buttons, strip, chart, table of runs, channels.
import type { DrawnState } from "../../../src/contract/web/check-row.ts";
import { formatCount } from "../../../src/contract/web/list-words.ts";
import type { RunRow } from "../../../src/contract/web/history.ts";
import { formatShare, plural } from "../number.ts";
import { formatDuration, formatSpan } from "../time.ts";

const TITLES: Readonly<Record<DrawnState, (name: string) => string>> = {
  down: (name) => `${name} is down`,
  late: (name) => `${name} is late`,
  up: (name) => `${name} is on time`,
  running: (name) => `${name} is running`,
  paused: (name) => `${name} is paused`,
  new: (name) => `${name} waits for its first signal`,
};

/** The title of the tab: the check and how it is. */
export function checkTitle(name: string, state: DrawnState): string {
  return TITLES[state](name);
}

export const checkWords = {
  quarantined: (count: number) => (count === 1 ? "1 ping is quarantined" : `${count} pings are quarantined`),
  quarantinedText:
    "Overdue received pings of this check but could not record them. The check is not reported as down because of them. An admin can retry them.",
  tab: "Check",
  first: "Send the first signal",
  crumbs: "Where this is",
  checks: "Checks",
  pause: "Pause",
  resume: "Resume",
  edit: "Edit",
  explain: "Explain this alert",
  more: "More to do with this check",
  ping: "Send a signal now",
  pinged: (name: string) => `${name} got a success signal from you.`,
  copy: "Make a copy",
  copied: (name: string) => `Copied ${name}. This is the copy.`,
  transfer: "Move to another project",
  clear: "Clear the history",
  asCode: "Copy as code",
  badge: "Badge of this check",
  copyUrl: "Copy ping address",
  delete: "Delete",
  clearAsk: {
    title: "Clear the history of this check?",
    text: "All its runs, outputs, changes and figures are deleted for good. Settings and address stay, and it is new again.",
    act: "Clear the history",
    done: (name: string) => `The history of ${name} is cleared.`,
  },
  transferAsk: {
    title: "Move to another project",
    text: "Address, settings and history go with it. Its channels stay behind: those of the other project take over.",
    to: "Project",
    act: "Move",
  },
  unnamed: "unnamed",
} as const;

export const trackWords = {
  label: (said: readonly string[]) => `From the last signal until now: ${said.join(", ")}`,
  success: (clock: string, took: string | null) => `last success ${clock}${ran(took)}`,
  failed: (clock: string, took: string | null) => `last signal ${clock}, a failure${ran(took)}`,
  started: (clock: string) => `started ${clock}`,
  expected: (clock: string) => `expected ${clock}`,
  alert: (clock: string) => `alert ${clock}`,
  now: (clock: string) => `now ${clock}`,
  keys: {
    success: "success",
    "late-run": "success, late",
    fail: "failure",
    running: "running",
    expected: "run that is expected",
    grace: "grace: late, nobody is told yet",
    late: "late",
    down: "down",
  },
} as const;

function ran(took: string | null): string {
  return took === null ? "" : `, ran ${took}`;
}

export const historyWords = {
  ninety: "Last 90 days",
  today: "today",
  onTime: "up",
  tooShort: "Not enough history",
  downs: (count: number, ms: number) => `${plural(count, "downtime")}, ${formatSpan(ms)}`,
  noDowns: "no downtime",
  uncounted: "went down and up too often to be counted",
  unseen: (days: number) => `${plural(days, "day")} not fully observed (our own outage)`,
  strip: (said: readonly string[]) => `The last 90 days: ${said.join(", ")}`,
  good: (days: number) => plural(days, "good day"),
  bad: (days: number) => `${plural(days, "day")} with trouble`,
  quiet: (days: number) => `${plural(days, "day")} without a signal`,
  uncountedDays: (days: number) => `${plural(days, "day")} with too many changes to be counted`,
  share: (share: number) => formatShare(share),
  keys: {
    up: "signals came",
    down: "down or failed",
    quiet: "no signal",
    unseen: "not observed: we could not receive",
    uncounted: "changed too often to be counted",
    before: "not there yet",
  },
  day: {
    title: (day: string, said: string) => `${day}: ${said}`,
    before: "the check was not there yet",
    nothing: "no signal",
    uncounted: "changed too often since to be counted",
    success: (count: number) => plural(count, "success", "successes"),
    fail: (count: number) => plural(count, "failure"),
    down: (ms: number) => `down for ${formatSpan(ms)}`,
    unseen: (ms: number) => `not observed for ${formatSpan(ms)}`,
    column: "Day",
    what: "What happened",
    table: "Days with trouble",
  },
  months: "Downtimes",
  month: "Month",
  count: "Downtimes",
  lasted: "Lasted",
  available: "Up",
  noMonth: "was not there",
  sofar: "so far",
} as const;

export const chartWords = {
  title: "Duration",
  none: "No durations yet. A job that tells its start as well as its end is measured.",
  usual: (low: number, high: number) =>
    low === high
      ? `usual: ${formatDuration(low)}`
      : `usual: ${formatDuration(low)} to ${formatDuration(high)}`,
  label: (count: number, median: string | null) =>
    `Duration of the last ${plural(count, "run")}${median === null ? "" : `, median ${median}`}`,
  runs: "by run",
  days: "by day",
  by: "What a bar stands for",
  table: "As a table",
  columns: { when: "When", took: "Took", outcome: "Outcome", mean: "Mean", max: "Longest" },
  failed: "failed",
  mean: (ms: number) => `mean ${formatDuration(ms)}`,
  max: (ms: number) => `longest ${formatDuration(ms)}`,
} as const;

/** How a run went, in the words that stand beside its shape. */
export function outcomeWord({ outcome, isLate, exitStatus }: RunRow): string {
  switch (outcome) {
    case "success":
      return isLate ? "success, late" : "success";
    case "fail":
      return exitStatus === null || exitStatus === 0 ? "failure" : `failure, exit ${exitStatus}`;
    case "running":
      return "running";
    case "missing":
      return "nothing came";
    case "unseen":
      return "not observed";
  }
}

/** "usual", "+18 %", "−40 %", "3 × as long": a duration against the median. */
export function againstUsual(
  durationMs: number,
  { lowMs, highMs, medianMs }: Record<"lowMs" | "highMs" | "medianMs", number>,
): string {
  if (durationMs >= lowMs && durationMs <= highMs) return "usual";
  if (medianMs <= 0) return "–";
  const times = durationMs / medianMs;
  if (times >= 3) return `${formatCount(Math.round(times))} × as long`;
  const percent = Math.round((times - 1) * 100);
  if (percent === 0) return "usual";
  return percent > 0 ? `+${percent} %` : `−${-percent} %`;
}

export const runsWords = {
  titles: { runs: "Runs", log: "Everything that came and happened" },
  list: "What is listed",
  lists: { runs: "runs", log: "everything" },
  columns: {
    outcome: "Outcome",
    started: "Started",
    took: "Took",
    against: "Against usual",
    output: "Output",
  },
  nothing: "–",
  none: "No runs yet.",
  older: "Older runs",
  open: (outcome: string, when: string) => `${outcome}, ${when}: open this run`,
} as const;

export const logWords = {
  columns: { what: "What", when: "When", took: "Took", from: "From" },
  filter: "Show only",
  kinds: {
    success: "successes",
    fail: "failures",
    start: "starts",
    log: "logs",
    ign: "ignored",
    flip: "up and down",
    event: "changes",
  },
  none: "Nothing of that kind is kept.",
  older: "Older",
  open: (title: string, when: string) => `${title}, ${when}: open this signal`,
} as const;

export const toldWords = {
  title: "Who is told",
  none: "This project has no channels yet, so nobody is told.",
  add: "Add a channel",
  off: "not used at the moment",
  nobody: "Nobody is told about this check.",
  on: (name: string) => `${name} is told about this check.`,
  quiet: (name: string) => `${name} is not told about this check any more.`,
} as const;

export const checkKeys = {
  group: "Check",
  pause: "Pause or resume",
  edit: "Edit",
  explain: "Explain the last alert",
  code: "Copy as code",
  copyUrl: "Copy the ping address",
  older: "Older run",
  newer: "Newer run",
} as const;
