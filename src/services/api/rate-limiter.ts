// Who has asked how often: a bucket for each key, and one for each network that comes with keys nobody knows. What
// a bucket allows is core's; this keeps them, and never more than a fixed number.
import { type Bucket, isExhausted, type RateVerdict, takeRequest } from "../../core/request/rate-limit.ts";

/** Buckets that are kept; beyond it, whoever has been quiet for longest starts anew. */
const BUCKETS_MAX = 100_000;
/** Wrong keys are allowed to a network as a part of what a right key is allowed. */
const UNKNOWN_SHARE = 10;

export type RateLimiterOptions = {
  /** How many requests a minute a key may make; 0 means without limit. */
  perMinute: number;
  monotonic: () => number;
  bucketsMax?: number;
};

export class RateLimiter {
  readonly #perMinute: number;
  readonly #unknownPerMinute: number;
  readonly #monotonic: () => number;
  readonly #keys: Buckets;
  readonly #networks: Buckets;

  constructor({ perMinute, monotonic, bucketsMax = BUCKETS_MAX }: RateLimiterOptions) {
    this.#perMinute = perMinute;
    this.#unknownPerMinute = Math.ceil(perMinute / UNKNOWN_SHARE);
    this.#monotonic = monotonic;
    this.#keys = new Buckets(bucketsMax);
    this.#networks = new Buckets(bucketsMax);
  }

  /**
   * Whether a key may be looked at. A network that has brought too many wrong ones is not told whether the next
   * one is right; keys that have been in use lately are none of its guesses.
   */
  mayTry({ key, network }: { key: string; network: string }): boolean {
    if (this.#perMinute === 0 || this.#keys.get(key) !== null) return true;
    const rule = { perMinute: this.#unknownPerMinute, nowMs: this.#monotonic() };
    return !isExhausted(this.#networks.get(network), rule);
  }

  /** Counts a request with a good key; null where nothing is limited. */
  takeForKey(key: string): RateVerdict | null {
    return this.#take(this.#keys, key, this.#perMinute);
  }

  /** Counts a request without a good key. */
  takeForNetwork(network: string): RateVerdict | null {
    return this.#take(this.#networks, network, this.#unknownPerMinute);
  }

  #take(buckets: Buckets, name: string, perMinute: number): RateVerdict | null {
    if (perMinute === 0) return null;
    const verdict = takeRequest(buckets.get(name), { perMinute, nowMs: this.#monotonic() });
    buckets.set(name, verdict.bucket);
    return verdict;
  }
}

/** Ordered by use, the longest unused first. */
class Buckets {
  readonly #max: number;
  readonly #byName = new Map<string, Bucket>();

  constructor(max: number) {
    this.#max = max;
  }

  get(name: string): Bucket | null {
    return this.#byName.get(name) ?? null;
  }

  set(name: string, bucket: Bucket): void {
    this.#byName.delete(name);
    this.#byName.set(name, bucket);
    if (this.#byName.size <= this.#max) return;
    const { value: oldest } = this.#byName.keys().next();
    if (oldest !== undefined) this.#byName.delete(oldest);
  }
}
