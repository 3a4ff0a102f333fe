// The running state of a check: what signals, commands and deadlines have made of it so far.
// Only what was observed is stored; whatever depends on the clock is asked of status.ts.
import type { Instant } from "../instant.ts";

/** `grace` and `started` are never stored: they follow from instants. */
export type StoredStatus = "new" | "up" | "down" | "paused";

/** Why a check is down through silence, and what it was before: enough to take the flip back. */
export type Silence = { deadlineAt: Instant; from: StoredStatus };

export type CheckState = {
  status: StoredStatus;
  /** Newest success or failure. */
  lastPingAt: Instant | null;
  /** Start of the run in progress, if any, and the run id it carried. */
  lastStartAt: Instant | null;
  lastStartRid: string | null;
  lastDurationMs: number | null;
  /** Ids of the runs that ended last, the newest last: a start that arrives after its own end begins nothing. */
  endedRids: readonly string[];
  /** Newest applied signal of any kind, pause or resume: a direct signal is never dated before it. */
  newestAt: Instant | null;
  /** Newest pause or resume: a signal older than it changes nothing. */
  commandAt: Instant | null;
  /** After time in which we were blind, expectation starts anew from here instead of from lastPingAt. */
  expectFromAt: Instant | null;
  /** Set exactly while the check is down because a deadline passed. */
  silence: Silence | null;
  /** Pings received, and the number of the newest one; the API's n_pings. */
  pingCount: number;
  /** Those among them that have no log row, because the check sent too many. */
  coalescedCount: number;
  /** The minute (its first instant) that the rate limit counts, and how many signals it holds. */
  rateMinuteAt: Instant | null;
  rateCount: number;
};

/** Why a check flipped. */
export type FlipReason = "success" | "fail" | "timeout";

/** A stored change of status to up or to down. */
export type Flip = { at: Instant; from: StoredStatus; to: "up" | "down"; reason: FlipReason };

/** A check nobody has heard of yet. */
export const NEW_STATE: CheckState = {
  status: "new",
  lastPingAt: null,
  lastStartAt: null,
  lastStartRid: null,
  lastDurationMs: null,
  endedRids: [],
  newestAt: null,
  commandAt: null,
  expectFromAt: null,
  silence: null,
  pingCount: 0,
  coalescedCount: 0,
  rateMinuteAt: null,
  rateCount: 0,
};
