// Texts of the forecast page, and of the forecast on the page of a check.
import type { ForecastEntry } from "../../src/contract/api/forecast.ts";
import { plural } from "./format.ts";

export const forecastWords = {
  tab: "Forecast",
  title: (total: number) =>
    total === 0 ? "No surprises in the next 12 months" : `${plural(total, "surprise")} in the next 12 months`,
  nearest: "The nearest: on",
  worst: "The worst: on",
  none: {
    title: "No schedules yet",
    text: "The forecast shows when a clock change, a short month or an ambiguous expression will make a job run differently. Add a check with a cron or OnCalendar expression to see it here.",
  },
  calm: "Every schedule runs as written for the next 12 months: no clock change skips or repeats a run, and no month is too short.",
  truncated: "Only the nearest surprises are shown. Fix some of them to see more.",
  calendar: {
    label: (from: string, to: string) => `Calendar of surprises, ${from} to ${to}`,
    table: "Show as a table",
    day: "Day",
    what: "What happens",
    legend: {
      repeated: "runs more often",
      missed: "does not run",
      moved: "runs later",
      skipped: "day does not exist",
      crowded: "jobs at once",
      last: "last run",
      today: "today",
    },
  },
  comingUp: "Coming up",
  more: (count: number) => `Show ${count} more`,
  moreDays: (count: number) => `and ${plural(count, "more day", "more days")}`,
  everyMonth: "every month",
  timesPerMonth: (count: number) => `about ${plural(count, "day")}`,
  ended: "already ended",
  checks: "Checks",
  moreChecks: (count: number) => `and ${count} more`,
  unnamed: "unnamed",
  intend: "That’s intended",
  intendOf: (title: string) => `That’s intended: ${title}`,
  intendedDone: (title: string) => `Marked as intended: ${title}.`,
  intended: "Intended",
  intendedAbout: "These are not counted, and not in your calendar. A mark ends when the schedule changes.",
  unmark: "Not intended",
  unmarkOf: (title: string) => `Not intended: ${title}`,
  unmarkDone: (title: string) => `No longer marked as intended: ${title}.`,
  fixOf: (label: string, title: string) => `${label}: ${title}`,
  fix: {
    about: "Overdue only monitors. Change the schedule of the job itself as well, in its crontab or timer.",
    check: "Check",
    before: "Now",
    after: "New",
    act: (count: number) => `Change ${plural(count, "schedule")}`,
    done: (count: number) => `${plural(count, "schedule")} changed.`,
    already: "The schedules already were as shown. Nothing was changed.",
    rest: (count: number) => `${count} more checks are affected. Apply the fix again for them afterwards.`,
  },
  crowd: {
    title: (time: string) => `${time} is crowded`,
    label: (count: number, time: string) =>
      `Jobs that run at once, by hour of the day. ${count} start at ${time}.`,
    peak: (count: number, time: string) => `${count} at ${time}`,
    spread: "if spread out",
    table: "Show as a table",
    hour: "Hour",
    now: "At once now",
    after: "If spread out",
    text: (count: number, time: string) => `${count} jobs start at ${time} every day.`,
    plan: (minutes: number, atOnce: number) =>
      `Spread over ${minutes} minutes, at most ${atOnce} would run at once`,
    end: (time: string) => ` and all would end by ${time}.`,
    act: "Show the new times",
    fine: "It’s fine",
    fineDone: (time: string) => `${time} is no longer shown as crowded.`,
    window: "Spread out the jobs",
  },
  feed: {
    open: "Add to calendar",
    title: "Calendar feed",
    about:
      "Your calendar program reads this URL and shows each surprise as an all-day event. It is updated every day.",
    secret: "Anyone with the URL can read the feed. It is shown only now.",
    url: "URL of the feed",
    exists: (when: string) => `You created a feed ${when}. Its URL can't be shown again.`,
    create: "Create URL",
    replace: "Create a new URL",
    replaceAbout: "The old URL stops working.",
    revoke: "Revoke feed",
    revoked: "The calendar feed was revoked.",
    close: "Close",
  },
  ofCheck: "Surprises ahead",
  ofProject: "Forecast of the project",
} as const;

/** "2×", "0×", "19": what a mark of the calendar says; empty for a drawn one. */
export function badgeText({ kind, count }: Pick<ForecastEntry, "kind" | "count">): string {
  switch (kind) {
    case "repeated":
      return `${count}×`;
    case "either":
      return `${count}×`;
    case "missed":
    case "ended":
      return "0×";
    case "moved":
      return "1×";
    case "crowded":
      return String(count);
    case "skipped":
      return "";
    case "last":
      return "end";
  }
}
