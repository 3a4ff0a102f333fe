// The watermark: up to when all received signals have been applied. Rules for heartbeats of intakes, blind
// intervals, lost intakes, and when missing pings may raise alerts again. Instants are on the database's
// clock.
import type { Visibility } from "./deadline.ts";
import { type Instant, type Interval, MINUTE_MS, SECOND_MS } from "./instant.ts";
import type { SignalTarget } from "./signal.ts";

/** How often an intake sends a heartbeat. */
export const HEARTBEAT_EVERY_MS = SECOND_MS;
/** Lag of the watermark, for signals between the socket and the queue. */
export const WATERMARK_LAG_MS = SECOND_MS;
/** Heartbeats further apart leave a gap. */
export const HEARTBEAT_GAP_MS_MAX = 3 * SECOND_MS;
/** If ticks of an intake are further apart, it cannot tell what happened in between. */
export const TICK_GAP_MS_MAX = SECOND_MS;
/** After a gap of all intakes, deadlines fire again after fresh heartbeats for this long. */
export const SETTLE_MS = MINUTE_MS;
/** Lease of an intake without a spool. */
export const SHORT_LEASE_MS = 10 * SECOND_MS;
/** A watermark that does not move for this long is reported to the admin. */
export const HOLD_REPORTED_AFTER_MS = MINUTE_MS;
/** An intake stops accepting this long before its lease ends, or a quarter of the lease if that is less. */
const LEASE_MARGIN_MS_MAX = 30 * SECOND_MS;

/** What the database's clock showed, between two readings of this process's monotonic clock. */
export type ClockReading = { databaseAt: Instant; sentAtMs: number; receivedAtMs: number };

export type Unapplied = {
  now: Instant;
  /** Receive time of the oldest accepted signal that is not applied; null if there is none. */
  oldestUnappliedAt: Instant | null;
  /** Since when pings have been rejected; null if they are accepted. */
  refusingSinceAt: Instant | null;
  /** Since when there are rejections of single checks that this heartbeat does not store; null if none. */
  unstoredSinceAt?: Instant | null;
};

/** All signals accepted before the returned instant are applied, and none was rejected. */
export function watermarkOf(unapplied: Unapplied): Instant {
  const { now, oldestUnappliedAt, refusingSinceAt, unstoredSinceAt } = unapplied;
  return (
    Math.min(now, oldestUnappliedAt ?? now, refusingSinceAt ?? now, unstoredSinceAt ?? now) - WATERMARK_LAG_MS
  );
}

export type HeartbeatInterval = {
  /** Until when the previous heartbeat confirmed that pings were accepted. */
  heartbeatAt: Instant;
  now: Instant;
  /** How much further the database's clock has advanced since then than the intake's own. */
  skippedMs: number;
  /** Intervals in which the intake did not tick. */
  unproven: readonly Interval[];
};

/**
 * Intervals since the last heartbeat in which the intake may not have accepted pings. A failed heartbeat
 * alone leaves no blind interval: an intake that kept ticking accepted pings.
 */
export function blindTimes({ heartbeatAt, now, skippedMs, unproven }: HeartbeatInterval): Interval[] {
  if (now - heartbeatAt <= HEARTBEAT_GAP_MS_MAX) return [];
  // Time that passed only for the database: a suspended machine, or a changed clock. Where in the interval is
  // unknown.
  if (skippedMs > HEARTBEAT_GAP_MS_MAX) return [{ from: heartbeatAt, to: now }];
  return unproven.filter(({ from, to }) => (to ?? now) - from > TICK_GAP_MS_MAX);
}

/** A process that receives pings, and its last heartbeat. */
export type Receiver = { startedAt: Instant; heartbeatAt: Instant };

/** Whether one process received pings all the time. */
export function receivedThroughout(
  receivers: readonly Receiver[],
  { from, to }: { from: Instant; to: Instant },
): boolean {
  return receivers.some(
    ({ startedAt, heartbeatAt }) => startedAt <= from && heartbeatAt >= to - HEARTBEAT_GAP_MS_MAX,
  );
}

/**
 * For the first heartbeat of an intake: the time before its start is blind only if no other intake was
 * receiving. `since` is the last heartbeat before the intake; null for later heartbeats.
 */
