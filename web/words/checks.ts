// What the page of checks says, and what other pages say of a check.
import { formatCount, LIST_WORDS } from "../../src/contract/web/list-words.ts";
import { plural } from "./number.ts";

export const checksWords = {
  tab: "Checks",
  search: "Search by name, tag or UUID",
  searchLabel: "Search checks",
  newCheck: "New check",
  fromCrontab: "From a crontab",
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
  all: "Checks",
  ...LIST_WORDS,
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
  untold: "no channel",
  untoldTitle: "No channel is notified about this check. Select it and choose Channels.",
  tells: (names: readonly string[], rest: number) =>
    `Tells ${names.join(", ")}${rest > 0 ? ` and ${plural(rest, "more channel")}` : ""}`,
  toldOff: (name: string) => `${name} (switched off)`,
  wentDown: (name: string) => `${name} went down.`,
  cameBack: (name: string) => `${name} is up again.`,
  cameUp: (name: string) => `${name} is up.`,
  moreFlips: (count: number) => `And ${formatCount(count)} more.`,
} as const;

export const sinceWords = {
  since: (when: string) => `Since ${when}:`,
  broke: "went down",
  healed: "went down and recovered",
  added: (count: number) => (count === 1 ? "one check is new" : `${formatCount(count)} checks are new`),
  and: " and ",
  more: (count: number) => ` and ${formatCount(count)} more`,
  all: "See all",
  notConnected: (clock: string) => `Disconnected since ${clock}. Data may be out of date.`,
  cannotReceive: (clock: string) =>
    `Overdue cannot receive signals since ${clock}. Jobs are not blamed for it: what is missing is awaited again afterwards.`,
  couldNotReceive: (span: string, when: string) =>
    `Monitoring gap: no pings were received for ${span} (${when}). Pings missed during that time did not raise alerts.`,
  dismiss: "Dismiss",
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

export const nameFieldWords = {
  name: "Name",
  tags: "Tags",
  tagsHint: "Separated by spaces",
  slug: "Slug",
} as const;

export const newCheckWords = {
  title: "New check",
  about: "A name is enough; everything can be changed later.",
  namePlaceholder: "nightly-backup",
  slugHint: "Made from the name if left empty",
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
  unread: "What you type is read back here, with its next times.",
  create: "Create check",
  crontab: "Many at once, from a crontab",
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

/** The window in which a crontab becomes checks. */
export const crontabWords = {
  title: "Checks from a crontab",
  about: "Paste what “crontab -l” prints. Every job becomes a check; nothing is changed on that machine.",
  text: "Crontab",
  placeholder: "0 3 * * * /srv/bin/backup.sh\n*/5 * * * * php /srv/app/artisan schedule:run",
  zone: "Time zone of that machine",
  found: (count: number) => `${plural(count, "job")} found`,
  none: "No job is found in it.",
  leftOut: (count: number) => `${plural(count, "line")} left out`,
  line: (line: number) => `line ${line}`,
  watch: (name: string) => `Watch ${name}`,
  next: (when: string) => `Next: ${when}.`,
  make: (count: number) => (count === 0 ? "Create checks" : `Create ${plural(count, "check")}`),
  made: (count: number) => `${plural(count, "check")} created`,
  madeAbout: "Put this in place of the crontab: each job then reports how it ended.",
  install: "With “crontab -e” on that machine.",
  newText: "Crontab that reports",
  refused: (why: string) => `The others were not created. ${why}`,
  unchanged:
    "These lines run in the background, end in a comment, or hide the job's exit code behind a pipe. Report at the end of their scripts instead:",
  done: "Done",
} as const;

/** The warning above the list. */
