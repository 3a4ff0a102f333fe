// Presents checks as rows for the browser. Every instant that a row needs is computed here, so that the browser has no
// rules.
import type { RunMark } from "../../contract/api/check-row.ts";
import type { CheckRow, Fuse, RowChannel, RowDetail, ShownState } from "../../contract/api/overview.ts";
import { channelName } from "../../contract/api/words.ts";
import { splitTags } from "../../core/identity.ts";
import type { Instant } from "../../core/instant.ts";
import { isLateRun, usualOf } from "../../core/run.ts";
import { shortScheduleText } from "../../core/schedule/wording.ts";
import { expectedAt, quickStatusAt, type ShownStatus, storedDeadline } from "../../core/state.ts";
import { toleranceOf } from "../../core/tolerance.ts";
import { listAssignmentsOfChecks, listChannels } from "../../store/channels.ts";
import { type LeanCheck, listRecentMarks, type RecentMark } from "../../store/check-lists.ts";
import type { Db } from "../../store/db.ts";

/** The rows of checks at an instant. */
export function rowsOf(checks: readonly LeanCheck[], now: Instant): CheckRow[] {
  return checks.map((check) => rowOf(check, now));
}

function rowOf(check: LeanCheck, now: Instant): CheckRow {
  const { state, down } = check;
  const shown = shownState(quickStatusAt(check, now));
  return {
    id: check.uuid,
    name: check.name,
    slug: check.slug,
    tags: [...new Set(splitTags(check.tags))],
    state: shown,
    runningSince: state.lastStartAt,
    expected: inShort(check.timing),
    lastPingAt: state.lastPingAt,
    lastDurationMs: check.lastDurationMs,
    fuse: fuseOf(check),
    downSince: shown === "down" ? (down?.since ?? null) : null,
    downReason: shown !== "down" || down === null ? null : down.reason === "timeout" ? "timeout" : "fail",
    exitStatus: shown === "down" ? (down?.exitStatus ?? null) : null,
    tolerance: toleranceOf(state, check.timing.rules),
    channelCount: check.channelCount,
    change: check.change,
    readingOrder: check.readingOrder,
  };
}

/** The grace period as the dashboard defines it. */
function shownState(status: ShownStatus): ShownState {
  return status === "grace" ? "late" : status;
}

/** Uses the stored deadline, so that the schedule is evaluated only for running checks. */
function fuseOf(check: LeanCheck): Fuse | null {
  const { timing, state, downAt: alertAt } = check;
  // A tolerated problem has a deadline, too.
  if (alertAt === null || state.status === "down") return null;
  const { from, cause } = storedDeadline(timing, { downAt: alertAt, lastStartAt: state.lastStartAt });
  if (cause === "overrun") {
    // The run must end by the deadline; it is late from the next expected time on, if that is earlier.
    const expected = timing.rules?.maxRunSeconds ? null : expectedAt(check);
    return { fromAt: from, lateAt: Math.min(expected ?? alertAt, alertAt), alertAt };
  }
  const fromAt = Math.max(state.lastPingAt ?? 0, state.expectFromAt ?? 0);
  return { fromAt: Math.min(fromAt, from), lateAt: from, alertAt };
}

/** Ten thousand checks have few different schedules, and describing one takes longer than the rest of a row. */
const WORDS_KEPT_MAX = 20_000;
const words = new Map<string, string>();

export function inShort(timing: LeanCheck["timing"]): string {
  const { kind, timeoutSeconds, schedule, tz } = timing;
  const key = kind === "simple" ? String(timeoutSeconds) : `${tz} ${schedule}`;
  const known = words.get(key);
  if (known !== undefined) return known;
  if (words.size >= WORDS_KEPT_MAX) words.clear();
  const text = shortScheduleText(timing);
  words.set(key, text);
  return text;
}

// The details of a row: its newest runs, their durations, the usual duration, and the channels that are notified.

const RUN_MARKS_MAX = 30;
const DURATIONS_MAX = 28;

/** The maximum that a row can show. */
const CHANNELS_SHOWN_MAX = 4;

/** The details of these checks of one project, in their order: one statement for all, and two for their channels. */
export async function detailsOf(db: Db, checks: readonly LeanCheck[]): Promise<RowDetail[]> {
  const [first] = checks;
  if (first === undefined) return [];
  const checkIds = checks.map(({ id }) => id);
  const [marks, assignments, channels] = await Promise.all([
    listRecentMarks(db, { checkIds, limit: RUN_MARKS_MAX }),
    listAssignmentsOfChecks(db, checkIds),
    listChannels(db, first.projectId),
  ]);
  const byCheck = Map.groupBy(marks, ({ checkId }) => checkId);
  const byId = new Map(channels.map((channel) => [channel.id, channel]));
  const assigned = Map.groupBy(assignments, ({ checkId }) => checkId);
  return checks.map((check) => ({
    ...detailOf(check, byCheck.get(check.id) ?? []),
    channels: (assigned.get(check.id) ?? [])
      .slice(0, CHANNELS_SHOWN_MAX)
      .flatMap(({ channelId }) => byId.get(channelId) ?? [])
      .map((channel): RowChannel => {
        const { kind, disabledAt } = channel;
        return { kind, name: channelName(channel), isEnabled: disabledAt === null };
      }),
  }));
}

/** The detail of one check from its runs in chronological order. */
export function detailOf(check: LeanCheck, marks: readonly RecentMark[]): Omit<RowDetail, "channels"> {
  const runs = marks.map((mark, index) => runMarkOf(check, mark, marks.slice(0, index)));
  if (check.state.lastStartAt !== null) runs.push("r");
  const durations = marks.flatMap(({ durationMs }) => durationMs ?? []);
  return {
    id: check.uuid,
    recentRuns: runs.slice(-RUN_MARKS_MAX).join(""),
    durationsMs: durations.slice(-DURATIONS_MAX),
    p95Ms: usualOf(durations)?.p95Ms ?? null,
  };
}

const RUN_MARKS: Readonly<Record<Exclude<RecentMark["kind"], "success">, RunMark>> = {
  fail: "f",
  missed: "m",
  unseen: "x",
  paused: "p",
};

function runMarkOf({ timing }: LeanCheck, mark: RecentMark, earlier: readonly RecentMark[]): RunMark {
  if (mark.kind !== "success") return RUN_MARKS[mark.kind];
  const last = earlier.at(-1);
  // After a pause or a monitoring gap, the due time is unknown.
  if (last === undefined || last.kind === "paused" || last.kind === "unseen") return "u";
  const before = earlier.findLast(({ kind }) => kind === "success" || kind === "fail");
  if (before === undefined) return "u";
  const startAt = mark.durationMs === null ? null : mark.at - mark.durationMs;
  return isLateRun(timing, { previousEndAt: before.at, startAt, endAt: mark.at }) ? "l" : "u";
}
