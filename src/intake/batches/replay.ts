// Sends the database batches that it is missing: spooled ones, ones in doubt, and confirmed ones that it has lost. A
// batch is applied once and in the order of its number, whatever was lost before it.
import type { Batch, SignalResult } from "../../core/signal.ts";

/** The outcome of a batch. "out of sequence": earlier batches are missing from the database. */
export type Recorded = readonly SignalResult[] | "applied before" | "out of sequence";

/** Bytes of a spooled batch that cannot be decoded. */
export type Unreadable = { reason: string; bytes: Uint8Array };

export type ReplayDeps = {
  record: (batch: Batch, unreadable: readonly Unreadable[]) => Promise<Recorded>;
  /**
   * Lets the intake continue after a number although batches up to it are lost; this is reported and counts as blind.
   */
  skipTo: (batch: { intakeId: string; seq: number }) => Promise<void>;
  monotonic: () => number;
};

export class Replay {
  readonly #deps: ReplayDeps;
  readonly #recent: RecentBatches;

  constructor(deps: ReplayDeps, recent = new RecentBatches()) {
    this.#deps = deps;
    this.#recent = recent;
  }

  /** Records that the database has confirmed the batch. */
  confirm(batch: Batch): void {
    this.#recent.add(batch, this.#deps.monotonic());
  }

  /** Drops batches that were confirmed too long ago. */
  tidy(): void {
    this.#recent.drop(this.#deps.monotonic());
  }

  /** Resolves when the batch is in the database, now or already before. Throws if that is not possible now. */
  async apply(batch: Batch, unreadable: readonly Unreadable[] = []): Promise<Recorded> {
    let result = await this.#deps.record(batch, unreadable);
    if (result === "out of sequence") {
      for (const earlier of this.#recent.before(batch)) await this.#applyAgain(earlier);
      result = await this.#applyAgain(batch, unreadable);
    }
    this.confirm(batch);
    return result;
  }

  /** Sends all batches of the last minute again, and then continues with the newest number. */
  async resend(newest: { intakeId: string; seq: number }): Promise<void> {
    for (const batch of this.#recent.all()) await this.#applyAgain(batch);
    if (newest.seq > 0) await this.#deps.skipTo(newest);
  }

  async #applyAgain(batch: Batch, unreadable: readonly Unreadable[] = []): Promise<Recorded> {
    const result = await this.#deps.record(batch, unreadable);
    if (result !== "out of sequence") return result;
    await this.#deps.skipTo({ intakeId: batch.intakeId, seq: batch.seq - 1 });
    const again = await this.#deps.record(batch, unreadable);
    if (again === "out of sequence") {
      throw new Error(`batch ${batch.seq} of intake ${batch.intakeId} is out of sequence`);
    }
    return again;
  }
}

// The batches confirmed in the last minute, kept in memory: a standby that takes over may lack the newest commits,
// and then they are sent again. Limited in time and bytes.

/** A standby that is further behind should not be promoted. */
const KEPT_MS = 60_000;
const KEPT_BYTES_MAX = 32 * 1024 * 1024;
/** Approximate size of a signal without its body. */
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

  /** Records that the database confirmed the batch at this time on the monotonic clock. */
  add(batch: Batch, nowMs: number): void {
    const bytes = sizeOf(batch);
    this.#kept.push({ batch, bytes, atMs: nowMs });
    this.#bytes += bytes;
    this.drop(nowMs);
  }

  /** Drops batches that are too old or exceed the size limit. */
  drop(nowMs: number): void {
    let count = 0;
    for (const { bytes, atMs } of this.#kept) {
      if (nowMs - atMs <= KEPT_MS && this.#bytes <= this.#bytesMax) break;
      this.#bytes -= bytes;
      count += 1;
    }
    if (count > 0) this.#kept.splice(0, count);
  }

  /** All kept batches, in the order of confirmation. */
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
