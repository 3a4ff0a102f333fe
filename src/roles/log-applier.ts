// Reads partitions of the log and applies their records, several partitions in one transaction. Applying the same records
// twice is impossible, so another process may do the same at any time.
import { setTimeout as pause } from "node:timers/promises";
import type { Instant } from "../core/instant.ts";
import { LOG_RECORD_BYTES_MAX, type LogRecord } from "../core/log.ts";
import type { UnreadableSignal } from "../intake/accepted-codec.ts";
import { decodeRecord } from "../intake/log-record.ts";
import type { ReadRequest, ReadResult } from "../lib/kafka.ts";
import { type AppliedLog, countTogether, type LogPart } from "../operations/record-log.ts";
import { isOwnFault } from "../store/errors.ts";
import type { StoredPartition } from "../store/log-partitions.ts";

/** Signals in one transaction. */
const BATCH_SIGNALS_MAX = 500;
/** Records of one partition that are read ahead. */
const BUFFER_RECORDS_MAX = 2_000;
/** Bytes that are read ahead, divided among the partitions; each gets at least one read. */
const BUFFER_BYTES_MAX = 32 * 1024 * 1024;
/** Bytes of one read; more than the largest record. */
const READ_BYTES_MAX = LOG_RECORD_BYTES_MAX + 64 * 1024;
/** How long a broker waits for records. */
const READ_WAIT_MS = 500;
/** Partitions whose watermarks differ more are not applied together, because they see the earliest of them. */
const TOGETHER_MS_MAX = 2_000;
/** Pause after an error. */
const RETRY_MS = 250;
/** After this many attempts from the same position, signals that our own code fails on are quarantined. */
const TRIES_MAX = 5;

export type LogApplierDeps = {
  read: (given: ReadRequest) => Promise<ReadResult>;
  /** The stored positions. */
  load: () => Promise<readonly StoredPartition[]>;
  record: (parts: readonly LogPart[], how: RecordLogHow) => Promise<AppliedLog | null>;
  /** A record is no longer in the log. */
  stopPartition: (given: { partition: number; nextOffset: number; reason: string }) => Promise<unknown>;
  onApplied: (applied: AppliedLog) => void;
  onError: (error: unknown, what: string) => void;
};

export type RecordLogHow = {
  unreadable: readonly UnreadableSignal[];
  quarantinesFailed: boolean;
};

/** A record; null: its bytes cannot be decoded. */
type Entry = Pick<LogRecord, "watermarkAt" | "signals"> & {
  record: LogRecord | null;
  unreadable: readonly UnreadableSignal[];
  to: number;
  bytes: number;
};

type ReaderDeps = LogApplierDeps & {
  /** The share of one partition. */
  bytesMax: () => number;
  onRead: () => void;
};

/** A partition that this process reads. */
class PartitionReader {
  at: StoredPartition;
  entries: Entry[] = [];
  endOffset: number;
  /** How often our own code failed on the records at this position. */
  tries = 0;
  /** Its records failed a moment ago. */
  isPaused = false;
  #bytes = 0;
  /** A newer version has written the next record. */
  isTooNew = false;
  #reading: Promise<void> | null = null;
  #nextOffset: number;
  #isEnded = false;

  constructor(at: StoredPartition) {
    this.at = at;
    this.endOffset = at.endOffset;
    this.#nextOffset = at.nextOffset;
  }

  get isBehind(): boolean {
    return this.endOffset > this.at.nextOffset;
  }

