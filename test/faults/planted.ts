// Planted faults, to prove that a run would detect them. Each is a module that the process under test loads before
// the program; the product itself does not contain them.
import { fileURLToPath } from "node:url";
import type { Report } from "./run-scenarios.ts";

export type Planted = {
  about: string;
  module: string;
  /** The scenario that must detect it. */
  scenario: string;
  /** A count, or a figure of the scenario, that must not be 0 then. */
  shows: string;
};

export const PLANTED: Readonly<Record<string, Planted>> = {
  "answer-first": {
    about: "the response is sent before the signal is committed",
    module: fileURLToPath(new URL("./planted/answer-first.ts", import.meta.url)),
    scenario: "link-cut",
    shows: "lost",
  },
  "mail-answer-first": {
    about: "the 250 for an email is sent before its signals are durable",
    module: fileURLToPath(new URL("./planted/mail-answer-first.ts", import.meta.url)),
    scenario: "mail",
    shows: "lost",
  },
  "unnumbered-replay": {
    about: "a batch is applied whether or not its number has been used",
    module: fileURLToPath(new URL("./planted/unnumbered-replay.ts", import.meta.url)),
    scenario: "link-cut",
    shows: "duplicated",
  },
  "unsynced-commit": {
    about: "the database confirms a commit before it is on disk",
    module: fileURLToPath(new URL("./planted/unsynced-commit.ts", import.meta.url)),
    scenario: "sync-first",
    shows: "sync-first.answered_too_early",
  },
  "eager-watermark": {
    about: "an intake publishes a watermark beyond what it has applied",
    module: fileURLToPath(new URL("./planted/eager-watermark.ts", import.meta.url)),
    scenario: "link-cut",
    shows: "link-cut.watermark_ahead",
  },
  "watermark-ignored": {
    about: "the sweeper ignores the watermarks",
    module: fileURLToPath(new URL("./planted/watermark-ignored.ts", import.meta.url)),
    scenario: "sweeper-still",
    shows: "sweeper-still.false_alarms",
  },
  "no-excuse": {
    about: "a blind interval excuses nothing",
    module: fileURLToPath(new URL("./planted/no-excuse.ts", import.meta.url)),
    scenario: "all-stopped",
    shows: "all-stopped.false_alarms",
  },
  "loss-unwritten": {
    about: "a lost process leaves no blind interval",
    module: fileURLToPath(new URL("./planted/loss-unwritten.ts", import.meta.url)),
    scenario: "disk-lost",
    shows: "disk-lost.false_alarms",
  },
  "settled-first": {
    about: "a message counts as sent once it is claimed",
    module: fileURLToPath(new URL("./planted/settled-first.ts", import.meta.url)),
    scenario: "owed-kills",
    shows: "owed-kills.lost",
  },
  "fresh-key": {
    about: "every attempt of a message has its own key",
    module: fileURLToPath(new URL("./planted/fresh-key.ts", import.meta.url)),
    scenario: "owed-kills",
    shows: "owed-kills.duplicated",
  },
  "confirm-first": {
    about: "a ping is acknowledged before the log has confirmed it",
    module: fileURLToPath(new URL("./planted/confirm-first.ts", import.meta.url)),
    scenario: "log-broker",
    shows: "lost",
  },
  "position-apart": {
    about: "pings from the log are applied without the position",
    module: fileURLToPath(new URL("./planted/position-apart.ts", import.meta.url)),
    scenario: "log-recorder",
    shows: "log-recorder.applied_twice",
  },
  "unapplied-ignored": {
    about: "sweepers assume that everything in the log has been applied",
    module: fileURLToPath(new URL("./planted/unapplied-ignored.ts", import.meta.url)),
    scenario: "log-away",
    shows: "log-away.false_alarms",
  },
  "jump-to-end": {
    about: "a recorder goes on at the end of a log that lacks its position",
    module: fileURLToPath(new URL("./planted/jump-to-end.ts", import.meta.url)),
    scenario: "log-topic",
    shows: "log-topic.moved",
  },
};

/** The result of the run for a planted fault. */
export function seenOf({ shows }: Planted, { tally, figures }: Report): number {
  const counts: Readonly<Record<string, number>> = { ...tally, ...figures };
  return counts[shows] ?? 0;
}
