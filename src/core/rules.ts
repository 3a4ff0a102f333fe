// How the runs of a check are judged: when a problem becomes an alert, and how long a run may take. Part of the
// effective policy of a check, stored with it so that recording a ping reads nothing else.

export type Rules = {
  /** An alert opens on a failure if `count` of the last `of` runs were bad. */
  failures: { count: number; of: number };
  /** An alert opens when this many runs in a row were missed. */
  missed: number;
  /** An alert closes after this many successes in a row. */
  recovery: number;
  /** A run must start within this time after the expected time; null: the grace period applies. */
  startWithinSeconds: number | null;
  /** Longest run; 0: no limit; null: the grace period applies. */
  maxRunSeconds: number | null;
  /** A success of a shorter run is judged as a failure; null: no limit. */
  minRunSeconds: number | null;
  /** A run that starts sooner after the start of the previous one is judged as a failure; null: no limit. */
  minGapSeconds: number | null;
  /** A run may start this much before its expected time. Ignored for simple checks. */
  earlySeconds: number;
};

/** Every problem is an alert at once, and only the grace period limits a run. */
export const DEFAULT_RULES: Rules = {
  failures: { count: 1, of: 1 },
  missed: 1,
  recovery: 1,
  startWithinSeconds: null,
  maxRunSeconds: null,
  minRunSeconds: null,
  minGapSeconds: null,
  earlySeconds: 0,
};
