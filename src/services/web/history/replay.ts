// What a change of settings would have done to the past of a check.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Replay, ScheduleRequest } from "../../../contract/web/history.ts";
import type { Instant } from "../../../core/instant.ts";
import { compareSettings, graceToPropose } from "../../../core/machine/replay.ts";
import type { CheckWithState } from "../../../store/checks/checks.ts";
import { listBlindIntervals } from "../../../store/intakes/blind-intervals.ts";
import { readExpression } from "../checks/commands.ts";
import { ConcurrencyByKey } from "../../../lib/concurrency-by-key.ts";
import type { WebHouse } from "../house.ts";
import { WebRefusal } from "../route.ts";
import { readPastRuns, shownFrom } from "./past-runs.ts";

type Wanted = { check: CheckWithState; wanted: ScheduleRequest; now: Instant };

/** A trial over 5,000 runs computes for a tenth of a second: a process makes one at a time, so that pings are answered. */
const trials = new ConcurrencyByKey({ runningMax: 1, perKeyMax: 1, waitingPerKeyMax: 100 });
const ALL = "all";
/** One that has not begun by then is refused. */
const TRIAL_WAIT_MS_MAX = 30_000;

/** The past under the settings as they are and as they would be. */
export async function readReplay(house: WebHouse, wanted: Wanted): Promise<Replay> {
  const end = await trials.begin(ALL, { withinMs: TRIAL_WAIT_MS_MAX });
  if (end === null)
    throw new WebRefusal("unavailable", "Too many previews are running. Try again in a moment.");
  try {
    await nextTurn();
    return await computeReplay(house, wanted);
  } finally {
    end();
  }
}

async function computeReplay(house: WebHouse, { check, wanted, now }: Wanted): Promise<Replay> {
  const schedule = wanted.kind === "simple" ? wanted.schedule : readExpression(wanted.schedule);
  const from = shownFrom(now);
  const [ended, blind] = await Promise.all([
    readPastRuns(house, { check, from }),
    listBlindIntervals(house.database, { from, to: now }),
  ]);
  const runs = ended.map(({ endAt, outcome, durationMs }) => ({
    startAt: durationMs === null ? null : endAt - durationMs,
    endAt,
    outcome,
  }));
  const { settings } = check;
  const after = { ...settings, ...wanted, schedule };
  const { quietGraceSeconds, ...compared } = compareSettings(
    { before: settings, after },
    { runs, blind, toAt: now },
  );
  const runCount = runs.length;
  return {
    fromAt: runs[0]?.endAt ?? now,
    runCount,
    ...compared,
    before: [...compared.before],
    after: [...compared.after],
    proposedGraceSeconds: graceToPropose(after, { quietGraceSeconds, runCount }),
  };
}
