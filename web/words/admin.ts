// Texts of the server admin page.
import type { StoredData } from "../../src/contract/api/admin.ts";
import { formatCount } from "../../src/contract/api/words.ts";
import { plural } from "./format.ts";

const processes = (count: number) => plural(count, "process", "processes");

export const adminWords = {
  tab: "Server admin",
  title: (count: number) => {
    if (count === 0) return "No problems";
    return count === 1 ? "1 problem needs attention" : `${formatCount(count)} problems need attention`;
  },
  safeMode: {
    title: "Safe mode: notifications are off",
    checking:
      "The database was restored, copied or upgraded. Checking whether this server answers at its public URL.",
    about:
      "Pings are recorded, but no notifications are sent. Confirm only if this is your production server. A test copy would send notifications to your production channels.",
    act: "Confirm and resume notifications",
    ask: "Resume notifications?",
    askText:
      "Notifications still queued in the database are sent. Pings that were due before now don't raise alerts.",
    since: "Since",
  },
  problems: "Problems",
  since: "since",
  facts: "Health",
  intake: {
    label: "Receiving pings",
    none: "not running",
    noneText: "No process with the ping role is running.",
    ok: (count: number) => `${processes(count)} running`,
    lost: (count: number) => `${processes(count)} lost`,
    lostText: "The process may still hold pings that it accepted. Restart it with the same spool folder.",
    spoolEmpty: "Spool empty.",
    spool: (share: string) => `The spool is ${share} full.`,
    rate: (count: number) =>
      count === 0 ? "No pings in the last minute." : `${plural(count, "ping")} in the last minute.`,
    logged: "Pings go to the Kafka log.",
  },
  log: {
    label: "Kafka log",
    ok: "up to date",
    behind: (lag: string) => `${lag} behind`,
    none: "no recorder",
    noneText: "No process with the recorder role is running.",
    stopped: (count: number) => `${plural(count, "partition")} stopped`,
    stoppedText: "The log has lost pings. See the problems above.",
    about: (partitions: number, recorders: number) =>
      `${plural(partitions, "partition")}, ${plural(recorders, "recorder")}.`,
  },
  deadlines: {
    label: "Monitoring",
    ok: "on time",
    okText: "No deadlines waiting.",
    oldest: (lag: string) => `The oldest unprocessed deadline is ${lag} old.`,
    blocked: "some checks blocked",
    blockedText: "Some checks can't be processed. See the problems above.",
    behind: (lag: string) => `${lag} behind`,
    behindText:
      "Age of the oldest unprocessed deadline. Check that a process with the sweeper role is running.",
  },
  notifications: {
    label: "Notifications",
    ok: "queue empty",
    okText: "No notifications are due.",
    waits: (count: number) => `${plural(count, "notification")} due`,
    oldest: "Oldest due since",
    later: (count: number) => `${plural(count, "notification")} to retry`,
    laterText: "Earlier attempts failed. They will be retried.",
  },
  emailQueue: {
    label: "Email",
    on: "on",
    off: "off",
    offText: "OVERDUE_SMTP_HOST is not set. Create sign-in links on the command line.",
    waits: "Oldest unsent email waiting since",
    okText: "Email queue empty.",
  },
  database: {
    label: "Database",
    migrations: (count: number) => `${plural(count, "migration")}, all applied.`,
    pending: (count: number) => `${plural(count, "migration")} not applied. Run “overdue migrate”.`,
  },
  version: { label: "Version", newest: (name: string) => `Latest migration: ${name}` },
  processes: "Processes that receive pings",
  columns: {
    name: "Process",
    heartbeat: "Last heartbeat",
    rate: "Pings per minute",
    spool: "Spool",
    started: "Started",
  },
  rateUnknown: "unknown",
  lost: "lost",
  spoolEmpty: "empty",
  spool: (share: string) => `${share} full`,
  signInMethods: {
    title: "Sign-in methods",
    about: "Set in the server's configuration.",
    registration: "Registration",
    open: "Open: anyone can create an account",
    closed: "Invite only",
    oidc: "Identity provider",
    proxy: "Proxy header",
    none: "none",
  },
  retention: {
    title: "Data retention",
    about:
      "How long data is kept, and how much space it uses in the database. Expired data is deleted every hour.",
    list: "Data retention",
    objects: "Large ping bodies are in the object store and are not included.",
    columns: { what: "Data", bound: "Kept", rows: "Rows (approx.)", bytes: "Size" },
    days: (days: number) => `for ${plural(days, "day")}`,
    perCheck: (count: number, days: number | null) => {
      const latest = count === 1 ? "latest per check" : `latest ${formatCount(count)} per check`;
      return days === null ? latest : `${latest}, for ${plural(days, "day")}`;
    },
    deletion: (days: number) => `until ${plural(days, "day")} after deletion`,
    each: "varies",
    none: "–",
  },
  diagnostics: {
    title: "Diagnostics",
    about:
      "Include this in bug reports. It contains health and version information, but no addresses, check names or secrets.",
    label: "Diagnostics",
  },
  setUp: {
    title: "Setup",
    about: "Test the public URL and email again.",
    act: "Open setup",
  },
  quarantine: {
    title: "Quarantined pings",
    caption: "Newest pings",
    about:
      "These pings were received but could not be recorded. Their checks are not reported as down because of them. Retry after you have fixed the cause, for example after an upgrade.",
    columns: { received: "Received", check: "Check", reason: "Reason" },
    unknownCheck: "Unknown",
    more: (count: number) => `${count} more not shown.`,
    retry: "Retry all",
    retried: ({ recorded, dropped, failed }: Record<"recorded" | "dropped" | "failed", number>) =>
      [
        `Recorded: ${recorded}.`,
        ...(dropped > 0 ? [`Removed because the check no longer exists: ${dropped}.`] : []),
        ...(failed > 0 ? [`Still quarantined: ${failed}.`] : []),
      ].join(" "),
  },
  tabs: {
    label: "Server admin sections",
    state: "Health",
    accounts: "Accounts",
    record: "Audit log",
  },
} as const;

