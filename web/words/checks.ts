// Texts of the checks page, and texts about checks that other pages share.
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import { formatCount, LIST_WORDS } from "../../src/contract/api/words.ts";
import { plural } from "./format.ts";

export const checksWords = {
  tab: "Checks",
  search: "Search by name, tag or UUID",
  searchLabel: "Search checks",
  newCheck: "New check",
  fromCrontab: "Import crontab",
  filterByState: "Filter by status",
  anyTag: "tag: any",
  tagged: (tags: readonly string[]) => `tag: ${tags.join(", ")}`,
  clearTags: "Any tag",
  untagged: "No tag",
  groupByTag: "group by tag",
  orderLabel: "Sort order",
  orderNote: "Checks that need attention are always at the top",
  findTag: "Find a tag",
  order: (name: string) => `sort: ${name}`,
  orders: {
    attention: "needs attention",
    name: "name",
    "-name": "name, Z to A",
    last_ping: "last ping, oldest first",
    "-last_ping": "last ping, newest first",
    created: "created",
  },
  all: "Checks",
  ...LIST_WORDS,
  total: (count: number) => plural(count, "check"),
  shown: (count: number, total: number) => `${formatCount(count)} of ${plural(total, "check")}`,
  loadingRest: "loading more",
  never: "never",
  runningFor: (span: string) => `running ${span}`,
  dueBy: (clock: string) => `due by ${clock}`,
  downFor: (span: string) => `down for ${span}`,
  failed: "failed",
  failedExit: (status: number) => `failed, exit ${status}`,
  alertIn: (span: string) => `alert in ${span}`,
  alertNow: "alert is due",
  paused: "paused",
  waiting: "waiting for the first ping",
  nothingAwaited: "no ping expected",
  noDuration: "–",
  p95: (duration: string) => `95% of runs take at most ${duration}`,
  noMatch: {
    title: "No matching checks",
    text: "No checks match this combination of search, tags and status.",
    action: "Show all checks",
  },
  select: (name: string) => `Select ${name}`,
  actions: (name: string) => `Actions for ${name}`,
  tolerated: (count: number, needed: number) => `pending, ${count} of ${needed}`,
  resolved: "resolved",
  recovering: (count: number, needed: number) => `recovering, ${count} of ${needed}`,
  noChannel: "no channel",
  noChannelTitle: "No channel is notified about this check. Select it and choose Channels.",
  notifies: (names: readonly string[], rest: number) =>
    `Notifies ${names.join(", ")}${rest > 0 ? ` and ${plural(rest, "more channel")}` : ""}`,
  disabledChannel: (name: string) => `${name} (disabled)`,
  wentDown: (name: string) => `${name} went down.`,
  recovered: (name: string) => `${name} is up again.`,
  isUp: (name: string) => `${name} is up.`,
  moreFlips: (count: number) => `And ${formatCount(count)} more.`,
} as const;

const COUNTED = { failures: "failures", missed: "missed runs", successes: "successes" } as const;

/** "Pending: 1 of 3 failures. No notification yet." */
export function toleranceText({ kind, of, count, needed }: NonNullable<CheckRow["tolerance"]>): string {
  const counted = `${count} of ${needed} ${COUNTED[of]}`;
  if (kind === "recovering") return `Recovering: ${counted}. The recovery is not reported yet.`;
  if (count === 0) return "Resolved manually. No notification until the next failed or missed run.";
  return `Pending: ${counted}. No notification yet.`;
}

/** The same in a row: "pending, 1 of 3". */
export function toleranceLabel({ kind, count, needed }: NonNullable<CheckRow["tolerance"]>): string {
  if (kind === "recovering") return checksWords.recovering(count, needed);
  return count === 0 ? checksWords.resolved : checksWords.tolerated(count, needed);
}

export const sinceWords = {
  since: (when: string) => `Since ${when}:`,
  wentDown: "went down",
  recovered: "went down and recovered",
  added: (count: number) => plural(count, "new check"),
  and: " and ",
  more: (count: number) => ` and ${formatCount(count)} more`,
  all: "See all",
  notConnected: (clock: string) => `Disconnected since ${clock}. Data may be out of date.`,
  couldNotReceive: (span: string, when: string) =>
    `Monitoring gap: no pings were received for ${span} (${when}). Pings missed during that time did not raise alerts.`,
  dismiss: "Dismiss",
} as const;

export const keyWords = {
  group: "Checks",
  search: "Search",
  down: "Next row",
  up: "Previous row",
  open: "Open",
  pick: "Select",
  pause: "Pause or resume",
  edit: "Edit",
  new: "New check",
  clear: "Clear selection",
} as const;

export const choiceWords = {
  find: "Find a check",
  selected: (count: number) => `${plural(count, "check")} selected`,
  more: (count: number) => `and ${plural(count, "more check")}. Search to find them.`,
} as const;

export const nameFieldWords = {
  name: "Name",
  tags: "Tags",
  tagsHint: "Separated by spaces",
  slug: "Slug",
} as const;

export const newCheckWords = {
  title: "New check",
  about: "Only a name is needed. You can change everything later.",
  namePlaceholder: "nightly-backup",
  slugHint: "Leave blank to create it from the name",
  kind: "Schedule type",
  kinds: { simple: "Interval", cron: "Cron or OnCalendar" },
  every: "Every",
  grace: "Grace period",
  schedule: "Cron or OnCalendar expression",
  schedulePlaceholder: "0 3 * * *",
  zone: "Time zone",
  units: { minutes: "minutes", hours: "hours", days: "days" },
  unit: "Unit",
  next: (times: string) => `Next: ${times}`,
  unread: "A description and the next run times appear here as you type.",
  create: "Create check",
  crontab: "Import several from a crontab",
} as const;

