// Texts of notification policies: of checks, tags and projects.
import type { EffectivePolicy, Policy } from "../../src/contract/api/policies.ts";
import { formatSpan } from "./format.ts";

export type PolicyField = keyof EffectivePolicy;

const span = (seconds: number) => formatSpan(seconds * 1_000);
const spanOr = (off: string) => (seconds: number | null) =>
  seconds === null || seconds === 0 ? off : span(seconds);

/** The value of a field in words. */
const VALUES: { readonly [Field in PolicyField]: (value: EffectivePolicy[Field]) => string } = {
  failures: ({ count, of }) =>
    count === 1 ? "every failure" : count === of ? `${count} in a row` : `${count} of the last ${of}`,
  missed: (count) => (count === 1 ? "every missed run" : `${count} in a row`),
  recovery: (count) => (count === 1 ? "1 success" : `${count} successes in a row`),
  startWithin: spanOr("the grace period"),
  maxRun: (seconds) => (seconds === null ? "the grace period" : seconds === 0 ? "no limit" : span(seconds)),
  minRun: spanOr("no limit"),
  minGap: spanOr("no limit"),
  early: spanOr("not early"),
  dependencyWait: spanOr("don't wait"),
  groupBy: (keys) => (keys.length === 0 ? "separate notifications" : keys.map(groupKeyText).join(", ")),
  groupWait: spanOr("immediately"),
  groupInterval: span,
  reopenWithin: spanOr("never"),
  ackTimeout: spanOr("never"),
  repeat: spanOr("never"),
  severity: ({ failed, missed }) =>
    failed === missed ? failed : `${failed} for failures, ${missed} for missed runs`,
};

function groupKeyText(key: string): string {
  if (key === "source") return "by source address";
  return key === "project" ? "all checks" : `by tag ${key.slice("tag:".length)}…`;
}

function valueText<Field extends PolicyField>(field: Field, value: EffectivePolicy[Field]): string {
  return VALUES[field](value);
}

/** "Inherited from tag prod: every 1 h", "Default: never". */
export function inheritedText<Field extends PolicyField>(
  field: Field,
  value: EffectivePolicy[Field],
  origin: string,
): string {
  const text = valueText(field, value);
  if (origin === "default") return `Default: ${text}`;
  if (origin === "project") return `From the project: ${text}`;
  return `From tag ${origin.slice("tag:".length)}: ${text}`;
}

export const FIELD_LABELS: Readonly<Record<PolicyField, string>> = {
  failures: "Notify after failed runs",
  missed: "Notify after missed runs",
  recovery: "Recovered after",
  startWithin: "Must start within",
  maxRun: "Longest run",
  minRun: "Shortest run",
  minGap: "Shortest time between starts",
  early: "Accept a run early by",
  dependencyWait: "Wait for late dependencies",
  groupBy: "Group checks that go down together",
  groupWait: "Collect before sending",
  groupInterval: "Updates at most every",
  reopenWithin: "Reopen the incident within",
  ackTimeout: "Acknowledgements end after",
  repeat: "Repeat until acknowledged",
  severity: "Severity",
};

/** The fields that a rule sets: "repeat until acknowledged: 1 h". */
export function policySummary(policy: Policy): string[] {
  const fields = Object.keys(FIELD_LABELS) as PolicyField[];
  return fields.flatMap((field) => {
    const value = policy[field];
    if (value === undefined) return [];
    const label = FIELD_LABELS[field];
    const text = (VALUES[field] as (of: unknown) => string)(value);
    return [`${label.charAt(0).toLowerCase()}${label.slice(1)}: ${text}`];
  });
}

