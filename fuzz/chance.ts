// Repeatable randomness: every choice follows from a seed, so that a failure can be reproduced.

/** A source of random choices. */
export type Chance = {
  /** A whole number from 0 up to, but not including, `end`. */
  below(end: number): number;
  /** True one time in `times`. */
  oneIn(times: number): boolean;
  pick<T>(from: readonly [T, ...T[]]): T;
  bytes(length: number): Buffer;
};

const TWO_TO_32 = 2 ** 32;
const SEED_STEP = 0x9e3779b9;

/**
 * Choices for one element of a numbered series: the same for the same seed and number, and independent of its
 * neighbors.
 */
export function chanceOf({ seed, number }: { seed: number; number: number }): Chance {
  let state = (Math.imul(seed, SEED_STEP) ^ Math.imul(number + 1, 0x85ebca6b)) >>> 0;
  // "Mulberry32": small, fast, and good enough for fuzzing.
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const below = (end: number) => Math.floor((next() / TWO_TO_32) * end);
  return {
    below,
    oneIn: (times) => below(times) === 0,
    pick: (from) => from[below(from.length)] ?? from[0],
    bytes: (length) => {
      const numbers = Uint32Array.from({ length: Math.ceil(length / Uint32Array.BYTES_PER_ELEMENT) }, next);
      return Buffer.from(numbers.buffer, 0, length);
    },
  };
}
