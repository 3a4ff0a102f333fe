// Bounded concurrency that is shared fairly between keys: each key has few calls running at a time, and keys take turns,
// so that many calls of one key delay only each other.

/** To be called once, when the call has ended. */
type End = () => void;
type Waiting = { start: () => void };

export type ConcurrencyLimits = {
  /** Calls of all keys that run at a time. */
  runningMax: number;
  /** Calls of one key that run at a time. */
  perKeyMax: number;
  /** Calls of one key that wait; those beyond are refused. */
  waitingPerKeyMax: number;
};

export class ConcurrencyByKey {
  readonly #limits: ConcurrencyLimits;
  /** Calls that wait, by key; the key that has waited longest for its turn comes first. A key may be running. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #running = new Map<string, number>();
  #runningCount = 0;

  constructor(limits: ConcurrencyLimits) {
    this.#limits = limits;
  }

  /** Resolves when the call may begin. Null: too many of the key wait already, or its turn did not come in time. */
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
      // To the end of the line: the other keys come first.
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
