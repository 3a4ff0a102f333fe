// The input of the model: the complete history of a world. `trueAt` is on the true clock; `at` is on the database
// clock, on which all rules are defined.

/** Both ends are included. */
export type TimeSpan = { from: number; to: number };

/** When a check expects its pings. */
export type Expectation =
  | { kind: "simple"; periodSeconds: number }
  | { kind: "cron" | "oncalendar"; schedule: string; tz: string };

/** How runs are judged. Durations are null if there is no such limit. */
export type RunRules = {
  /** A failure is a problem if `count` of the last `of` outcomes were bad. */
  failures: { count: number; of: number };
  /** A missed run is a problem if this many were missed in a row. */
  missed: number;
  /** A problem is over after this many successes in a row. */
  recovery: number;
  startWithinSeconds: number | null;
  /** 0: a run may take any time. */
  maxRunSeconds: number | null;
  minRunSeconds: number | null;
  minGapSeconds: number | null;
  earlySeconds: number;
};

/** How the alerts of a check are combined, delayed and repeated. 0 or null: not at all. */
export type NotifyRules = {
  dependencyWaitSeconds: number;
  /** Whether missed runs are combined with those of other checks of the project. */
  isGrouped: boolean;
  groupWaitSeconds: number;
  groupIntervalSeconds: number;
  reopenWithinSeconds: number;
  ackTimeoutSeconds: number;
  repeatSeconds: number | null;
};

/** `rules`: null if all of them have their default. */
export type Settings = Expectation & { graceSeconds: number; manualResume: boolean; rules: RunRules | null };

export type SignalKind = "success" | "fail" | "start" | "log";

/** An event of a check. Steps are in the order in which the server recorded them. */
export type Step = {
  /** The time of receipt, on the database clock. */
  at: number;
  /** When the server recorded it. A ping may have waited in a spool. */
  trueAt: number;
} & (
  | { what: "signal"; kind: SignalKind; rid: string | null; isAcknowledged: boolean }
  /** `ack`: somebody acknowledges the problem. */
  | { what: "pause" | "resume" | "delete" | "ack" }
  | { what: "edit"; settings: Settings }
);

export type CheckHistory = {
  createdTrueAt: number;
  settings: Settings;
  steps: readonly Step[];
  silences: readonly SilenceHistory[];
};

export type Activity = "yes" | "maybe" | "no";

/** A time at which the processes of the server did their work, in this order: record, heartbeat, sweep, send. */
export type Turn = {
  trueAt: number;
  at: number;
  /** Whether deadlines were swept: yes; maybe, if waiting is also correct; no. */
  sweeping: Activity;
  /** Whether messages were sent, with the same values. */
  sending: Activity;
};

/** An interval on the true clock, and the database time at its start. */
export type Hold = { fromTrueAt: number; toTrueAt: number; at: number };

export type ServerHistory = {
  turns: readonly Turn[];
  /** Intervals in which no ping could be received, on the database clock; oldest first, not nested. */
  blind: readonly TimeSpan[];
  /**
   * One intake could not record the pings it had accepted, or it refused pings. Its unrecorded pings are unknown.
   */
  holds: readonly Hold[];
  /** The database was unavailable, or no intake sent a heartbeat. */
  gaps: readonly Hold[];
  /** A process has just died, or a clock has changed: the server may wait but does not have to. */
  uncertain: readonly Hold[];
};

/** When the receiver of a channel failed, on the true clock, and since when it has been gone permanently. */
export type ReceiverHistory = { failing: readonly TimeSpan[]; goneTrueAt: number | null };

/** When a silence applies, on the database clock: once, or for a time from each firing of a schedule. */
export type SilenceTimes = {
  from: number;
  /** A check that succeeds after `from` is no longer silenced. */
  isUntilSuccess: boolean;
  /** Afterwards, messages may wait this long for the next run. */
  holdAfterSeconds: number;
} & (
  | { kind: "once"; until: number }
  | { kind: "recurring"; schedule: string; tz: string; durationSeconds: number }
);

/** The versions of a silence that covers a check, oldest first. `times` is null from when it was ended. */
export type SilenceHistory = readonly { at: number; times: SilenceTimes | null }[];
