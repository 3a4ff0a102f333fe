// Sizes of the growth benchmark: full for figures to keep, small to test that it works.
import type { SizeName } from "../store/sizes.ts";

export type GrowthSize = {
  about: string;
  /** Checks in the database whose pings are measured. */
  checkCount: number;
  warmUpSeconds: number;
  /** How long each part runs. */
  seconds: number;
  idleSeconds: number;
  /** How long pings are sent at the limit of the machine while the recorder is stopped, and while it catches up. */
  limitSeconds: number;
  catchUpSeconds: number;
  connections: number;
  /** Deadlines that are swept, and messages that are sent. */
  deadlines: number;
  messages: number;
  /** How often and how long each router is measured. */
  routerRounds: number;
  routerSeconds: number;
  /** Exceptions in the tables of the router. */
  exceptions: { some: number; many: number };
};

export const GROWTH_SIZES: Readonly<Record<SizeName, GrowthSize>> = {
  full: {
    about:
      "costs measured with 100,000 checks and three brokers, then three simulated days, under five minutes",
    checkCount: 100_000,
    warmUpSeconds: 6,
    seconds: 8,
    idleSeconds: 5,
    limitSeconds: 16,
    catchUpSeconds: 4,
    connections: 256,
    deadlines: 10_000,
    messages: 2_000,
    routerRounds: 2,
    routerSeconds: 4,
    exceptions: { some: 100_000, many: 1_000_000 },
  },
  small: {
    about: "5,000 checks, about a minute; its figures mean nothing",
    checkCount: 5_000,
    warmUpSeconds: 1,
    seconds: 2,
    idleSeconds: 1,
    limitSeconds: 3,
    catchUpSeconds: 1,
    connections: 32,
    deadlines: 1_000,
    messages: 200,
    routerRounds: 1,
    routerSeconds: 1,
    exceptions: { some: 1_000, many: 10_000 },
  },
};
