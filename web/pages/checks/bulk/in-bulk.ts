// Carries out something with many checks, in as many requests as it takes, and knows what has to be taken back: what
// was changed, no more, and also when it broke off halfway. How the server is asked is handed in.
import type { BulkAnswer, BulkRequest } from "../../../../src/contract/web/requests/checks.ts";
import { BULK_CHECKS_MAX } from "../../../../src/contract/web/requests/sizes.ts";

export type Deed = Omit<BulkRequest, "ids">;
type Ask = (request: BulkRequest) => Promise<BulkAnswer>;

/** One thing to be done with some checks; `back`: what takes it back, null when nothing does. */
export type Step = { ids: readonly string[]; deed: Deed; back: Deed | null };

export type Outcome = {
  /** Those that are as wanted now. */
  done: string[];
  refused: BulkAnswer["refused"];
  /** Why it broke off, or null. */
  fault: unknown;
  /** What takes back what was changed, the last first; empty: nothing can be. */
  undo: Step[];
};

/** Does one step after the other. Never throws: after a fault nothing more is begun, and what was done is told. */
export async function carryOut(ask: Ask, steps: readonly Step[]): Promise<Outcome> {
  const done = new Set<string>();
  const outcome: Outcome = { done: [], refused: [], fault: null, undo: [] };
  for (const { ids, deed, back } of steps) {
    for (let from = 0; from < ids.length && outcome.fault === null; from += BULK_CHECKS_MAX) {
      try {
        const answer = await ask({ ids: ids.slice(from, from + BULK_CHECKS_MAX), ...deed });
        for (const id of answer.done) done.add(id);
        outcome.refused.push(...answer.refused);
        const same = new Set(answer.same);
        const changed = answer.done.filter((id) => !same.has(id));
        if (back !== null && changed.length > 0)
          outcome.undo.unshift({ ids: changed, deed: back, back: null });
      } catch (fault) {
        outcome.fault = fault;
      }
    }
  }
  return { ...outcome, done: [...done] };
}
