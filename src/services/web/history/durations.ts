// How long the runs of a check took: for the chart, and what is usual.
import type { Durations } from "../../../contract/web/history.ts";
import type { Instant } from "../../../core/instant.ts";
import { dayOf } from "../../../core/machine/day-totals.ts";
import { usualOf, type Usual } from "../../../core/machine/usual-duration.ts";
import type { CheckWithState } from "../../../store/checks/checks.ts";
import { listDays } from "../../../store/history/check-days.ts";
import type { WebHouse } from "../house.ts";
import { type KeptPing, readLog } from "./kept-log.ts";
import { readPastRuns, shownFrom } from "./past-runs.ts";

/** The newest points are drawn one by one; more than a screen has pixels would be no help. */
const POINTS_MAX = 500;
/** What is usual is told from so many of the newest successes. */
const USUAL_RUNS_MAX = 100;

/** The newest runs as points, and the days before them as sums. */
export async function readDurations(
  house: WebHouse,
  { check, now }: { check: CheckWithState; now: Instant },
): Promise<Durations> {
  const from = shownFrom(now);
  const [runs, days, log] = await Promise.all([
    readPastRuns(house, { check, from }),
    listDays(house.database, { checkId: check.id, fromDay: dayOf(from) }),
    readLog(house, check),
  ]);
  const numbers = new Map(log.map(({ at, n }) => [at, n]));
  const points = runs.flatMap(({ endAt, durationMs, outcome }) =>
    durationMs === null ? [] : [{ at: endAt, durationMs, outcome, n: numbers.get(endAt) ?? null }],
  );
  return {
    points: points.slice(-POINTS_MAX),
    days: days
      .filter(({ timedCount }) => timedCount > 0)
      .map(({ day, durationSumMs, timedCount, durationMaxMs }) => ({
        day,
        meanMs: Math.round(durationSumMs / timedCount),
        maxMs: durationMaxMs,
      })),
  };
}

/** What is usual for a check, from its log. */
export function usualOfLog(log: readonly KeptPing[]): Usual | null {
  const durations = log
    .filter(({ kind }) => kind === "success")
    .flatMap(({ durationMs }) => (durationMs === null ? [] : [durationMs]));
  return usualOf(durations.slice(0, USUAL_RUNS_MAX));
}
