// Bounded concurrency that is shared fairly between keys: each key has few calls running at a time, and keys take turns,
// so that many calls of one key delay only each other.

/** Must be called once, when the call has ended. */
type End = () => void;
type Waiting = { start: () => void };

export type ConcurrencyLimits = {
  /** Concurrent calls of all keys. */
  runningMax: number;
  /** Concurrent calls of one key. */
  perKeyMax: number;
  /** Waiting calls of one key; further ones are rejected. */
  waitingPerKeyMax: number;
};

export class ConcurrencyByKey {
  readonly #limits: ConcurrencyLimits;
  /** Waiting calls by key; the key that has waited longest comes first. A key may also have running calls. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #running = new Map<string, number>();
  #runningCount = 0;

  constructor(limits: ConcurrencyLimits) {
    this.#limits = limits;
  }

  /** Resolves when the call may begin. Null: too many calls of the key are waiting, or the wait timed out. */
  begin(key: string, { withinMs }: { withinMs: number }): Promise<End | null> {
    const queue = this.#waiting.get(key) ?? [];
    if (queue.length >= this.#limits.waitingPerKeyMax) return Promise.resolve(null);
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#leave(key, waiting);
        resolve(null);
      }, withinMs);
      const waiting = {
        start: () => {
          clearTimeout(timer);
          resolve(() => this.#end(key));
        },
      };
      queue.push(waiting);
      this.#waiting.set(key, queue);
      this.#startNext();
    });
  }

  #startNext(): void {
    for (const [key, queue] of this.#waiting) {
      if (this.#runningCount >= this.#limits.runningMax) return;
      const ofKey = this.#running.get(key) ?? 0;
      if (ofKey >= this.#limits.perKeyMax) continue;
      const next = queue.shift();
      // Moves the key to the end of the queue: the other keys come first.
      this.#waiting.delete(key);
      if (queue.length > 0) this.#waiting.set(key, queue);
      if (next === undefined) continue;
      this.#running.set(key, ofKey + 1);
      this.#runningCount += 1;
      next.start();
    }
  }

  #leave(key: string, waiting: Waiting): void {
    const queue = this.#waiting.get(key);
    const at = queue?.indexOf(waiting) ?? -1;
    if (queue === undefined || at === -1) return;
    queue.splice(at, 1);
    if (queue.length === 0) this.#waiting.delete(key);
  }

  #end(key: string): void {
    const left = (this.#running.get(key) ?? 1) - 1;
    if (left === 0) this.#running.delete(key);
    else this.#running.set(key, left);
    this.#runningCount -= 1;
    this.#startNext();
  }
}
