// Sizes of the memory benchmark: full for figures to keep, small to test that it works.
import type { SizeName } from "../store/sizes.ts";

export type MemorySize = {
  about: string;
  /** Checks that receive pings, and checks in the displayed project. */
  checks: number;
  /** How long a process is left alone after its start. */
  settleSeconds: number;
  /** How long pings are sent. */
  pingSeconds: number;
  pingsPerSecond: number;
  /** How long the dashboard stays open after the list was scrolled and filtered. */
  openSeconds: number;
  /** How often a short command is started. */
  starts: number;
};

export const MEMORY_SIZES: Readonly<Record<SizeName, MemorySize>> = {
  full: {
    about: "10,000 checks, about five minutes",
    checks: 10_000,
    settleSeconds: 60,
    pingSeconds: 60,
    pingsPerSecond: 1_000,
    openSeconds: 30,
    starts: 21,
  },
  small: {
    about: "200 checks, under a minute; its figures mean nothing",
    checks: 200,
    settleSeconds: 1,
    pingSeconds: 1,
    pingsPerSecond: 100,
    openSeconds: 1,
    starts: 3,
  },
};
