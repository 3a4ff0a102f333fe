// What the form of a check says.
import type { Replay } from "../../../src/contract/web/history.ts";
import { plural } from "../number.ts";
import { formatSpan } from "../time.ts";

export const editWords = {
  title: (name: string) => `Edit ${name}`,
  saved: (name: string) => `Saved ${name}.`,
  nothing: "Nothing is changed yet.",
  asCode: "As code",
  sections: { about: "What it is", when: "When it is expected", counts: "Which signals count" },
  slugHint: "For addresses by name: small letters, digits, hyphen, underscore.",
  desc: "Description",
  descHint: "What the job does, and what to do when it fails. It is part of the alerts.",
  kind: "Expected",
  kinds: { simple: "Every so often", cron: "Cron", oncalendar: "OnCalendar" },
  every: "Every",
  presets: "Usual periods",
  cron: "Cron expression",
  cronHint: "minute hour day month weekday",
  macro: (macro: string, expression: string) => `${macro} is saved as ${expression}.`,
  oncalendar: "OnCalendar expression",
  oncalendarHint: "as systemd has it: Mon..Fri *-*-* 09:00; several lines are several schedules",
  zone: "Time zone",
  grace: "Alert after it is late by",
  unit: "Unit",
  units: { minutes: "minutes", hours: "hours", days: "days", weeks: "weeks" },
  next: "The next 10 times",
  nextZone: (zone: string) => `in ${zone}`,
  nextHere: (zone: string) => `in your time, ${zone}`,
  periodNote: "Counted from each signal.",
  methods: "Requests",
  anyMethod: "HEAD, GET and POST count",
  postOnly: "only POST counts; others are noted and ignored",
  manualResume: "Stay paused until somebody resumes it",
  manualResumeHint: "Otherwise the next signal ends the pause.",
  keywords: "Keywords",
  keywordsHint: "Separated by commas. They are looked for in the order failure, success, start.",
  startKw: "Start",
  successKw: "Success",
  failureKw: "Failure",
  where: "Look for keywords in",
  filterSubject: "the subject of mails",
  filterBody: "the text of mails",
  filterHttpBody: "the body of requests",
  otherwise: "What has none of them",
  filterDefaultFail: "counts as a failure (otherwise it is noted and ignored)",
} as const;

export const replayWords = {
  title: "Replayed on its real history",
  reading: "Replaying the last 90 days …",
  none: "There is no history yet to try this on.",
  over: (runs: number) => `Last 90 days, ${plural(runs, "run")}:`,
  same: (count: number) => `${plural(count, "alert")}, as before`,
  instead: (after: number, before: number) => `${plural(after, "alert")} instead of ${before}`,
  quiet: (seconds: number) => `Use ${formatSpan(seconds * 1_000)} of grace`,
  quietWhy: "the shortest with which only the right alarms are left",
  alerts: "See which",
  before: "As it is",
  after: "With this change",
  noAlerts: "no alert",
} as const;

/** "none of the 2 real failures missed" */
export function missedText({ realCount, missedCount }: Pick<Replay, "realCount" | "missedCount">): string {
  if (realCount === 0) return "there was no real failure to miss";
  if (missedCount === 0) {
    return realCount === 1
      ? "the one real failure is not missed"
      : `none of the ${realCount} real failures missed`;
  }
  return `${missedCount} of ${plural(realCount, "real failure")} would be missed`;
}
