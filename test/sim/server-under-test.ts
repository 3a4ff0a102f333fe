// The doors of the server that the simulation knocks at: the sweeper and the notifier, as functions that are handed
// the time. Whoever builds these plugs them in here; recording, commands and beats are called as they are.
import type { Visibility } from "../../src/core/deadline.ts";
import type { Instant, Interval } from "../../src/core/instant.ts";
import type { Database } from "../../src/store/db.ts";

/** A message as it leaves the server. */
export type Message = {
  channelUuid: string;
  /** The same for every attempt at the same message. */
  dedupeKey: string;
} & (
  | {
      about: "flips";
      checkUuid: string;
      /** Every flip that is settled when the receiver has taken this message, oldest first, with its own date. */
      flips: readonly { at: Instant; to: "up" | "down" }[];
    }
  /** One for each blind interval and channel, whatever the number of checks. */
  | { about: "notice"; blind: Interval }
  /** Anything else: an alarm that was taken back, another channel that was disabled. It is not counted. */
  | { about: "other" }
);

/** What the receiver answered. `refused for good`: the channel is to be disabled, with a reason. */
export type Answer = "accepted" | "temporarily refused" | "permanently refused";

/** Hands a message to its receiver. */
export type Send = (message: Message) => Promise<Answer>;

export type ServerUnderTest = {
  /**
   * Lets every deadline fire that may at `now`, as far as `sight` reaches, and queues what is owed for it. `sight` is
   * settled already: without a watermark nothing fires. Returns when nothing is left that may fire. May be called
   * twice at the same time.
   */
  sweepDeadlines(database: Database, moment: { now: Instant; visibility: Visibility }): Promise<void>;
  /**
   * Tries every delivery that is due at `now` once, in the order that the rules ask for, several at a time if it
   * likes. May be called twice at the same time. When `killed` is aborted it returns at once, and nothing more is
   * sent or recorded.
   */
  deliverDue(database: Database, moment: { now: Instant; send: Send; killed: AbortSignal }): Promise<void>;
};