export function withoutAttendedTime(
  unproven: readonly Interval[],
  given: { since: Instant | null; others: readonly Receiver[] },
): readonly Interval[] {
  const { since, others } = given;
  const entering = unproven.find(({ from }) => from === since);
  if (entering === undefined || entering.to === null) return unproven;
  const { from, to: listensAt } = entering;
  const isAttended = receivedThroughout(others, { from, to: listensAt });
  return isAttended ? unproven.filter(({ to }) => to === null || to > listensAt) : unproven;
}

/** How long an intake may be silent. One with a spool may hold signals that only it can deliver. */
export function leaseMsOf({ hasSpool, lostAfterMs }: { hasSpool: boolean; lostAfterMs: number }): number {
  return hasSpool ? lostAfterMs : Math.min(SHORT_LEASE_MS, lostAfterMs);
}

export type IntakeSilence = {
  /** The last sign of life of the intake. */
  lastSignAt: Instant;
  leaseMs: number;
  /** Since when the intake that evaluates this has sent heartbeats without a gap; null if it has not. */
  watchingSinceAt: Instant | null;
  now: Instant;
};

/**
 * Whether an intake is lost. Only silence observed by another intake counts: after a database outage, every
 * intake gets its full lease to return.
 */
export function isLost({ lastSignAt, leaseMs, watchingSinceAt, now }: IntakeSilence): boolean {
  return watchingSinceAt !== null && now - Math.max(lastSignAt, watchingSinceAt) > leaseMs;
}

/**
 * Whether an intake that cannot reach the database may still acknowledge pings. It must stop before others
 * declare it lost; if it is alone, it need not stop.
 */
export function mayConfirm(given: { sinceHeartbeatMs: number; leaseMs: number; isAlone: boolean }): boolean {
  const { sinceHeartbeatMs, leaseMs, isAlone } = given;
  return isAlone || sinceHeartbeatMs < leaseMs - Math.min(LEASE_MARGIN_MS_MAX, leaseMs / 4);
}

/** When the heartbeats were read, and since when they have been fresh; null if they are not. */
export type Settling = { lookedAt: Instant; freshSinceAt: Instant | null };

/** What a heartbeat reads of previous heartbeats. */
export type PreviousHeartbeats = {
  now: Instant;
  /** The newest heartbeat of any intake, open or not; null if there was none. */
  newestHeartbeatAt: Instant | null;
  /** The database's clock at this intake's previous heartbeat; null if there was none. */
  lookedAt: Instant | null;
  /** Batches that the database had confirmed are missing from it. */
  isBehind: boolean;
};

/**
 * Whether a heartbeat ends a gap, after which no deadline fires for a while: all intakes were silent, the
 * database's clock was set back, or the database is another one.
 */
export function endsGap({ now, newestHeartbeatAt, lookedAt, isBehind }: PreviousHeartbeats): boolean {
  const isSilent = newestHeartbeatAt === null || now - newestHeartbeatAt > HEARTBEAT_GAP_MS_MAX;
  return isSilent || isBehind || (lookedAt !== null && lookedAt - now > WATERMARK_LAG_MS);
}

/**
 * Since when heartbeats have been fresh: since the last gap that a heartbeat ended. Every process computes
 * the same, even right after a start.
 */
export function settlingOf(look: {
  now: Instant;
  newestHeartbeatAt: Instant | null;
  gapEndedAt: Instant | null;
}): Settling {
  const { now, newestHeartbeatAt, gapEndedAt } = look;
  const isFresh = newestHeartbeatAt !== null && now - newestHeartbeatAt <= HEARTBEAT_GAP_MS_MAX;
  return { lookedAt: now, freshSinceAt: isFresh ? gapEndedAt : null };
}

/** The visibility without a watermark until heartbeats have been fresh for a minute. */
export function settledVisibility(settling: Settling, { watermarkAt, blind }: Visibility): Visibility {
  return { watermarkAt: isSettled(settling) ? watermarkAt : null, blind };
}

function isSettled({ lookedAt, freshSinceAt }: Settling): boolean {
  return freshSinceAt !== null && lookedAt - freshSinceAt >= SETTLE_MS;
}

