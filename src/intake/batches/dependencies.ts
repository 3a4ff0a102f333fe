// The dependencies of the database intake. They are created in src/roles/ping.ts.
import type { Instant } from "../../core/instant.ts";
import type { Batch, SignalTarget } from "../../core/signal.ts";
import type { DatabaseClock } from "../../core/database-clock.ts";
import type { Recorded, ReplayDeps, Unreadable } from "./replay.ts";
import type { Waiting } from "./waiting-queue.ts";

export type SpooledBatch = Batch & {
  /** The last batch of an intake that is gone. */
  isLast: boolean;
  unreadable: readonly Unreadable[];
};

/** The spool as used by the intake; see spool.ts. */
export type BatchSpool = {
  /** Resolves when the batch is on disk; rejects if it cannot be acknowledged. */
  append(batch: Batch): Promise<void>;
  /** The oldest batch that is not removed yet. */
  oldest(): Promise<SpooledBatch | null>;
  remove(batch: { intakeId: string; seq: number }): Promise<boolean>;
};

/** The targets that are known to exist, while the database is unavailable. */
export type KnownTargets = {
  remember(target: SignalTarget, now: Instant): void;
  knows(target: SignalTarget, now: Instant): boolean;
  remove(target: SignalTarget): void;
};

/**
 * The ID that batches are numbered under, and where they are stored while the database is unavailable. Without a
 * spool, pings are rejected.
 */
export type Identity = { intakeId: string; spool: BatchSpool | null };

/** A numbered batch, and the senders that wait for it. */
export type Numbered = {
  batch: Batch;
  waiting: readonly Waiting[];
  /** When the oldest of its signals was received. */
  oldestAt: Instant;
  /** Since when the first of its senders has waited, on the monotonic clock. */
  sinceMs: number;
};

export type RecordHow = {
  replayed: boolean;
  unreadable: readonly Unreadable[];
  giveUpAtMs: number;
  /** Signals that cannot be recorded because of an error in our code are quarantined. */
  quarantinesFailed: boolean;
};

export type IntakeDeps = {
  identity: Identity;
  clock: DatabaseClock;
  /** Resolves when the batch is durable in the database; rejects by `giveUpAtMs` if it may not be. */
  record: (batch: Batch, how: RecordHow) => Promise<Recorded>;
  skipTo: ReplayDeps["skipTo"];
  known: KnownTargets;
  find: (target: SignalTarget) => Promise<"known" | "unknown" | "ambiguous">;
  create: (target: SignalTarget) => Promise<"created" | "exists" | "unknown">;
  /** An intake that is gone has no signals left: it can be closed. */
  closeOrphan: (intakeId: string) => Promise<void>;
  /** Whether the intake is registered; before that, nothing can be recorded. */
  hasEntered: () => boolean;
  /** Whether a signal that is only spooled may be acknowledged. */
  mayPromise: () => boolean;
  onError: (error: unknown, what: string) => void;
  monotonic: () => number;
};
