// What a fault scenario is, and what it hands back: counts that can be added up, figures of its own, and in
// words whatever did not hold.

/** The counts of every scenario, and their sums for a whole run. */
export type Tally = {
  /** Signals that were answered 200 or 201. */
  acknowledged: number;
  /** Rows of the log that belong to signals of this run, acknowledged or not. */
  recorded: number;
  /** Acknowledged, and not in the log as they were sent. */
  lost: number;
  /** Rows beyond the first of the same signal. */
  duplicated: number;
  /** Signals that were answered 503. */
  refused: number;
};

export const NO_TALLY: Tally = { acknowledged: 0, recorded: 0, lost: 0, duplicated: 0, refused: 0 };

/** Numbers by name; the name of the scenario is put in front of it. */
export type Figures = Record<string, number>;

/** What a scenario found; `complaints` is empty when everything held. */
export type Found = { tally: Tally; figures: Figures; complaints: string[] };

/** `skipped`: why the scenario cannot be run on this machine. */
export type Result = Found | { skipped: string };

export type Run = {
  /** A line for people, while it runs. */
  say: (text: string) => void;
  /** full: as it should be run before a release. quick: minutes. tiny: seconds, for the check of a change. */
  size: Size;
  /** The seed of everything that is left to chance. */
  seed: number;
  /** Signals that the backlog holds; null for what the size says. */
  backlogSignals: number | null;
  /** Modules that the processes under test load first: planted faults. */
  preloads: readonly string[];
  /** Leave files behind, for a look at what went wrong. */
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

/** One of three, by the size of the run. */
export function bySize<T>({ size }: Run, choice: Record<Size, T>): T {
  return choice[size];
}
