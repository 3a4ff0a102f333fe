// The interface of a fault scenario and its result: counts that can be added up, its own figures, and violations as
// sentences.

/** The counts of every scenario, and their sums for a whole run. */
export type Tally = {
  /** Signals that got 200 or 201. */
  acknowledged: number;
  /** Rows of the log that belong to signals of this run, acknowledged or not. */
  recorded: number;
  /** Acknowledged, and not in the log as sent. */
  lost: number;
  /** Rows beyond the first of the same signal. */
  duplicated: number;
  /** Signals that got 503. */
  refused: number;
};

export const NO_TALLY: Tally = { acknowledged: 0, recorded: 0, lost: 0, duplicated: 0, refused: 0 };

/** Numbers by name, prefixed with the name of the scenario. */
export type Figures = Record<string, number>;

/** The result of a scenario; `complaints` is empty if there is no violation. */
export type Found = { tally: Tally; figures: Figures; complaints: string[] };

/** `skipped`: why the scenario cannot run on this machine. */
export type Result = Found | { skipped: string };

export type Run = {
  /** Prints a progress line. */
  say: (text: string) => void;
  /** full: as run before a release. quick: minutes. tiny: seconds, for the check of a change. */
  size: Size;
  /** The seed of all random choices. */
  seed: number;
  /** Number of signals in the backlog; null: according to the size. */
  backlogSignals: number | null;
  /** Modules that the processes under test load first: planted faults. */
  preloads: readonly string[];
  /** Keep files, for debugging. */
  keepFiles: boolean;
};

export type Size = "full" | "quick" | "tiny";

export type Scenario = {
  name: string;
  about: string;
  run: (run: Run) => Promise<Result>;
};

/** The sum of two tallies. */
export function addTallies(one: Tally, other: Tally): Tally {
  return {
    acknowledged: one.acknowledged + other.acknowledged,
    recorded: one.recorded + other.recorded,
    lost: one.lost + other.lost,
    duplicated: one.duplicated + other.duplicated,
    refused: one.refused + other.refused,
  };
}

/** One of three values, by the size of the run. */
export function bySize<T>({ size }: Run, choice: Record<Size, T>): T {
  return choice[size];
}
