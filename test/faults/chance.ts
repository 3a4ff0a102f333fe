// Reproducible randomness: a small random number generator with a seed.

export type Chance = {
  /** From 0 to 1, exclusive. */
  fraction(): number;
  /** A whole number, both ends included. */
  between(least: number, most: number): number;
  /** One of the items. */
  pick<T>(from: readonly T[]): T;
};

/** The same seed gives the same numbers. */
export function chanceFrom(seed: number): Chance {
  let state = seed >>> 0;
  // mulberry32: short, and good enough to choose times and sizes.
  const fraction = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    fraction,
    between: (least, most) => least + Math.floor(fraction() * (most - least + 1)),
    pick: (from) => {
      const chosen = from[Math.floor(fraction() * from.length)];
      if (chosen === undefined) throw new Error("there is nothing to choose from");
      return chosen;
    },
  };
}
