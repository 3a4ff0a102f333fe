// Computes when a message is late: after it was detected, the notifier was sending and the receiver was accepting.
import type { Alert } from "./check-model.ts";
import type { ServerHistory, ReceiverHistory } from "./history.ts";
import { LATE_AFTER_MS, NOTICE_FOLD_MS } from "./rules.ts";

export type Due =
  /** On the true clock. After this time, the message is late. */
  | { kind: "owed"; lateAfterTrueAt: number }
  /** The receiver is gone permanently, so the delivery is dead. */
  | { kind: "dead" }
  /** The message is optional. */
  | { kind: "may" };

/**
 * What one channel is owed for one alert. `deletedTrueAt`: when the check was deleted together with its messages.
 */
export function dueOf(
  alert: Pick<Alert, "to" | "detectedTrueAt" | "isOwed">,
  {
    server,
    receiver,
    deletedTrueAt,
  }: {
    server: ServerHistory;
    receiver: ReceiverHistory;
    deletedTrueAt: number | null;
  },
): Due {
  if (!alert.isOwed) return { kind: "may" };
  const detectedTrueAt =
    alert.to === "notice" ? whenFolded(alert.detectedTrueAt, server) : alert.detectedTrueAt;
  const possibleTrueAt = firstChance(detectedTrueAt, { server, receiver });
  if (receiver.goneTrueAt !== null && possibleTrueAt > receiver.goneTrueAt) return { kind: "dead" };
  // A blocked message may take twice as long: the delay between retries at most doubles.
  const lateAfterTrueAt = possibleTrueAt + (possibleTrueAt - detectedTrueAt) + LATE_AFTER_MS;
  if (deletedTrueAt !== null && deletedTrueAt <= lateAfterTrueAt) return { kind: "may" };
  return { kind: "owed", lateAfterTrueAt };
}

/** A notice waits for other checks, starting with the turn in which it is detected. */
function whenFolded(detectedTrueAt: number, server: ServerHistory): number {
  for (const { trueAt } of turnsFrom(server, detectedTrueAt)) return trueAt + NOTICE_FOLD_MS;
  return Infinity;
}

/** The first turn in which the message could be sent and accepted. */
function firstChance(
  fromTrueAt: number,
  { server, receiver }: { server: ServerHistory; receiver: ReceiverHistory },
): number {
  for (const { trueAt, sending } of turnsFrom(server, fromTrueAt)) {
    const isFailing = receiver.failing.some(({ from, to }) => from < trueAt && trueAt < to);
    if (sending === "yes" && !isFailing) return trueAt;
  }
  return Infinity;
}

function* turnsFrom({ turns }: ServerHistory, trueAt: number) {
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
