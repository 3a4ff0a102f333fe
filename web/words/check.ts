// Texts of the check page.
import { type CheckRow, drawnAt, type DrawnState } from "../../src/contract/api/check-row.ts";
import type { RemovedCheck } from "../../src/contract/api/overview.ts";
import type { CheckPage } from "../../src/contract/api/check-page.ts";
import type { Explanation, ExplanationStep, Run, RunRow } from "../../src/contract/api/history.ts";
import { formatCount } from "../../src/contract/api/words.ts";
import { reasonText, statusText } from "./channels.ts";
import {
  formatAgo,
  formatClock,
  formatDay,
  formatDuration,
  formatShare,
  formatSpan,
  formatWhen,
  plural,
  type Reader,
} from "./format.ts";

const TITLES: Readonly<Record<DrawnState, (name: string) => string>> = {
  down: (name) => `${name} is down`,
  late: (name) => `${name} is late`,
  up: (name) => `${name} is on time`,
  running: (name) => `${name} is running`,
  paused: (name) => `${name} is paused`,
  new: (name) => `${name} is waiting for its first ping`,
};

/** The title of the tab: the check and its state. */
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
  policyEdit: "Edit",
  policyEditOf: "Edit the notification policy",
  incident: (n: number) => `Incident #${n}`,
  incidentOpen: "is open.",
  incidentAcknowledged: "is acknowledged.",
  dependsOn: (names: string) => `Depends on ${names}.`,
  dependsOnSome: (count: number) => `Depends on ${plural(count, "other check")}.`,
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
  label: (parts: readonly string[]) => `From the last ping until now: ${parts.join(", ")}`,
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
  downtimes: (count: number, ms: number) => `${plural(count, "downtime")}, ${formatSpan(ms)}`,
  noDowntime: "no downtime",
  uncounted: "too many status changes to count",
  unmonitored: (days: number) => `${plural(days, "day")} not fully monitored (our outage)`,
  strip: (parts: readonly string[]) => `Last 90 days: ${parts.join(", ")}`,
  goodDays: (days: number) => plural(days, "good day"),
  problemDays: (days: number) => `${plural(days, "day")} with problems`,
  daysWithoutPings: (days: number) => `${plural(days, "day")} without pings`,
  uncountedDays: (days: number) => `${plural(days, "day")} with too many status changes to count`,
  share: (share: number) => formatShare(share),
  keys: {
    up: "up",
    down: "down or failed",
    quiet: "no pings",
    unmonitored: "not monitored (our outage)",
    uncounted: "too many status changes to count",
    before: "not created yet",
  },
  day: {
    title: (day: string, text: string) => `${day}: ${text}`,
    before: "not created yet",
    noPings: "no pings",
    uncounted: "too many status changes to count",
    success: (count: number) => plural(count, "success", "successes"),
    fail: (count: number) => plural(count, "failure"),
    down: (ms: number) => `down for ${formatSpan(ms)}`,
    unmonitored: (ms: number) => `not monitored for ${formatSpan(ms)} (our outage)`,
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
  soFar: "so far",
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
    case "unmonitored":
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
  none: "No runs yet. Runs appear here after the job sends a ping.",
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

export const channelToggleWords = {
  title: "Notification channels",
  none: "This project has no channels yet, so no notifications are sent.",
  add: "Add channel",
  off: "disabled",
  byRule: (tag: string) => `notified by the rule for tag ${tag}`,
  noChannel: "No channel is assigned to this check, so no notifications are sent.",
  on: (name: string) => `${name} will be notified about this check.`,
  removedChannel: (name: string) => `${name} will no longer be notified about this check.`,
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

// Snippets, and copy as code.
export const signalWords = {
  title: "Send a ping",
  languages: "Language or platform",
  more: "more",
  variants: {
    success: "on success",
    whole: "start and end",
    rid: "with run ID",
  },
  variant: "Pings to send",
  by: "URL format",
  byUuid: "UUID",
  bySlug: "slug",
  url: "Ping URL",
  mail: "Ping email address",
  paths: "Append /start, /fail, /log or an exit code such as /3 to the URL.",
} as const;

export const codeWords = {
  title: "Copy as code",
  about: "Do the same with the API. Replace $API_KEY with a project API key.",
  read: "Get the check",
  settings: "Update the settings",
  create: "Create a copy",
  history: "Get the history",
  deeds: "Pause and resume",
  change: "Apply this change",
} as const;

// The run drawer.

const KINDS: Readonly<Record<Run["kind"], string>> = {
  success: "Success",
  fail: "Failure",
  start: "Start",
  log: "Log entry",
  ign: "Ignored ping",
};

/** "Failure, exit code 3" */
export function runTitle({ kind, exitStatus }: Pick<Run, "kind" | "exitStatus">): string {
  const hasExitCode = kind === "fail" && exitStatus !== null && exitStatus !== 0;
  return hasExitCode ? `${KINDS[kind]}, exit code ${exitStatus}` : KINDS[kind];
}

export const runWords = {
  title: "Run",
  number: (n: number) => `#${n}`,
  older: "Older",
  newer: "Newer",
  facts: {
    started: "Started",
    ended: "Ended",
    at: "Received",
    elsewhere: "In other time zones",
    took: "Duration",
    exit: "Exit code",
    from: "From",
    by: "Method",
    agent: "User agent",
    rid: "Run ID",
  },
  usual: "as usual",
  against: (text: string) => `${text} vs. usual`,
  mail: "email",
  output: "Output",
  noBody: "No output.",
  binary: (size: string) => `${size} of binary data. Download it to view it.`,
  bodyError: (why: string) => `The output can't be loaded right now: ${why}`,
  size: (size: string) => size,
  search: "Search output",
  found: (count: number) => plural(count, "match", "matches"),
  next: "Next match",
  download: "Download",
  tabs: {
    text: "Text",
    diff: "Compare with last success",
    mail: "Email",
    html: "Email (HTML)",
    raw: "Raw",
  },
  diff: {
    against: "Added lines are marked with +, removed lines with −, compared with the success of",
    same: "Same output as the last success.",
    cut: "Only the beginning is compared because the output is too long.",
    hidden: (count: number) => plural(count, "unchanged line"),
    added: (count: number) => `${count} added`,
    gone: (count: number) => `${count} removed`,
  },
  from: "From",
  subject: "Subject",
  effect: "Effect",
  wentDown: "The check went down.",
  isUp: "The check is up.",
  retracted: "This was corrected later.",
  noNotifications: "No notifications were sent.",
  explain: "Explain",
} as const;

// A check that was deleted or moved.

const PASSIVE = { deleted: "This check was deleted", moved: "This check was moved" } as const;

/** "ann@example.org deleted this check today 14:02." */
export function goneSentence({ how, by }: Pick<RemovedCheck, "how" | "by">, when: string): string {
  switch (by?.kind) {
    case "you":
      return `You ${how} this check ${when}.`;
    case "person":
      return `${by.email} ${how} this check ${when}.`;
    case "key":
      return `${PASSIVE[how]} ${when} with a project API key.`;
    case undefined:
      return `${PASSIVE[how]} ${when}.`;
  }
}

export const goneWords = {
  tabs: { deleted: (name: string) => `${name} was deleted`, moved: (name: string) => `${name} was moved` },
  kept: (until: string) =>
    `It is kept with its history until ${until}. Its ping URL works again as soon as you restore it.`,
  keptForOthers: (until: string) =>
    `It is kept until ${until}. Project members who can edit checks can restore it.`,
  cannotRestore: "It can't be restored. Its history was deleted too.",
  elsewhere: "It kept its URL and history, but you aren't a member of its new project.",
  deletedUnknown: "This check was deleted.",
  unsavedChanges: "Your changes are still here. Restore the check to save them, or copy what you need.",
  restore: "Restore check",
  back: "Restore",
  checks: "View checks",
  here: (from: string, to: string) =>
    `It moved from ${from} to ${to} and kept its URL and history. The channels of ${to} are notified about it.`,
  unknownProject: "another project",
  movedUnknown: "This check was moved to another project.",
  moveBack: "Move back",
} as const;

// The summary at the top: schedule, when the check is late and alerts, the last success, and the status.

/** A part of the summary. `is` sets the emphasis; `isWhole` prevents a line break inside. */
type Part = { text: string; is?: "strong" | "bad" | "late"; isWhole?: true };

export type SummaryFacts = {
  page: Pick<CheckPage, "expectation" | "settings" | "lastSuccessAt" | "hasSucceeded">;
  row: CheckRow;
  reader: Reader;
};

const SECOND_MS = 1_000;

const plain = (text: string): Part => ({ text });
const strong = (text: string): Part => ({ text, is: "strong" });
const time = (text: string): Part => ({ text, is: "strong", isWhole: true });

/** "at 03:00 every day, Europe/Riga time", to stand inside a sentence. */
export function insideSentence(sentence: string): string {
  const text = sentence.replace(/\.$/, "");
  return text.charAt(0).toLowerCase() + text.slice(1);
}

/** The whole summary, in parts. */
export function expectationOf(facts: SummaryFacts): Part[] {
  const { page, row, reader } = facts;
  const state = drawnAt(row, reader.now);
  const expected = [plain("Expected "), strong(insideSentence(page.expectation.sentence))];
  return [
    ...expected,
    ...deadlines(facts),
    ...lastSuccess(facts),
    ...statusParts(facts, state),
    ...zoneNote(facts),
  ];
}

function deadlines({ page, row, reader }: SummaryFacts): Part[] {
  const { fuse } = row;
  const state = drawnAt(row, reader.now);
  if (fuse === null || state === "down" || state === "running" || state === "paused" || state === "new") {
    const grace = formatSpan(page.settings.graceSeconds * SECOND_MS);
    return [plain(". Late after that. Alerts after "), time(grace), plain(".")];
  }
  const late = formatWhen(fuse.lateAt, reader);
  const alert = sameDayClock(fuse.alertAt, fuse.lateAt, reader);
  if (state === "late") {
    return [plain(". Late since "), time(late), plain(". Alerts at "), time(alert), plain(".")];
  }
  return [plain(". Late after "), time(late), plain(". Alerts at "), time(alert), plain(".")];
}

/** Only the time if the day was just shown. */
function sameDayClock(at: number, shownAt: number, reader: Reader): string {
  const clock = formatClock(at, reader.zone);
  return formatDay(at, reader) === formatDay(shownAt, reader) ? clock : formatWhen(at, reader);
}

function lastSuccess({ page: { lastSuccessAt, hasSucceeded }, row, reader }: SummaryFacts): Part[] {
  if (row.state === "new") return [];
  if (lastSuccessAt === null)
    return [plain(hasSucceeded ? " The last success is older than the kept history." : " No success yet.")];
  const parts = [plain(" Last success: "), time(formatWhen(lastSuccessAt, reader))];
  if (row.state === "down" && row.downReason === "timeout") return [...parts, plain(". No success since.")];
  return [...parts, plain(".")];
}

function statusParts({ page, row, reader }: SummaryFacts, state: ReturnType<typeof drawnAt>): Part[] {
  const since = (at: number | null) => formatSpan(reader.now - (at ?? reader.now));
  switch (state) {
    case "down": {
      const failed =
        row.downReason !== "fail"
          ? []
          : row.exitStatus === null || row.exitStatus === 0
            ? [plain(" Then the job reported a failure.")]
            : [plain(" Then the job failed with exit code "), strong(String(row.exitStatus)), plain(".")];
      return [...failed, plain(" "), { text: `Down for ${since(row.downSince)}.`, is: "bad", isWhole: true }];
    }
    case "late": {
      const alertAt = row.fuse?.alertAt ?? reader.now;
      const text = alertAt > reader.now ? `Alert in ${formatSpan(alertAt - reader.now)}.` : "Alert is due.";
      return [plain(" "), { text, is: "late", isWhole: true }];
    }
    case "running": {
      const running = [plain(" Running for "), time(since(row.runningSince))];
      if (row.fuse === null) return [...running, plain(".")];
      const by = formatWhen(row.fuse.alertAt, reader);
      return [...running, plain(". Alerts if it hasn't finished by "), time(by), plain(".")];
    }
    case "paused":
      return [
        plain(" "),
        strong("Paused: no pings expected, no alerts sent."),
        plain(
          page.settings.manualResume ? " Pings don't resume the check." : " The next ping resumes the check.",
        ),
      ];
    case "new":
      return [plain(" Monitoring starts with the first ping.")];
    case "up":
      return [];
  }
}

/** Names the zone of the times if the schedule uses another time zone than the user. */
function zoneNote({ page, reader }: SummaryFacts): Part[] {
  const { kind, tz } = page.settings;
  if (kind === "simple" || formatClock(reader.now, reader.zone) === zoneClock(reader.now, tz)) return [];
  return [plain(` Times on this page are in ${reader.zone}.`)];
}

function zoneClock(at: number, zone: string): string {
  try {
    return formatClock(at, zone);
  } catch {
    // A zone this browser doesn't support: show the note.
    return "";
  }
}

// The explanation of an alert: each step with its time, and each step of the delivery.

const MINUTE_MS = 60_000;

export const explainWords = {
  title: "What happened",
  past: "Last alert",
  drawer: (name: string) => `Why ${name} went down`,
  drawerUp: (name: string) => `Why ${name} is up`,
  none: "This check hasn't been down yet.",
  edited: "The settings have changed since then. Expected times are based on the current settings.",
  more: "Show details",
  all: "Earlier changes",
  zone: "Time zone",
  hops: "Delivery details",
  noChannel: "No notifications were sent because no channel is assigned to this check.",
  notNotified:
    "No notifications were sent. The first success, and a success that ends a pause, don't send notifications.",
  steps: "Step by step",
  total: (ms: number) =>
    `The first notification was delivered ${formatDuration(ms)} after the status change.`,
} as const;

/** "03:00", or "03:00:01" if there are seconds. */
export function formatMoment(at: number, zone: string): string {
  const hasSeconds = Math.floor(at / SECOND_MS) % 60 !== 0;
  return new Intl.DateTimeFormat("en-GB", {
    hour: "2-digit",
    minute: "2-digit",
    ...(hasSeconds && { second: "2-digit" as const }),
    hourCycle: "h23",
    timeZone: zone,
  }).format(at);
}

/** "UTC", "UTC+2", "UTC−3:30". */
export function formatOffset(minutes: number): string {
  if (minutes === 0) return "UTC";
  const whole = Math.floor(Math.abs(minutes) / 60);
  const rest = Math.abs(minutes) % 60;
  return `UTC${minutes < 0 ? "−" : "+"}${whole}${rest === 0 ? "" : `:${String(rest).padStart(2, "0")}`}`;
}

type About = { zone: string; reader: Reader };

/** A summary in at most two sentences. */
export function summaryOf({ flip, steps }: Explanation, reader: Reader): string {
  const notifiedCount = steps.filter((step) => step.kind === "notified" && step.state === "sent").length;
  const after =
    notifiedCount === 0
      ? "No notifications were sent."
      : `${plural(notifiedCount, "channel was", "channels were")} notified.`;
  const at = formatWhen(flip.at, reader);
  if (flip.to === "up") {
    return `The job reported success ${at}, so the check is ${flip.from === "down" ? "up again" : "up"}. ${after}`;
  }
  const down = steps.find((step) => step.kind === "down");
  const success = steps.find((step) => step.kind === "success");
  const missing =
    success === undefined ? "No success was reported" : `No success since ${formatWhen(success.at, reader)}`;
  switch (down?.rule) {
    case "failure":
      return `The job reported a failure ${at}, so the check went down immediately. ${after}`;
    case "overrun":
      return `A run started but didn't finish in time, so the check went down ${at}. ${after}`;
    case "silence":
    case undefined:
      return `${missing}, so the check went down when the grace period ended ${at}. ${after}`;
  }
}

/** Why no notifications were sent. */
export function silenceOf({ flip }: Explanation): string {
  return flip.to === "up" && flip.from !== "down" ? explainWords.notNotified : explainWords.noChannel;
}

/** One step as a sentence. */
export function stepText(step: ExplanationStep, about: About): string {
  switch (step.kind) {
    case "success":
      return "Success received";
    case "started":
      return "Run started";
    case "expected":
      return `Expected ${insideSentence(step.sentence)} ${arithmetic(step, about)}`.trim();
    case "failed":
      return step.exitStatus === null
        ? "Failure reported"
        : `Failure reported (exit code ${step.exitStatus})`;
    case "down":
      return downText(step);
    case "up":
      return "Up: success received";
    case "retracted":
      return "Corrected: a ping received in time was recorded late";
    case "notified":
      return deliveryText(step, about.reader);
  }
}

function downText({ rule, graceSeconds }: Extract<ExplanationStep, { kind: "down" }>): string {
  const grace = formatSpan(graceSeconds * SECOND_MS);
  switch (rule) {
    case "silence":
      return `Down: the grace period of ${grace} ended without a success`;
    case "overrun":
      return `Down: the run didn't finish within the grace period of ${grace}`;
    case "failure":
      return "Down immediately. Reported failures skip the grace period.";
  }
}

type Expected = Extract<ExplanationStep, { kind: "expected" }>;

/** "(EET, UTC+2; clocks went back 3 weeks ago)"; empty for an interval, which has no time zone. */
function arithmetic({ at, offsetMinutes, clockChange }: Expected, { zone, reader }: About): string {
  if (zone === "UTC" && clockChange === null) return "";
  const parts = [`${zoneName(zone, at)}${formatOffset(offsetMinutes)}`];
  if (clockChange !== null) {
    const way = offsetMinutes < clockChange.beforeMinutes ? "went back" : "went forward";
    parts.push(`clocks ${way} ${formatAgo(clockChange.at, reader.now)}`);
  }
  return `(${parts.join("; ")})`;
}

/** Local time, UTC offset, UTC time, and the last daylight saving change. */
export function zoneSum(step: Expected, { zone, reader }: About): string {
  const local = formatMoment(step.at, zone);
  const universal = formatMoment(step.at, "UTC");
  const sum = `${local} in ${zone} was ${universal} UTC (offset ${formatOffset(step.offsetMinutes)}).`;
  if (step.clockChange === null) return `${sum} No clock change in the month before.`;
  const { beforeMinutes, at } = step.clockChange;
  const shift = formatSpan(Math.abs(step.offsetMinutes - beforeMinutes) * MINUTE_MS);
  const way = step.offsetMinutes < beforeMinutes ? "back" : "forward";
  return `${sum} Clocks went ${way} by ${shift} on ${formatWhen(at, reader)}, from ${formatOffset(beforeMinutes)}. A job whose clock ignores this change is off by ${shift}.`;
}

function zoneName(zone: string, at: number): string {
  const parts = new Intl.DateTimeFormat("en-GB", { timeZone: zone, timeZoneName: "short" }).formatToParts(at);
  const name = parts.find(({ type }) => type === "timeZoneName")?.value ?? "";
  // Without a short name the browser gives the offset, which is shown anyway.
  return /^[A-Z]{3,5}$/.test(name) && name !== "UTC" ? `${name}, ` : "";
}

export type Delivery = Extract<ExplanationStep, { kind: "notified" }>;

function missingChannel({ isInOtherProject }: Delivery): string {
  return isInOtherProject ? "A channel of another project" : "A deleted channel";
}

/** "#ops notified (HTTP 200, 169 ms)" */
export function deliveryText(step: Delivery, reader: Reader): string {
  const name = step.channel?.name ?? missingChannel(step);
  const reason = step.reason === null ? "" : `: ${reasonText(step.reason)}`;
  switch (step.state) {
    case "sent": {
      const took =
        step.attemptedAt === null || step.settledAt === null
          ? null
          : formatDuration(step.settledAt - step.attemptedAt);
      const tries = step.attempts > 1 ? `attempt ${step.attempts}` : null;
      const facts = [statusText(step), took, tries].filter((fact) => fact !== null);
      return `${name} notified${facts.length === 0 ? "" : ` (${facts.join(", ")})`}`;
    }
    case "pending":
      return step.nextAttemptAt === null
        ? `Notifying ${name}`
        : `${name} not notified yet${reason}. Next attempt ${formatWhen(step.nextAttemptAt, reader)}`;
    case "merged":
      return `${name}: merged into a later notification`;
    case "withdrawn":
      return `${name} not notified: the notification no longer applied`;
    case "skipped":
      return `${name} not notified${reason}`;
    case "dead":
      return `${name} couldn't be notified after ${plural(step.attempts, "attempt")}${reason}`;
  }
}

/** Time from the status change to the first delivered notification, or null if none was delivered. */
export function firstDeliveryMs({ flip, steps }: Explanation): number | null {
  const sent = steps.flatMap((step) =>
    step.kind === "notified" && step.state === "sent" && step.settledAt !== null ? [step.settledAt] : [],
  );
  return sent.length === 0 ? null : Math.max(0, Math.min(...sent) - flip.at);
}

export const hopWords = {
  queued: "queued",
  sent: "sent",
  lastTry: (attempts: number) => `sent (attempt ${attempts})`,
  completed: "completed",
} as const;
