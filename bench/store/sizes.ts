// Sizes of the store benchmark: full for figures to keep, small to test that it works.

/** Numbers of checks, and how often each thing is repeated. */
export type Size = {
  about: string;
  /** Checks in the smaller and in the larger database. */
  small: number;
  large: number;
  /** Whether these are the ten thousand and the million of the published figures. */
  isFull: boolean;
  /** Log rows of each check before anything is measured. */
  pingsPerCheck: number;
  /** Checks whose log is at its limit, in both databases. */
  busyCheckCount: number;
  /** Each round records one batch in either database. */
  layoutRounds: number;
  shippedRounds: number;
  sweepRounds: number;
};

export const SIZES = {
  full: {
    about: "10,000 checks against 1,000,000 with 20,000,000 pings, about ten minutes",
    small: 10_000,
    large: 1_000_000,
    isFull: true,
    pingsPerCheck: 20,
    busyCheckCount: 10_000,
    layoutRounds: 200,
    shippedRounds: 600,
    sweepRounds: 100,
  },
  small: {
    about: "1,000 checks against 10,000, under a minute; its figures mean little",
    small: 1_000,
    large: 10_000,
    isFull: false,
    pingsPerCheck: 20,
    busyCheckCount: 1_000,
    layoutRounds: 12,
    shippedRounds: 30,
    sweepRounds: 6,
  },
} as const satisfies Record<string, Size>;

export type SizeName = keyof typeof SIZES;

export function isSizeName(name: string): name is SizeName {
  return Object.hasOwn(SIZES, name);
}
