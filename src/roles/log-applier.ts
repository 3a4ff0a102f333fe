// Reads partitions of the log and applies their records, several partitions in one transaction. Applying the same records
// twice is impossible, so another process may do the same at any time.
import { setTimeout as pause } from "node:timers/promises";
import type { Instant } from "../core/instant.ts";
import type { LogRecord } from "../core/log.ts";
import type { UnreadableSignal } from "../intake/accepted-codec.ts";
import { decodeRecord } from "../intake/log-record.ts";
import type { ReadResult } from "../lib/kafka.ts";
import { type AppliedLog, countTogether, type LogPart } from "../operations/record-log.ts";
import type { StoredPartition } from "../store/log-partitions.ts";

/** Signals in one transaction. */
const BATCH_SIGNALS_MAX = 500;
/** No more of a partition is read while this many signals wait. */
const BUFFER_SIGNALS_MAX = 1_000;
/** Bytes of one read. A larger record is returned alone. Much more would keep the garbage collector busy. */
const READ_BYTES_MAX = 256 * 1024;
/** How long a broker waits for records. */
const READ_WAIT_MS = 500;
/** Partitions whose watermarks differ more are not applied together, because they see the earliest of them. */
const TOGETHER_MS_MAX = 2_000;
/** Pause after an error. */
const RETRY_MS = 250;
/** After this many attempts of the same records, signals that our own code fails on are quarantined. */
const TRIES_MAX = 5;

export type LogApplierDeps = {
  read: (given: {
    partition: number;
    offset: number;
    waitMs: number;
    bytesMax: number;
  }) => Promise<ReadResult>;
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
  /** The earliest watermark of the partitions. */
  watermarkAt: Instant;
};

type Entry = { record: LogRecord | null; unreadable: readonly UnreadableSignal[]; to: number };

/** A partition that this process reads. */
class PartitionReader {
  at: StoredPartition;
  entries: Entry[] = [];
  endOffset: number;
  #signals = 0;
  #reading: Promise<void> | null = null;
  #nextOffset: number;

  constructor(at: StoredPartition) {
    this.at = at;
    this.endOffset = at.endOffset;
    this.#nextOffset = at.nextOffset;
  }

  get reading(): Promise<void> | null {
    return this.#reading;
  }

  /** Reads ahead, unless enough is buffered. */
  fill(deps: LogApplierDeps): void {
    if (this.#reading !== null || this.#signals >= BUFFER_SIGNALS_MAX || this.at.stopped !== null) return;
    this.#reading = this.#read(deps).finally(() => {
      this.#reading = null;
    });
  }

  take(count: number): void {
    for (const { record } of this.entries.splice(0, count)) this.#signals -= record?.signals.length ?? 0;
  }

  async #read(deps: LogApplierDeps): Promise<void> {
    const { partition } = this.at;
    const offset = this.#nextOffset;
    const result = await deps.read({ partition, offset, waitMs: READ_WAIT_MS, bytesMax: READ_BYTES_MAX });
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
    for (const { offset: own, value } of result.records) {
      const decoded = decodeRecord(value);
      const record = decoded.ok ? decoded.record : null;
      const unreadable = decoded.ok
        ? decoded.unreadable
        : [{ ok: false as const, reason: decoded.reason, bytes: value }];
      this.entries.push({ record, unreadable, to: own + 1 });
      this.#signals += record?.signals.length ?? 0;
      this.#nextOffset = own + 1;
    }
    this.endOffset = result.end;
  }
}

export class LogApplier {
  readonly #deps: LogApplierDeps;
  #readers: PartitionReader[] = [];
  #wanted: readonly number[] = [];
  #working: Promise<void> | null = null;
  #isStopped = false;
  #tries = 0;
  #wake = Promise.withResolvers<void>();

  constructor(deps: LogApplierDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#working ??= this.#work();
  }

  /** The partitions that this process should read. Called with every heartbeat. */
  setPartitions(wanted: readonly number[]): void {
    this.#wanted = wanted;
    this.#wake.resolve();
  }

