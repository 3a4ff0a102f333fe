// Texts of the incidents page and of the page of one incident.
import type {
  IncidentActor,
  IncidentAlert,
  IncidentEvent,
  IncidentRow,
} from "../../src/contract/api/incidents.ts";
import { plural } from "./format.ts";

export const incidentsWords = {
  tab: "Incidents",
  title: ({ open, acknowledged }: { open: number; acknowledged: number }) => {
    if (open > 0) return `${plural(open, "incident")} ${open === 1 ? "needs" : "need"} attention`;
    if (acknowledged > 0) return `${plural(acknowledged, "incident")} in progress`;
    return "No open incidents";
  },
  none: {
    title: "No incidents yet",
    text: "Problems you are notified about appear here until they are resolved. Acknowledge an incident to show that you're working on it.",
    act: "View channels",
  },
  noMatch: { title: "No matching incidents", text: "No incidents have the selected status." },
  filter: "Filter by status",
  states: { open: "open", acknowledged: "acknowledged", resolved: "resolved" },
  groups: {
    open: "Open",
    acknowledged: "Acknowledged",
    today: "Resolved today",
    yesterday: "Resolved yesterday",
    earlier: "Resolved earlier",
  },
  columns: {
    state: "Status",
    what: "Incident",
    bar: "Open, acknowledged",
    who: "Acknowledged by",
    lasted: "Lasted",
  },
  bar: (open: string, acknowledged: string | null) =>
    acknowledged === null ? `Open for ${open}` : `Open for ${open}, acknowledged for ${acknowledged}`,
  now: "now",
  notAcknowledged: "not acknowledged",
  acknowledge: "Acknowledge",
  acknowledgeOf: (title: string) => `Acknowledge: ${title}`,
  unacknowledged: "The incident is open again.",
  older: "Older incidents",
  flapping: "flapping",
  severities: { low: "low severity", normal: "", high: "high severity" },
  next: {
    repeat: (when: string) => `Reminder ${when}`,
    acknowledgementEnds: (when: string) => `Acknowledgement ends ${when}`,
  },
  checks: (count: number) => plural(count, "check"),
  openOf: (open: number, all: number) => `${open} of ${plural(all, "check")} not recovered`,
  keys: {
    group: "Incidents",
    down: "Next incident",
    up: "Previous incident",
    open: "Open",
    acknowledge: "Acknowledge",
  },
} as const;

const CAUSE_TITLES: Readonly<Record<IncidentAlert["cause"], string>> = {
  failed: "failed",
  missed: "missed a run",
  overrun: "ran too long",
  tooFast: "ended too soon",
  tooOften: "ran too often",
};

/** "nightly-backup missed a run", "12 checks tagged db stopped reporting". */
export function incidentTitle({
  key,
  cause,
  checks,
  checkCount,
}: Pick<IncidentRow, "key" | "cause" | "checks" | "checkCount">): string {
  const what = cause === null ? "had a problem" : CAUSE_TITLES[cause];
  const [first] = checks;
  if (checkCount <= 1) return first === undefined ? `A deleted check ${what}` : `${nameOf(first)} ${what}`;
  const many = plural(checkCount, "check");
  if (key?.kind === "source") return `${many} from ${key.value} stopped reporting`;
  if (key?.kind === "tag") return `${many} tagged ${key.value} stopped reporting`;
  if (key?.kind === "parent") return `${key.value} and ${plural(checkCount - 1, "dependent check")}`;
  return `${many} stopped reporting`;
}

function nameOf({ name }: { name: string }): string {
  return name === "" ? "unnamed" : name;
}

/** "Ada Lovelace", "#ops (link)", "an API key". */
export function actorName({ kind, name }: IncidentActor): string {
  if (kind === "channel") return name === null ? "a link in a notification" : `${name} (link)`;
  if (kind === "key") return "an API key";
  return name ?? "a deleted account";
}

/** Of one check, and of several. */
const ALERT_OPENED: Readonly<Record<IncidentAlert["cause"], readonly [string, string]>> = {
  failed: ["reported a failure", "reported failures"],
  missed: ["missed its deadline", "missed their deadlines"],
  overrun: ["ran longer than allowed", "ran longer than allowed"],
  tooFast: ["ended too soon", "ended too soon"],
  tooOften: ["started too soon after the previous run", "started too soon after their previous runs"],
};
const ALERT_CLOSED: Readonly<Record<NonNullable<IncidentAlert["closeCause"]>, readonly [string, string]>> = {
  recovered: ["recovered", "recovered"],
  paused: ["was paused", "were paused"],
  takenBack: ["was on time: its ping was recorded late", "were on time: their pings were recorded late"],
  resolved: ["was resolved manually", "were resolved manually"],
  deleted: ["was deleted", "were deleted"],
  moved: ["was moved to another project", "were moved to another project"],
};
const EVENTS: Readonly<Record<IncidentEvent["kind"], string>> = {
  acknowledged: "Acknowledged",
  unacknowledged: "Acknowledgement undone",
  acknowledgementEnded: "Acknowledgement ended",
  severityRaised: "Severity raised",
  flapping: "Flapping: reopened several times within an hour",
  resolved: "Resolved",
  reopened: "Reopened",
};

