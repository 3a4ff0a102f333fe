// Computes which intake accepts a ping and when it is recorded, or that it is refused. The only place that defines
// how faults affect senders and users.
import { type IntakeFault, intakeFaults, type WorldHead } from "./world.ts";

/**
 * One of several intakes acknowledges pings without a database for this long: it stops half a minute before its
 * lease ends.
 */
export const UNCONFIRMED_MS_MAX = 570_000;

export type Receipt =
  | { kind: "refused" }
  /** `appliedTrueAt`: when it is recorded; later than it was sent if it was spooled. */
  | { kind: "accepted"; intake: number; appliedTrueAt: number; isReplayed: boolean };

export type Reception = {
  /** `routeHash` selects one of the available intakes. */
  receive(trueAt: number, routeHash: number): Receipt;
  /** Whether users can reach the server. */
  isReachable(trueAt: number): boolean;
  /** The fault of the intakes at a given time, excluding its start and including its end. */
  faultAt(trueAt: number): IntakeFault | null;
};

export function receptionOf(head: WorldHead): Reception {
  const faults = intakeFaults(head);
  const faultAt = (trueAt: number) => {
    let low = 0;
    let high = faults.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((faults[middle]?.to ?? Infinity) >= trueAt) high = middle;
      else low = middle + 1;
    }
    const fault = faults[low];
    return fault !== undefined && fault.from < trueAt ? fault : null;
  };
  return {
    faultAt,
    receive: (trueAt, routeHash) =>
      receiveDuring(faultAt(trueAt), { trueAt, routeHash, count: head.intakeCount }),
    isReachable: (trueAt) => {
      const kind = faultAt(trueAt)?.kind;
      return kind !== "database-away" && kind !== "all-stopped";
    },
  };
}

const REFUSED: Receipt = { kind: "refused" };

function receiveDuring(
  fault: IntakeFault | null,
  { trueAt, routeHash, count }: { trueAt: number; routeHash: number; count: number },
): Receipt {
  const intake = routeHash % count;
  const accepted = (by: number): Receipt => ({
    kind: "accepted",
    intake: by,
    appliedTrueAt: trueAt,
    isReplayed: false,
  });
  const acceptedByOthersThan = (absent: number): Receipt => {
    if (count === 1) return REFUSED;
    const other = routeHash % (count - 1);
    return accepted(other < absent ? other : other + 1);
  };
  if (fault === null || fault.kind === "clock-step") return accepted(intake);
  const spooled: Receipt = { kind: "accepted", intake, appliedTrueAt: fault.to, isReplayed: true };
  switch (fault.kind) {
    case "database-away":
      return count > 1 && trueAt > fault.from + UNCONFIRMED_MS_MAX ? REFUSED : spooled;
    case "intake-cut":
      return intake === fault.intake ? spooled : accepted(intake);
    case "cut-crash":
      if (trueAt > fault.crashesAt) return acceptedByOthersThan(fault.intake);
      return intake === fault.intake ? spooled : accepted(intake);
    case "intake-crash":
      return acceptedByOthersThan(fault.intake);
    case "refusing":
      return intake === fault.intake ? REFUSED : accepted(intake);
    case "all-stopped":
      return REFUSED;
  }
}

/** Senders reuse connections: within this time, the pings of a check go to the same intake. */
const ROUTE_MS = 60_000;

/** Selects the intake for a ping of a check at a given time. */
export function routeHashOf({ checkIndex, trueAt }: { checkIndex: number; trueAt: number }): number {
  const moment = Math.floor(trueAt / ROUTE_MS);
  let mixed = Math.imul(checkIndex + 1, 0x9e3779b1) ^ Math.imul(moment, 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
  return (mixed ^ (mixed >>> 13)) >>> 0;
}
