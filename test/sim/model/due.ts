// Computes when a message is late: after it was detected, the notifier was sending and the receiver was accepting.
import type { Alert } from "./check-model.ts";
import type { ServerHistory, ReceiverHistory, Turn } from "./history.ts";
import { LATE_AFTER_MS, NOTICE_FOLD_MS } from "./rules.ts";

export type Due =
  /** On the true clock. After this time, the message is late. */
  | { kind: "owed"; lateAfterTrueAt: number }
  /** The receiver is gone permanently, so the delivery is dead. */
  | { kind: "dead" }
  /** The message is optional. */
  | { kind: "may" }
  /** The problem was over before a message could be sent. */
  | { kind: "dropped" };

/** A rule that withholds the first message about a problem. */
export type Hold = {
  heldAt: (turn: Turn) => "yes" | "maybe" | "no";
  /** When the end of the problem was recorded; null if it did not end. */
  endsTrueAt: number | null;
  /** Whether the problem began and ended while messages were withheld. */
  isInside: "yes" | "maybe" | "no";
};

const NO_HOLD: Hold = { heldAt: () => "no", endsTrueAt: null, isInside: "no" };

/**
 * What one channel is owed for one alert. `deletedTrueAt`: when the check was deleted together with its messages.
 */
export function dueOf(
  alert: Pick<Alert, "to" | "detectedTrueAt" | "isOwed">,
  {
    server,
    receiver,
    deletedTrueAt,
    hold = NO_HOLD,
  }: {
    server: ServerHistory;
    receiver: ReceiverHistory;
    deletedTrueAt: number | null;
    hold?: Hold | undefined;
  },
): Due {
  if (!alert.isOwed) return { kind: "may" };
  const detectedTrueAt =
    alert.to === "notice" ? whenFolded(alert.detectedTrueAt, server) : alert.detectedTrueAt;
  const context = { server, receiver, hold };
  const { held, ...first } = firstChance(detectedTrueAt, context);
  if (hold.endsTrueAt !== null && hold.endsTrueAt <= first.possibleTrueAt) {
    if (held === "throughout" && hold.isInside === "yes") return { kind: "dropped" };
    if (held !== "no" || hold.isInside !== "no") return { kind: "may" };
  } else if (held !== "no" && first.possibleTrueAt === Infinity) return { kind: "may" };
  let { possibleTrueAt } = first;
  let lateAfterTrueAt = lateAfter(first);
  // A silence may begin before the next attempt.
  for (;;) {
    const again = heldBetween(possibleTrueAt, lateAfterTrueAt, context);
    if (again === null) break;
    const next = firstChance(again.trueAt, context);
    if ((hold.endsTrueAt ?? Infinity) <= next.possibleTrueAt) return { kind: "may" };
    ({ possibleTrueAt } = next);
    lateAfterTrueAt = lateAfter(next);
  }
  if (receiver.goneTrueAt !== null && possibleTrueAt > receiver.goneTrueAt) return { kind: "dead" };
  if (deletedTrueAt !== null && deletedTrueAt <= lateAfterTrueAt) return { kind: "may" };
  return { kind: "owed", lateAfterTrueAt };
}

/** A blocked message may take twice as long: the delay between retries at most doubles. */
function lateAfter({ possibleTrueAt, blockedTrueAt }: Omit<Chance, "held">): number {
  return possibleTrueAt + (possibleTrueAt - blockedTrueAt) + LATE_AFTER_MS;
}

/** The first turn after the first chance in which the message may be withheld. */
function heldBetween(
  possibleTrueAt: number,
  lateAfterTrueAt: number,
  { server, hold }: { server: ServerHistory; hold: Hold },
): Turn | null {
  for (const turn of turnsFrom(server, possibleTrueAt)) {
    if (turn.trueAt > lateAfterTrueAt) return null;
    if (hold.heldAt(turn) !== "no") return turn;
  }
  return null;
}

/** A notice waits for other checks, starting with the turn in which it is detected. */
function whenFolded(detectedTrueAt: number, server: ServerHistory): number {
  for (const { trueAt } of turnsFrom(server, detectedTrueAt)) return trueAt + NOTICE_FOLD_MS;
  return Infinity;
}

type Chance = { possibleTrueAt: number; blockedTrueAt: number; held: "no" | "partly" | "throughout" };

/**
 * The first turn in which the message could be sent and accepted, and from when it was blocked by other causes than
 * rules. `held`: whether it was withheld in some turns before, or in all until the problem was over.
 */
function firstChance(
  fromTrueAt: number,
  { server, receiver, hold }: { server: ServerHistory; receiver: ReceiverHistory; hold: Hold },
): Chance {
  let blockedTrueAt: number | null = null;
  let isHeld = false;
  let isThroughout = true;
  const result = (possibleTrueAt: number) => {
    if (!isHeld) return { possibleTrueAt, blockedTrueAt: fromTrueAt, held: "no" as const };
    const held = isThroughout ? ("throughout" as const) : ("partly" as const);
    return { possibleTrueAt, blockedTrueAt: blockedTrueAt ?? possibleTrueAt, held };
  };
  for (const turn of turnsFrom(server, fromTrueAt)) {
    const { trueAt, sending } = turn;
    const held = hold.heldAt(turn);
    if (held !== "no") isHeld = true;
    // After the end, the message may only have been withheld before.
    if (held !== "yes" && trueAt < (hold.endsTrueAt ?? Infinity)) isThroughout = false;
    const isFailing = receiver.failing.some(({ from, to }) => from < trueAt && trueAt < to);
    const isBlocked = isFailing || sending !== "yes";
    if (held !== "yes" && isBlocked) blockedTrueAt ??= trueAt;
    if (held === "no" && !isBlocked) return result(trueAt);
  }
  return result(Infinity);
}

/** The turns from a time on. */
export function* turnsFrom({ turns }: ServerHistory, trueAt: number) {
  let low = 0;
  let high = turns.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((turns[middle]?.trueAt ?? Infinity) >= trueAt) high = middle;
    else low = middle + 1;
  }
  for (let index = low; index < turns.length; index += 1) {
    const turn = turns[index];
    if (turn !== undefined) yield turn;
  }
}
