// Messages to channels as plain data, and how pending changes are combined into one. They are complete, so
// that rendering needs no lookups.
import type { CheckSettings } from "./check.ts";
import type { Instant, Interval } from "./instant.ts";
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

export type FlipMessage = {
  /** Of several changes, the last one that the channel is subscribed to. */
  kind: "down" | "up";
  /** When the message was composed. */
  at: Instant;
  check: CheckFacts;
  /** All changes since the last message to the channel, oldest first. Empty in a correction. */
  flips: readonly Flip[];
  /** The retracted alert that this message corrects. */
  corrections: readonly RetractedFlip[];
  /** Since when, and why. */
  since: Instant;
  reason: FlipReason | "retracted";
  /** How long the check was down; only if it is up again and the start is known. */
  downtimeMs: number | null;
  lastPing: LastPing | null;
  /** Null if the project has no other check. */
  otherChecks: OtherChecks | null;
};

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

/** Another channel of the project was disabled after a permanent failure. */
export type DisabledMessage = {
  kind: "disabled";
  at: Instant;
  projectName: string;
  channel: ChannelFacts;
  reason: string;
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

export type AlertMessage = FlipMessage | NoticeMessage | DisabledMessage | AdminMessage | TestMessage;

/** A pending delivery and its flip. */
export type PendingChange = {
  deliveryId: number;
  /** "correction": the flip was, or may have been, sent before. */
  kind: "flip" | "correction";
  flip: Flip & { id: number; retractedAt: Instant | null };
};

type Effective = PendingChange & { direction: "down" | "up" };

/** The message, and the result for each delivery; each is in exactly one list. */
export type Composition = {
  /** Null: nothing is sent. */
  message: {
    kind: "down" | "up";
    flips: readonly Flip[];
    corrections: readonly RetractedFlip[];
    since: Instant;
    reason: Flip["reason"] | "retracted";
    downtimeMs: number | null;
  } | null;
  /** Included in the message, oldest first: the last one is sent, the others are merged into it. */
  included: readonly number[];
  /** Retracted before it was sent. */
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
    flips,
    corrections,
    since: isCorrection ? (decisive.flip.retractedAt ?? decisive.flip.at) : decisive.flip.at,
    reason: isCorrection ? ("retracted" as const) : decisive.flip.reason,
    downtimeMs: isCorrection ? null : downtimeBefore(decisive, { effective, before }),
  };
  return { message, included: idsOf(subscribed), withdrawn, skipped };
}

/** Without retracted flips; a correction is dropped together with its flip if that is still pending. */
function effectiveChanges(changes: readonly PendingChange[]): Effective[] {
  const pendingFlipIds = new Set(changes.filter(({ kind }) => kind === "flip").map(({ flip }) => flip.id));
  return changes.flatMap((one) => {
    if (one.kind === "correction")
      return pendingFlipIds.has(one.flip.id) ? [] : [{ ...one, direction: "up" as const }];
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
