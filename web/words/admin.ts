// What the page about the installation says.
import { formatCount, numberWord } from "../../src/contract/web/list-words.ts";
import type { KeptName } from "../../src/contract/web/admin.ts";
import { plural } from "./number.ts";

const processes = (count: number) => plural(count, "process", "processes");

export const adminWords = {
  tab: "Installation",
  title: (count: number) => {
    if (count === 0) return "All is well";
    return count === 1 ? "One thing needs you" : `${numberWord(count)} things need you`;
  },
  safeMode: {
    title: "Safe mode: notifications are off",
    checking:
      "The database was restored, copied or upgraded. Checking whether this server answers at its public URL.",
    about:
      "Pings are recorded, but nothing is sent. Confirm only if this is the server in service. A copy for testing would notify the channels of production.",
    act: "Confirm and resume notifications",
    ask: "Resume notifications?",
    askText:
      "Notifications that were waiting in the data are sent. Pings that were expected before now raise no alerts.",
    since: "Since",
  },
  troubles: "What needs you",
  since: "since",
  facts: "How it is doing",
  receiving: {
    label: "Receiving",
    none: "nobody receives signals",
    noneText: "No process with the role ping has been heard of.",
    ok: (count: number) => `${processes(count)} at work`,
    lost: (count: number) => `${processes(count)} lost`,
    lostText: "Signals that it took may still be with it: start it again with the same folder.",
    spoolEmpty: "Nothing waits to be written down.",
    spool: (share: string) => `The spool is ${share} full.`,
    rate: (count: number) =>
      count === 0 ? "No signal in the last minute." : `${plural(count, "signal")} in the last minute.`,
  },
  watching: {
    label: "Watching",
    ok: "on time",
    okText: "No deadline waits to be judged.",
    oldest: (lag: string) => `The oldest deadline to be judged has waited for ${lag}.`,
    held: "not every check",
    heldText: "Some cannot be judged: see above.",
    behind: (lag: string) => `${lag} behind`,
    behindText:
      "The oldest deadline that should have been judged. Is a process with the role sweeper running?",
  },
  telling: {
    label: "Telling",
    ok: "nothing waits",
    okText: "Every message that is due has been tried.",
    waits: (count: number) => `${plural(count, "message")} due`,
    oldest: "The oldest waits since",
    later: (count: number) => `${plural(count, "message")} to be tried again`,
    laterText: "Their receivers did not take them yet.",
  },
  letters: {
    label: "Mail",
    on: "is sent",
    off: "is not sent",
    offText: "OVERDUE_SMTP_HOST is not set: links to sign in come from the command line only.",
    waits: "A letter waits since",
    okText: "No letter waits.",
  },
  database: {
    label: "Database",
    migrations: (count: number) => `${plural(count, "migration")}, all applied.`,
    pending: (count: number) => `${plural(count, "migration")} not applied: run overdue migrate.`,
  },
  version: { label: "Version", newest: (name: string) => `Newest migration: ${name}` },
  processes: "Processes that receive signals",
  columns: {
    name: "Process",
    beat: "Heard of",
    rate: "Signals in a minute",
    spool: "Spool",
    started: "Started",
  },
  rateUnknown: "not told",
  lost: "lost",
  spoolEmpty: "empty",
  spool: (share: string) => `${share} full`,
  waysIn: {
    title: "Signing in",
    about: "As the settings of the program have it.",
    registration: "Registration",
    open: "open: anybody can make an account",
    closed: "closed: people come by invitation",
    oidc: "Identity provider",
    proxy: "Header of the proxy",
    none: "none",
  },
  kept: {
    title: "What is kept",
    about: "For how long, and how much of the database it takes. What is older is removed each hour.",
    list: "What is kept",
    objects: "Large bodies lie in the object store, and are not counted.",
    columns: { what: "What", bound: "Kept", rows: "Rows, about", bytes: "Size" },
    days: (days: number) => `for ${plural(days, "day")}`,
    perCheck: (count: number) =>
      count === 1 ? "the newest of each check" : `the newest ${formatCount(count)} of each check`,
    deletion: (days: number) => `until ${plural(days, "day")} after they are deleted`,
    each: "each as it needs",
    none: "–",
  },
  diagnostics: {
    title: "Diagnostics",
    about: "For the report of a bug: state and version, without addresses, names of checks or secrets.",
    label: "Diagnostics",
  },
  setUp: {
    title: "Set-up",
    about: "The public address and mail, tested again as on the first day.",
    act: "Open the set-up",
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
    label: "Parts of the installation",
    state: "State",
    accounts: "Accounts",
    record: "Record of changes",
  },
} as const;

/** What can be the matter, by its name; what is not named here is shown as it is called. */
export const TROUBLE_WORDS: Readonly<Record<string, string>> = {
  watermarkHeld: "Alerts about silence wait: it is not sure that all signals have arrived",
  spoolFilling: "The spool of a process is filling up",
  sweepStuck: "Deadlines are not being checked: no sweeper is running, or it makes no progress",
  deliveryStuck: "Messages wait although nothing hinders them",
  intakeLost: "A process that received signals was lost",
  pingsLost: "Acknowledged pings are missing from the database",
  checkLocked: "A check has been locked for long",
  checkPoisoned: "A check cannot be judged",
  adminChannelUnusable: "The channel in OVERDUE_ADMIN_CHANNEL does not exist or is disabled",
  pingQuarantined: "Pings could not be recorded and are quarantined",
};

/** What is stored, by its name. */
export const KEPT_WORDS: Readonly<Record<KeptName, string>> = {
  pings: "Pings and their bodies",
  runs: "History of runs",
  flips: "Changes of state",
  events: "Other events of checks",
  messages: "Messages and letters that were sent",
  auditEntries: "Record of changes",
  signIns: "Sign-ins",
  checks: "Checks",
  other: "Everything else",
};

export const accountsWords = {
  columns: { who: "Account", checks: "Checks", seen: "Signed in", made: "Made", act: "Actions" },
  operator: "operator",
  twoFactor: "2FA",
  never: "never",
  of: (count: number, limit: number | null) =>
    limit === null ? formatCount(count) : `${formatCount(count)} of ${formatCount(limit)}`,
  more: "More accounts",
  invite: "Invite somebody",
  inviteByMail: "They get a mail with a link, which makes an account and a project of their own.",
  inviteByLink:
    "No mail is sent from this installation: you get a link to pass on, which makes an account and a project of their own. With OVERDUE_SMTP_HOST set, invitations are mailed.",
  email: "Email address",
  send: "Send invitation",
  make: "Make a link",
  sent: (email: string) => `An invitation is on its way to ${email}.`,
  linkText: (email: string) => `It makes an account for ${email}, once. It is shown only now.`,
  menu: (email: string) => `Actions for ${email}`,
  changeLimit: "Limit of checks",
  limitTitle: (email: string) => `How many checks may ${email} have?`,
  limitText: "Checks of all projects that the account owns count.",
  limit: "Limit",
  limitHint: "Leave it empty for the limit that is set for everybody.",
  makeOperator: "Make an operator",
  endOperator: "Take the operator’s rights",
  operatorTitle: (email: string) => `Make ${email} an operator?`,
  operatorText: "They see this page and all accounts, and may change limits. Projects stay closed to them.",
  endTitle: (email: string) => `Take the operator’s rights of ${email}?`,
  endText: "They do not see this page any more.",
  changed: "The account was changed.",
} as const;
