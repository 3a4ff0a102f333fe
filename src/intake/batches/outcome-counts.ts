// Counts signals that were recorded late or differently than accepted, because nothing else reports them.
import type { Batch, SignalResult } from "../../core/signal.ts";

/** Why a promised signal was dropped: there is no such check any more, or several share its slug by now. */
export type DropReason = Extract<SignalResult, "unknown" | "ambiguous">;

type BatchName = Pick<Batch, "intakeId" | "seq">;

export class OutcomeCounts {
  readonly #dropped: Record<DropReason, number> = { unknown: 0, ambiguous: 0 };
  /** How many of a spooled batch were refused all the same; only of batches that were in doubt. */
  readonly #refused = new Map<string, number>();
  #rejected = 0;
  #failed = 0;
  #replayed = 0;

  get dropped(): Readonly<Record<DropReason, number>> {
    return { ...this.#dropped };
  }

  /** Quarantined with the reason. */
  get rejected(): number {
    return this.#rejected;
  }

  /** Refused because of an error of our own. */
  get failed(): number {
    return this.#failed;
  }

  /** Recorded after a detour, under the time at which they were received. */
  get replayed(): number {
    return this.#replayed;
  }

  /** So many of a batch were spooled without being promised: their check was not known. */
  noteRefused(batch: BatchName, count: number): void {
    if (count > 0) this.#refused.set(nameOf(batch), count);
  }

  /** What became of a batch that was recorded directly: whoever sent a signal of it hears the same. */
  noteDirect(results: readonly SignalResult[]): void {
    this.#rejected += countOf(results, "rejected");
    this.#failed += countOf(results, "failed");
  }

  /** What became of a batch whose senders have had their answers. */
  noteReplayed(batch: BatchName, results: readonly SignalResult[], unreadableCount: number): void {
    this.#replayed += countOf(results, "recorded");
    this.#rejected += countOf(results, "rejected") + unreadableCount;
    const refused = this.#refused.get(nameOf(batch)) ?? 0;
    this.#refused.delete(nameOf(batch));
    this.#dropped.unknown += Math.max(0, countOf(results, "unknown") - refused);
    this.#dropped.ambiguous += countOf(results, "ambiguous");
  }
}

function nameOf({ intakeId, seq }: BatchName): string {
  return `${intakeId} ${seq}`;
}

function countOf(results: readonly SignalResult[], wanted: SignalResult): number {
  return results.filter((result) => result === wanted).length;
}
