// Sizes of the API benchmark: full for figures to keep, small to test that it works.
import type { SizeName } from "../store/sizes.ts";

export type ApiSize = {
  about: string;
  /** Checks in the smaller project, which are also read and changed. */
  small: number;
  /** Checks in the larger project. */
  large: number;
  /** Whether these are the sizes in the names of the figures. */
  isFull: boolean;
  /** How long everything runs before it counts, to warm up the code. */
  warmUpSeconds: number;
  /** Everything that is compared runs once in each round. */
  rounds: number;
  /** How long each runs in a round. */
  seconds: number;
  /** Connections that request one check, and as many sessions of bare SQL. */
  connections: number;
  /** The same for lists. */
  listConnections: number;
  /** How often a single client requests the large list. */
  timedLists: number;
};

export const API_SIZES: Readonly<Record<SizeName, ApiSize>> = {
  full: {
    about: "projects with 1,000 and 10,000 checks, about nine minutes",
    small: 1_000,
    large: 10_000,
    isFull: true,
    warmUpSeconds: 3,
    rounds: 3,
    seconds: 5,
    connections: 10,
    listConnections: 4,
    timedLists: 20,
  },
  small: {
    about: "projects with 50 and 200 checks, under a minute; its figures mean nothing",
    small: 50,
    large: 200,
    isFull: false,
    warmUpSeconds: 0,
    rounds: 1,
    seconds: 0.5,
    connections: 4,
    listConnections: 2,
    timedLists: 3,
  },
};