/** Health problems by name. A problem that is not listed here is shown by its name. */
export const PROBLEM_WORDS: Readonly<Record<string, string>> = {
  watermarkHeld: "Alerts for missing pings are on hold until all received pings are in the database",
  spoolFilling: "The spool of a ping process is filling up",
  sweepStuck: "Deadlines are not being checked: no sweeper is running, or it is stuck",
  deliveryStuck: "Notifications are due but are not being sent",
  intakeLost: "A ping process stopped sending heartbeats",
  pingsLost: "Acknowledged pings are missing from the database",
  checkLocked: "A check has been locked for too long",
  checkPoisoned: "A check can't be processed",
  logStopped:
    "The log has lost pings. Alerts for missing pings are on hold until an admin restores the records or accepts the loss",
  logBehind: "Pings in the log may be deleted before they are applied",
  providerKeyRefused: "A provider rejects the server's key, so channels of that kind fail",
  adminChannelUnusable: "The channel in OVERDUE_ADMIN_CHANNEL does not exist or is disabled",
  pingQuarantined: "Pings could not be recorded and are quarantined",
};

/** Stored data by name. */
export const STORED_WORDS: Readonly<Record<StoredData["data"], string>> = {
  pings: "Pings and their bodies",
  runs: "Run history",
  flips: "Status changes",
  events: "Other check events",
  messages: "Sent notifications and emails",
  auditEntries: "Audit log",
  signIns: "Sign-ins",
  checks: "Checks",
  other: "Everything else",
};

export const accountsWords = {
  columns: { who: "Account", checks: "Checks", seen: "Last sign-in", made: "Created", act: "Actions" },
  admin: "admin",
  twoFactor: "2FA",
  never: "never",
  of: (count: number, limit: number | null) =>
    limit === null ? formatCount(count) : `${formatCount(count)} of ${formatCount(limit)}`,
  more: "Show more",
  invite: "Invite someone",
  inviteByMail: "They'll get an email with a link to create an account with its own project.",
  inviteByLink:
    "This server doesn't send email. You'll get a link to share, which creates an account with its own project. To email invitations, set OVERDUE_SMTP_HOST.",
  email: "Email address",
  send: "Send invitation",
  make: "Create link",
  sent: (email: string) => `Invitation sent to ${email}.`,
  linkText: (email: string) =>
    `This link creates an account for ${email} and works once. You won't be able to see it again.`,
  menu: (email: string) => `Actions for ${email}`,
  changeLimit: "Change check limit",
  limitTitle: (email: string) => `Check limit for ${email}`,
  limitText: "The limit applies to all projects the account owns, combined.",
  limit: "Limit",
  limitHint: "Leave blank to use the default limit.",
  makeAdmin: "Make admin",
  removeAdmin: "Remove admin",
  adminTitle: (email: string) => `Make ${email} an admin?`,
  adminText:
    "Admins can see this page and all accounts, and change limits. They don't get access to projects.",
  removeAdminTitle: (email: string) => `Remove admin access for ${email}?`,
  removeAdminText: "They will lose access to this page.",
  changed: "Account updated.",
} as const;
