// How far we have seen, and through whom: what an intake may vouch for, when its time counts as blind, when it
// is lost, and when silence may be believed again. Pure; instants are on the database's clock.
import type { Visibility } from "./deadline.ts";
import { type Instant, type Interval, MINUTE_MS, SECOND_MS } from "./instant.ts";
import type { SignalTarget } from "./signal.ts";

/** How often an intake gives a sign of life. */
export const HEARTBEAT_EVERY_MS = SECOND_MS;
/** The watermark stays this far behind, for signals that are between the socket and the queue. */
export const WATERMARK_LAG_MS = SECOND_MS;
/** Beats that are further apart than this leave a gap that has to be explained. */
export const HEARTBEAT_GAP_MS_MAX = 3 * SECOND_MS;
/** An intake whose own ticks are further apart than this cannot say what happened in between. */
export const TICK_GAP_MS_MAX = SECOND_MS;
/** After a gap of everybody, silence is believed when beats have been fresh for this long. */
export const SETTLE_MS = MINUTE_MS;
/** The lease of an intake that holds nothing back when it cannot reach the database. */
export const SHORT_LEASE_MS = 10 * SECOND_MS;
/** A watermark that stands still for this long is told to the operator. */
export const HOLD_REPORTED_AFTER_MS = MINUTE_MS;
/** An intake stops answering this long before its lease ends, or a quarter of the lease if that is less. */
const LEASE_MARGIN_MS_MAX = 30 * SECOND_MS;

/** What the database's clock showed, between two readings of this process's monotonic clock. */
export type ClockReading = { databaseAt: Instant; sentAtMs: number; receivedAtMs: number };

export type Unapplied = {
  now: Instant;
  /** Receive time of the oldest signal that was accepted and is not applied; null when there is none. */
  oldestUnappliedAt: Instant | null;
  /** Since when senders have been refused; null while all are taken. */
  refusingSinceAt: Instant | null;
  /** Since when there are refusals of single checks that the same beat does not store; null: there are none. */
  unstoredSinceAt?: Instant | null;
};

/** Everything that this intake accepted before the returned instant is applied, and nobody was refused. */
export function watermarkOf(unapplied: Unapplied): Instant {
  const { now, oldestUnappliedAt, refusingSinceAt, unstoredSinceAt } = unapplied;
  return (
    Math.min(now, oldestUnappliedAt ?? now, refusingSinceAt ?? now, unstoredSinceAt ?? now) - WATERMARK_LAG_MS
  );
}

export type HeartbeatInterval = {
  /** Through which instant the beat before vouched. */
  beatAt: Instant;
  now: Instant;
  /** By how much the database's clock went further since then than time has passed for the intake. */
  skippedMs: number;
  /** Stretches in which the intake did not tick. */
  unproven: readonly Interval[];
};

/**
 * The time since the last beat in which the intake may not have accepted. Beats that failed leave no blind time
 * by themselves: an intake that ticked all the while took what came.
 */
export function blindTimes({ beatAt, now, skippedMs, unproven }: HeartbeatInterval): Interval[] {
  if (now - beatAt <= HEARTBEAT_GAP_MS_MAX) return [];
  // Time that passed for the database and not for us: a suspended machine, or a clock that was set. Where in
  // between it lies, nobody can say.
  if (skippedMs > HEARTBEAT_GAP_MS_MAX) return [{ from: beatAt, to: now }];
  return unproven.filter(({ from, to }) => (to ?? now) - from > TICK_GAP_MS_MAX);
}

/**
 * What an intake's first beat has to say: the time before it was there counts only where no other intake was. One that
 * was there before and has beaten up to the end of that time received all the while. `since` is the sign of life before
 * the intake; null for later beats.
 */