/** Whether batches that were confirmed are missing from the database: it is a standby or a backup. */
export function hasLostBatches(lastSeqs: readonly number[], confirmedSeqs: readonly number[]): boolean {
  return confirmedSeqs.some((confirmed, lane) => (lastSeqs[lane] ?? 0) < confirmed);
}

/** An open intake. */
export type OpenIntake = {
  id: string;
  /** Where it runs, for the admin. */
  name: string;
  /** The newest recorded batch of each lane. */
  lastSeqs: readonly number[];
  watermarkAt: Instant;
  heartbeatAt: Instant;
  leaseUntilAt: Instant;
};

export type IntakeEntry = {
  intakeId: string;
  name: string;
  leaseMs: number;
  /** Receive time of the oldest signal it accepted before it was registered; null or absent: none. */
  unappliedAt?: Instant | null;
};

/** The clock reading, and the last heartbeat of any intake before; null if there was none. */
export type IntakeEntered = { look: ClockReading; lastHeartbeatAt: Instant | null };

type Stretch = { from: Instant; to: Instant };

/**
 * Rejected pings that concern only some checks: the one named in the ping, or those that ping from a network.
 */
export type AttributedRefusals = {
  targets: readonly (Stretch & { target: SignalTarget })[];
  networks: readonly (Stretch & { network: string })[];
};

/** What an intake reports with a heartbeat. */
export type Observation = {
  watermarkAt: Instant;
  /** Until when it confirms that pings were accepted; null: until now. */
  acceptedUntilAt: Instant | null;
  /** How much further the database's clock has advanced since the last heartbeat than the intake's own. */
  skippedMs: number;
  /** Intervals in which it may not have accepted pings. */
  unproven: readonly Interval[];
  /** Intervals in which it rejected pings. */
  refused: readonly Interval[];
  /** Absent: none. */
  attributed?: AttributedRefusals;
  spoolEmpty: boolean;
  /** Fill level of its spool, from 0 to 1; 0 without a spool. */
  spoolFill: number;
  /** Signals accepted in the last minute, for the admin. */
  signalsPerMinute: number;
};

export type HeartbeatRequest = {
  intakeId: string;
  leaseMs: number;
  /** Until when acceptance was confirmed before; for the first heartbeat, by any intake. Null: never. */
  heartbeatAt: Instant | null;
  /** The database's clock at this intake's previous heartbeat; null: there was none. */
  lookedAt: Instant | null;
  /** The newest batch of each lane that the database confirmed to this intake; 0: none. */
  confirmedSeqs: readonly number[];
  /** Since when this intake has sent heartbeats without a gap; null if it has not. */
  watchingSinceAt: Instant | null;
  /** Other signs of life of intakes than heartbeats. */
  signs: ReadonlyMap<string, Instant>;
  /** Intakes that have ended and left no signals. */
  gone: readonly string[];
  /** Intakes whose spool cannot be read. */
  broken: readonly string[];
  /** Only blind intervals with a higher id are returned. Absent: all. */
  blindAfterId?: number;
  /** Called inside the transaction, so that nothing that happens before it is missed. */
  observe: (look: ClockReading) => Promise<Observation>;
};

export type Blindness = { from: Instant; to: Instant; reason: string };

/** A blind interval of any intake with its id. Later ones have higher ids, but may become visible first. */
export type NumberedBlind = Interval & { id: number };

/** "closed": the intake was declared lost or is unknown to the database, and must register again. */
export type HeartbeatResult = HeartbeatAccepted | { kind: "closed" };

export type HeartbeatAccepted = {
  kind: "accepted";
  look: ClockReading;
  /** Until when this heartbeat confirmed acceptance. */
  heartbeatAt: Instant;
  /** The newest batch of each lane of this intake that the database has. */
  lastSeqs: readonly number[];
  /** Other open intakes. */
  others: readonly OpenIntake[];
  lost: readonly OpenIntake[];
  blind: readonly Blindness[];
  /** The visibility, with the requested blind intervals. */
  visibility: { watermarkAt: Instant; blind: readonly NumberedBlind[] };
  /** Since when heartbeats have been fresh. */
  freshSinceAt: Instant;
};
