// What a channel is handed: facts, and no words. Plain data, complete in itself, so that whoever renders it has
// nothing to look up.
import type { CheckSettings } from "./check.ts";
import type { Instant, Interval } from "./instant.ts";
import type { SignalKind } from "./signal.ts";
import type { CheckState, Flip, FlipReason } from "./state.ts";

/** The check as it is when the message is made; enough to present it as JSON, too. */
export type CheckFacts = {
  uuid: string;
  badgeUuid: string;
  projectName: string;
  settings: CheckSettings;
  state: CheckState;
  channelUuids: readonly string[];
  createdAt: Instant;
};

/** The newest ping at the moment that the message speaks of. */
export type LastPing = {
  n: number;
  kind: SignalKind;
  at: Instant;
  exitStatus: number | null;
  durationMs: number | null;
  scheme: string;
  remoteAddr: string | null;
  ua: string;
  /** Bytes that are kept; null when it had no body. */
  bodySize: number | null;
  /** All that is kept, as text; null when there is none, or when it cannot be read just now. */
  body: string | null;
};

/** An alarm by silence that was told, and that a signal received at `takenBackAt` has proved wrong. */
export type RetractedFlip = Flip & { takenBackAt: Instant };

/** The other checks of the project; `down` is empty where there are more than a message lists. */
export type OtherChecks = {
  total: number;
  downCount: number;
  down: readonly { uuid: string; name: string }[];
};

export type FlipMessage = {
  /** Of several changes the last one that the channel hears of. */
  kind: "down" | "up";
  /** When the message was made. */
  at: Instant;
  check: CheckFacts;
  /** Everything that has happened since the channel was last told, oldest first. Empty in a mere correction. */
  flips: readonly Flip[];
  /** What was told before and was not so. */
  corrections: readonly RetractedFlip[];
  /** Since when it is as `kind` says, and why. */
  since: Instant;
  reason: FlipReason | "takenBack";
  /** How long the check was down; only where it came up again, and the beginning is known. */
  downtimeMs: number | null;
  lastPing: LastPing | null;
  /** Null when the project has no other check. */
  otherChecks: OtherChecks | null;
};

/** We could not watch, and nothing has come since. No alarm, and every kind says so. */
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

/** Another channel of the project was disabled, because its receiver refuses for good. */
export type DisabledMessage = {
  kind: "disabled";
  at: Instant;
  projectName: string;
  channel: ChannelFacts;
  reason: string;
};

/** Somebody wants to see whether the channel works. */
export type TestMessage = { kind: "test"; at: Instant; projectName: string; channel: ChannelFacts };

/** To whoever runs the installation: something is the matter with it, or no longer. Its words are finished. */
export type AdminMessage = {
  kind: "operator";
  at: Instant;
  isOver: boolean;
  /** One word for what is the matter. */
  trouble: string;
  since: Instant;
  title: string;
  text: string;
};

export type AlertMessage = FlipMessage | NoticeMessage | DisabledMessage | AdminMessage | TestMessage;

// What one message says, given everything that a channel has still to be told of a check. Several changes become
// one message; what was taken back before anybody heard of it becomes none.

/** One delivery that waits, and the flip that it is about. */
export type PendingChange = {
  deliveryId: number;
  /** A correction is owed where the flip had been told, or may have been. */
  kind: "flip" | "correction";
  flip: Flip & { id: number; takenBackAt: Instant | null };
};

type Effective = PendingChange & { direction: "down" | "up" };

/** What becomes of each delivery; every one is in exactly one of the lists. */
export type Composition = {
  /** Null: nothing is sent. */
  message: {
    kind: "down" | "up";
    flips: readonly Flip[];
    corrections: readonly RetractedFlip[];
    since: Instant;
    reason: Flip["reason"] | "takenBack";
    downtimeMs: number | null;
  } | null;
  /** Settled by the message, oldest first: the last one stands for it, the others were merged into it. */
  included: readonly number[];
  /** Taken back before it was told. */
  withdrawn: readonly number[];
  /** The channel does not want to hear of it. */
  skipped: readonly number[];
};

/**
 * Composes the message about a check from all news, oldest first. `before` is the newest flip before them that was
 * not taken back: it tells when a downtime began that ends now.
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
    .map(({ flip }) => ({ ...plain(flip), takenBackAt: flip.takenBackAt ?? flip.at }));
  const isCorrection = decisive.kind === "correction";
  const message = {
    kind: decisive.direction,
    flips,
    corrections,
    since: isCorrection ? (decisive.flip.takenBackAt ?? decisive.flip.at) : decisive.flip.at,
    reason: isCorrection ? ("takenBack" as const) : decisive.flip.reason,
    downtimeMs: isCorrection ? null : downtimeBefore(decisive, { effective, before }),
  };
  return { message, included: idsOf(subscribed), withdrawn, skipped };
}

/** Without what was taken back; a correction goes with its flip where that has still to be told itself. */
function effectiveChanges(changes: readonly PendingChange[]): Effective[] {
  const pendingFlipIds = new Set(changes.filter(({ kind }) => kind === "flip").map(({ flip }) => flip.id));
  return changes.flatMap((one) => {
    if (one.kind === "correction")
      return pendingFlipIds.has(one.flip.id) ? [] : [{ ...one, direction: "up" as const }];
    return one.flip.takenBackAt === null ? [{ ...one, direction: one.flip.to }] : [];
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
