// When senders were refused, as stretches of time: a job that could not deliver its signal must not be blamed
// for silence. Refusals that follow closely on each other are one stretch.
import type { Instant, Interval } from "../../core/instant.ts";

/** Without a refusal for this long, a stretch is over. */
export const REFUSAL_PAUSE_MS = 5_000;
/** Stretches that wait to be told; beyond it the newest ones are joined, and the time between them with them. */
const ENDED_MAX = 100;

export class Refusals {
  #sinceAt: Instant | null = null;
  #lastAt: Instant = 0;
  #ended: { from: Instant; to: Instant }[] = [];
  #count = 0;

  /** How many there were, for the operator. */
  get count(): number {
    return this.#count;
  }

  /** A signal that was received at this instant is not promised. */
  note(at: Instant): void {
    this.#count += 1;
    this.#end(at);
    this.#sinceAt = this.#sinceAt === null ? at : Math.min(this.#sinceAt, at);
    this.#lastAt = Math.max(this.#lastAt, at);
  }

  /** Since when senders are refused; null when the last refusal lies long enough back. */
  sinceAt(now: Instant): Instant | null {
    this.#end(now);
    return this.#sinceAt;
  }

  /** The stretches that are over and have not been forgotten, oldest first. */
  ended(now: Instant): readonly Interval[] {
    this.#end(now);
    return [...this.#ended];
  }

  /** The first so many stretches have been told. */
  forget(count: number): void {
    this.#ended.splice(0, count);
  }

  #end(now: Instant): void {
    if (this.#sinceAt === null || now - this.#lastAt < REFUSAL_PAUSE_MS) return;
    const stretch = { from: this.#sinceAt, to: this.#lastAt };
    this.#sinceAt = null;
    this.#lastAt = 0;
    const newest = this.#ended.at(-1);
    if (this.#ended.length >= ENDED_MAX && newest !== undefined) newest.to = stretch.to;
    else this.#ended.push(stretch);
  }
}
