// The blind times of everybody as an intake has learned of them, beat by beat, so that each beat asks only for
// what is new. Time is handed in.
import type { Instant, Interval } from "../../core/instant.ts";
import type { NumberedBlind } from "../../core/machine/intake-beat.ts";
import { keptFrom } from "../../core/retention.ts";

/**
 * Numbers are given in order, but a transaction that has one may commit after another with a higher one. By this
 * time after a number was seen, all lower ones are there or will never be: no transaction may take that long.
 */
const COMMITTED_AFTER_MS = 60_000;

type Seen = NumberedBlind & { seenAt: Instant };

export class BlindTimes {
  /** By number. */
  readonly #seen = new Map<number, Seen>();
  /** All numbers up to this one have been seen, if they were ever used. */
  #completeToId = 0;

  /**
   * The number after which to ask. What has no end yet is asked for again, and so is the newest: if the database
   * does not have that any more, it is not the one it was.
   */
  get afterId(): number {
    let afterId = Math.min(this.#completeToId, this.#newestId() - 1);
    for (const { id, to } of this.#seen.values()) if (to === null) afterId = Math.min(afterId, id - 1);
    return Math.max(0, afterId);
  }

  /** Oldest beginning first. */
  all(): Interval[] {
    return [...this.#seen.values()]
      .map(({ from, to }) => ({ from, to }))
      .toSorted((one, other) => one.from - other.from);
  }

  forgetAll(): void {
    this.#seen.clear();
    this.#completeToId = 0;
  }

  /** Takes in what was asked for. False: the newest one is gone, so that everything has to be asked for again. */
  note(news: readonly NumberedBlind[], now: Instant): boolean {
    const keptFromAt = keptFrom("blindInterval", now);
    for (const { id, to } of this.#seen.values()) if (to !== null && to < keptFromAt) this.#seen.delete(id);
    const newestId = this.#newestId();
    for (const one of news) {
      this.#seen.set(one.id, { ...one, seenAt: this.#seen.get(one.id)?.seenAt ?? now });
    }
    for (const { id, seenAt } of this.#seen.values()) {
      if (now - seenAt > COMMITTED_AFTER_MS) this.#completeToId = Math.max(this.#completeToId, id);
    }
    return newestId === 0 || news.some(({ id }) => id === newestId);
  }

  #newestId(): number {
    return Math.max(0, ...this.#seen.keys());
  }
}
