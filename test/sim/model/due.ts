// By when a message has to be there: as soon as the server knew of it, was sending, and the receiver was taking; and
// how long it may take after that.
import type { Alert } from "./check-model.ts";
import type { ServerHistory, ReceiverHistory } from "./history.ts";
import { LATE_AFTER_MS, NOTICE_FOLD_MS } from "./rules.ts";

export type Due =
  /** On the true clock: later than this is late. */
  | { kind: "owed"; lateAfterTrueAt: number }
  /** The receiver is gone for good: the delivery is dead, and nobody can be told. */
  | { kind: "dead" }
  /** It may be told, and need not be. */
  | { kind: "may" };

/** What one channel is owed of one alert. `deletedTrueAt`: when the check was deleted, and its messages with it. */
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
  // Whoever was hindered for a while may wait as long again: pauses between tries at most double.
  const lateAfterTrueAt = possibleTrueAt + (possibleTrueAt - detectedTrueAt) + LATE_AFTER_MS;
  if (deletedTrueAt !== null && deletedTrueAt <= lateAfterTrueAt) return { kind: "may" };
  return { kind: "owed", lateAfterTrueAt };
}

/** A notice waits for others from the turn on in which it is known. */
function whenFolded(detectedTrueAt: number, server: ServerHistory): number {
  for (const { trueAt } of turnsFrom(server, detectedTrueAt)) return trueAt + NOTICE_FOLD_MS;
  return Infinity;
}

/** The first turn from a moment on at which the message could be sent and taken. */
function firstChance(
  fromTrueAt: number,
  { server, receiver }: { server: ServerHistory; receiver: ReceiverHistory },
): number {
  for (const { trueAt, sending } of turnsFrom(server, fromTrueAt)) {
    const isFailing = receiver.failing.some(({ from, to }) => from < trueAt && trueAt < to);
    if (sending === "surely" && !isFailing) return trueAt;
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
