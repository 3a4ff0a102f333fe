// The spool: a local log that stores batches while PostgreSQL is unavailable. Acknowledged batches are on disk, in
// the order in which they were written, until they are removed. When to use it, and whether a batch was already
// applied, is decided elsewhere. The files are used only by its thread, because every call waits for the disk.
import { extname } from "node:path";
import { type Transferable, Worker } from "node:worker_threads";
import type { Instant } from "../core/instant.ts";
import type { AcceptedSignal, Batch, BatchNumber } from "../core/signal.ts";
import { decodeSignals, encodeSignals } from "./accepted-codec.ts";
import { isIntakeId, type LostFile } from "./spool-file.ts";

export type SpooledBatch = Batch & {
  /** Signals of the batch that cannot be decoded: they are quarantined. The others are recorded without them. */
  unreadable: readonly { position: number; reason: string; bytes: Uint8Array }[];
  /** The last batch of an intake that is gone: that intake can be closed together with it. */
  isLast: boolean;
  /** Receive time of the oldest signal in the file of this intake, which is the oldest of all. */
  oldestAt: Instant;
};

export type Spool = {
  /** Resolves when the batch is synced to disk. Rejects with SpoolError; then nothing is acknowledged. */
  append(batch: Batch): Promise<void>;
  /** The oldest batch that is not removed yet, of this intake or of one that is gone. */
  oldest(): Promise<SpooledBatch | null>;
  /** Removes a batch that was applied; false if it was already removed. Only the oldest of its intake. */
  remove(batch: BatchNumber): Promise<boolean>;
  /** Searches again for files of intakes on this machine that are gone. Opening has done it once. */
  adoptOrphans(): Promise<void>;
  /** Deletes the empty files of intakes that are gone, once they have been closed. */
  releaseIntakes(intakeIds: readonly string[]): Promise<void>;
  /** As of the last response. */
  state(): SpoolState;
  /**
   * Finishes earlier requests; batches that are not drained stay on disk for the next start. An empty file stays as
   * well if it is to show the next start that its intake is gone. Can be called twice.
   */
  close(options?: { keepsEmpty?: boolean }): Promise<void>;
};

/** How much may wait for the disk at a time, which is also the size limit of a batch. */
const WAITING_BYTES_MAX = 64 * 1024 * 1024;
const WAITING_BATCHES_MAX = 10_000;
const CLOSE_TIMEOUT_MS = 10_000;

/** Opens the spool in its own thread. Rejects with SpoolError if this machine cannot have one. */
export function openSpool(options: SpoolOptions): Promise<Spool> {
  const body = threadFile("./spool-thread.ts", import.meta.url);
  return startSpool(new Worker(body, { workerData: options, name: "spool" }), options);
}

/** Same as openSpool, with a worker created by the caller. */
export async function startSpool(worker: Worker, { intakeId }: SpoolOptions): Promise<Spool> {
  const calls = callsTo<SpoolRequest, SpoolAnswer>(worker);
  const client = new SpoolClient(calls, intakeId);
  try {
    if (!isIntakeId(intakeId)) {
      throw new SpoolError({ reason: "invalid", text: `"${intakeId}" is not a valid intake ID` });
    }
    await client.ask({ kind: "open" });
  } catch (error) {
    await client.close();
    throw error;
  }
  return client;
}

class SpoolClient implements Spool {
  readonly #calls: ThreadCalls<SpoolRequest, SpoolAnswer>;
  readonly #intakeId: string;
  #closing: Promise<void> | null = null;
  #waitingBytes = 0;
  #waitingBatches = 0;
  #state: SpoolState | null = null;

  constructor(calls: ThreadCalls<SpoolRequest, SpoolAnswer>, intakeId: string) {
    this.#calls = calls;
    this.#intakeId = intakeId;
  }

  async append({ intakeId, lane, seq, signals }: Batch): Promise<void> {
    if (intakeId !== this.#intakeId || !Number.isSafeInteger(seq) || seq < 1 || signals.length === 0) {
      throw new SpoolError({ reason: "invalid", text: `not a batch of intake ${this.#intakeId}` });
    }
    const payload = encodeSignals(signals);
    const size = payload.length;
    if (size > WAITING_BYTES_MAX) {
      throw new SpoolError({ reason: "invalid", text: `a batch of ${size} bytes is too large` });
    }
    if (this.#waitingBytes + size > WAITING_BYTES_MAX || this.#waitingBatches >= WAITING_BATCHES_MAX) {
      throw new SpoolError({ reason: "busy", text: "too much data is waiting for the disk" });
    }
    this.#waitingBytes += size;
    this.#waitingBatches += 1;
    try {
      const receivedAt = oldestOf(signals);
      const row = { lane, seq, signalCount: signals.length, receivedAt, payload };
      await this.ask({ kind: "append", ...row }, [payload.buffer]);
    } finally {
      this.#waitingBytes -= size;
      this.#waitingBatches -= 1;
    }
  }

  async oldest(): Promise<SpooledBatch | null> {
    const { batch } = await this.ask({ kind: "oldest" });
    return batch === undefined || batch === null ? null : readBatch(batch);
  }

  async remove({ intakeId, lane, seq }: BatchNumber): Promise<boolean> {
    const { removed } = await this.ask({ kind: "remove", batch: { intakeId, lane, seq } });
    return removed === true;
  }

