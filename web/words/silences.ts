// Texts of the silences page, and of silenced checks on other pages.
import type { Silence } from "../../src/contract/api/silences.ts";
import { listNames } from "../../src/contract/api/words.ts";
import { dayNumber, formatClock, formatWhen, plural, type Reader } from "./format.ts";

export const silencesWords = {
  tab: "Silences",
  title: (active: number) => {
    if (active === 0) return "No silence is active";
    return active === 1 ? "1 silence is active" : `${active} silences are active`;
  },
  about:
    "During a silence, checks are monitored as usual, but no notifications about problems are sent. If a problem is still open when the silence ends, you are notified then.",
  new: "New silence",
  none: {
    title: "No silences yet",
    text: "Create a silence for planned maintenance. Checks are monitored as usual, but no notifications about problems are sent. If a problem is still open when the silence ends, you are notified then.",
    readOnly: "A member who can edit the project can create silences for planned maintenance.",
  },
  groups: { active: "Active now", upcoming: "Planned", ended: "Past" },
  marks: { active: "active", upcoming: "planned", ended: "ended" },
  week: "Silence",
  weekLabel: (parts: readonly string[]) =>
    parts.length === 0 ? "Not active this week" : `Active this week: ${parts.join("; ")}`,
  legend: { active: "silenced", upcoming: "planned" },
  noReason: "No reason given",
  by: (email: string) => `created by ${email}`,
  until: (when: string) => `Until ${when}`,
  endedAt: (when: string) => `ended ${when}`,
  untilSuccess: "Ends earlier for each check that succeeds.",
  each: (sentence: string, span: string) => `${sentence.replace(/\.$/, "")}, for ${span}`,
  left: (span: string) => `${span} left`,
  edit: "Edit",
  editOf: (name: string) => `Edit ${name}`,
  end: "End now",
  endOf: (name: string) => `End now: ${name}`,
  cancel: "Cancel",
  cancelOf: (name: string) => `Cancel ${name}`,
  repeat: "Repeat",
  repeatOf: (name: string) => `Repeat ${name}`,
  ended: (name: string) => `Ended: ${name}. Notifications about problems that are still open are sent now.`,
  canceled: (name: string) => `Canceled: ${name}.`,
  older: "Older silences",
  allChecks: "all checks",
  tag: (tag: string) => `tag: ${tag}`,
  checks: (count: number) => plural(count, "check"),
  deleted: "deleted checks",
} as const;

/** "tag: db", "all checks", "nightly-backup and search-reindex". */
export function scopeText({ checks, tag }: Pick<Silence, "checks" | "tag">): string {
  if (tag !== null) return silencesWords.tag(tag);
  if (checks === null) return silencesWords.allChecks;
  if (checks.length === 0) return silencesWords.deleted;
  return listNames(checks.map(({ name }) => (name === "" ? "unnamed" : name)));
}

/** The reason, or what it covers. */
export function silenceName(silence: Pick<Silence, "reason" | "checks" | "tag">): string {
  return silence.reason === "" ? `silence for ${scopeText(silence)}` : silence.reason;
}

/** "Wed 02:00 to 05:00", "Wed 22:00 to Thu 02:00". */
export function rangeText({ from, until }: { from: number; until: number }, reader: Reader): string {
  const isSameDay = dayNumber(from, reader.zone) === dayNumber(until, reader.zone);
  const end = isSameDay ? formatClock(until, reader.zone) : formatWhen(until, reader);
  return `${formatWhen(from, reader)} to ${end}`;
}

/** A check that is silenced now, in the list and on its page. */
export const silencedWords = {
  mark: "silenced",
  until: (when: string) => `silenced until ${when}`,
  title: (name: string, when: string) => `Silenced until ${when} (${name}). No notifications about problems.`,
  band: "No notifications about problems:",
  held: "Notifications are held:",
  bandUntil: (when: string) => `until ${when}.`,
  act: "Silence",
  key: "Silence",
} as const;
