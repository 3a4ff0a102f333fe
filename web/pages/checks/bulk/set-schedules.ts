// Gives many checks other schedules, in as many requests as it takes, and knows what they had before. How the server is
// asked is handed in.
import type {
  ScheduleGroup,
  SchedulesAnswer,
  SchedulesRequest,
} from "../../../../src/contract/web/requests/checks.ts";
import { BULK_CHECKS_MAX } from "../../../../src/contract/web/requests/sizes.ts";
import type { Outcome } from "./in-bulk.ts";

type Ask = (request: SchedulesRequest) => Promise<SchedulesAnswer>;
/** What goes into one request. */
type Portion = ScheduleGroup[];

/** The same schedule for all, in portions. */
export function portionsOf({
  ids,
  when,
}: {
  ids: readonly string[];
  when: ScheduleGroup["when"];
}): Portion[] {
  const count = Math.ceil(ids.length / BULK_CHECKS_MAX);
  return Array.from({ length: count }, (_, index) => {
    const from = index * BULK_CHECKS_MAX;
    return [{ ids: ids.slice(from, from + BULK_CHECKS_MAX), when }];
  });
}

/** Does one portion after the other. Never throws: after a fault nothing more is begun, and what was done is told. */
export async function setSchedules(
  ask: Ask,
  portions: readonly Portion[],
): Promise<Omit<Outcome, "undo"> & { undo: Portion[] }> {
  const outcome: Omit<Outcome, "undo"> & { undo: Portion[] } = {
    done: [],
    refused: [],
    fault: null,
    undo: [],
  };
  for (const groups of portions) {
    try {
      const { done, refused, back } = await ask({ groups });
      outcome.done.push(...done);
      outcome.refused.push(...refused);
      if (back.length > 0) outcome.undo.unshift(back);
    } catch (fault) {
      return { ...outcome, fault };
    }
  }
  return outcome;
}
