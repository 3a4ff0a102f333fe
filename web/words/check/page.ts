// Texts of the check page: title, buttons, history, chart, runs, channels.
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
  new: (name) => `${name} is waiting for its first ping`,
};

/** The title of the tab: the check and how it is. */
export function checkTitle(name: string, state: DrawnState): string {
  return TITLES[state](name);
}

export const checkWords = {
  quarantined: (count: number) => (count === 1 ? "1 ping is quarantined" : `${count} pings are quarantined`),
  quarantinedText:
    "Overdue received pings for this check but couldn't record them. The check is not reported as down because of this. An admin can retry them.",
  tab: "Check",
  first: "Send the first ping",
  crumbs: "Breadcrumb",
  checks: "Checks",
  pause: "Pause",
  resume: "Resume",
  edit: "Edit",
  explain: "Explain this alert",
  more: "More actions",
  ping: "Send a ping now",
  pinged: (name: string) => `Sent a success ping to ${name}.`,
  copy: "Duplicate",
  copied: (name: string) => `Duplicated ${name}. You're viewing the copy.`,
  transfer: "Move to another project",
  clear: "Clear history",
  asCode: "Copy as code",
  badge: "Status badge",
  copyUrl: "Copy ping URL",
  delete: "Delete",
  clearAsk: {
    title: "Clear the history of this check?",
    text: "All runs, output, events and statistics are permanently deleted. The settings and ping URL stay the same, and the status resets to new.",
    act: "Clear history",
    done: (name: string) => `Cleared the history of ${name}.`,
  },
  transferAsk: {
    title: "Move to another project",
    text: "The check keeps its ping URL, settings and history. It uses the channels of the new project.",
    to: "Project",
    act: "Move",
  },
  unnamed: "unnamed",
} as const;

export const trackWords = {
  label: (said: readonly string[]) => `From the last ping until now: ${said.join(", ")}`,
  success: (clock: string, took: string | null) => `last success ${clock}${ran(took)}`,
  failed: (clock: string, took: string | null) => `last ping ${clock}, failure${ran(took)}`,
  started: (clock: string) => `started ${clock}`,
  expected: (clock: string) => `expected ${clock}`,
  alert: (clock: string) => `alert ${clock}`,
  now: (clock: string) => `now ${clock}`,
  keys: {
    success: "success",
    "late-run": "success, late",
    fail: "failure",
    running: "running",
    expected: "expected run",
    grace: "grace period: late, no alert yet",
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
  uncounted: "too many status changes to count",
  unseen: (days: number) => `${plural(days, "day")} not fully monitored (our outage)`,
  strip: (said: readonly string[]) => `Last 90 days: ${said.join(", ")}`,
  good: (days: number) => plural(days, "good day"),
  bad: (days: number) => `${plural(days, "day")} with problems`,
  quiet: (days: number) => `${plural(days, "day")} without pings`,
  uncountedDays: (days: number) => `${plural(days, "day")} with too many status changes to count`,
  share: (share: number) => formatShare(share),
  keys: {
    up: "up",
    down: "down or failed",
    quiet: "no pings",
    unseen: "not monitored (our outage)",
    uncounted: "too many status changes to count",
    before: "not created yet",
  },
  day: {
    title: (day: string, said: string) => `${day}: ${said}`,
    before: "not created yet",
    nothing: "no pings",
    uncounted: "too many status changes to count",
    success: (count: number) => plural(count, "success", "successes"),
    fail: (count: number) => plural(count, "failure"),
    down: (ms: number) => `down for ${formatSpan(ms)}`,
    unseen: (ms: number) => `not monitored for ${formatSpan(ms)} (our outage)`,
    column: "Day",
    what: "What happened",
    table: "Days with problems",
  },
  months: "Downtimes",
  month: "Month",
  count: "Downtimes",
  lasted: "Time down",
  available: "Uptime",
  noMonth: "Not created yet",
  sofar: "so far",
} as const;

export const chartWords = {
  title: "Duration",
  none: "No durations yet. To measure duration, send a start ping when the job begins.",
  usual: (low: number, high: number) =>
    low === high
      ? `usual: ${formatDuration(low)}`
      : `usual: ${formatDuration(low)} to ${formatDuration(high)}`,
  label: (count: number, median: string | null) =>
    `Duration of the last ${plural(count, "run")}${median === null ? "" : `, median ${median}`}`,
  runs: "by run",
  days: "by day",
  by: "Group by",
  table: "View as table",
  columns: { when: "When", took: "Duration", outcome: "Outcome", mean: "Mean", max: "Longest" },
  failed: "failed",
  mean: (ms: number) => `mean ${formatDuration(ms)}`,
  max: (ms: number) => `longest ${formatDuration(ms)}`,
} as const;

/** The outcome of a run, shown next to its shape. */
export function outcomeWord({ outcome, isLate, exitStatus }: RunRow): string {
  switch (outcome) {
    case "success":
      return isLate ? "success, late" : "success";
    case "fail":
      return exitStatus === null || exitStatus === 0 ? "failure" : `failure, exit ${exitStatus}`;
    case "running":
      return "running";
    case "missing":
      return "no ping";
    case "unseen":
      return "not monitored";
  }
}

/** "usual", "+18%", "−40%", "3× as long": a duration compared with the median. */
export function againstUsual(
  durationMs: number,
  { lowMs, highMs, medianMs }: Record<"lowMs" | "highMs" | "medianMs", number>,
): string {
  if (durationMs >= lowMs && durationMs <= highMs) return "usual";
  if (medianMs <= 0) return "–";
  const times = durationMs / medianMs;
  if (times >= 3) return `${formatCount(Math.round(times))}× as long`;
  const percent = Math.round((times - 1) * 100);
  if (percent === 0) return "usual";
  return percent > 0 ? `+${percent}%` : `−${-percent}%`;
}

export const runsWords = {
  titles: { runs: "Runs", log: "Log" },
  list: "Show",
  lists: { runs: "runs", log: "log" },
  columns: {
    outcome: "Outcome",
    started: "Started",
    took: "Duration",
    against: "Vs. usual",
    output: "Output",
  },
  nothing: "–",
  none: "No runs yet.",
  older: "Older runs",
  open: (outcome: string, when: string) => `${outcome}, ${when}: open this run`,
} as const;

export const logWords = {
  columns: { what: "Event", when: "When", took: "Duration", from: "From" },
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
  none: "No matching entries.",
  older: "Older",
  open: (title: string, when: string) => `${title}, ${when}: open this ping`,
} as const;

export const toldWords = {
  title: "Notification channels",
  none: "This project has no channels yet, so no notifications are sent.",
  add: "Add channel",
  off: "disabled",
  nobody: "No channel is assigned to this check, so no notifications are sent.",
  on: (name: string) => `${name} will be notified about this check.`,
  quiet: (name: string) => `${name} will no longer be notified about this check.`,
} as const;

export const checkKeys = {
  group: "Check",
  pause: "Pause or resume",
  edit: "Edit",
  explain: "Explain last alert",
  code: "Copy as code",
  copyUrl: "Copy ping URL",
  older: "Older run",
  newer: "Newer run",
} as const;
