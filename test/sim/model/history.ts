// What the model is told: the whole past of a world, as somebody with the true clock saw it who knew every process.
// Two clocks: `trueAt` is the true one, `at` the database's, on which all rules are stated. Shapes only.

/** A stretch of time, both ends included. */
export type TimeSpan = { from: number; to: number };

/** When a check expects its signals. */
export type Expectation =
  | { kind: "simple"; periodSeconds: number }
  | { kind: "cron" | "oncalendar"; schedule: string; tz: string };

export type Settings = Expectation & { graceSeconds: number; manualResume: boolean };

export type SignalKind = "success" | "fail" | "start" | "log";

/** Something that happened to a check. In the order in which the server came to know of it. */
export type Step = {
  /** When it counts: the moment of receipt, on the database's clock. */
  at: number;
  /** When the server came to know of it: a signal may have waited in a spool. */
  trueAt: number;
} & (
  | { what: "signal"; kind: SignalKind; rid: string | null; isAcknowledged: boolean }
  | { what: "pause" | "resume" | "delete" }
  | { what: "edit"; settings: Settings }
);

export type CheckHistory = { createdTrueAt: number; settings: Settings; steps: readonly Step[] };

export type Activity = "surely" | "perhaps" | "no";

/** A moment at which the processes of the server did their work, in this order: record, beat, sweep, send. */
export type Turn = {
  trueAt: number;
  at: number;
  /** Whether deadlines were looked for: surely; perhaps, if it was right to hold back; not at all. */
  sweeping: Activity;
  /** Whether messages were sent, likewise. */
  sending: Activity;
};

/** A stretch on the true clock, and what the database's clock showed when it began. */
export type Hold = { fromTrueAt: number; toTrueAt: number; at: number };

export type ServerHistory = {
  turns: readonly Turn[];
  /** Nobody could be received, on the database's clock; oldest first, and none inside another. */
  blind: readonly TimeSpan[];
  /** One intake could not give the database what it accepted, or refused: what it may hold back is unknown. */
  holds: readonly Hold[];
  /** The database was away, or no intake gave a sign of life. */
  gaps: readonly Hold[];
  /** Somebody had just died, or a clock had been set: the server may hold back, and need not. */
  uncertain: readonly Hold[];
};

/** When the receiver behind a channel took nothing, on the true clock; and from when on it was gone for good. */
export type ReceiverHistory = { failing: readonly TimeSpan[]; goneTrueAt: number | null };
