// The runs of a check as far back as they are kept: those in the log, and those that were packed when they left it.
import { DAY_MS, type Instant } from "../../../core/instant.ts";
import { keptFrom } from "../../../core/retention.ts";
import type { CheckWithState } from "../../../store/checks/checks.ts";
import { listLoggedRuns } from "../../../store/history/pings.ts";
import { listPackedRuns } from "../../../store/history/run-chunks.ts";
import type { EndedRun } from "../../../store/history/run-packing.ts";
import type { WebHouse } from "../house.ts";

/** How far back pages look. */
export const SHOWN_DAYS = 90;
/** Replaying more would hold up everybody else for a second. Of a check that runs every minute: three and a half days. */
const RUNS_READ_MAX = 5_000;

/** Where the shown past begins. */
export function shownFrom(now: Instant): Instant {
  return Math.max(now - SHOWN_DAYS * DAY_MS, keptFrom("run", now));
}

/** The newest runs since an instant, oldest first. */
export async function readPastRuns(
  { database }: WebHouse,
  { check, from }: { check: CheckWithState; from: Instant },
): Promise<EndedRun[]> {
  const [packed, logged] = await Promise.all([
    listPackedRuns(database, { checkId: check.id, from, limit: RUNS_READ_MAX }),
    listLoggedRuns(database, { checkId: check.id, from }),
  ]);
  return [...packed, ...logged].toSorted((one, other) => one.endAt - other.endAt).slice(-RUNS_READ_MAX);
}