  async adoptOrphans(): Promise<void> {
    await this.ask({ kind: "adopt" });
  }

  async releaseIntakes(intakeIds: readonly string[]): Promise<void> {
    await this.ask({ kind: "releaseIntakes", intakeIds });
  }

  state(): SpoolState {
    const state = this.#state;
    if (state === null) throw new Error("the spool is not open");
    return { ...state, failed: state.failed ?? (this.#closing === null ? this.#calls.ended() : null) };
  }

  close({ keepsEmpty = false }: { keepsEmpty?: boolean } = {}): Promise<void> {
    this.#closing ??= this.#end(keepsEmpty);
    return this.#closing;
  }

  async ask(request: SpoolRequest, transfer: readonly ArrayBuffer[] = []): Promise<SpoolAnswer> {
    if (this.#closing !== null) throw new SpoolError({ reason: "closed", text: "the spool is closed" });
    return this.#send(request, transfer);
  }

  async #send(request: SpoolRequest, transfer: readonly ArrayBuffer[]): Promise<SpoolAnswer> {
    let answer: SpoolAnswer;
    try {
      answer = await this.#calls.call(request, transfer);
    } catch (error) {
      if (!(error instanceof ThreadEnded)) throw error;
      throw new SpoolError({ reason: "failed", text: `the spool's thread ended: ${error.message}` });
    }
    if (request.kind !== "close") this.#state = answer.state;
    if (answer.refusal !== null) throw new SpoolError(answer.refusal);
    return answer;
  }

  async #end(keepsEmpty: boolean): Promise<void> {
    // A thread that has ended has already closed its files.
    if (this.#calls.ended() === null) {
      await this.#send({ kind: "close", keepsEmpty }, []).catch(() => undefined);
    }
    await this.#calls.waitForEnd(CLOSE_TIMEOUT_MS);
  }
}

function readBatch({ payload, ...stored }: StoredBatch): SpooledBatch {
  const signals: AcceptedSignal[] = [];
  const unreadable: { position: number; reason: string; bytes: Uint8Array }[] = [];
  for (const [position, decoded] of decodeSignals(payload).entries()) {
    if (decoded.ok) signals.push(decoded.value);
    else unreadable.push({ position, reason: decoded.reason, bytes: decoded.bytes });
  }
  return { ...stored, signals, unreadable };
}

function oldestOf(signals: readonly AcceptedSignal[]): number {
  return signals.reduce((oldest, { at }) => Math.min(oldest, at), Number.POSITIVE_INFINITY);
}

// The messages between the spool and its thread, and the state that is part of every response.

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

// Calls to a worker thread. When a thread ends, for whatever reason, all pending and later calls are rejected.

/** A request to the thread. */
export type ThreadCall<Request> = { id: number; request: Request };

/** The response, once for every call. */
export type ThreadReply<Answer> = { id: number; answer: Answer };

/** The thread has ended; its last operation may or may not have been completed. */
class ThreadEnded extends Error {
  override readonly name = "ThreadEnded";
}

type ThreadCalls<Request, Answer> = {
  /** Rejects only with ThreadEnded; an error of the thread is a response. */
  call(request: Request, transfer?: readonly Transferable[]): Promise<Answer>;
  /** Why the thread has ended, or null. */
  ended(): string | null;
  /** Resolves when the thread has ended, or was terminated because it took too long. */
  waitForEnd(timeoutMs: number): Promise<void>;
};

/**
 * The file of a thread next to the module at `from`, with the same extension: .ts in a checkout and .js once built.
 */
function threadFile(path: string, from: string): URL {
  return new URL(path.replace(/\.ts$/, extname(from)), from);
}

/** Handles the messages of a worker that responds to every call, in any order. */
function callsTo<Request, Answer>(worker: Worker): ThreadCalls<Request, Answer> {
  type Waiting = { resolve: (answer: Answer) => void; reject: (error: Error) => void };
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let endedBecause: string | null = null;

  const end = (reason: string) => {
    endedBecause ??= reason;
    for (const { reject } of waiting.values()) reject(new ThreadEnded(endedBecause));
    waiting.clear();
  };
  worker.on("message", ({ id, answer }: ThreadReply<Answer>) => {
    waiting.get(id)?.resolve(answer);
    waiting.delete(id);
  });
  worker.on("messageerror", (error) => end(`an answer could not be read: ${error.message}`));
  worker.on("error", (error) => end(error instanceof Error ? error.message : String(error)));
  const exited = new Promise<void>((resolve) => {
    worker.on("exit", (code) => {
      end(`the thread ended with code ${code}`);
      resolve();
    });
  });

  return {
    call: (request, transfer = []) =>
      new Promise((resolve, reject) => {
        if (endedBecause !== null) return reject(new ThreadEnded(endedBecause));
        lastId += 1;
        waiting.set(lastId, { resolve, reject });
        worker.postMessage({ id: lastId, request } satisfies ThreadCall<Request>, [...transfer]);
      }),
    ended: () => endedBecause,
    waitForEnd: async (timeoutMs) => {
      const timer = setTimeout(() => void worker.terminate(), timeoutMs);
      await exited;
      clearTimeout(timer);
    },
  };
}
