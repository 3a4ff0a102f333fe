// Messages to channels as plain data, and how pending changes are combined into one. They are complete, so
// that rendering needs no lookups.
import type { AlertCause } from "./alert.ts";
import type { CheckSettings } from "./check.ts";
import type { Severity } from "./incident.ts";
import type { Instant, Interval } from "./instant.ts";
import type { Rules } from "./rules.ts";
import type { SignalKind } from "./signal.ts";
import type { CheckState, Flip, FlipReason } from "./state.ts";

/** The check when the message is composed; enough to render it as JSON. */
export type CheckFacts = {
  uuid: string;
  badgeUuid: string;
  projectName: string;
  settings: CheckSettings;
  state: CheckState;
  channelUuids: readonly string[];
  createdAt: Instant;
};

/** The newest ping at the time of the change. */
export type LastPing = {
  n: number;
  kind: SignalKind;
  at: Instant;
  exitStatus: number | null;
  durationMs: number | null;
  scheme: string;
  remoteAddr: string | null;
  ua: string;
  /** Stored bytes; null if it had no body. */
  bodySize: number | null;
  /** The stored body as text; null if there is none or it cannot be read. */
  body: string | null;
};

/** An alert that was sent and that a signal received at `retractedAt` has retracted. */
export type RetractedFlip = Flip & { retractedAt: Instant };

/** The other checks of the project; `down` is empty where there are more than a message lists. */
export type OtherChecks = {
  total: number;
  downCount: number;
  down: readonly { uuid: string; name: string }[];
};

/** The incident that a message belongs to. `ackUrl` is the link to acknowledge it, null if there is none. */
export type MessageIncident = { number: number; ackUrl: string | null };

/** Why a check flipped, or that an alert was retracted. */
export type MessageReason = FlipReason | "tooFast" | "tooOften" | "retracted";

/** What the alert policy adds to a message about a check. */
export type PolicyFacts = {
  incident: MessageIncident | null;
  severity: Severity;
  /** The problems that were tolerated before the alert; null if the first one opened it. */
  tolerance: { kind: "failures"; count: number; of: number } | { kind: "missed"; count: number } | null;
  /** What held the notification until now. */
  releasedFrom: { kind: "silence"; reason: string } | { kind: "dependency"; name: string } | null;
  /** Checks that are down, depend on this one, and are held because of that. */
  dependentCount: number;
  /** Why the alert opened; used only with `rules`. */
  cause: AlertCause | null;
  /** Null: the default rules. */
  rules: Rules | null;
};

/** Without a policy, a message says nothing about it. */
export const NO_POLICY: PolicyFacts = {
  incident: null,
  severity: "normal",
  tolerance: null,
  releasedFrom: null,
  dependentCount: 0,
  cause: null,
  rules: null,
};

export type FlipMessage = PolicyFacts & {
  /** Part of a fire drill of this project: its check does not exist for users. */
  drill?: { projectUuid: string };
  /** Of several changes, the last one that the channel is subscribed to. */
  kind: "down" | "up";
  /** When the message was composed. */
  at: Instant;
  check: CheckFacts;
  /** The check is still down: a reminder. */
  isRepeat: boolean;
  /** All changes since the last message to the channel, oldest first. Empty in a correction and in a reminder. */
  flips: readonly Flip[];
  /** The retracted alert that this message corrects. */
  corrections: readonly RetractedFlip[];
  /** Since when, and why. */
  since: Instant;
  reason: MessageReason;
  /** How long the check was down; only if it is up again and the start is known. */
  downtimeMs: number | null;
  lastPing: LastPing | null;
  /** Null if the project has no other check. */
  otherChecks: OtherChecks | null;
};

/** What the checks of an incident have in common. The value is an address, a tag, or the name of the project or parent. */
export type GroupKey = { kind: "source" | "tag" | "project" | "parent"; value: string };

type NamedCheck = { uuid: string; name: string };

/** Several checks of one incident. */
export type GroupMessage = {
  kind: "group";
  at: Instant;
  projectUuid: string;
  projectName: string;
  incident: MessageIncident;
  severity: Severity;
  key: GroupKey;
  /** "down": the first message. "update": a later one, a reminder if nothing changed. "up": all alerts are closed. */
  state: "down" | "update" | "up";
  /** Checks that went down since the last message: the first ones by name, and how many there are. */
  opened: readonly NamedCheck[];
  openedCount: number;
  /** The same for checks that have recovered. */
  closed: readonly NamedCheck[];
  closedCount: number;
  /** Checks of the incident that are down now and notify this channel. */
  downCount: number;
  /** When the first of them went down. */
  since: Instant;
  /** Null: not the same for all of them. */
  cause: AlertCause | null;
};

/** What a channel must be subscribed to in order to get a group message. */
export function groupDirection({
  state,
  openedCount,
  closedCount,
}: Pick<GroupMessage, "state" | "openedCount" | "closedCount">): "down" | "up" {
  return state === "up" || (openedCount === 0 && closedCount > 0) ? "up" : "down";
}

/** A monitoring gap notice: pings could not be received, and none has arrived since. Not an alert. */
export type NoticeMessage = {
  kind: "notice";
  at: Instant;
  projectName: string;
  blind: Interval;
  /** The first of them by name. */
  checks: readonly { uuid: string; name: string }[];
  checkCount: number;
};

