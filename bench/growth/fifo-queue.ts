// A queue of amounts by the second in which they arrived. The oldest are served first.

/** What is left of an amount because numbers are not exact. */
const NOTHING = 1e-6;
const SERVED_MAX = 1_024;

export class FifoQueue {
  #seconds: number[] = [];
  #amounts: number[] = [];
  #at = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** The second of the oldest; null if it is empty. */
  get oldest(): number | null {
    return this.#seconds[this.#at] ?? null;
  }

  push(second: number, amount: number): void {
    if (amount <= 0) return;
    this.#seconds.push(second);
    this.#amounts.push(amount);
    this.#length += amount;
  }

  /** Serves at most this amount, of what arrived by a second; returns how much that was. */
  serve(amount: number, through = Infinity): number {
    let served = 0;
    while (amount - served > NOTHING && this.#at < this.#seconds.length) {
      if ((this.#seconds[this.#at] ?? 0) > through) break;
      const here = this.#amounts[this.#at] ?? 0;
      const taken = Math.min(here, amount - served);
      served += taken;
      this.#amounts[this.#at] = here - taken;
      if (here - taken <= NOTHING) this.#at += 1;
    }
    this.#forgetServed();
    this.#length = this.#seconds.length === 0 ? 0 : this.#length - served;
    return served;
  }

  #forgetServed(): void {
    if (this.#at < this.#seconds.length && this.#at < SERVED_MAX) return;
    this.#seconds = this.#seconds.slice(this.#at);
    this.#amounts = this.#amounts.slice(this.#at);
    this.#at = 0;
  }
}
