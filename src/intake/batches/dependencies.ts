// The dependencies of the database intake. They are made in src/roles/ping.ts.
import type { Instant } from "../../core/instant.ts";
import type { Batch, SignalTarget } from "../../core/signal.ts";
import type { DatabaseClock } from "../clock.ts";
import type { Recorded, ReplayDeps, Unreadable } from "./replay.ts";
import type { Waiting } from "./waiting-queue.ts";

export type SpooledBatch = Batch & {
  /** Nothing comes after it from its intake, which is gone. */
  isLast: boolean;
  unreadable: readonly Unreadable[];
};

/** What the intake needs of the spool; see spool.ts. */
export type BatchSpool = {
  /** Resolves when the batch is on disk; rejects when nothing is promised. */
  append(batch: Batch): Promise<void>;
  /** The batch that was received first and is not removed yet. */
  oldest(): Promise<SpooledBatch | null>;
  remove(batch: { intakeId: string; seq: number }): Promise<boolean>;
};

/** Which targets are known to exist, while the database cannot be asked. */
export type KnownTargets = {
  remember(target: SignalTarget, now: Instant): void;
  knows(target: SignalTarget, now: Instant): boolean;
  forget(target: SignalTarget): void;
};

/** Under which id batches are numbered, and where they go meanwhile. No spool: senders are refused. */
export type Identity = { intakeId: string; spool: BatchSpool | null };

/** A batch under its number, and those who wait for it. */
export type Numbered = {
  batch: Batch;
  waiting: readonly Waiting[];
  /** When the oldest of its signals was received. */
  oldestAt: Instant;
  /** Since when the first of its senders waits, on the monotonic clock. */
  sinceMs: number;
};

export type RecordHow = {
  replayed: boolean;
  unreadable: readonly Unreadable[];
  giveUpAtMs: number;
  /** What cannot be recorded because of an error of our own is quarantined. */
  quarantinesFailed: boolean;
};

export type IntakeDeps = {
  identity: Identity;
  clock: DatabaseClock;
  /** Resolves when the batch is durable in the database; rejects by `giveUpAtMs` when it may not be. */
  record: (batch: Batch, how: RecordHow) => Promise<Recorded>;
  skipTo: ReplayDeps["skipTo"];
  known: KnownTargets;
  find: (target: SignalTarget) => Promise<"known" | "unknown" | "ambiguous">;
  create: (target: SignalTarget) => Promise<"created" | "exists" | "unknown">;
  /** Nothing is left of an intake that is gone: it can be let go of. */
  closeOrphan: (intakeId: string) => Promise<void>;
  /** Whether the database has heard of the intake; before, nothing can be recorded. */
  hasEntered: () => boolean;
  /** Whether a signal may be promised that is only spooled. */
  mayPromise: () => boolean;
  onTrouble: (error: unknown, what: string) => void;
  monotonic: () => number;
};
