// What the heart of an intake is handed: the operations as functions, the spool's upkeep, the intake itself.
// Only types; src/roles.ts decides who keeps these promises.
import type { Interval } from "../../core/instant.ts";
import type {
  AttributedRefusals,
  BeatRequest,
  BeatResult,
  Entered,
  Entry,
} from "../../core/machine/intake-beat.ts";
import type { Log } from "../../lib/log.ts";
import type { DatabaseClock } from "../clock.ts";
import type { DirectIntake } from "../direct.ts";
import type { BatchSpool, Identity } from "../direct/parts.ts";
import type { LastBeat } from "../last-beat.ts";

/** What was found out about intakes of this machine that are gone. */
export type Orphans = {
  /** They have left nothing. */
  gone: readonly string[];
  /** What they have left cannot be read. */
  broken: readonly string[];
};

/** `isRemoved`: the file was removed when nothing was left in it, so that no other process finds it. */
export type ClosedSpool = { isRemoved: boolean };

/** On the monotonic clock: what is not done by then fails. */
export type Limit = { giveUpAtMs: number };

export type HeartParts = {
  /** Where the intake runs, for the operator. */
  name: string;
  leaseMs: number;
  /** As the intake was made, under its first id. */
  identity: Identity;
  /** Null: the database was away, and the intake has to enter later. */
  entered: Entered | null;
  /** The last good beat before the start, on the monotonic clock, and whether nobody else was there then. */
  lastBeat: { ms: number; isAlone: boolean };
  intake: DirectIntake;
  clock: DatabaseClock;
  enter: (entry: Entry, limit: Limit) => Promise<Entered>;
  beat: (request: BeatRequest, limit: Limit) => Promise<BeatResult>;
  leave: (
    going: { intakeId: string; refused: readonly Interval[]; attributed: AttributedRefusals },
    limit: Limit,
  ) => Promise<boolean>;
  /** For whoever starts here while the database is away. */
  noteBeat: (beat: LastBeat) => void;
  /** A spool for a new id, which takes over what the old ones have left; null when there is none. */
  openSpool: (intakeId: string) => Promise<BatchSpool | null>;
  /** The spool of an id that is no longer in use. */
  closeSpool: (spool: BatchSpool) => Promise<ClosedSpool>;
  /** Why a spool can be used no more, or null. */
  spoolTrouble: (spool: BatchSpool) => string | null;
  /** How much of what the spool in use may hold is taken, from 0 to 1; 0 when there is none. */
  spoolFill: () => number;
  findOrphans: () => Promise<Orphans>;
  /** Nobody counts any more on these, which have left nothing. */
  letGo: (intakeIds: readonly string[]) => Promise<void>;
  log: Log;
  monotonic: () => number;
  wall: () => number;
};