export function withoutAttendedTime(
  unproven: readonly Interval[],
  given: { since: Instant | null; others: readonly { startedAt: Instant; beatAt: Instant }[] },
): readonly Interval[] {
  const { since, others } = given;
  const entering = unproven.find(({ from }) => from === since);
  if (entering === undefined || entering.to === null) return unproven;
  const { from, to: listensAt } = entering;
  const isAttended = others.some(
    ({ startedAt, beatAt }) => startedAt <= from && beatAt >= listensAt - HEARTBEAT_GAP_MS_MAX,
  );
  return isAttended ? unproven.filter(({ to }) => to === null || to > listensAt) : unproven;
}

/** How long an intake may be silent. Whoever has a spool may hold signals that only it can give back. */
export function leaseMsOf({ hasSpool, lostAfterMs }: { hasSpool: boolean; lostAfterMs: number }): number {
  return hasSpool ? lostAfterMs : Math.min(SHORT_LEASE_MS, lostAfterMs);
}

export type IntakeSilence = {
  /** The last sign of the intake's life. */
  lastSignAt: Instant;
  leaseMs: number;
  /** Since when whoever judges has itself been beating without a gap; null when it has not. */
  watchingSinceAt: Instant | null;
  now: Instant;
};

/**
 * Whether an intake is lost. Only silence that somebody listened to counts: while the database was away nobody
 * could beat, and afterwards everybody gets the time of its lease to return.
 */
export function isLost({ lastSignAt, leaseMs, watchingSinceAt, now }: IntakeSilence): boolean {
  return watchingSinceAt !== null && now - Math.max(lastSignAt, watchingSinceAt) > leaseMs;
}

/**
 * Whether an intake that cannot reach the database may still promise anything. Others will declare it lost and
 * go on without it, so it has to stop before; if there are no others, nobody can.
 */
export function mayConfirm(given: { sinceBeatMs: number; leaseMs: number; isAlone: boolean }): boolean {
  const { sinceBeatMs, leaseMs, isAlone } = given;
  return isAlone || sinceBeatMs < leaseMs - Math.min(LEASE_MARGIN_MS_MAX, leaseMs / 4);
}

/** When somebody looked, and since when beats have been fresh; null when they are not. */
export type Settling = { lookedAt: Instant; freshSinceAt: Instant | null };

/** What a beat finds of everybody's beats before it. */
export type PreviousHeartbeats = {
  now: Instant;
  /** The newest beat of anybody, open or not; null: there was none ever. */
  newestBeatAt: Instant | null;
  /** The database's clock at this intake's own beat before; null: there was none. */
  lookedAt: Instant | null;
  /** The database lacks batches that it had confirmed. */
  isBehind: boolean;
};

/**
 * Whether a beat ends a gap, after which silence is not believed for a while: everybody was silent, the database's
 * clock was set back, or the database is not the one it was.
 */
export function endsGap({ now, newestBeatAt, lookedAt, isBehind }: PreviousHeartbeats): boolean {
  const isSilent = newestBeatAt === null || now - newestBeatAt > HEARTBEAT_GAP_MS_MAX;
  return isSilent || isBehind || (lookedAt !== null && lookedAt - now > WATERMARK_LAG_MS);
}

/**
 * Since when beats have been fresh, for whoever looks at them: since the newest gap that a beat has ended. Everybody
 * who looks finds the same, also right after a start.
 */
export function settlingOf(look: {
  now: Instant;
  newestBeatAt: Instant | null;
  gapEndedAt: Instant | null;
}): Settling {
  const { now, newestBeatAt, gapEndedAt } = look;
  const isFresh = newestBeatAt !== null && now - newestBeatAt <= HEARTBEAT_GAP_MS_MAX;
  return { lookedAt: now, freshSinceAt: isFresh ? gapEndedAt : null };
}

/** How far may be seen by somebody who settles: no watermark until everything has been fresh for a minute. */
export function settledVisibility(settling: Settling, { watermarkAt, blind }: Visibility): Visibility {
  return { watermarkAt: isSettled(settling) ? watermarkAt : null, blind };
}

function isSettled({ lookedAt, freshSinceAt }: Settling): boolean {
  return freshSinceAt !== null && lookedAt - freshSinceAt >= SETTLE_MS;
}

