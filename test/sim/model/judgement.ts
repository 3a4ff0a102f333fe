// Decides which outcomes of a check are a problem that has to be notified, and when it is over.
import type { RunRules } from "./history.ts";
import { DEFAULT_RUN_RULES } from "./rules.ts";

export type Outcome = "success" | "failed" | "missed";

export type Judgement = {
  /** Whether each outcome was bad, newest last. Outcomes before the first one count as successes. */
  window: readonly boolean[];
  /** How many outcomes were missed in a row, up to the newest one. */
  missedCount: number;
  /** Whether there is a problem that has to be notified. */
  isOpen: boolean;
};

export const NOTHING_JUDGED: Judgement = { window: [], missedCount: 0, isOpen: false };

const WINDOW_MAX = 32;

/** The judgement after one more outcome. */
export function afterOutcome(before: Judgement, outcome: Outcome, rules: RunRules | null): Judgement {
  const isBad = outcome !== "success";
  const missedCount = outcome === "missed" ? before.missedCount + 1 : 0;
  // Without rules, only the newest outcome matters.
  if (rules === null) return isBad ? { window: [true], missedCount, isOpen: true } : NOTHING_JUDGED;
  const window = [...before.window, isBad].slice(-WINDOW_MAX);
  const next = { window, missedCount, isOpen: before.isOpen };
  return isBad ? { ...next, isOpen: before.isOpen || isReached(next, rules) } : closed(next, rules);
}

/** The judgement after the rules were changed. */
export function underRules(
  before: Judgement,
  rules: RunRules | null,
  { isDown }: { isDown: boolean },
): Judgement {
  const now = rules ?? DEFAULT_RUN_RULES;
  if (isDown) {
    const isOpen = before.isOpen || isReached(before, now);
    return rules === null
      ? { window: [true], missedCount: Math.min(1, before.missedCount), isOpen }
      : { ...before, isOpen };
  }
  const next = closed(before, now);
  return rules === null && !next.isOpen ? NOTHING_JUDGED : next;
}

/** Missed and failed outcomes have separate thresholds; that of the newest outcome counts. */
function isReached({ window, missedCount }: Judgement, { failures, missed }: RunRules): boolean {
  if (missedCount > 0) return missedCount >= missed;
  return window.at(-1) === true && window.slice(-failures.of).filter(Boolean).length >= failures.count;
}

/** A problem is over after enough successes in a row; then everything before is forgotten. */
function closed(judgement: Judgement, { recovery }: RunRules): Judgement {
  if (!judgement.isOpen) return judgement;
  const successes = judgement.window.length - 1 - judgement.window.lastIndexOf(true);
  return successes >= recovery ? NOTHING_JUDGED : judgement;
}
