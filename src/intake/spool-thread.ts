// The spool's thread. It handles everything that has arrived while the disk was busy as one group, so that many
// batches share a sync, and responds only when the group is on disk.
import { existsSync, statfsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import type { BatchNumber } from "../core/signal.ts";
import {
  type Refusal,
  type SpoolAnswer,
  SpoolError,
  type SpoolOptions,
  type SpoolRequest,
  type SpoolState,
  type StoredBatch,
  type ThreadCall,
  type ThreadReply,
} from "./spool.ts";
import {
  adoptSpoolFile,
  createSpoolFile,
  describeFault,
  faultOf,
  filesSetAside,
  type LostFile,
  makeFolder,
  PAGE_BYTES,
  setAside,
  SpoolDamage,
  type SpoolFile,
  spoolNames,
  spoolPath,
  type SpoolRow,
  UnfitError,
} from "./spool-file.ts";

// All open files of one spool: its own, which it appends to, and those of intakes that are gone, which it only
// drains. Decides about space and order. Runs in the spool's thread; every call waits for the disk.

/** Pages that a batch may need in addition to its payload: the row, a split of the tree, the free list. */
const EXTRA_PAGES = 3;

/** All open files of one spool. */
export class SpoolFiles {
  readonly #options: SpoolOptions;
  #own: SpoolFile | null = null;
  readonly #orphans: OrphanFiles;
  readonly #lost = new Map<string, LostFile>();
  #failed: string | null = null;
  #wasRefusedRoom = false;

  /** Opens or creates our own file and takes over files of others. Throws SpoolError or UnfitError. */
  constructor(options: SpoolOptions) {
    this.#options = { ...options, folder: resolve(options.folder) };
    makeFolder(this.#options.folder);
    for (const lost of filesSetAside(this.#options.folder)) this.#noteLost(lost);
    this.#orphans = new OrphanFiles({
      folder: this.#options.folder,
      onLost: (lost) => this.#noteLost(lost),
    });
    this.#openOwn();
    this.adopt();
  }

  /** Takes over the files of intakes that are gone, as many as may be open at a time. */
  adopt(): void {
    const ownName = this.#own === null ? null : basename(this.#own.path);
    for (const name of this.#orphans.adopt({ ownName })) this.#lost.delete(name);
  }

  /** Deletes the empty files of intakes that have been closed. */
  releaseIntakes(intakeIds: readonly string[]): void {
    this.#orphans.releaseIntakes(intakeIds);
  }

  /** Writes the batches in one transaction. Returns for each of them null once it is on disk, or the rejection. */
  append(rows: readonly SpoolRow[]): (Refusal | null)[] {
    this.#makeOwnIfMissing();
    const own = this.#own;
    const failed = this.#failure();
    if (failed !== null) return rows.map(() => ({ reason: "failed", text: failed }));
    const removed = this.#removal();
    if (removed !== null) return rows.map(() => ({ reason: "full", text: removed }));
    if (own === null) return rows.map(() => noRoom());
    const { refusals, accepted } = this.#choose(own, rows);
    if (accepted.length === 0) return refusals;
    try {
      own.append(accepted);
      return refusals;
    } catch (error) {
      const isFull = faultOf(error) === "full";
      this.#wasRefusedRoom ||= isFull;
      const refusal: Refusal = isFull ? noRoom() : { reason: "failed", text: describeFault(error) };
      return refusals.map((earlier) => earlier ?? refusal);
    }
  }

  /** The oldest batch of all files; damaged files are set aside on the way. */
  oldest(): StoredBatch | null {
    for (let file = this.#oldestFile(); file !== null; file = this.#oldestFile()) {
      const found = this.#guard(file, () => file.oldest());
      if (found === null) continue;
      const isLast = file !== this.#own && file.batches === 1;
      const { lane, seq, payload, receivedAt } = found;
      return { intakeId: file.intakeId, lane, seq, payload, isLast, oldestAt: file.oldestAt ?? receivedAt };
    }
    return null;
  }

  /** Removes the oldest batch of a file; false if it was already removed. Throws SpoolError. */
  remove({ intakeId, lane, seq }: BatchNumber): boolean {
    const file = this.#files().find((candidate) => candidate.intakeId === intakeId);
    const head = file?.head ?? null;
    if (file === undefined || head === null) return false;
    if (head.lane !== lane || head.seq !== seq) {
      if (!file.has({ lane, seq })) return false;
      const text = `batch ${seq} of lane ${lane} of intake ${intakeId} is not the first one`;
      throw new SpoolError({ reason: "order", text });
    }
    this.#guard(file, () => file.removeOldest());
    this.#wasRefusedRoom = false;
    if (this.#orphans.withBatches.includes(file) && file.batches === 0) {
      this.#orphans.release(file);
      file.discard();
      if (this.#orphans.hasMore) this.adopt();
    }
    return true;
  }

  /** Maintenance of the files, which no request waits for. */
  tidy(): void {
    for (const file of this.#files()) this.#guard(file, () => file.tidy());
  }

  state(): SpoolState {
    const files = this.#files().map((file) => ({
      intakeId: file.intakeId,
      isOwn: file === this.#own,
      batches: file.batches,
      signals: file.signals,
      bytes: file.bytes,
      oldestAt: file.oldestAt,
    }));
    const sum = (of: "batches" | "signals" | "bytes") => files.reduce((total, file) => total + file[of], 0);
    const failed = this.#failure();
    const hasRoom = this.#room().fits(PAGE_BYTES) && this.#removal() === null;
    return {
      batches: sum("batches"),
      signals: sum("signals"),
      bytes: sum("bytes"),
      hasRoom,
      full: failed === null && (this.#own === null || this.#wasRefusedRoom || !hasRoom),
      failed,
      isRemoved: this.#drainedRemoval() !== null,
      files,
      emptyOrphans: this.#orphans.emptyIntakeIds,
      lostFiles: [...this.#lost.values()],
    };
  }

  /** Closes all files. Our own is deleted if it is empty, unless it is to be kept; the others stay. */
  close({ keepsEmpty }: { keepsEmpty: boolean }): void {
    if (this.#own?.batches === 0 && !keepsEmpty) this.#own.discard();
    else this.#own?.close();
    this.#own = null;
    this.#orphans.close();
    this.#failed ??= "the spool is closed";
  }

  #openOwn(): void {
    const { folder, intakeId } = this.#options;
    const path = spoolPath({ folder, intakeId });
    if (existsSync(path)) {
      const adoption = adoptSpoolFile({ folder, name: basename(path), now: Date.now() });
      if (adoption.kind === "lost") this.#noteLost(adoption.lost);
      if (adoption.kind === "adopted") {
        this.#own = adoption.file;
        return;
      }
      if (existsSync(path)) {
        throw new SpoolError({
          reason: "in_use",
          text: `cannot lock ${path}: another process has locked it`,
        });
      }
    }
    this.#makeOwnIfMissing();
  }

  /** On a full disk there is no own file at first, and everything else continues: draining frees space. */
  #makeOwnIfMissing(): void {
    if (this.#own !== null || this.#failed !== null || !this.#room().fits(PAGE_BYTES)) return;
    try {
      this.#own = createSpoolFile(this.#options);
    } catch (error) {
      if (faultOf(error) !== "full") throw error;
    }
  }

  /** Data written to a deleted file is lost with the process, so nothing is acknowledged. */
  #removal(): string | null {
    return this.#own === null || this.#own.isInPlace() ? null : `${this.#own.path} was removed`;
  }

  /** Once a batch found no space, those after it are rejected as well: they would leave a gap. */
  #choose(own: SpoolFile, rows: readonly SpoolRow[]): { refusals: (Refusal | null)[]; accepted: SpoolRow[] } {
    const room = this.#room();
    const accepted: SpoolRow[] = [];
    const lanes = new Map<number, { newestSeq: number; count: number }>();
    let isFull = false;
    const refusals = rows.map((row): Refusal | null => {
      const { newestSeq, count } = lanes.get(row.lane) ?? own.lane(row.lane);
      isFull ||= !room.fits(row.payload.length);
      if (isFull) return noRoom();
      if (count === 0 ? row.seq <= newestSeq : row.seq !== newestSeq + 1) {
        return { reason: "order", text: `batch ${row.seq} does not follow batch ${newestSeq}` };
      }
      room.take(row.payload.length);
      lanes.set(row.lane, { newestSeq: row.seq, count: count + 1 });
      accepted.push(row);
      return null;
    });
    // Only an accepted batch proves that there is space again; a group of invalid ones proves nothing.
    this.#wasRefusedRoom = isFull || (this.#wasRefusedRoom && accepted.length === 0);
    return { refusals, accepted };
  }

  /**
   * How much may still be written, in pages. Data is on disk twice for a while: in the log, and in the main file;
   * space for data still to be moved is reserved.
   */
  #room(): { fits(payloadBytes: number): boolean; take(payloadBytes: number): void } {
    const { folder, bytesMax, freeDiskBytesMin } = this.#options;
    let boundBytes = bytesMax - this.#files().reduce((total, file) => total + file.bytes, 0);
    let diskBytes = freeDiskBytes(folder) - freeDiskBytesMin - (this.#own?.unmovedGrowthBytes() ?? 0);
    const pagesOf = (payloadBytes: number) => Math.ceil(payloadBytes / (PAGE_BYTES - 4)) + EXTRA_PAGES;
    const need = (payloadBytes: number) => pagesOf(payloadBytes) * PAGE_BYTES;
    return {
      fits: (payloadBytes) => need(payloadBytes) <= boundBytes && 2 * need(payloadBytes) <= diskBytes,
      take: (payloadBytes) => {
        boundBytes -= need(payloadBytes);
        diskBytes -= 2 * need(payloadBytes);
      },
    };
  }

  #failure(): string | null {
    return this.#failed ?? this.#own?.writingEnded ?? this.#drainedRemoval();
  }

  /** A deleted file is closed when it is drained: only this process can still read it. */
  #drainedRemoval(): string | null {
    return this.#own?.batches === 0 ? this.#removal() : null;
  }

  #files(): SpoolFile[] {
    const { withBatches } = this.#orphans;
    return this.#own === null ? [...withBatches] : [this.#own, ...withBatches];
  }

  #oldestFile(): SpoolFile | null {
    const ageOrder = (file: SpoolFile) => file.oldestAt ?? Number.POSITIVE_INFINITY;
    const [oldest] = this.#files().toSorted((a, b) => ageOrder(a) - ageOrder(b));
    return oldest === undefined || oldest.batches === 0 ? null : oldest;
  }

  /** Closes the file if it is damaged or cannot be read, and returns null. */
  #guard<T>(file: SpoolFile, step: () => T): T | null {
    try {
      return step();
    } catch (error) {
      this.#giveUp(file, error);
      return null;
    }
  }

  #giveUp(file: SpoolFile, error: unknown): void {
    const { folder } = this.#options;
    const reason = describeFault(error);
    const name = basename(file.path);
    if (file === this.#own) {
      this.#own = null;
      this.#failed = reason;
    } else this.#orphans.release(file);
    if (error instanceof SpoolDamage || faultOf(error) === "corrupt") {
      const adoption = setAside({ folder, name, db: file, reason });
      if (adoption.kind === "lost") this.#noteLost(adoption.lost);
      return;
    }
    file.close();
    this.#noteLost({ name, intakeId: file.intakeId, reason });
  }

  #noteLost(lost: LostFile): void {
    this.#lost.set(lost.name, lost);
  }
}

