// Incidents: alerts that are handled together. How acknowledging, resolving and reopening change one, how urgent it is,
// and when its next step is due.
import { HOUR_MS, type Instant } from "./instant.ts";

/** In order of urgency. */
const SEVERITIES = ["low", "normal", "high"] as const;
export type Severity = (typeof SEVERITIES)[number];

export type IncidentState = "open" | "acknowledged" | "resolved";

/** An account, or the link that was sent to a channel. Both are null for an API key. */
export type IncidentActor = { accountId: number | null; channelId: number | null };

/** What a person or the planner can change. */
export type IncidentStatus = {
  state: IncidentState;
  severity: Severity;
  /** Stays after the incident is resolved. */
  acknowledged: { at: Instant; by: IncidentActor } | null;
  resolvedAt: Instant | null;
  reopenCount: number;
  /** Since when it has been flapping. */
  flappingAt: Instant | null;
};

/** Events of the timeline. */
export type IncidentEventKind =
  | "acknowledged"
  | "unacknowledged"
  | "acknowledgementEnded"
  | "severityRaised"
  | "flapping"
  | "resolved"
  | "reopened"
  | "note";

/** Acknowledges an open incident. Without effect on any other, so that repeating it changes nothing. */
export function acknowledge(
  incident: IncidentStatus,
  acknowledged: { at: Instant; by: IncidentActor },
): IncidentStatus {
  return incident.state === "open" ? { ...incident, state: "acknowledged", acknowledged } : incident;
}

/** Takes an acknowledgement back, or ends it. Without effect on an incident that is not acknowledged. */
export function unacknowledge(incident: IncidentStatus): IncidentStatus {
  return incident.state === "acknowledged" ? { ...incident, state: "open", acknowledged: null } : incident;
}

/** Resolves an incident; its acknowledgement stays as a record. */
export function resolve(incident: IncidentStatus, at: Instant): IncidentStatus {
  if (incident.state === "resolved") return incident;
  return { ...incident, state: "resolved", resolvedAt: at, flappingAt: null };
}

/** Reopenings within this time make an incident flap. */
const FLAPPING_MS = HOUR_MS;
const FLAPPING_REOPENINGS = 3;

/**
 * Opens a resolved incident again, which ends its acknowledgement. It is flapping from the third reopening within an
 * hour on; `reopenedAts` are the earlier ones.
 */
export function reopen(
  incident: IncidentStatus,
  { at, reopenedAts }: { at: Instant; reopenedAts: readonly Instant[] },
): IncidentStatus {
  if (incident.state !== "resolved") return incident;
  const recentCount = reopenedAts.filter((earlier) => earlier > at - FLAPPING_MS).length + 1;
  return {
    ...incident,
    state: "open",
    acknowledged: null,
    resolvedAt: null,
    reopenCount: incident.reopenCount + 1,
    flappingAt: recentCount >= FLAPPING_REOPENINGS ? at : null,
  };
}

/** The more urgent of two. */
export function higherSeverity(one: Severity, other: Severity): Severity {
  return SEVERITIES.indexOf(one) >= SEVERITIES.indexOf(other) ? one : other;
}

/** Repetition by the strictest policy of the checks of an incident. Null: off. */
export type Repetition = { repeatMs: number | null; ackTimeoutMs: number | null };

/**
 * When the next step is due: the notification is repeated, or the acknowledgement ends; null: nothing is. `lastSentAt`
 * is null while no notification of the incident was sent, or one is still unsent.
 */
export function nextStepAt(
  { state, acknowledged }: { state: IncidentState; acknowledged: { at: Instant } | null },
  { repeatMs, ackTimeoutMs, lastSentAt }: Repetition & { lastSentAt: Instant | null },
): Instant | null {
  if (repeatMs === null || state === "resolved") return null;
  if (state === "acknowledged") {
    return acknowledged === null || ackTimeoutMs === null ? null : acknowledged.at + ackTimeoutMs;
  }
  return lastSentAt === null ? null : lastSentAt + repeatMs;
}

/** What the checks of an incident have in common. */
export type IncidentKey =
  | { kind: "source"; address: string }
  | { kind: "tag"; tag: string }
  | { kind: "project" };

/** Reads a key as `groupKeyOf` makes it; null if it is of no known kind. */
export function parseIncidentKey(text: string): IncidentKey | null {
  if (text === "project") return { kind: "project" };
  const separator = text.indexOf(":");
  const value = text.slice(separator + 1);
  switch (text.slice(0, separator)) {
    case "source":
      return { kind: "source", address: value };
    case "tag":
      return { kind: "tag", tag: value };
    default:
      return null;
  }
}
