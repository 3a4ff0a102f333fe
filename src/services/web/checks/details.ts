// What a row shows besides its lean part: the strip of its newest runs, how long they took, what is usual, and by which
// channels somebody is told.
import type { Beat, RowDetail, ToldChannel } from "../../../contract/web/check-row.ts";
import { channelName } from "../../../contract/web/list-words.ts";
import { isLateRun } from "../../../core/machine/lateness.ts";
import { usualOf } from "../../../core/machine/usual-duration.ts";
import { listChannels } from "../../../store/alerts/channels.ts";
import { listAssignmentsOfChecks } from "../../../store/alerts/check-channels.ts";
import type { LeanCheck } from "../../../store/checks/check-rows.ts";
import type { Db } from "../../../store/db.ts";
import { listRecentMarks, type RecentMark } from "../../../store/history/recent-marks.ts";

const BEATS_MAX = 30;
const DURATIONS_MAX = 28;

/** A row has room for these. */
const TOLD_MAX = 4;

/** The details of these checks of one project, in their order: a statement for all, and two for their channels. */
export async function detailsOf(db: Db, checks: readonly LeanCheck[]): Promise<RowDetail[]> {
  const [first] = checks;
  if (first === undefined) return [];
  const checkIds = checks.map(({ id }) => id);
  const [marks, assignments, channels] = await Promise.all([
    listRecentMarks(db, { checkIds, limit: BEATS_MAX }),
    listAssignmentsOfChecks(db, checkIds),
    listChannels(db, first.projectId),
  ]);
  const byCheck = Map.groupBy(marks, ({ checkId }) => checkId);
  const byId = new Map(channels.map((channel) => [channel.id, channel]));
  const assigned = Map.groupBy(assignments, ({ checkId }) => checkId);
  return checks.map((check) => ({
    ...detailOf(check, byCheck.get(check.id) ?? []),
    told: (assigned.get(check.id) ?? [])
      .slice(0, TOLD_MAX)
      .flatMap(({ channelId }) => byId.get(channelId) ?? [])
      .map((channel): ToldChannel => {
        const { kind, disabledAt } = channel;
        return { kind, name: channelName(channel), isOff: disabledAt !== null };
      }),
  }));
}

/** The detail of one check from its marks in the order of time. */
export function detailOf(check: LeanCheck, marks: readonly RecentMark[]): Omit<RowDetail, "told"> {
  const beats = marks.map((mark, index) => beatOf(check, mark, marks.slice(0, index)));
  if (check.state.lastStartAt !== null) beats.push("r");
  const durations = marks.flatMap(({ durationMs }) => durationMs ?? []);
  return {
    id: check.uuid,
    beats: beats.slice(-BEATS_MAX).join(""),
    durationsMs: durations.slice(-DURATIONS_MAX),
    p95Ms: usualOf(durations)?.p95Ms ?? null,
  };
}

const BEATS: Readonly<Record<Exclude<RecentMark["kind"], "success">, Beat>> = {
  fail: "f",
  missed: "m",
  unseen: "x",
  paused: "p",
};

function beatOf({ timing }: LeanCheck, mark: RecentMark, earlier: readonly RecentMark[]): Beat {
  if (mark.kind !== "success") return BEATS[mark.kind];
  const last = earlier.at(-1);
  // After a pause, or time that was not observed, nobody can say when it was due.
  if (last === undefined || last.kind === "paused" || last.kind === "unseen") return "u";
  const before = earlier.findLast(({ kind }) => kind === "success" || kind === "fail");
  if (before === undefined) return "u";
  const startAt = mark.durationMs === null ? null : mark.at - mark.durationMs;
  return isLateRun(timing, { previousEndAt: before.at, startAt, endAt: mark.at }) ? "l" : "u";
}