/** Whether an error on opening means that this machine cannot have a spool. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof SpoolError) return { reason: error.reason, text: error.message };
  if (error instanceof UnfitError) return { reason: "unfit", text: error.message };
  return { reason: "failed", text: describeFault(error) };
}

/** A folder that cannot be read has no space: it may have been unmounted. */
function freeDiskBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return 0;
  }
}

function noRoom(): Refusal {
  return { reason: "full", text: "there is no space for the batch" };
}

// The files of intakes that are gone: those with batches are drained, and empty ones wait until their intakes have
// been closed. The lock on a file shows whether its owner is gone. Runs in the spool's thread.

/** Each open file costs descriptors and memory; further ones are taken over when another one has been drained. */
const ADOPTED_FILES_MAX = 16;
/** Empty files that are held at a time; further ones are found later. */
const EMPTY_FILES_MAX = 64;

type EmptyFile = {
  file: SpoolFile;
  /** A complete search has ended since it was found, so that all other files of its owner have been found, too. */
  mayGo: boolean;
};

export class OrphanFiles {
  readonly #folder: string;
  readonly #onLost: (lost: LostFile) => void;
  readonly #withBatches: SpoolFile[] = [];
  #empty: EmptyFile[] = [];
  #hasMore = false;

  constructor({ folder, onLost }: { folder: string; onLost: (lost: LostFile) => void }) {
    this.#folder = folder;
    this.#onLost = onLost;
  }

