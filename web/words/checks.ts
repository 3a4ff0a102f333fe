// What the page of checks says, and what other pages say of a check.
import type { CheckRow } from "../../src/contract/web/check-row.ts";
import type { StateCounts } from "../../src/contract/web/boot.ts";
import { formatCount, numberWord, plural } from "./number.ts";

/** A check may have no name; it still needs something to be called by. */
export function checkName({ name }: Pick<CheckRow, "name">): string {
  return name === "" ? "unnamed" : name;
}

/** The title of the page: what matters, never just "Checks". */
export function checksTitle(counts: StateCounts, total: number): string {
  const need = counts.down + counts.late;
  if (total === 0) return "Nothing is watched yet";
  if (counts.down > 0)
    return `${numberWord(counts.down)} ${counts.down === 1 ? "job needs" : "jobs need"} you`;
  if (need > 0) return `${numberWord(need)} ${need === 1 ? "job is" : "jobs are"} late`;
  const watched = counts.up;
  if (watched === 0) return counts.new > 0 ? "Waiting for the first signals" : "All checks are paused";
  if (watched <= 2) return watched === 1 ? "The job is on time" : "Both jobs are on time";
  return `All ${formatCount(watched)} jobs are on time`;
}

export const checksWords = {
  tab: "Checks",
  search: "Search by name, tag or UUID",
  searchLabel: "Search checks",
  newCheck: "New check",
  filterByState: "Filter by state",
  anyTag: "tag: any",
  tagged: (tags: readonly string[]) => `tag: ${tags.join(", ")}`,
  clearTags: "Any tag",
  untagged: "No tag",
  groupByTag: "grouped by tag",
  orderLabel: "Order of the list",
  orderNote: "What needs attention always stands on top",
  findTag: "Find a tag",
  order: (name: string) => `order: ${name}`,
  orders: {
    attention: "needs attention",
    name: "name",
    "-name": "name, Z to A",
    last_ping: "last signal, oldest first",
    "-last_ping": "last signal, newest first",
    created: "created",
  },
  columns: {
    state: "State",
    name: "Name",
    expected: "Expected",
    beats: "Last 30 runs",
    duration: "Duration, p95",
    fuse: "Last signal → alert",
  },
  needsAttention: "Needs attention",
  everythingElse: "Everything else",
  all: "Checks",
  list: "Checks",
  total: (count: number) => plural(count, "check"),
  shown: (count: number, total: number) => `${formatCount(count)} of ${plural(total, "check")}`,
  loadingRest: "loading the rest",
  never: "never",
  runningFor: (span: string) => `running ${span}`,
  dueBy: (clock: string) => `due by ${clock}`,
  downFor: (span: string) => `down for ${span}`,
  failed: "failed",
  failedExit: (status: number) => `failed, exit ${status}`,
  alertIn: (span: string) => `alert in ${span}`,
  alertNow: "alert is due",
  paused: "paused",
  waiting: "waits for its first signal",
  nothingAwaited: "nothing awaited",
  noDuration: "–",
  p95: (duration: string) => `95 of 100 runs take at most ${duration}`,
  noMatch: {
    title: "No check fits",
    text: "No check has this name, tag or state at the same time.",
    action: "Show all checks",
  },
  select: (name: string) => `Select ${name}`,
  actions: (name: string) => `What to do with ${name}`,
  untold: "nobody is told",
  untoldTitle: "No channel hears of this check. Select it and choose Channels.",
  wentDown: (name: string) => `${name} went down.`,
  cameUp: (name: string) => `${name} is up again.`,
} as const;

export const sinceWords = {
  since: (when: string) => `Since ${when}:`,
  broke: "went down",
  healed: "went down and recovered",
  added: (count: number) => (count === 1 ? "one check is new" : `${formatCount(count)} checks are new`),
  and: " and ",
  more: (count: number) => ` and ${formatCount(count)} more`,
  all: "See all",
  cannotReceive: (clock: string) =>
    `Overdue cannot receive signals since ${clock}. Jobs are not blamed for it: what is missing is awaited again afterwards.`,
  couldNotReceive: (span: string, when: string) =>
    `Overdue could not receive signals for ${span} (${when}). What was missed meanwhile is not held against the jobs.`,
} as const;

export const keyWords = {
  group: "Checks",
  search: "Search",
  down: "Next row",
  up: "Row before",
  open: "Open",
  pick: "Select",
  pause: "Pause or resume",
  edit: "Edit",
  new: "New check",
  clear: "Clear the selection",
} as const;

export const newCheckWords = {
  title: "New check",
  about: "A name is enough; everything can be changed later.",
  name: "Name",
  namePlaceholder: "nightly-backup",
  tags: "Tags",
  tagsHint: "Separated by spaces",
  kind: "Expected",
  kinds: { simple: "After a fixed time", cron: "On a schedule" },
  every: "Every",
  grace: "Alert after it is late by",
  schedule: "Cron or OnCalendar expression",
  schedulePlaceholder: "0 3 * * *",
  zone: "Time zone",
  units: { minutes: "minutes", hours: "hours", days: "days" },
  unit: "Unit",
  next: (times: string) => `Next: ${times}`,
  create: "Create check",
} as const;

export const firstSignalWords = {
  empty: "Let the first job report in",
  steps: [
    "Create a check and say when its job is expected.",
    "Put its one line at the end of the job.",
    "This page sees the first signal arrive. From then on silence is noticed.",
  ],
  fuse: "The fuse shows how much of the time until an alert is used up. It starts again with every signal.",
  fuseAt: { signal: "last signal", expected: "expected", alert: "alert" },
  emptyReadOnly: "Nothing is watched in this project yet. Somebody who may edit it can add the first check.",
  send: (name: string) => `Send the first signal of ${name}`,
  arrived: (name: string) => `It came: ${name} is up.`,
  arrivedText: "From now on silence is noticed.",
  open: "See the check",
} as const;
