// Faults that are put in on purpose, to prove that a run would see them. Each is a module that the process under
// test loads before the program; the product itself knows nothing of them.
import { fileURLToPath } from "node:url";
import type { Report } from "./run-scenarios.ts";

export type Planted = {
  about: string;
  module: string;
  /** The scenario that has to see it. */
  scenario: string;
  /** A count, or a figure of the scenario, that must not be 0 then. */
  shows: string;
};

export const PLANTED: Readonly<Record<string, Planted>> = {
  "answer-first": {
    about: "the answer is sent before the signal is committed",
    module: fileURLToPath(new URL("./planted/answer-first.ts", import.meta.url)),
    scenario: "link-cut",
    shows: "lost",
  },
  "unnumbered-replay": {
    about: "a batch is applied whether or not its number has been used",
    module: fileURLToPath(new URL("./planted/unnumbered-replay.ts", import.meta.url)),
    scenario: "link-cut",
    shows: "duplicated",
  },
  "unsynced-commit": {
    about: "the database confirms before its disk has it",
    module: fileURLToPath(new URL("./planted/unsynced-commit.ts", import.meta.url)),
    scenario: "sync-first",
    shows: "sync-first.answered_too_early",
  },
  "eager-watermark": {
    about: "an intake vouches for what it has not applied",
    module: fileURLToPath(new URL("./planted/eager-watermark.ts", import.meta.url)),
    scenario: "link-cut",
    shows: "link-cut.watermark_ahead",
  },
};

/** What the run found of a planted fault. */
export function seenOf({ shows }: Planted, { tally, figures }: Report): number {
  const counts: Readonly<Record<string, number>> = { ...tally, ...figures };
  return counts[shows] ?? 0;
}
