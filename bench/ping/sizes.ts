// How large a run of the ping benchmark is: full for figures worth keeping, small to see that it works and counts.
import type { SizeName } from "../store/sizes.ts";

export type PingSize = {
  about: string;
  /** Checks in the smaller and in the larger database. */
  small: number;
  large: number;
  isFull: boolean;
  /** Log rows of each check before anything is measured. */
  pingsPerCheck: number;
  /** Bytes of the bodies that signals carry, each measured by itself. */
  bodies: readonly number[];
  /** For how long everything runs before it counts: code has to become warm. */
  warmUpSeconds: number;
  /** Everything that is compared runs once in each round. */
  rounds: number;
  /** For how long each runs in a round. */
  seconds: number;
  /** Connections of the senders. */
  connections: number;
  /** With how many sessions PostgreSQL alone is measured; the best counts. */
  clientCounts: readonly number[];
  /** For how long signals come at a steady rate, to see how long each takes. */
  steadySeconds: number;
  steadyPerSecond: number;
};

/** Bytes of a body, where signals carry one. */
const BODY_BYTES = 1_000;

export const PING_SIZES: Readonly<Record<SizeName, PingSize>> = {
  full: {
    about: "10,000 checks and 1,000,000, about fifteen minutes",
    small: 10_000,
    large: 1_000_000,
    isFull: true,
    pingsPerCheck: 5,
    bodies: [0, BODY_BYTES],
    warmUpSeconds: 4,
    rounds: 3,
    seconds: 6,
    connections: 256,
    clientCounts: [16, 64, 256],
    steadySeconds: 15,
    steadyPerSecond: 2_000,
  },
  small: {
    about: "1,000 checks and 5,000, under a minute; its figures mean nothing",
    small: 1_000,
    large: 5_000,
    isFull: false,
    pingsPerCheck: 2,
    bodies: [0, BODY_BYTES],
    warmUpSeconds: 0,
    rounds: 1,
    seconds: 1,
    connections: 32,
    clientCounts: [16],
    steadySeconds: 1,
    steadyPerSecond: 200,
  },
};