// What an intake and the database tell each other with a beat. Shapes only: what follows from them is decided in
// watermark.ts, and the rows are the store's business.

/** An intake as the others see it. */
export type OpenIntake = {
  id: string;
  /** Where it runs, for the operator. */
  name: string;
  lastSeq: number;
  watermarkAt: Instant;
  beatAt: Instant;
  leaseUntilAt: Instant;
};

export type IntakeEntry = {
  intakeId: string;
  name: string;
  leaseMs: number;
  /** Receive time of the oldest signal that it has taken before it could enter; null or left out: none. */
  unappliedAt?: Instant | null;
};

/** When the database was asked, and when anybody had given a sign of life before; null: nobody ever did. */
export type IntakeEntered = { look: ClockReading; lastBeatAt: Instant | null };

type Stretch = { from: Instant; to: Instant };

/** Refusals that concern only some checks: the one that the ping named, or those that ping from a network. */
export type AttributedRefusals = {
  targets: readonly (Stretch & { target: SignalTarget })[];
  networks: readonly (Stretch & { network: string })[];
};

/** What an intake says of itself, after a look at the database's clock. */
export type Observation = {
  watermarkAt: Instant;
  /** Through which instant it vouches for accepting; null: until now. */
  acceptedUntilAt: Instant | null;
  /** By how much the database's clock went further than the intake's own since the last beat. */
  skippedMs: number;
  /** Times in which it cannot prove that it accepted. */
  unproven: readonly Interval[];
  /** Times in which it could promise nothing to anybody. */
  refused: readonly Interval[];
  /** Left out: none. */
  attributed?: AttributedRefusals;
  spoolEmpty: boolean;
  /** How much of what its spool may hold is taken, from 0 to 1; 0 without a spool. */
  spoolFill: number;
  /** Signals that it has taken in the last minute, for the operator. */
  signalsPerMinute: number;
};

export type HeartbeatRequest = {
  intakeId: string;
  leaseMs: number;
  /** Through which instant was vouched before; for the first beat, by anybody. Null: never. */
  beatAt: Instant | null;
  /** The database's clock at this intake's beat before; null: there was none. */
  lookedAt: Instant | null;
  /** The newest batch that the database has confirmed to this intake, which it must have; 0: none. */
  confirmedSeq: number;
  /** Since when this intake has been beating without a gap; null when it has not. */
  watchingSinceAt: Instant | null;
  /** Signs of life of others besides their beats. */
  signs: ReadonlyMap<string, Instant>;
  /** Intakes that are gone and have left nothing. */
  gone: readonly string[];
  /** Intakes whose spool cannot be read. */
  broken: readonly string[];
  /** Blind times up to this number are known, and only those after it are asked for. Left out: none is known. */
  blindAfterId?: number;
  /** Asked inside the transaction, so that nothing that happens before it goes unsaid. */
  observe: (look: ClockReading) => Promise<Observation>;
};

export type Blindness = { from: Instant; to: Instant; reason: string };

/** A blind time of anybody under its number; a later one has a higher number, but may be seen first. */
export type NumberedBlind = Interval & { id: number };

/** "closed": the intake was declared lost, or the database does not know it; it has to enter anew. */
export type HeartbeatResult = HeartbeatAccepted | { kind: "closed" };

export type HeartbeatAccepted = {
  kind: "beaten";
  look: ClockReading;
  /** Through which instant this beat vouched. */
  beatAt: Instant;
  /** The newest batch of this intake that the database has. */
  lastSeq: number;
  /** Whoever else is open. */
  others: readonly OpenIntake[];
  lost: readonly OpenIntake[];
  blind: readonly Blindness[];
  /** As far as can be seen if nothing else forbids it, with the blind times that were asked for. */
  visibility: { watermarkAt: Instant; blind: readonly NumberedBlind[] };
  /** Since when nobody has missed a beat of everybody's. */
  freshSinceAt: Instant;
};
