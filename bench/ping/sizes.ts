// Sizes of the ping benchmark: full for figures to keep, small to test that it works.
import type { SizeName } from "../store/sizes.ts";

export type PingSize = {
  about: string;
  /** Checks in the smaller and in the larger database. */
  small: number;
  large: number;
  isFull: boolean;
  /** Log rows of each check before anything is measured. */
  pingsPerCheck: number;
  /** Sizes of ping bodies in bytes, each measured separately. */
  bodies: readonly number[];
  /** How long everything runs before it counts, to warm up the code. */
  warmUpSeconds: number;
  /** Everything that is compared runs once in each round. */
  rounds: number;
  /** How long each runs in a round. */
  seconds: number;
  /** Connections of the senders. */
  connections: number;
  /** The same for a process under more load, whose batches are larger. */
  connectionsMany: number;
  /** The numbers of sessions for PostgreSQL alone; the best result counts. */
  clientCounts: readonly number[];
  /** How long pings are sent at a steady rate, to measure latency. */
  steadySeconds: number;
  steadyPerSecond: number;
};

/** Bytes of a body, if pings have one. */
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
    connections: 128,
    connectionsMany: 512,
    clientCounts: [16, 64, 128],
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
    connectionsMany: 64,
    clientCounts: [16],
    steadySeconds: 1,
    steadyPerSecond: 200,
  },
};
