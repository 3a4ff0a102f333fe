// Texts of the silences page, of its form, and of silenced checks on other pages.
import type { Silence } from "../../src/contract/api/silences.ts";
import { listNames } from "../../src/contract/api/words.ts";
import { dayNumber, formatClock, formatSpan, formatWhen, plural, type Reader } from "./format.ts";

export const silencesWords = {
  tab: "Silences",
  title: (active: number) => {
    if (active === 0) return "No silence is active";
    return active === 1 ? "1 silence is active" : `${active} silences are active`;
  },
  about:
    "During a silence, checks are monitored as usual, but no notifications about problems are sent. Problems that are still open at its end are notified then.",
  new: "New silence",
  none: {
    title: "No silences yet",
    text: "Create a silence for planned maintenance. Checks are monitored as usual, but no notifications about problems are sent. Problems that are still open at its end are notified then.",
    readOnly: "A member who can edit the project can create silences for planned maintenance.",
  },
  groups: { active: "Active now", upcoming: "Planned", ended: "Past" },
  marks: { active: "active", upcoming: "planned", ended: "ended" },
  week: "Silence",
  weekLabel: (parts: readonly string[]) =>
    parts.length === 0 ? "Not active this week" : `Active this week: ${parts.join("; ")}`,
  legend: { active: "silenced", upcoming: "planned" },
  noReason: "No reason given",
  by: (email: string) => `by ${email}`,
  until: (when: string) => `Until ${when}`,
  endedAt: (when: string) => `ended ${when}`,
  untilSuccess: "Ends earlier for each check that succeeds.",
  each: (sentence: string, span: string) => `${sentence.replace(/\.$/, "")}, for ${span}`,
  left: (span: string) => `${span} left`,
  edit: "Edit",
  editOf: (name: string) => `Edit ${name}`,
  end: "End now",
  endOf: (name: string) => `End ${name} now`,
  cancel: "Cancel",
  cancelOf: (name: string) => `Cancel ${name}`,
  repeat: "Repeat",
  repeatOf: (name: string) => `Repeat ${name}`,
  ended: (name: string) => `Ended: ${name}. Problems that are still open are notified.`,
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
  return silence.reason === "" ? `Silence for ${scopeText(silence)}` : silence.reason;
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
  title: (name: string, when: string) => `Silence: ${name}, until ${when}. No notifications about problems.`,
  band: "No notifications about problems:",
  bandUntil: (when: string) => `until ${when}.`,
  act: "Silence",
  key: "Silence",
} as const;

export const silenceFormWords = {
  title: "New silence",
  editTitle: (name: string) => `Edit ${name}`,
  sentence: {
    silence: "Silence",
    from: "from",
    to: "to",
    zone: (zone: string) => `${zone} time`,
    length: "for",
    often: { once: "once", recurring: "recurring" },
    reason: "Reason:",
  },
  now: "now",
  all: "all checks",
  tagged: (tag: string) => `checks tagged ${tag}`,
  noTag: "checks with a tag",
  noChecks: "chosen checks",
  someChecks: (count: number) => plural(count, "check"),
  reason: "Reason",
  reasonPlaceholder: "optional",
  panels: {
    what: "What to silence",
    from: "Start",
    to: "End",
    often: "Once or recurring",
    when: "Schedule",
    length: "Length",
  },
  kinds: { all: "All checks", tag: "By tag", checks: "Choose checks" },
  tags: "Tags",
  noTags: "No check of this project has a tag.",
  tagsNote: "Checks that get the tag later are silenced too.",
  findTag: "Find a tag",
  startsAt: "Starts at",
  endsAt: "Ends at",
  after: "Lasts",
  startNow: "Start now",
  once: "Once",
  recurring: "Recurring",
  recurringNote: "For regular maintenance windows. Each window begins by a cron or OnCalendar schedule.",
  schedule: "Cron or OnCalendar expression",
  scheduleSamples: "Common schedules",
  samples: [
    ["Every day at 02:00", "0 2 * * *"],
    ["Monday to Friday at 02:00", "0 2 * * 1-5"],
    ["Saturday at 22:00", "0 22 * * 6"],
    ["Sunday at 02:00", "0 2 * * 0"],
    ["First of the month at 02:00", "0 2 1 * *"],
  ],
  zone: "Time zone",
  unread: "a schedule",
  length: "Length of each window",
  untilSuccess: "End early",
  untilSuccessAbout: "for each check, as soon as it succeeds",
  holdAfter: "Wait after the end",
  holdAfterAbout: "How long problems that are still open wait for the next run before they are notified",
  holdAfterValue: (seconds: number) =>
    seconds === 0 ? "don't wait" : `up to ${formatSpan(seconds * 1_000)}`,
  preview: "What it covers",
  covers: (checks: number) => plural(checks, "check"),
  runs: (runs: number, isMore: boolean) => `${isMore ? "more than " : ""}${plural(runs, "expected run")}`,
  inside: "No notifications about problems are sent.",
  nothing: "No check matches now. Checks that match later are silenced.",
  atEnd: (when: string) =>
    `Problems that are still open at ${when} are notified then. Recoveries are always sent.`,
  atEndHold: (when: string, span: string) =>
    `Problems that are still open at ${when} are notified after the next run of the check, at most ${span} later. Recoveries are always sent.`,
  due: (at: string) => `is expected at ${at}.`,
  dueEnd: (until: string) => `If it is still missing at ${until}, its channels are notified then.`,
  windows: "Next windows",
  chart: (from: string, until: string) => `Expected runs between ${from} and ${until}`,
  chartRuns: (count: number, isMore: boolean) => (isMore ? `${count}+ runs` : plural(count, "run")),
  chartKeys: { window: "silenced", first: "first expected run" },
  chartMore: (count: number) => `and ${plural(count, "more check")}`,
  asCode: "Copy as code",
  code: { curl: "curl", cli: "Command line" },
  act: (checks: number | null) => (checks === null ? "Silence" : `Silence ${plural(checks, "check")}`),
  save: "Save",
  made: (name: string) => `Silenced: ${name}.`,
  saved: (name: string) => `Saved ${name}.`,
  chooseTag: "Choose a tag.",
  chooseChecks: "Choose at least one check.",
  tooManyChecks: (max: number) =>
    `A silence can name ${plural(max, "check")} at most. Choose a tag or all checks to silence more.`,
} as const;
