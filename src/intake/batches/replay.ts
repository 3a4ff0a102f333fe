// Gives the database batches that it has missed: spooled ones, ones in doubt, and confirmed ones that it has lost
// again. A batch is applied in the order of its number and once, whatever has been lost before it.
import type { Batch, SignalResult } from "../../core/signal.ts";

/** What became of a batch. "out of sequence": batches that belong before it are not in the database. */
export type Recorded = readonly SignalResult[] | "applied before" | "out of sequence";

/** Bytes of a spooled batch that are no signal any more. */
export type Unreadable = { reason: string; bytes: Uint8Array };

export type ReplayDeps = {
  record: (batch: Batch, unreadable: readonly Unreadable[]) => Promise<Recorded>;
  /** Lets the database go on after a number, although batches up to it are lost; told, and counted as blind. */
  skipTo: (batch: { intakeId: string; seq: number }) => Promise<void>;
  monotonic: () => number;
};

export class Replay {
  readonly #parts: ReplayDeps;
  readonly #recent: RecentBatches;

  constructor(parts: ReplayDeps, recent = new RecentBatches()) {
    this.#parts = parts;
    this.#recent = recent;
  }

  /** The database has confirmed the batch. */
  confirm(batch: Batch): void {
    this.#recent.add(batch, this.#parts.monotonic());
  }

  /** Forgets what was confirmed too long ago. */
  tidy(): void {
    this.#recent.drop(this.#parts.monotonic());
  }

  /** Resolves when the batch is in the database, now or since before. Throws when that cannot be had now. */
  async apply(batch: Batch, unreadable: readonly Unreadable[] = []): Promise<Recorded> {
    let result = await this.#parts.record(batch, unreadable);
    if (result === "out of sequence") {
      for (const earlier of this.#recent.before(batch)) await this.#applyAgain(earlier);
      result = await this.#applyAgain(batch, unreadable);
    }
    this.confirm(batch);
    return result;
  }

  /** Everything that was confirmed in the last minute once more, and then on from the newest number. */
  async resend(newest: { intakeId: string; seq: number }): Promise<void> {
    for (const batch of this.#recent.all()) await this.#applyAgain(batch);
    if (newest.seq > 0) await this.#parts.skipTo(newest);
  }

  async #applyAgain(batch: Batch, unreadable: readonly Unreadable[] = []): Promise<Recorded> {
    const result = await this.#parts.record(batch, unreadable);
    if (result !== "out of sequence") return result;
    await this.#parts.skipTo({ intakeId: batch.intakeId, seq: batch.seq - 1 });
    const again = await this.#parts.record(batch, unreadable);
    if (again === "out of sequence") {
      throw new Error(`batch ${batch.seq} of intake ${batch.intakeId} is out of sequence`);
    }
    return again;
  }
}

// What the database confirmed in the last minute, kept in memory: a standby that takes over may have lost the
// newest commits, and then they are given again. Bounded in time and in bytes.

/** A standby further behind than this is not one that anybody should promote. */
const KEPT_MS = 60_000;
const KEPT_BYTES_MAX = 32 * 1024 * 1024;
/** What a signal takes besides its body, roughly. */
const SIGNAL_BYTES = 400;

type Kept = { batch: Batch; bytes: number; atMs: number };

export class RecentBatches {
  readonly #bytesMax: number;
  readonly #kept: Kept[] = [];
  #bytes = 0;

  constructor({ bytesMax = KEPT_BYTES_MAX }: { bytesMax?: number } = {}) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The database has confirmed the batch at this moment of the monotonic clock. */
  add(batch: Batch, nowMs: number): void {
    const bytes = sizeOf(batch);
    this.#kept.push({ batch, bytes, atMs: nowMs });
    this.#bytes += bytes;
    this.drop(nowMs);
  }

  /** Forgets what is too old or too much. */
  drop(nowMs: number): void {
    let count = 0;
    for (const { bytes, atMs } of this.#kept) {
      if (nowMs - atMs <= KEPT_MS && this.#bytes <= this.#bytesMax) break;
      this.#bytes -= bytes;
      count += 1;
    }
    if (count > 0) this.#kept.splice(0, count);
  }

  /** All that are kept, in the order in which they were confirmed. */
  all(): Batch[] {
    return this.#kept.map(({ batch }) => batch);
  }

  /** Those of one intake before a number. */
  before({ intakeId, seq }: { intakeId: string; seq: number }): Batch[] {
    return this.all().filter((batch) => batch.intakeId === intakeId && batch.seq < seq);
  }
}

function sizeOf({ signals }: Batch): number {
  return signals.reduce((sum, { body }) => sum + SIGNAL_BYTES + (body?.length ?? 0), 0);
}
