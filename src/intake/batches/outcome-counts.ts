// Counts signals that were recorded late or differently than accepted, because nothing else reports them.
import type { Batch, SignalResult } from "../../core/signal.ts";

/** Why an acknowledged signal was dropped: its check no longer exists, or several now share its slug. */
export type DropReason = Extract<SignalResult, "unknown" | "ambiguous">;

type BatchName = Pick<Batch, "intakeId" | "seq">;

export class OutcomeCounts {
  readonly #dropped: Record<DropReason, number> = { unknown: 0, ambiguous: 0 };
  /** How many signals of a spooled batch were rejected anyway; only for batches that were in doubt. */
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

  /** Rejected because of an error in our code. */
  get failed(): number {
    return this.#failed;
  }

  /** Recorded from the spool, with their receive time. */
  get replayed(): number {
    return this.#replayed;
  }

  /** Number of signals of a batch that were spooled without being acknowledged, because their check was unknown. */
  noteRefused(batch: BatchName, count: number): void {
    if (count > 0) this.#refused.set(nameOf(batch), count);
  }

  /** The outcomes of a batch that was recorded directly; its senders get the same. */
  noteDirect(results: readonly SignalResult[]): void {
    this.#rejected += countOf(results, "rejected");
    this.#failed += countOf(results, "failed");
  }

  /** The outcomes of a batch whose senders already have their responses. */
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