export const policyWords = {
  title: (name: string) => `Notification policy for ${name}`,
  about: "Fields that you don't set are inherited from tag rules and the project.",
  saved: (name: string) => `Saved the notification policy for ${name}.`,
  stale: "Someone else changed this policy. Close this form and open it again to see the change.",
  sections: {
    notify: "When to notify",
    runs: "Run limits",
    depends: "Dependencies",
    repeat: "Reminders and severity",
    group: "Grouping",
  },
  hints: {
    startWithin: "After the scheduled time. The grace period still applies to the whole run.",
    maxRun: "A longer run counts as a problem, even if it succeeds later.",
    minRun: "If a shorter run succeeds, it counts as a failure.",
    minGap: "A run that starts sooner counts as a failure.",
    early: "A ping up to this long before the scheduled time counts for that run.",
    dependencyWait: "How long to wait if a check that this one depends on is late.",
    groupBy: "One notification lists all of them. Reported failures are sent separately.",
    reopenWithin: "A new problem within this time after the recovery reopens the incident.",
    ackTimeout: "Notifications are repeated again after that.",
    repeat: "Repeats also stop when the incident is resolved.",
    severity: "",
  } as Partial<Record<PolicyField, string>>,
  useDefault: "Use the default",
  notSet: "Not set by this rule",
  set: "Custom",
  off: {
    startWithin: "Use the grace period",
    maxRun: "No limit",
    minRun: "No limit",
    minGap: "No limit",
    early: "Not early",
    dependencyWait: "Don't wait",
    groupWait: "Send immediately",
    reopenWithin: "Never",
    ackTimeout: "Never",
    repeat: "Never",
  } as Partial<Record<PolicyField, string>>,
  units: { seconds: "seconds", minutes: "minutes", hours: "hours", days: "days" },
  unitOf: (label: string) => `${label}: unit`,
  numberOf: (label: string) => `${label}: number`,
  failuresOf: "of the last",
  runs: (count: number) => (count === 1 ? "run" : "runs"),
  missedUnit: (count: number) => `missed ${count === 1 ? "run" : "runs"} in a row`,
  recoveryUnit: (count: number) => `${count === 1 ? "success" : "successes"} in a row`,
  group: {
    separate: "Separate notifications",
    source: "By source address of pings",
    project: "All checks of the project",
    tag: "By tag",
    prefix: "Tag prefix",
    prefixHint: "Checks whose tag with this prefix is the same, for example host-",
  },
  severities: { low: "low", normal: "normal", high: "high" },
  severityOf: { failed: "Reported failures", missed: "Missed or too long runs" },
  dependsOn: "Depends on",
  dependsOnHint:
    "While one of these checks has an open incident, no separate notifications are sent for this check.",
  dependsOnNone: "No other checks.",
  choose: "Choose checks",
} as const;

// The policy of a project and its tag rules, in the settings.

export const projectPolicyWords = {
  policy: {
    title: "Notification policy",
    about: "Applies to all checks of the project. Tag rules and checks can set their own values.",
    edit: "Edit policy",
    drawer: "Notification policy for the project",
    saved: "Notification policy saved.",
  },
  links: {
    title: "Acknowledge links",
    about:
      "Notifications about problems contain a link to acknowledge the incident. Anyone with the link can use it, without signing in.",
    label: "Include acknowledge links",
    on: "Notifications contain acknowledge links.",
    off: "Notifications no longer contain acknowledge links.",
  },
  rules: {
    title: "Tag rules",
    about:
      "A rule sets policy values and channels for all checks with a tag. For each value, the first matching rule applies.",
    list: "Tag rules",
    none: "No tag rules yet.",
    add: "Add rule",
    edit: "Edit",
    editOf: (tag: string) => `Edit the rule for ${tag}`,
    remove: "Remove",
    removeOf: (tag: string) => `Remove the rule for ${tag}`,
    up: (tag: string) => `Move the rule for ${tag} up`,
    down: (tag: string) => `Move the rule for ${tag} down`,
    channels: (names: string) => `also notifies ${names}`,
    empty: "sets nothing yet",
    newTitle: "New tag rule",
    editTitle: (tag: string) => `Rule for tag ${tag}`,
    tag: "Tag",
    tagHint: "The rule applies to all checks with this tag.",
    channelsLabel: "Channels",
    channelsHint: "Notified in addition to the channels of each check.",
    noChannels: "This project has no channels yet.",
    create: "Add rule",
    saved: (tag: string) => `Saved the rule for ${tag}.`,
    added: (tag: string) => `Added a rule for ${tag}.`,
    removed: (tag: string) => `Removed the rule for ${tag}.`,
    moved: (tag: string) => `Moved the rule for ${tag}.`,
  },
} as const;
