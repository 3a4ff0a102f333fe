// Texts of the edit form of a check.
import type { Replay } from "../../src/contract/api/history.ts";
import { formatSpan, plural } from "./format.ts";

export const editWords = {
  title: (name: string) => `Edit ${name}`,
  saved: (name: string) => `Saved ${name}.`,
  nothing: "No changes yet.",
  asCode: "As code",
  sections: { about: "General", when: "Schedule", counts: "Ping rules" },
  slugHint: "Used in ping URLs. Lowercase letters, digits, hyphens and underscores only.",
  desc: "Description",
  descHint: "What the job does, and what to do when it fails. Included in alerts.",
  kind: "Schedule type",
  kinds: { simple: "Interval", cron: "Cron", oncalendar: "OnCalendar" },
  every: "Every",
  presets: "Common intervals",
  cron: "Cron expression",
  cronHint: "minute hour day month weekday",
  macro: (macro: string, expression: string) => `${macro} is saved as ${expression}.`,
  oncalendar: "OnCalendar expression",
  oncalendarHint: "systemd syntax, for example Mon..Fri *-*-* 09:00. Use one line per schedule.",
  zone: "Time zone",
  grace: "Grace period",
  unit: "Unit",
  units: { minutes: "minutes", hours: "hours", days: "days", weeks: "weeks" },
  next: "Next 10 runs",
  nextZone: (zone: string) => `in ${zone}`,
  nextHere: (zone: string) => `in your time zone, ${zone}`,
  periodNote: "Counted from the last ping.",
  methods: "Allowed request methods",
  anyMethod: "HEAD, GET and POST",
  postOnly: "POST only (other requests are logged and ignored)",
  manualResume: "Stay paused until resumed manually",
  manualResumeHint: "Otherwise the next ping resumes the check.",
  keywords: "Keywords",
  keywordsHint:
    "Separate keywords with commas. Failure keywords are checked first, then success, then start.",
  startKw: "Start",
  successKw: "Success",
  failureKw: "Failure",
  where: "Search for keywords in",
  filterSubject: "email subject",
  filterBody: "email body",
  filterHttpBody: "HTTP request body",
  withoutKeyword: "Pings without a keyword",
  filterDefaultFail: "Count as a failure (otherwise they are logged and ignored)",
} as const;

export const replayWords = {
  title: "Preview with past runs",
  reading: "Replaying the last 90 days…",
  none: "No history to preview yet.",
  over: (runs: number) => `Last 90 days, ${plural(runs, "run")}:`,
  same: (count: number) => `${plural(count, "alert")}, no change`,
  instead: (after: number, before: number) => `${plural(after, "alert")} instead of ${before}`,
  suggestGrace: (seconds: number) => `Use a grace period of ${formatSpan(seconds * 1_000)}`,
  suggestGraceReason: "the shortest one without false alerts",
  alerts: "Show alerts",
  before: "Current settings",
  after: "With this change",
  noAlerts: "no alerts",
} as const;

/** "none of the 2 real failures missed" */
export function missedText({ realCount, missedCount }: Pick<Replay, "realCount" | "missedCount">): string {
  if (realCount === 0) return "no real failures in this period";
  if (missedCount === 0) {
    return realCount === 1
      ? "the real failure is still detected"
      : `all ${realCount} real failures are still detected`;
  }
  return `${missedCount} of ${plural(realCount, "real failure")} would be missed`;
}

// Texts of the dialog that sets one schedule for several checks.

export const schedulesWords = {
  title: (what: string) => `Set schedule for ${what}`,
  about: "This schedule replaces the current schedule of each selected check.",
  now: "Current",
  more: (count: number) => `and ${count.toLocaleString("en-GB")} more`,
  act: (what: string) => `Set for ${what}`,
  done: (what: string) => `Schedule set for ${what}.`,
} as const;