  /** Reads ahead until enough is buffered. */
  fill(deps: ReaderDeps): void {
    if (this.#reading !== null || !this.#hasRoom(deps)) return;
    this.#reading = this.#readOn(deps).finally(() => {
      this.#reading = null;
    });
  }

  take(count: number): void {
    for (const { bytes } of this.entries.splice(0, count)) this.#bytes -= bytes;
    this.tries = 0;
  }

  /** Reads no more. */
  async end(): Promise<void> {
    this.#isEnded = true;
    await this.#reading;
  }

  #hasRoom({ bytesMax }: ReaderDeps): boolean {
    if (this.#isEnded || this.at.stopped !== null) return false;
    const fits = this.#bytes + READ_BYTES_MAX <= bytesMax() && this.entries.length < BUFFER_RECORDS_MAX;
    return fits || this.entries.length === 0;
  }

  async #readOn(deps: ReaderDeps): Promise<void> {
    while (this.#hasRoom(deps)) {
      await this.#read(deps);
      deps.onRead();
    }
  }

  async #read(deps: ReaderDeps): Promise<void> {
    const { partition, topicId } = this.at;
    const offset = this.#nextOffset;
    const wanted = { topicId, partition, offset };
    const result = await deps.read({ ...wanted, waitMs: READ_WAIT_MS, bytesMax: READ_BYTES_MAX });
    if (this.#isEnded) return;
    if (result.kind === "unavailable") {
      deps.onError(result.error, "reading the log");
      await pause(RETRY_MS);
      return;
    }
    if (result.kind === "lost") {
      // What is buffered is applied first.
      if (this.entries.length > 0) return pause(RETRY_MS, undefined);
      const reason = `record ${offset} is not in the log (${result.reason})`;
      this.at = { ...this.at, stopped: reason };
      await deps
        .stopPartition({ partition, nextOffset: offset, reason })
        .catch((error: unknown) => deps.onError(error, "stopping a partition"));
      return;
    }
    this.endOffset = result.end;
    for (const { offset: own, value } of result.records) {
      const decoded = decodeRecord(value);
      if (!decoded.ok && decoded.isNewer) return this.#waitForUpgrade(deps, own, decoded.reason);
      this.isTooNew = false;
      const record = decoded.ok ? decoded.record : null;
      const unreadable = decoded.ok
        ? decoded.unreadable
        : [{ ok: false as const, reason: decoded.reason, bytes: value }];
      const { watermarkAt, signals } = record ?? { watermarkAt: 0, signals: [] };
      this.entries.push({ watermarkAt, signals, record, unreadable, to: own + 1, bytes: value.length });
      this.#bytes += value.length;
      this.#nextOffset = own + 1;
    }
  }

  /** Never skipped: it is read again until a newer version has applied it. */
  async #waitForUpgrade(deps: LogApplierDeps, offset: number, reason: string): Promise<void> {
    this.isTooNew = true;
    const what = `record ${offset} of partition ${this.at.partition}`;
    deps.onError(new Error(`A newer version of Overdue wrote it (${reason}). Upgrade this process.`), what);
    await pause(RETRY_MS);
  }
}

export class LogApplier {
  readonly #deps: ReaderDeps;
  #readers: readonly PartitionReader[] = [];
  #wanted: readonly number[] = [];
  /** The readers are those of the wanted partitions. */
  #isFollowing = true;
  #working: Promise<void> | null = null;
  #isStopped = false;
  #wake = Promise.withResolvers<void>();

  constructor(deps: LogApplierDeps) {
    const bytesMax = () => BUFFER_BYTES_MAX / this.#readers.length;
    this.#deps = { ...deps, bytesMax, onRead: () => this.#wake.resolve() };
  }

  start(): void {
    this.#working ??= this.#work();
  }

  /** The partitions that this process should read. Called with every heartbeat. */
  setPartitions(wanted: readonly number[]): void {
    this.#wanted = wanted;
    this.#isFollowing = false;
    this.#wake.resolve();
  }

  /** Partitions with records that are not applied yet. */
  get behind(): number[] {
    return this.#readers.filter((one) => one.isBehind).map(({ at }) => at.partition);
  }

  /** How many partitions are read. */
  get count(): number {
    return this.#readers.length;
  }

  /** Why partitions are not applied; null: they are. */
  problem(): string | null {
    const waiting = this.#readers.filter(({ isTooNew }) => isTooNew).length;
    if (waiting === 0) return null;
    return `the log has records of a newer version of Overdue (partitions: ${waiting}); upgrade this process`;
  }

