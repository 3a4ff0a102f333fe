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

/** The same schedule for all, in as many requests as it takes. `version`: schedules edited after it are a conflict. */
export function portionsOf({
  ids,
  when,
  version,
}: {
  ids: readonly string[];
  when: ScheduleGroup["when"];
  version: number;
}): SchedulesRequest[] {
  const count = Math.ceil(ids.length / BULK_CHECKS_MAX);
  return Array.from({ length: count }, (_, index) => {
    const from = index * BULK_CHECKS_MAX;
    return { groups: [{ ids: ids.slice(from, from + BULK_CHECKS_MAX), when }], version };
  });
}

/** Does one portion after the other. Never throws: after a fault nothing more is begun, and what was done is told. */
export async function setSchedules(
  ask: Ask,
  portions: readonly SchedulesRequest[],
): Promise<Omit<Outcome, "undo"> & { undo: SchedulesRequest[] }> {
  const outcome: Omit<Outcome, "undo"> & { undo: SchedulesRequest[] } = {
    done: [],
    refused: [],
    fault: null,
    undo: [],
  };
  for (const portion of portions) {
    try {
      const { done, refused, back, version } = await ask(portion);
      outcome.done.push(...done);
      outcome.refused.push(...refused);
      // What others have saved since is not taken back with it.
      if (back.length > 0) outcome.undo.unshift({ groups: back, version });
    } catch (fault) {
      return { ...outcome, fault };
    }
  }
  return outcome;
}
