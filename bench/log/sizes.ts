// Sizes of the log benchmark: full for figures to keep, small to test that it works.
import type { SizeName } from "../store/sizes.ts";

export type LogSize = {
  about: string;
  checks: number;
  /** Log rows of each check before anything is measured. */
  pingsPerCheck: number;
  /** Checks that are pinged over HTTP. An edge looks up each of them once, which is not measured. */
  pingedChecks: number;
  partitions: number;
  /** How long everything runs before it counts, to warm up the code. */
  warmUpSeconds: number;
  /** How long records are appended first, to warm up the broker. */
  brokerWarmUpSeconds: number;
  /** Everything that is compared runs once in each round. */
  rounds: number;
  /** How long each runs in a round. */
  seconds: number;
  /** Connections of the senders. */
  connections: number;
  /** Signals that are appended together when append is compared with a bare produce. */
  signalsPerSend: number;
  /** Signals that a recorder finds in the log in each round. */
  filledSignals: number;
};

export const LOG_SIZES: Readonly<Record<SizeName, LogSize>> = {
  full: {
    about: "200,000 checks, 16 partitions, about eight minutes",
    checks: 200_000,
    pingsPerCheck: 5,
    pingedChecks: 10_000,
    partitions: 16,
    warmUpSeconds: 5,
    brokerWarmUpSeconds: 10,
    rounds: 5,
    seconds: 5,
    connections: 128,
    signalsPerSend: 500,
    filledSignals: 120_000,
  },
  small: {
    about: "2,000 checks, 16 partitions, under two minutes; its figures mean little",
    checks: 2_000,
    pingsPerCheck: 2,
    pingedChecks: 1_000,
    partitions: 16,
    warmUpSeconds: 1,
    brokerWarmUpSeconds: 2,
    rounds: 1,
    seconds: 1,
    connections: 128,
    signalsPerSend: 500,
    filledSignals: 10_000,
  },
};
