// Limits how much work runs at once for each of several keys, such as accounts: some waits, and what is beyond is
// refused.

export type TurnLimits = {
  /** Pieces of work of one key that run at once. */
  runningMax: number;
  /** Pieces of work of one key that wait for their turn. */
  waitingMax: number;
};

type Line = { running: number; waiting: (() => void)[] };

export class Turns {
  readonly #limits: TurnLimits;
  readonly #lines = new Map<number, Line>();

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  /** Runs the work when it is its turn; null: too many wait already. */
  async run<Result>(key: number, work: () => Promise<Result>): Promise<{ result: Result } | null> {
    const { runningMax, waitingMax } = this.#limits;
    const line = this.#lines.get(key) ?? { running: 0, waiting: [] };
    this.#lines.set(key, line);
    if (line.running < runningMax) line.running += 1;
    else if (line.waiting.length >= waitingMax) return null;
    else await new Promise<void>((resolve) => void line.waiting.push(resolve));
    try {
      return { result: await work() };
    } finally {
      // Whoever waits takes the place over.
      const next = line.waiting.shift();
      if (next !== undefined) next();
      else {
        line.running -= 1;
        if (line.running === 0) this.#lines.delete(key);
      }
    }
  }
}
