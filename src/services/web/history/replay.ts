// What a change of settings would have done to the past of a check.
import type { Replay, ScheduleRequest } from "../../../contract/web/history.ts";
import type { Instant } from "../../../core/instant.ts";
import { compareSettings, graceToPropose } from "../../../core/machine/replay.ts";
import type { CheckWithState } from "../../../store/checks/checks.ts";
import { listBlindIntervals } from "../../../store/intakes/blind-intervals.ts";
import { readExpression } from "../checks/commands.ts";
import type { WebHouse } from "../house.ts";
import { readPastRuns, shownFrom } from "./past-runs.ts";

/** The past under the settings as they are and as they would be. */
export async function readReplay(
  house: WebHouse,
  { check, wanted, now }: { check: CheckWithState; wanted: ScheduleRequest; now: Instant },
): Promise<Replay> {
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
