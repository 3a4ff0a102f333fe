// A number that identifies the target of a signal. HalfSipHash with a secret of this machine: short enough to keep
// millions of them in memory, and collisions cannot be created on purpose. Ping URLs are secrets; with this, neither
// memory nor disk contains them.
import type { SignalTarget } from "../../core/signal.ts";

/** Two random words of 32 bits. */
export type FingerprintSecret = { low: number; high: number };

/**
 * A whole number from 1 to 2^53 - 1. With two million known ones, the probability that an unknown target matches is 2
 * · 10^-10.
 */
export type Fingerprint = number;

const HIGH_BITS = 21;
const TWO_TO_32 = 2 ** 32;

/** The fingerprint function for a secret. */
export function fingerprintWith({ low, high }: FingerprintSecret): (target: SignalTarget) => Fingerprint {
  const hash = new HalfSipHash(low, high);
  return (target) => {
    hash.start();
    if (target.by === "uuid") hash.addText(target.uuid);
    else {
      hash.addText(target.pingKey);
      hash.addText(target.slug);
    }
    hash.finish();
    // Zero means "nothing".
    return (hash.high >>> (32 - HIGH_BITS)) * TWO_TO_32 + (hash.low >>> 0) || 1;
  };
}

/** HalfSipHash 2-4 with a 64-bit result, over words of 32 bits. One object, so that nothing is allocated. */
export class HalfSipHash {
  low = 0;
  high = 0;
  readonly #keyLow: number;
  readonly #keyHigh: number;
  #v0 = 0;
  #v1 = 0;
  #v2 = 0;
  #v3 = 0;
  #words = 0;

  constructor(keyLow: number, keyHigh: number) {
    this.#keyLow = keyLow;
    this.#keyHigh = keyHigh;
  }

  start(): void {
    this.#v0 = this.#keyLow;
    this.#v1 = this.#keyHigh ^ 0xee;
    this.#v2 = 0x6c796765 ^ this.#keyLow;
    this.#v3 = 0x74656462 ^ this.#keyHigh;
    this.#words = 0;
  }

  /** Adds the length and then the code units, two per word, so that two consecutive texts cannot be confused. */
  addText(text: string): void {
    const { length } = text;
    this.addWord(length);
    for (let at = 0; at < length; at += 2) {
      const second = at + 1 < length ? text.charCodeAt(at + 1) : 0;
      this.addWord(text.charCodeAt(at) | (second << 16));
    }
  }

  addWord(word: number): void {
    this.#words += 1;
    this.#v3 ^= word;
    this.#rounds(2);
    this.#v0 ^= word;
  }

  /** Leaves the result in `low` and `high`, as signed words. */
  finish(): void {
    // The last word contains the number of bytes, of which only the lowest eight bits count.
    const last = (this.#words * 4) << 24;
    this.#v3 ^= last;
    this.#rounds(2);
    this.#v0 ^= last;
    this.#v2 ^= 0xee;
    this.#rounds(4);
    this.low = this.#v1 ^ this.#v3;
    this.#v1 ^= 0xdd;
    this.#rounds(4);
    this.high = this.#v1 ^ this.#v3;
  }

  #rounds(count: number): void {
    let v0 = this.#v0;
    let v1 = this.#v1;
    let v2 = this.#v2;
    let v3 = this.#v3;
    for (let round = 0; round < count; round += 1) {
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
    }
    this.#v0 = v0;
    this.#v1 = v1;
    this.#v2 = v2;
    this.#v3 = v3;
  }
}