export type ChannelFacts = { uuid: string; kind: string; name: string };

/** Another channel of the project was disabled after a permanent failure, or a monthly limit stops its messages. */
export type DisabledMessage = {
  kind: "disabled";
  at: Instant;
  projectName: string;
  channel: ChannelFacts;
  reason: string;
  /** The channel stays enabled; the limit is reached. */
  isLimit?: true;
};

/** A test message. */
export type TestMessage = { kind: "test"; at: Instant; projectName: string; channel: ChannelFacts };

/** To the admin: a health problem began or ended. The text is final. */
export type AdminMessage = {
  kind: "operator";
  at: Instant;
  isOver: boolean;
  /** The kind of health problem. */
  trouble: string;
  since: Instant;
  title: string;
  text: string;
};

export type AlertMessage =
  | FlipMessage
  | GroupMessage
  | NoticeMessage
  | DisabledMessage
  | AdminMessage
  | TestMessage;

/** A pending delivery and its flip. */
export type PendingChange = {
  deliveryId: number;
  /** "correction" and "repeat": the flip was, or may have been, sent before. */
  kind: "flip" | "correction" | "repeat";
  flip: Flip & { id: number; retractedAt: Instant | null };
};

type Effective = PendingChange & { direction: "down" | "up" };

/** The message, and the result for each delivery; each is in exactly one list. */
export type Composition = {
  /** Null: nothing is sent. */
  message: {
    kind: "down" | "up";
    isRepeat: boolean;
    flips: readonly Flip[];
    corrections: readonly RetractedFlip[];
    since: Instant;
    reason: MessageReason;
    downtimeMs: number | null;
  } | null;
  /** Included in the message, oldest first: the last one is sent, the others are merged into it. */
  included: readonly number[];
  /** Retracted before it was sent, or a reminder that a later change replaces. */
  withdrawn: readonly number[];
  /** The channel is not subscribed to it. */
  skipped: readonly number[];
};

/**
 * Composes one message about a check from all pending changes, oldest first. `before` is the last flip before them
 * that was not retracted; it determines when a downtime began.
 */
export function composeChanges(
  changes: readonly PendingChange[],
  { isSubscribed, before }: { isSubscribed: (direction: "down" | "up") => boolean; before: Flip | null },
): Composition {
  const effective = effectiveChanges(changes);
  const withdrawn = idsOf(
    changes.filter((one) => !effective.some((kept) => kept.deliveryId === one.deliveryId)),
  );
  const subscribed = effective.filter(({ direction }) => isSubscribed(direction));
  const skipped = idsOf(effective.filter(({ direction }) => !isSubscribed(direction)));
  const decisive = subscribed.at(-1);
  if (decisive === undefined) return { message: null, included: [], withdrawn, skipped };
  const flips = effective.filter(({ kind }) => kind === "flip").map(({ flip }) => plain(flip));
  const corrections = effective
    .filter(({ kind }) => kind === "correction")
    .map(({ flip }) => ({ ...plain(flip), retractedAt: flip.retractedAt ?? flip.at }));
  const isCorrection = decisive.kind === "correction";
  const message = {
    kind: decisive.direction,
    isRepeat: decisive.kind === "repeat",
    flips,
    corrections,
    since: isCorrection ? (decisive.flip.retractedAt ?? decisive.flip.at) : decisive.flip.at,
    reason: isCorrection ? ("retracted" as const) : decisive.flip.reason,
    downtimeMs: isCorrection ? null : downtimeBefore(decisive, { effective, before }),
  };
  return { message, included: idsOf(subscribed), withdrawn, skipped };
}

/**
 * Without retracted flips; a correction is dropped together with its flip if that is still pending, and a reminder if
 * any change is pending.
 */
function effectiveChanges(changes: readonly PendingChange[]): Effective[] {
  const pendingFlipIds = new Set(changes.filter(({ kind }) => kind === "flip").map(({ flip }) => flip.id));
  const isChanged = changes.some(({ kind, flip }) => kind === "flip" && flip.retractedAt === null);
  return changes.flatMap((one) => {
    if (one.kind === "correction")
      return pendingFlipIds.has(one.flip.id) ? [] : [{ ...one, direction: "up" as const }];
    if (one.kind === "repeat" && isChanged) return [];
    return one.flip.retractedAt === null ? [{ ...one, direction: one.flip.to }] : [];
  });
}

function downtimeBefore(
  decisive: Effective,
  { effective, before }: { effective: readonly Effective[]; before: Flip | null },
): number | null {
  if (decisive.direction !== "up") return null;
  const earlier = effective.slice(0, effective.indexOf(decisive)).findLast(({ kind }) => kind === "flip");
  const down = earlier?.flip ?? before;
  return down?.to === "down" ? Math.max(0, decisive.flip.at - down.at) : null;
}

function plain({ at, from, to, reason }: Flip): Flip {
  return { at, from, to, reason };
}

function idsOf(changes: readonly PendingChange[]): number[] {
  return changes.map(({ deliveryId }) => deliveryId);
}
