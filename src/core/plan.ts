// Which notifications an alert leads to: whether its opening and closing are notified now, held by a rule, or dropped.
// Applied by the planner whenever an alert has changed or a hold has ended.
import type { AlertCause, CloseCause } from "./alert.ts";
import type { Severity } from "./incident.ts";
import { type Instant, MINUTE_MS, SECOND_MS } from "./instant.ts";
import type { EffectivePolicy } from "./policy.ts";

/** A rule that can hold an alert; `group` holds the message that names it. */
export type HoldRule = "silence" | "dependency" | "flapping" | "group";

export type AlertToPlan = {
  openedAt: Instant;
  closed: { at: Instant; cause: CloseCause } | null;
  /** Notifications about the opening were planned before. */
  isNotified: boolean;
  /** The rule that has held it so far. */
  heldBy: HoldRule | null;
};

/** A check that the check of the alert depends on. */
export type Parent = {
  /** The incident of its open alert, if that was notified or will be: not if it has no usable channels. */
  incidentId: number | null;
  /** Its alert is held by a rule. */
  isHeld: boolean;
  /** It is late, or its problem is tolerated so far. */
  isUndecided: boolean;
};

export type PlanContext = {
  now: Instant;
  /** A silence that applies: now, or to a closed alert when it closed. */
  silence: { silenceId: number; until: Instant } | null;
  parents: readonly Parent[];
  dependencyWaitMs: number;
  /** The alert belongs to an incident that is flapping. */
  isFlapping: boolean;
  /** The check has had another problem since. */
  hasNewerAlert: boolean;
  /** How long the check must stay up until a flapping incident is over. */
  reopenWithinMs: number;
};

export type Decision =
  | { kind: "notify"; opening: boolean; closing: boolean }
  /** Becomes part of the incident of a parent, and is notified when that is over. */
  | { kind: "join"; incidentId: number }
  /** It was taken back: unsent notifications are withdrawn, and the others corrected. */
  | { kind: "correct" }
  | { kind: "hold"; rule: HoldRule; until: Instant; silenceId: number | null }
  /** Nothing is sent. */
  | { kind: "drop" };

/** A hold without a known end is looked at again after this time. */
const LOOK_AGAIN_MS = MINUTE_MS;
/** A parent that is late can go down at any time. */
const LATE_PARENT_LOOK_MS = 10 * SECOND_MS;

/** What happens to an alert now. A recovery of a problem that was sent is sent, and no other. */
export function planAlert(alert: AlertToPlan, context: PlanContext): Decision {
  return alert.closed === null
    ? planOpen(alert, context)
    : planClosed({ ...alert, closed: alert.closed }, context);
}

function planClosed(
  { closed, isNotified, heldBy }: AlertToPlan & { closed: NonNullable<AlertToPlan["closed"]> },
  { now, silence, isFlapping, hasNewerAlert, reopenWithinMs }: PlanContext,
): Decision {
  if (closed.cause === "takenBack") return isNotified ? { kind: "correct" } : { kind: "drop" };
  const isRecovery = closed.cause === "recovered";
  const calmAt = closed.at + reopenWithinMs;
  if (isFlapping && hasNewerAlert) return { kind: "notify", opening: false, closing: false };
  if (isFlapping && isRecovery && now < calmAt) {
    return { kind: "hold", rule: "flapping", until: calmAt, silenceId: null };
  }
  if (isNotified) return { kind: "notify", opening: false, closing: isRecovery };
  // It opened and closed while a rule held it.
  if (heldBy !== null || silence !== null) return { kind: "drop" };
  return { kind: "notify", opening: true, closing: isRecovery };
}

function planOpen({ openedAt, isNotified }: AlertToPlan, context: PlanContext): Decision {
  const { now, silence, parents, dependencyWaitMs, isFlapping } = context;
  if (isNotified) return { kind: "notify", opening: false, closing: false };
  if (silence !== null) {
    return { kind: "hold", rule: "silence", until: silence.until, silenceId: silence.silenceId };
  }
  const held = (until: Instant): Decision => ({ kind: "hold", rule: "dependency", until, silenceId: null });
  const downId = parents.find(({ incidentId }) => incidentId !== null)?.incidentId ?? null;
  if (downId !== null) return { kind: "join", incidentId: downId };
  if (parents.some(({ isHeld }) => isHeld)) return held(now + LOOK_AGAIN_MS);
  const waitsUntil = openedAt + dependencyWaitMs;
  if (now < waitsUntil && parents.some(({ isUndecided }) => isUndecided)) {
    return held(Math.min(waitsUntil, now + LATE_PARENT_LOOK_MS));
  }
  // The channels know that the incident is flapping; they get one recovery at its end.
  return { kind: "notify", opening: !isFlapping, closing: false };
}

/** Whether alerts of this cause are combined: a failure has its own output, which is sent at once. */
export function isGroupable(cause: AlertCause): boolean {
  return cause === "missed" || cause === "overrun";
}

/** The severity of an alert. */
export function severityOf(cause: AlertCause, { severity }: Pick<EffectivePolicy, "severity">): Severity {
  return isGroupable(cause) ? severity.missed : severity.failed;
}

/**
 * What the alert has in common with others, by the first kind of key that the check has a value for: the address of its
 * last ping, its first tag with the prefix, or the project. Null: it is not combined.
 */
export function groupKeyOf(
  cause: AlertCause,
  {
    groupBy,
    tags,
    source,
  }: Pick<EffectivePolicy, "groupBy"> & { tags: readonly string[]; source: string | null },
): string | null {
  if (!isGroupable(cause)) return null;
  for (const kind of groupBy) {
    if (kind === "project") return "project";
    if (kind === "source" && source !== null) return `source:${source}`;
    if (kind.startsWith("tag:")) {
      const tag = tags.find((one) => one.startsWith(kind.slice("tag:".length)));
      if (tag !== undefined) return `tag:${tag}`;
    }
  }
  return null;
}

/**
 * When a group message that is created now is due: it collects changes for a while, and later ones are sent at most every
 * interval. The last recovery is sent at once.
 */
export function groupDueAt(
  { lastSentAt, isOver }: { lastSentAt: Instant | null; isOver: boolean },
  { groupWait, groupInterval, now }: Pick<EffectivePolicy, "groupWait" | "groupInterval"> & { now: Instant },
): Instant {
  if (isOver) return now;
  const intervalAt = lastSentAt === null ? now : lastSentAt + groupInterval * SECOND_MS;
  return Math.max(now + groupWait * SECOND_MS, intervalAt);
}
