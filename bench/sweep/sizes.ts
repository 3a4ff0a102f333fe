// Sizes of the sweep benchmark: full for figures to keep, small to test that it works.
import type { SizeName } from "../store/sizes.ts";

export type SweepSize = {
  about: string;
  checkCount: number;
  /** Checks whose deadlines are in the same minute. */
  dueCount: number;
  /** Everything that is compared runs once in each round. */
  rounds: number;
};

export const SWEEP_SIZES: Readonly<Record<SizeName, SweepSize>> = {
  full: {
    about: "1,000,000 checks of which 100,000 fall due in the same minute, about five minutes",
    checkCount: 1_000_000,
    dueCount: 100_000,
    rounds: 3,
  },
  small: {
    about: "5,000 checks of which 1,000 fall due, a few seconds; its figures mean nothing",
    checkCount: 5_000,
    dueCount: 1_000,
    rounds: 1,
  },
};
