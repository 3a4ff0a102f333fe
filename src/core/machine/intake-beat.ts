// What an intake and the database tell each other with a beat. Shapes only: what follows from them is decided in
// watermark.ts, and the rows are the store's business.
import type { SignalTarget } from "../accepted.ts";
import type { Instant, Interval } from "../instant.ts";
import type { ClockLook } from "./watermark.ts";

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

export type Entry = {
  intakeId: string;
  name: string;
  leaseMs: number;
  /** Receive time of the oldest signal that it has taken before it could enter; null or left out: none. */
  unappliedAt?: Instant | null;
};

/** When the database was asked, and when anybody had given a sign of life before; null: nobody ever did. */
export type Entered = { look: ClockLook; lastBeatAt: Instant | null };

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

export type BeatRequest = {
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
  observe: (look: ClockLook) => Promise<Observation>;
};

export type Blindness = { from: Instant; to: Instant; reason: string };

/** A blind time of anybody under its number; a later one has a higher number, but may be seen first. */
export type NumberedBlind = Interval & { id: number };

/** "closed": the intake was declared lost, or the database does not know it; it has to enter anew. */
export type BeatResult = Beaten | { kind: "closed" };

export type Beaten = {
  kind: "beaten";
  look: ClockLook;
  /** Through which instant this beat vouched. */
  beatAt: Instant;
  /** The newest batch of this intake that the database has. */
  lastSeq: number;
  /** Whoever else is open. */
  others: readonly OpenIntake[];
  lost: readonly OpenIntake[];
  blind: readonly Blindness[];
  /** As far as can be seen if nothing else forbids it, with the blind times that were asked for. */
  sight: { watermarkAt: Instant; blind: readonly NumberedBlind[] };
  /** Since when nobody has missed a beat of everybody's. */
  freshSinceAt: Instant;
};