export const incidentWords = {
  crumbs: "Breadcrumb",
  number: (n: number) => `#${n}`,
  tab: "Incident",
  missing: {
    title: "Incident not found",
    text: "The URL may be wrong, or the incident was resolved more than 93 days ago.",
    action: "View incidents",
  },
  lasted: (state: IncidentRow["state"], span: string) =>
    `${incidentsWords.states[state]} ${state === "resolved" ? "after " : ""}${span}`,
  silence: "Silence",
  resolve: "Resolve",
  acknowledge: "Acknowledge",
  unacknowledge: "Undo acknowledgement",
  resolveAsk: {
    title: "Resolve this incident?",
    text: "Its alerts are closed without notifications. Checks that are down stay down, and their next failed or missed run opens a new incident.",
    act: "Resolve",
    done: "Incident resolved.",
  },
  acknowledged: "Incident acknowledged.",
  story: "What happened",
  opened: (what: string, cause: IncidentAlert["cause"], isMany: boolean) =>
    `${what} ${ALERT_OPENED[cause][isMany ? 1 : 0]}`,
  closed: (what: string, cause: NonNullable<IncidentAlert["closeCause"]>, isMany: boolean) =>
    `${what} ${ALERT_CLOSED[cause][isMany ? 1 : 0]}`,
  event: (kind: IncidentEvent["kind"]) => EVENTS[kind],
  by: (name: string) => `by ${name}`,
  deletedCheck: "A deleted check",
  notified: (count: number) => `Notified ${plural(count, "channel")}`,
  notifiedRecovery: (count: number) => `Notified ${plural(count, "channel")} of the recovery`,
  reminded: (count: number) => `Sent a reminder to ${plural(count, "channel")}`,
  corrected: (count: number) => `Sent a correction to ${plural(count, "channel")}`,
  slowest: (span: string) => `Last delivery after ${span}`,
  otherChannel: "a deleted channel",
  noted: (name: string) => `${name} added a note`,
  nowOpen: "Not acknowledged",
  nowAcknowledged: (name: string) => `Acknowledged by ${name}`,
  next: {
    repeat: "Reminder to all channels",
    repeatText: "Unless the incident is acknowledged or resolved first",
    acknowledgementEnds: "Acknowledgement ends",
    acknowledgementEndsText: "Reminders start again",
    recovery: "Resolved when all checks have recovered",
  },
  later: "later",
  chart: (count: number) => `When ${plural(count, "alert")} opened and closed`,
  chartKeys: { open: "open", acknowledged: "acknowledged" },
  checksTitle: (count: number) => (count === 1 ? "Check" : `${count} checks in this incident`),
  since: "down since",
  recoveredAt: "recovered",
  closedAt: "closed",
  showMore: (count: number) => `Show ${count} more`,
  rule: (rule: string) => `No notification: ${rule}`,
  notes: "Notes",
  noNotes: "No notes yet.",
  note: "Add a note",
  notePlaceholder: "What you found and what you did",
  addNote: "Add note",
  nextTitle: "Next notification",
  nextNone: "No more notifications until a check recovers or another check joins.",
  nextResolved: "None. The incident is resolved.",
  nextAck: "Acknowledging stops reminders.",
  keys: { group: "Incident", acknowledge: "Acknowledge or undo", resolve: "Resolve" },
} as const;

/** What the incident is about, in sentences; parts in bold are between asterisks. */
export function incidentSentence(
  incident: Pick<
    IncidentRow,
    "checkCount" | "openCount" | "state" | "isFlapping" | "reopenCount" | "severity"
  >,
  { opened, lasted, channelCount }: { opened: string; lasted: string; channelCount: number },
): string[] {
  const { checkCount, openCount, state, reopenCount, isFlapping, severity } = incident;
  const recovered =
    state === "resolved"
      ? `It lasted *${lasted}*.`
      : checkCount === 1
        ? "It has not recovered."
        : openCount === checkCount
          ? `*${plural(checkCount, "check")}* have not recovered.`
          : `*${openCount} of ${plural(checkCount, "check")}* have not recovered.`;
  const notified =
    channelCount === 0
      ? "No notifications were sent."
      : `*${plural(channelCount, "channel")}* ${channelCount === 1 ? "was" : "were"} notified.`;
  return [
    `Opened *${opened}*.`,
    recovered,
    notified,
    ...(reopenCount > 0 ? [`Reopened ${reopenCount === 1 ? "once" : `${reopenCount} times`}.`] : []),
    ...(isFlapping
      ? ["The incident is flapping. No recovery notifications are sent until the checks stay up."]
      : []),
    ...(severity === "normal" ? [] : [`Severity: ${severity}.`]),
  ];
}
