// What the database confirmed in the last minute, kept in memory: a standby that takes over may have lost the
// newest commits, and then they are given again. Bounded in time and in bytes.
import type { Batch } from "../../core/accepted.ts";

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
