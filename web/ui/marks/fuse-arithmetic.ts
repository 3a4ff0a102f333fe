// How a row reads at a moment: presentation of instants that the server gave. Pure. A row becomes late here, because
// the server said when; it becomes down only when the server says so.
import type { CheckRow, Fuse } from "../../../src/contract/web/check-row.ts";

type Timed = Pick<CheckRow, "state" | "fuse">;

/** How much of the time until the alert is used up, and at what share grace begins; both between 0 and 1. */
export type FuseShares = { used: number; grace: number };

export function fuseShares({ fromAt, lateAt, alertAt }: Fuse, now: number): FuseShares {
  const wholeMs = alertAt - fromAt;
  if (wholeMs <= 0) return { used: 1, grace: 1 };
  return { used: within((now - fromAt) / wholeMs), grace: within((lateAt - fromAt) / wholeMs) };
}

/** The next moment at which one of these rows changes by itself; infinite when none does. */
export function nextLateAt(rows: Iterable<Timed>, now: number): number {
  let next = Number.POSITIVE_INFINITY;
  for (const { state, fuse } of rows) {
    if (state === "up" && fuse !== null && fuse.lateAt > now && fuse.lateAt < next) next = fuse.lateAt;
  }
  return next;
}

function within(share: number): number {
  return Math.min(1, Math.max(0, share));
}