  /** How many partitions are read. */
  get count(): number {
    return this.#readers.length;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#wake.resolve();
    await this.#working;
  }

  async #work(): Promise<void> {
    while (!this.#isStopped) {
      try {
        await this.#follow();
        for (const reader of this.#readers) reader.fill(this.#deps);
        const chosen = chooseReaders(this.#readers);
        if (chosen.length === 0) await this.#wait();
        else await this.#apply(chosen);
      } catch (error) {
        this.#tries += 1;
        this.#deps.onError(error, "applying records of the log");
        await pause(RETRY_MS);
      }
    }
    for (const { reading } of this.#readers) await reading;
  }

  /** Begins with partitions that are new or were restarted, and ends with those that another process reads. */
  async #follow(): Promise<void> {
    const wanted = this.#wanted;
    this.#readers = this.#readers.filter(({ at }) => wanted.includes(at.partition) && at.stopped === null);
    const missing = wanted.filter((one) => !this.#readers.some(({ at }) => at.partition === one));
    if (missing.length === 0) return;
    for (const stored of await this.#deps.load()) {
      const isNew = missing.includes(stored.partition) && stored.stopped === null;
      if (isNew) this.#readers.push(new PartitionReader(stored));
    }
    // Stopped partitions are looked at again with the next heartbeat.
    this.#wanted = this.#readers.map(({ at }) => at.partition);
  }

  async #wait(): Promise<void> {
    const reading = this.#readers.flatMap((reader) => (reader.reading === null ? [] : [reader.reading]));
    await Promise.race([this.#wake.promise, pause(READ_WAIT_MS), ...reading]);
    this.#wake = Promise.withResolvers<void>();
  }

  async #apply(chosen: readonly ChosenReader[]): Promise<void> {
    const parts = chosen.map(({ reader, count }): LogPart => {
      const entries = reader.entries.slice(0, count);
      return {
        at: reader.at,
        records: entries.flatMap(({ record }) => (record === null ? [] : [record])),
        to: entries.at(-1)?.to ?? reader.at.nextOffset,
        endOffset: reader.endOffset,
      };
    });
    const unreadable = chosen.flatMap(({ reader, count }) =>
      reader.entries.slice(0, count).flatMap((entry) => entry.unreadable),
    );
    const applied = await this.#deps.record(parts, {
      unreadable,
      quarantinesFailed: this.#tries >= TRIES_MAX,
      watermarkAt: Math.min(...parts.map(({ at }) => at.state.watermarkAt)),
    });
    this.#tries = 0;
    if (applied === null) {
      // Another recorder was faster: these positions are read again.
      const moved = new Set(chosen.map(({ reader }) => reader));
      const wanted = this.#readers.map(({ at }) => at.partition);
      this.#readers = this.#readers.filter((reader) => !moved.has(reader));
      this.#wanted = wanted;
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

/** The partitions that are furthest behind first, and others that are about as far. */
function chooseReaders(readers: readonly PartitionReader[]): ChosenReader[] {
  const ready = readers
    .filter(({ entries }) => entries.length > 0)
    .toSorted((one, other) => one.at.state.watermarkAt - other.at.state.watermarkAt);
  const earliest = ready[0]?.at.state.watermarkAt ?? 0;
  const chosen: ChosenReader[] = [];
  let left = BATCH_SIGNALS_MAX;
  for (const reader of ready) {
    const { watermarkAt } = reader.at.state;
    if (left <= 0 || watermarkAt - earliest > TOGETHER_MS_MAX) break;
    const records = reader.entries.map(({ record }) => record ?? NO_RECORD);
    const count = countTogether(records, { from: watermarkAt, signalsMax: left });
    chosen.push({ reader, count });
    for (const record of records.slice(0, count)) left -= record.signals.length;
  }
  return chosen;
}

/** Stands for a record that cannot be decoded. */
const NO_RECORD = { watermarkAt: 0, signals: [] } as unknown as LogRecord;