export const firstSignalWords = {
  empty: "Monitor your first job",
  steps: [
    "Create a check and set when its job is expected to run.",
    "At the end of the job, add a command that sends a ping.",
    "This page shows the first ping as it arrives. From then on you get an alert when a ping is missing.",
  ],
  fuse: "The fuse shows how much time is left before an alert. It resets with every ping.",
  fuseAt: { signal: "last ping", expected: "expected", alert: "alert" },
  emptyReadOnly: "This project has no checks yet. A member who can edit the project can add the first one.",
  send: (name: string) => `Send the first ping to ${name}`,
  arrived: (name: string) => `Ping received: ${name} is up.`,
  arrivedText: "You'll get an alert if the next ping doesn't arrive in time.",
  open: "Open check",
} as const;

/** The dialog that creates checks from a crontab. */
export const crontabWords = {
  title: "Import crontab",
  about: "Paste the output of “crontab -l”. Each job becomes a check. Nothing changes on that machine.",
  text: "Crontab",
  placeholder: "0 3 * * * /srv/bin/backup.sh\n*/5 * * * * php /srv/app/artisan schedule:run",
  zone: "Time zone of that machine",
  allTags: "Tags for all checks",
  allTagsHint: "Separated by spaces. You can change the tags of each check below.",
  found: (count: number) => `${plural(count, "job")} found`,
  none: "No jobs found.",
  noneNew: "All jobs already report.",
  reporting: (count: number) => `${plural(count, "line")} already ${count === 1 ? "reports" : "report"}`,
  reportsBy: (by: string, check: string | null) =>
    check === null ? `sends pings with ${by}` : `sends pings with ${by} to ${check}`,
  skipped: (count: number) => `${plural(count, "line")} skipped`,
  line: (line: number) => `line ${line}`,
  watch: (name: string) => `Monitor ${name}`,
  next: (when: string) => `Next: ${when}.`,
  edit: "Edit",
  editLabel: (name: string) => `Edit ${name}`,
  name: "Name",
  tags: "Tags",
  grace: "Grace period",
  graceIs: (grace: string) => `Grace period: ${grace}.`,
  make: (count: number) => (count === 0 ? "Create checks" : `Create ${plural(count, "check")}`),
  made: (count: number) => `${plural(count, "check")} created`,
  createdAbout: "Replace the crontab with this version, in which each job reports its exit code.",
  install: "Run “crontab -e” on that machine.",
  newText: "New crontab",
  forms: "How jobs report",
  form: { curl: "curl", run: "overdue-run" },
  formAbout: {
    curl: "Sends a ping with the exit code after each job.",
    run: "Also reports the start, the duration, and the last output of each job. Install overdue-run first:",
  },
  installRun: "Install overdue-run",
  refused: (why: string) => `The other checks were not created. ${why}`,
  unchanged:
    "These lines end in a comment or hide the job's exit code behind a pipe. Send the ping at the end of their scripts instead:",
  unwrapped:
    "These lines use an unsupported shell or would be too long for cron. Move each job to a script and run it with:",
  done: "Done",
} as const;

/** The warning above the list. */

// Names of check actions, and the messages shown when they are done.

export const actionWords = {
  many: (count: number) => plural(count, "check"),
  pause: "Pause",
  resume: "Resume",
  edit: "Edit",
  open: "Open",
  copyUrl: "Copy ping URL",
  delete: "Delete",
  addTag: "Add tags",
  removeTag: "Remove tag",
  channels: "Channels",
  addChannel: "Notify",
  removeChannel: "Stop notifying",
  move: "Move to",
  select: "Select",
  tags: "Tags",
  schedule: "Schedule",
  newTag: "New tags",
  add: "Add",
  clear: "Clear selection",
  selected: (count: number) => `${count.toLocaleString("en-GB")} selected`,
  paused: (what: string) => `Paused ${what}. No alerts are sent while paused.`,
  resumed: (what: string) => `Resumed ${what}.`,
  deleted: (what: string) => `Deleted ${what}. Deleted checks can be restored for 7 days.`,
  restored: (what: string) => `Restored ${what} with its history.`,
  tagged: (what: string, tag: string) => `Tagged ${what} with ${tag}.`,
  untagged: (what: string, tag: string) => `Removed tag ${tag} from ${what}.`,
  connected: (what: string, name: string) => `${name} will be notified about ${what}.`,
  disconnected: (what: string, name: string) => `${name} will no longer be notified about ${what}.`,
  assigned: (what: string, names: string) => `${names} will be notified about ${what}.`,
  moved: (what: string, project: string) => `Moved ${what} to ${project}.`,
  refused: (count: number, why: string) =>
    count === 1 ? why : `${plural(count, "check")} couldn't be changed. ${why}`,
  acknowledge: "Acknowledge",
  acknowledged: (count: number) => `Acknowledged ${plural(count, "incident")}.`,
  acknowledgedNone: "No open incidents to acknowledge.",
  asCode: "Copy as code",
  codeCopied: "Copied as a curl command. It needs a project API key (see Settings).",
  urlCopied: "Ping URL copied.",
  copyRefused: (url: string) => `Your browser blocked copying. Copy this URL instead: ${url}`,
  deletedList: {
    open: "Deleted checks",
    title: "Deleted checks",
    about:
      "Deleted checks are kept for 7 days with their history. Their ping URLs work again as soon as you restore them.",
    none: "No checks deleted in the last 7 days.",
    back: "Restore",
    gone: (until: string) => `permanently deleted ${until}`,
  },
} as const;