  /** The earliest watermark of the partitions that are read; null: none is. */
  get watermarkAt(): Instant | null {
    return this.#readers.length === 0
      ? null
      : Math.min(...this.#readers.map(({ at }) => at.state.watermarkAt));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#wake.resolve();
    await this.#working;
  }

  async #work(): Promise<void> {
    while (!this.#isStopped) {
      let chosen: readonly ChosenReader[] = [];
      try {
        if (!this.#isFollowing) await this.#follow();
        for (const reader of this.#readers) reader.fill(this.#deps);
        chosen = chooseReaders(this.#readers);
        if (chosen.length === 0) await this.#wait();
        else await this.#apply(chosen);
      } catch (error) {
        this.#deps.onError(error, "applying records of the log");
        // An error of the database says nothing about the records.
        if (isOwnFault(error) && chosen.length > 0) void this.#pause(chosen);
        else await pause(RETRY_MS);
      }
    }
    await Promise.all(this.#readers.map((reader) => reader.end()));
  }

  /** Begins with partitions that are new or were restarted, and ends with those that another process reads. */
  async #follow(): Promise<void> {
    this.#isFollowing = true;
    const wanted = new Set(this.#wanted);
    this.#keep(({ at }) => wanted.has(at.partition) && at.stopped === null);
    for (const { at } of this.#readers) wanted.delete(at.partition);
    if (wanted.size === 0) return;
    const stored = await this.#deps.load();
    // A stopped one is looked at again with the next heartbeat.
    const added = stored.filter(({ partition, stopped }) => wanted.has(partition) && stopped === null);
    this.#readers = [...this.#readers, ...added.map((at) => new PartitionReader(at))];
  }

  #keep(isKept: (reader: PartitionReader) => boolean): void {
    for (const reader of this.#readers) if (!isKept(reader)) void reader.end();
    this.#readers = this.#readers.filter(isKept);
  }

  /** Our own code failed on these records. Others do not wait for them. */
  async #pause(chosen: readonly ChosenReader[]): Promise<void> {
    const pausing = (isPaused: boolean) => {
      for (const { reader } of chosen) reader.isPaused = isPaused;
    };
    for (const { reader } of chosen) reader.tries += 1;
    pausing(true);
    await pause(RETRY_MS);
    pausing(false);
    this.#wake.resolve();
  }

  async #wait(): Promise<void> {
    await this.#wake.promise;
    this.#wake = Promise.withResolvers<void>();
  }

  async #apply(chosen: readonly ChosenReader[]): Promise<void> {
    const entries = chosen.map(({ reader, count }) => reader.entries.slice(0, count));
    const parts = chosen.map(({ reader }, index): LogPart => {
      const own = entries[index] ?? [];
      return {
        at: reader.at,
        records: own.flatMap(({ record }) => record ?? []),
        to: own.at(-1)?.to ?? reader.at.nextOffset,
        endOffset: reader.endOffset,
      };
    });
    const applied = await this.#deps.record(parts, {
      unreadable: entries.flat().flatMap(({ unreadable }) => unreadable),
      quarantinesFailed: chosen.every(({ reader }) => reader.tries >= TRIES_MAX),
    });
    if (applied === null) {
      // Another recorder was faster: these positions are read again.
      const moved = new Set(chosen.map(({ reader }) => reader));
      this.#keep((reader) => !moved.has(reader));
      this.#isFollowing = false;
      await pause(RETRY_MS);
      return;
    }
    for (const [index, { reader, count }] of chosen.entries()) {
      reader.take(count);
      reader.at = applied.parts[index] ?? reader.at;
    }
    this.#deps.onApplied(applied);
  }
}

type ChosenReader = { reader: PartitionReader; count: number };

/**
 * The partitions that are furthest behind first, and others that are about as far. One on which our own code failed is
 * applied alone.
 */
function chooseReaders(readers: readonly PartitionReader[]): ChosenReader[] {
  const ready = readers
    .filter(({ entries, isPaused }) => entries.length > 0 && !isPaused)
    .toSorted((one, other) => one.at.state.watermarkAt - other.at.state.watermarkAt);
  const failed = ready.filter(({ tries }) => tries > 0).slice(0, 1);
  const together = failed.length > 0 ? failed : ready;
  const earliest = together[0]?.at.state.watermarkAt ?? 0;
  const chosen: ChosenReader[] = [];
  let left = BATCH_SIGNALS_MAX;
  for (const reader of together) {
    const { watermarkAt } = reader.at.state;
    if (left <= 0 || watermarkAt - earliest > TOGETHER_MS_MAX) break;
    const count = countTogether(reader.entries, { from: watermarkAt, signalsMax: left });
    chosen.push({ reader, count });
    for (const { signals } of reader.entries.slice(0, count)) left -= signals.length;
  }
  return chosen;
}
