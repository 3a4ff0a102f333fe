// Sizes of the benchmark of cells: full for figures to keep, small to test that it works.
import type { SizeName } from "../store/sizes.ts";

export type CellsSize = {
  about: string;
  /** The numbers of cells that are compared; the last one runs. */
  cells: readonly number[];
  checksPerCell: number;
  connections: number;
  /** Pings at a time to each cell, for processor time. */
  connectionsPerCell: number;
  /** Pings per second to a cell, for latency. */
  perSecond: number;
  /** Entries of the map of exceptions that are compared, by the name of their figure. */
  exceptions: Readonly<Record<string, number>>;
  /** Everything that is compared runs once in each round. */
  rounds: number;
  seconds: number;
};

export const CELLS_SIZES: Readonly<Record<SizeName, CellsSize>> = {
  full: {
    about: "up to 4 cells with 500 checks each, about five minutes",
    cells: [1, 2, 4],
    checksPerCell: 500,
    connections: 64,
    connectionsPerCell: 32,
    perSecond: 400,
    exceptions: { "0": 0, "100k": 100_000, "1m": 1_000_000 },
    rounds: 3,
    seconds: 6,
  },
  small: {
    about: "2 cells with 10 checks each, about a minute; its figures mean nothing",
    cells: [1, 2],
    checksPerCell: 10,
    connections: 4,
    connectionsPerCell: 2,
    perSecond: 20,
    exceptions: { "0": 0, "1k": 1_000 },
    rounds: 1,
    seconds: 1,
  },
};
