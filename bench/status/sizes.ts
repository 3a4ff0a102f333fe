// Sizes of the benchmark of status pages: full for figures to keep, small to test that it works.
import type { SizeName } from "../store/sizes.ts";

export type StatusSize = {
  about: string;
  /** Entries on the page. */
  entries: number;
  connections: number;
  warmUpSeconds: number;
  /** Everything that is compared runs once in each round. */
  rounds: number;
  seconds: number;
};

export const STATUS_SIZES: Readonly<Record<SizeName, StatusSize>> = {
  full: {
    about: "a page with 12 entries, about two minutes",
    entries: 12,
    connections: 20,
    warmUpSeconds: 3,
    rounds: 5,
    seconds: 5,
  },
  small: {
    about: "a page with 3 entries, under a minute; its figures mean nothing",
    entries: 3,
    connections: 4,
    warmUpSeconds: 1,
    rounds: 1,
    seconds: 1,
  },
};
