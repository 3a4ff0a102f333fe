// How often and how much, per sender and per check: buckets that fill up with time. It remembers so many at most,
// and forgets first whoever has been quiet for longest, whose bucket is full again anyway.

const REMEMBERED_MAX = 50_000;

export type RateOptions = {
  /** What may be taken at once, and in each period. */
  amount: number;
  periodMs: number;
  monotonic?: () => number;
  rememberedMax?: number;
};

type Bucket = { left: number; atMs: number };

/** Buckets by name, each of the same size. */
export class Rates {
  readonly #amount: number;
  readonly #perMs: number;
  readonly #monotonic: () => number;
  readonly #rememberedMax: number;
  readonly #buckets = new Map<string, Bucket>();

  constructor({ amount, periodMs, monotonic, rememberedMax }: RateOptions) {
    this.#amount = amount;
    this.#perMs = amount / periodMs;
    this.#monotonic = monotonic ?? (() => performance.now());
    this.#rememberedMax = rememberedMax ?? REMEMBERED_MAX;
  }

  /** Whether so much is left; it is taken then, and otherwise nothing is. */
  take(name: string, amount: number): boolean {
    const bucket = this.#bucket(name);
    if (bucket.left < amount) return false;
    bucket.left -= amount;
    return true;
  }

  /** Whether so much is left; nothing is taken. */
  has(name: string, amount: number): boolean {
    return this.#bucket(name).left >= amount;
  }

  get size(): number {
    return this.#buckets.size;
  }

  #bucket(name: string): Bucket {
    const nowMs = this.#monotonic();
    const bucket = this.#buckets.get(name) ?? { left: this.#amount, atMs: nowMs };
    bucket.left = Math.min(this.#amount, bucket.left + (nowMs - bucket.atMs) * this.#perMs);
    bucket.atMs = nowMs;
    this.#buckets.delete(name);
    this.#buckets.set(name, bucket);
    if (this.#buckets.size > this.#rememberedMax) {
      const [quietest = name] = this.#buckets.keys();
      this.#buckets.delete(quietest);
    }
    return bucket;
  }
}
