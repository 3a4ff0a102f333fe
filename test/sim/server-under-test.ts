// The parts of the server that the simulation calls with a given time: the sweeper and the notifier. Recording,
// commands and heartbeats are called directly.
import type { Visibility } from "../../src/core/deadline.ts";
import type { Instant, Interval } from "../../src/core/instant.ts";
import type { Database } from "../../src/store/db.ts";

/** A message that the server sends. */
export type Message = {
  channelUuid: string;
  /** Identical for every attempt to send the same message. */
  dedupeKey: string;
  /** What kind of message it is, as the server calls it. */
  kind: string;
} & (
  | {
      about: "flips";
      checkUuid: string;
      /** Every flip that this message covers, oldest first, each with its own date. */
      flips: readonly { at: Instant; to: "up" | "down" }[];
      /** Every flip that this message takes back. */
      corrections: readonly { at: Instant; to: "up" | "down" }[];
    }
  /** The checks are still down. */
  | { about: "repeat"; checkUuid: string }
  /** About several checks. Which ones is read from the database when it is received. */
  | { about: "group" }
  /** One per blind interval and channel, regardless of the number of checks. */
  | { about: "notice"; blind: Interval }
  /** Any other message, such as a correction or a disabled channel. Not counted. */
  | { about: "other" }
);

/** The receiver's response. After `permanently refused`, the server disables the channel. */
export type Answer = "accepted" | "temporarily refused" | "permanently refused";

/** Sends a message to its receiver. */
export type Send = (message: Message) => Promise<Answer>;

export type ServerUnderTest = {
  /**
   * Fires every deadline that `visibility` allows at `now` and queues its notifications. `visibility` is already
   * settled: without a watermark, no deadline fires. Returns when no deadline is left to fire. Concurrent calls are
   * allowed.
   */
  sweepDeadlines(database: Database, moment: { now: Instant; visibility: Visibility }): Promise<void>;
  /**
   * Attempts every delivery that is due at `now` once, in the required order, possibly several in parallel.
   * Concurrent calls are allowed. When `killed` is aborted, it returns immediately and nothing more is sent or
   * recorded.
   */
  deliverDue(database: Database, moment: { now: Instant; send: Send; killed: AbortSignal }): Promise<void>;
};
