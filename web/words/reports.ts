// Texts of the reports page.
import type { Report } from "../../src/contract/api/report.ts";
import { formatCount } from "../../src/contract/api/words.ts";
import { formatDuration, plural } from "./format.ts";

export const reportsWords = {
  tab: "Reports",
  title: ({ noise, slower }: Report): string => {
    const noisy = noise.checks.length + noise.unlistedCount;
    const slow = slower.checks.length + slower.unlistedCount;
    const parts = [
      ...(noisy > 0 ? [plural(noisy, "noisy check")] : []),
      ...(slow > 0 ? [`${plural(slow, "check")} getting slower`] : []),
    ];
    return parts.length === 0 ? "No noisy or slowing checks" : parts.join(", ");
  },
  lead: (from: string, to: string) => `${from} to ${to}.`,
  period: "Period",
  days: (days: number) => `Last ${days} days`,
  csv: "Export as CSV",
  json: "Export as JSON",
  print: "Print",
  noise: {
    title: "Noisy checks",
    about: ({ minutesMax, alertsMin }: Report["noise"]) =>
      `Alerts that ended by themselves: the check recovered within ${minutesMax} minutes without an acknowledgment or an edit. A check with at least ${alertsMin} such alerts is listed.`,
    summary: ({ alertCount, noiseCount }: Report["noise"]) =>
      `${formatCount(noiseCount)} of ${plural(alertCount, "alert")} ended by themselves.`,
    cut: (count: number) => `Only the newest ${formatCount(count)} alerts were counted.`,
    none: "No noisy checks",
    noneText: (alertCount: number) =>
      alertCount === 0
        ? "There were no alerts in this period."
        : "No check had repeated alerts that ended by themselves.",
    columns: {
      check: "Check",
      noise: "Noisy alerts",
      alerts: "All alerts",
      recovery: "Median recovery",
    },
    fix: "Increase the grace period, or notify only after several failures.",
  },
  slower: {
    title: "Getting slower",
    about: ({ daysMin, riseMin, riseMsMin, zMin }: Report["slower"]) =>
      `A trend line (Theil-Sen) through the average duration of each day. A check is listed if it has at least ${daysMin} days with runs, the line rises by at least ${riseMin * 100}% and ${formatDuration(riseMsMin)}, and the days are in rising order more often than by chance (Mann-Kendall z of at least ${zMin}).`,
    compared: (count: number) => `${plural(count, "check")} had enough days.`,
    cut: (count: number) => `Only the ${formatCount(count)} that rose most were examined.`,
    none: "No check is getting slower",
    noneText: (compared: number, daysMin: number) =>
      compared === 0
        ? `No check has measured runs on ${daysMin} days yet. Send a start ping to measure durations.`
        : `${plural(compared, "check")} had enough days. None of them became slower by enough.`,
    columns: {
      check: "Check",
      days: "Days",
      start: "Start",
      end: "End",
      rise: "Rise",
      order: "Later day slower",
      z: "z",
      chart: "Daily average",
    },
    chart: (name: string, start: string, end: string) => `${name}: from ${start} to ${end}`,
  },
  more: (count: number) => `${plural(count, "more check")} not listed.`,
  email: {
    title: "Report email",
    about:
      "The email with the downtime of all your projects, as it would be sent to you now. Choose how often you get it in your account.",
    length: "Report",
    lengths: { daily: "Daily", weekly: "Weekly", monthly: "Monthly" },
    open: "Open as email",
    settings: "Change how often",
    preview: "Preview of the report email",
    subject: "Subject:",
  },
} as const;
