// What one message says, given everything that a channel has still to be told of a check. Several changes become
// one message; what was taken back before anybody heard of it becomes none.
import type { Instant } from "../instant.ts";
import type { Flip } from "../machine/state.ts";
import type { TakenBackFlip } from "./message.ts";

/** One delivery that waits, and the flip that it is about. */
export type PendingNews = {
  deliveryId: number;
  /** A correction is owed where the flip had been told, or may have been. */
  kind: "flip" | "correction";
  flip: Flip & { id: number; takenBackAt: Instant | null };
};

type Effective = PendingNews & { direction: "down" | "up" };

/** What becomes of each delivery; every one is in exactly one of the lists. */
export type Composition = {
  /** Null: nothing is sent. */
  message: {
    kind: "down" | "up";
    flips: readonly Flip[];
    corrections: readonly TakenBackFlip[];
    since: Instant;
    reason: Flip["reason"] | "takenBack";
    downtimeMs: number | null;
  } | null;
  /** Settled by the message, oldest first: the last one stands for it, the others were merged into it. */
  told: readonly number[];
  /** Taken back before it was told. */
  withdrawn: readonly number[];
  /** The channel does not want to hear of it. */
  skipped: readonly number[];
};

/**
 * Composes the message about a check from all news, oldest first. `before` is the newest flip before them that was
 * not taken back: it tells when a downtime began that ends now.
 */
export function composeNews(
  news: readonly PendingNews[],
  { hears, before }: { hears: (direction: "down" | "up") => boolean; before: Flip | null },
): Composition {
  const effective = effectiveNews(news);
  const withdrawn = idsOf(
    news.filter((one) => !effective.some((kept) => kept.deliveryId === one.deliveryId)),
  );
  const heard = effective.filter(({ direction }) => hears(direction));
  const skipped = idsOf(effective.filter(({ direction }) => !hears(direction)));
  const decisive = heard.at(-1);
  if (decisive === undefined) return { message: null, told: [], withdrawn, skipped };
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
  return { message, told: idsOf(heard), withdrawn, skipped };
}

/** Without what was taken back; a correction goes with its flip where that has still to be told itself. */
function effectiveNews(news: readonly PendingNews[]): Effective[] {
  const untold = new Set(news.filter(({ kind }) => kind === "flip").map(({ flip }) => flip.id));
  return news.flatMap((one) => {
    if (one.kind === "correction")
      return untold.has(one.flip.id) ? [] : [{ ...one, direction: "up" as const }];
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

function idsOf(news: readonly PendingNews[]): number[] {
  return news.map(({ deliveryId }) => deliveryId);
}