  /** Files that have something to drain. */
  get withBatches(): readonly SpoolFile[] {
    return this.#withBatches;
  }

  /** The intakes that left no signals, and can be closed. */
  get emptyIntakeIds(): string[] {
    return this.#empty.filter(({ mayGo }) => mayGo).map(({ file }) => file.intakeId);
  }

  /** Takes over the files it finds, as many as may be open at a time; returns their names. */
  adopt({ ownName }: { ownName: string | null }): string[] {
    const foundBefore = [...this.#empty];
    const open = new Set(this.#files().map(({ path }) => basename(path)));
    const taken: string[] = [];
    this.#hasMore = false;
    for (const name of spoolNames(this.#folder)) {
      if (name === ownName || open.has(name)) continue;
      if (this.#withBatches.length >= ADOPTED_FILES_MAX) {
        this.#hasMore = true;
        return taken;
      }
      const adoption = adoptSpoolFile({ folder: this.#folder, name, now: Date.now() });
      if (adoption.kind === "lost") this.#onLost(adoption.lost);
      if (adoption.kind !== "adopted") continue;
      taken.push(name);
      this.#take(adoption.file);
    }
    for (const one of foundBefore) one.mayGo = true;
    return taken;
  }

  /** Whether files were left because too many were open. */
  get hasMore(): boolean {
    return this.#hasMore;
  }

  /** Releases a file that was taken over, drained or not; the caller owns it from then on. */
  release(file: SpoolFile): void {
    this.#withBatches.splice(this.#withBatches.indexOf(file), 1);
  }

  /** Deletes the empty files of intakes that have been closed. */
  releaseIntakes(intakeIds: readonly string[]): void {
    const isGoing = ({ file }: EmptyFile) => intakeIds.includes(file.intakeId);
    const going = this.#empty.filter(isGoing);
    this.#empty = this.#empty.filter((one) => !isGoing(one));
    for (const { file } of going) file.discard();
  }

  /** Leaves all of them to the next process. */
  close(): void {
    for (const file of this.#files()) file.close();
    this.#withBatches.length = 0;
    this.#empty = [];
  }

  #take(file: SpoolFile): void {
    if (file.batches > 0) this.#withBatches.push(file);
    else if (this.#empty.length < EMPTY_FILES_MAX) this.#empty.push({ file, mayGo: false });
    else file.close();
  }

  #files(): SpoolFile[] {
    return [...this.#withBatches, ...this.#empty.map(({ file }) => file)];
  }
}

type Call = ThreadCall<SpoolRequest>;
type AppendCall = { id: number; request: Extract<SpoolRequest, { kind: "append" }> };

/** A group is closed at this size, so that no batch waits long because of later ones. */
const GROUP_BYTES_MAX = 8 * 1024 * 1024;

const NOTHING: SpoolState = {
  batches: 0,
  signals: 0,
  bytes: 0,
  hasRoom: true,
  full: false,
  failed: null,
  isRemoved: false,
  files: [],
  emptyOrphans: [],
  lostFiles: [],
};

const port = parentPort;
if (port === null) throw new Error("this file must run in a worker thread");
const queue: Call[] = [];
let keeper: SpoolFiles | null = null;
let isWoken = false;

port.on("message", (call: Call) => {
  queue.push(call);
  wake();
});

function wake(): void {
  if (isWoken) return;
  isWoken = true;
  // By then everything that was pending in the port is in the queue.
  setImmediate(() => {
    isWoken = false;
    work();
    if (queue.length > 0) wake();
  });
}

function work(): void {
  const appends = takeAppends();
  if (appends.length > 0) appendAll(appends);
  else {
    const call = queue.shift();
    if (call !== undefined) answerOne(call);
  }
  keeper?.tidy();
}

function takeAppends(): AppendCall[] {
  const taken: AppendCall[] = [];
  let bytes = 0;
  while (bytes < GROUP_BYTES_MAX) {
    const next = queue[0];
    if (next?.request.kind !== "append") break;
    queue.shift();
    taken.push({ id: next.id, request: next.request });
    bytes += next.request.payload.length;
  }
  return taken;
}

function appendAll(calls: readonly AppendCall[]): void {
  let refusals: readonly (Refusal | null)[];
  try {
    refusals = opened().append(calls.map(({ request }) => request));
  } catch (error) {
    const refusal = refusalOf(error);
    refusals = calls.map(() => refusal);
  }
  const state = keeper?.state() ?? NOTHING;
  for (const [index, { id }] of calls.entries()) reply(id, { refusal: refusals[index] ?? null, state });
}

function answerOne({ id, request }: Call): void {
  try {
    const answer = answerTo(request);
    reply(id, { refusal: null, ...answer, state: keeper?.state() ?? NOTHING });
  } catch (error) {
    reply(id, { refusal: refusalOf(error), state: keeper?.state() ?? NOTHING });
  }
  if (request.kind === "close") port?.close();
}

function answerTo(request: SpoolRequest): Omit<SpoolAnswer, "refusal" | "state"> {
  switch (request.kind) {
    case "open":
      keeper = new SpoolFiles(workerData as SpoolOptions);
      return {};
    case "oldest":
      return { batch: opened().oldest() };
    case "remove":
      return { removed: opened().remove(request.batch) };
    case "adopt":
      opened().adopt();
      return {};
    case "releaseIntakes":
      opened().releaseIntakes(request.intakeIds);
      return {};
    case "close":
      keeper?.close(request);
      keeper = null;
      return {};
    case "append":
      throw new Error("appends must be handled in groups");
  }
}

function opened(): SpoolFiles {
  if (keeper === null) throw new Error("the spool is not open");
  return keeper;
}

function reply(id: number, answer: SpoolAnswer): void {
  const { payload } = answer.batch ?? {};
  // The bytes of a batch are transferred, not copied.
  const transfer = payload?.buffer instanceof ArrayBuffer ? [payload.buffer] : [];
  port?.postMessage({ id, answer } satisfies ThreadReply<SpoolAnswer>, transfer);
}
