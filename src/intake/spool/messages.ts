// The messages between the spool and its thread, and the state that is part of every response.
import type { Instant } from "../../core/instant.ts";
import type { BatchNumber } from "../../core/signal.ts";
import type { LostFile } from "./folder.ts";

export type SpoolOptions = {
  /** On a local disk that survives a restart. */
  folder: string;
  /** The ID of the intake that writes; also the name of its file. */
  intakeId: string;
  /** For the files of this spool together, its own and adopted ones; the write-ahead logs are extra. */
  bytesMax: number;
  /** Nothing is written that would leave less than this free on the disk. */
  freeDiskBytesMin: number;
};

export type SpoolFileState = {
  intakeId: string;
  isOwn: boolean;
  batches: number;
  signals: number;
  bytes: number;
  /** When the oldest signal in it was received; null if it is empty. */
  oldestAt: Instant | null;
};

export type SpoolState = {
  /** Totals of all files. */
  batches: number;
  signals: number;
  bytes: number;
  /** Whether the limit and the disk leave room right now; a missing folder has none. */
  hasRoom: boolean;
  /** Whether the next batch would be rejected for lack of space. */
  full: boolean;
  /** Why nothing can be written any more, or null. */
  failed: string | null;
  /** Our own file was removed from the folder, and contains nothing. */
  isRemoved: boolean;
  /** Our own file, if there is one, and those of intakes that are gone. */
  files: readonly SpoolFileState[];
  /** Intakes that are gone and whose files are empty: they can be closed. */
  emptyOrphans: readonly string[];
  /** Files in the folder that will not be drained. */
  lostFiles: readonly LostFile[];
};

export type SpoolRequest =
  | { kind: "open" }
  | {
      kind: "append";
      lane: number;
      seq: number;
      signalCount: number;
      receivedAt: Instant;
      payload: Uint8Array<ArrayBuffer>;
    }
  | { kind: "oldest" }
  | { kind: "remove"; batch: BatchNumber }
  | { kind: "adopt" }
  | { kind: "releaseIntakes"; intakeIds: readonly string[] }
  | { kind: "close"; keepsEmpty: boolean };

/** The oldest batch as it was stored. `oldestAt`: see SpooledBatch. */
export type StoredBatch = BatchNumber & { payload: Uint8Array; isLast: boolean; oldestAt: Instant };

export type SpoolAnswer = {
  refusal: Refusal | null;
  /** The response to `oldest`. */
  batch?: StoredBatch | null;
  /** The response to `remove`. */
  removed?: boolean;
  state: SpoolState;
};

// Why the spool rejects a request: the same list on both sides of its thread.

/**
 * `full`: no space within the limits. `busy`: too much is waiting for the disk. `failed`: the disk, the file or the
 * thread failed, and nothing more will be written. `closed`: the spool was closed. `order`: the number does not
 * follow, or is not the oldest. `invalid`: not a batch of this intake, or too large for any spool. `in_use`: the file
 * of this intake is locked. `unfit`: SQLite does not meet the requirements.
 */
export type SpoolReason = "full" | "busy" | "failed" | "closed" | "order" | "invalid" | "in_use" | "unfit";

/** A rejection as it is sent between the threads. */
export type Refusal = { reason: SpoolReason; text: string };

/** Why the spool rejected a request. An append that fails with it is not acknowledged. */
export class SpoolError extends Error {
  override readonly name = "SpoolError";
  readonly reason: SpoolReason;

  constructor({ reason, text }: Refusal) {
    super(text);
    this.reason = reason;
  }
}
