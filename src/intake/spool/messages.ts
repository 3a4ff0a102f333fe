// The messages between the spool and its thread, and the state that comes with every answer.
import type { Instant } from "../../core/instant.ts";
import type { LostFile } from "./folder.ts";

export type SpoolOptions = {
  /** On a local disk that survives a restart. */
  folder: string;
  /** The start of the intake that writes; also the name of its file. */
  intakeId: string;
  /** For the files of this spool together, own and adopted; the write-ahead logs come on top. */
  bytesMax: number;
  /** Nothing is written that would leave less than this on the disk. */
  freeDiskBytesMin: number;
};

export type SpoolFileState = {
  intakeId: string;
  isOwn: boolean;
  batches: number;
  signals: number;
  bytes: number;
  /** When the oldest signal in it was received; null when it is empty. */
  oldestAt: Instant | null;
};

export type SpoolState = {
  /** The sums over all files. */
  batches: number;
  signals: number;
  bytes: number;
  /** Whether the limit and the disk leave room, as of now; a folder that is gone leaves none. */
  hasRoom: boolean;
  /** Whether the next batch would be refused for want of room. */
  full: boolean;
  /** Why nothing can be written any more, or null. */
  failed: string | null;
  /** The own file was removed from the folder, and holds nothing. */
  isRemoved: boolean;
  /** The own file, if there is one, and those of intakes that are gone. */
  files: readonly SpoolFileState[];
  /** Intakes that are gone and whose files hold nothing: they can be let go of. */
  emptyOrphans: readonly string[];
  /** What lies in the folder and will not be drained. */
  lostFiles: readonly LostFile[];
};

export type SpoolRequest =
  | { kind: "open" }
  | {
      kind: "append";
      seq: number;
      signalCount: number;
      receivedAt: Instant;
      payload: Uint8Array<ArrayBuffer>;
    }
  | { kind: "oldest" }
  | { kind: "remove"; intakeId: string; seq: number }
  | { kind: "adopt" }
  | { kind: "releaseIntakes"; intakeIds: readonly string[] }
  | { kind: "close"; keepsEmpty: boolean };

/** The oldest batch as it was stored. */
export type StoredBatch = { intakeId: string; seq: number; payload: Uint8Array; isLast: boolean };

export type SpoolAnswer = {
  refusal: Refusal | null;
  /** The answer to `oldest`. */
  batch?: StoredBatch | null;
  /** The answer to `remove`. */
  removed?: boolean;
  state: SpoolState;
};

// Why the spool does not do what it is asked to: a closed list, on both sides of its thread.

/**
 * `full`: no room within the bounds. `busy`: too much waits for the disk already. `failed`: the disk, the
 * file or the thread failed, and nothing more will be written. `closed`: the spool was closed. `order`: the
 * number does not follow, or is not the oldest. `invalid`: no batch of this intake, or too large for any
 * spool. `in_use`: the file of this intake cannot be taken. `unfit`: SQLite does not do what is needed.
 */
export type SpoolReason = "full" | "busy" | "failed" | "closed" | "order" | "invalid" | "in_use" | "unfit";

/** A refusal as it travels between the threads. */
export type Refusal = { reason: SpoolReason; text: string };

/** Why the spool did not do what it was asked to. An append that fails with it is not promised. */
export class SpoolError extends Error {
  override readonly name = "SpoolError";
  readonly reason: SpoolReason;

  constructor({ reason, text }: Refusal) {
    super(text);
    this.reason = reason;
  }
}
