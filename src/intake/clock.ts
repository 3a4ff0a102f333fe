// The database's time, carried between two looks at it by this process's monotonic clock. One clock for all
// intakes, so that signals which arrive through different ones can be put in order.
import type { Instant } from "../core/instant.ts";
import type { ClockReading } from "../core/watermark.ts";

/** Milliseconds that only ever grow, from an arbitrary beginning: `performance.now`. */
export type MonotonicMs = () => number;

export class DatabaseClock {
  readonly #monotonic: MonotonicMs;
  #offsetMs: number;
  #lastAt: Instant;

  constructor(look: ClockReading, monotonic: MonotonicMs = () => performance.now()) {
    this.#monotonic = monotonic;
    this.#offsetMs = middleOf(look);
    this.#lastAt = Math.floor(monotonic() + this.#offsetMs);
  }

  /** Never goes backwards: where the database's clock did, time stands still until it has caught up. */
  now(): Instant {
    const at = Math.floor(this.#monotonic() + this.#offsetMs);
    if (at > this.#lastAt) this.#lastAt = at;
    return this.#lastAt;
  }

  /** By how much the database's clock is ahead of this one, in the middle of the look. */
  aheadMs(look: ClockReading): number {
    return middleOf(look) - this.#offsetMs;
  }

  /**
   * Takes a fresh look into account. The database read its clock somewhere between the question and the answer;
   * as long as the carried time fits in there it is kept, because a slow answer says less than earlier looks.
   */
  adjust({ databaseAt, sentAtMs, receivedAtMs }: ClockReading): void {
    this.#offsetMs = Math.min(Math.max(this.#offsetMs, databaseAt - receivedAtMs), databaseAt - sentAtMs);
  }
}

/** The difference of the two clocks, if the answer took as long as the question. */
function middleOf({ databaseAt, sentAtMs, receivedAtMs }: ClockReading): number {
  return databaseAt - (sentAtMs + receivedAtMs) / 2;
}
