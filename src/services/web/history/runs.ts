// The table of runs: every run that the log keeps, the one that is going on, and the gaps where none came.
import type { RunRow, RunsPage } from "../../../contract/web/history.ts";
import { isLateRun } from "../../../core/machine/lateness.ts";
import type { CheckWithState } from "../../../store/checks/checks.ts";
import { type CheckEvent, listEvents } from "../../../store/history/events.ts";
import { listFlips, type StoredFlip } from "../../../store/history/flips.ts";
import type { WebHouse } from "../house.ts";
import { FLIPS_READ_MAX, type KeptPing, readExcerpts, readLog } from "./kept-log.ts";

const RUNS_PER_PAGE = 50;
/** More times than these that were not observed are not told one by one. */
const GAPS_READ_MAX = 200;

type Page = { before: number | null };

/** A page of runs, newest first: those from before an instant, if it is given. */
export async function readRuns(house: WebHouse, check: CheckWithState, { before }: Page): Promise<RunsPage> {
  const log = await readLog(house, check);
  const oldestAt = log.at(-1)?.at ?? check.createdAt;
  const range = { checkId: check.id, from: oldestAt, ...(before !== null && { before }) };
  const [flips, gaps] = await Promise.all([
    listFlips(house.database, { ...range, limit: FLIPS_READ_MAX }),
    listEvents(house.database, { ...range, kind: "not_observed", limit: GAPS_READ_MAX }),
  ]);
  const all = [...endedRuns(log, check), ...running(log, check), ...missing(flips), ...gaps.map(unseen)]
    .filter(({ at }) => at >= oldestAt && (before === null || at < before))
    .toSorted((one, other) => other.at - one.at);
  // What ended at one instant is not parted: the next page begins before it.
  const lastAt = all[RUNS_PER_PAGE - 1]?.at ?? oldestAt;
  const runs = all.filter(({ at }) => at >= lastAt);
  const shown = new Set(runs.map(({ n }) => n));
  const excerpts = await readExcerpts(house, {
    checkId: check.id,
    pings: log.filter(({ n }) => shown.has(n)),
  });
  return {
    runs: runs.map((run) => ({ ...run, excerpt: run.n === null ? null : (excerpts.get(run.n) ?? null) })),
    before: all.length > runs.length ? (runs.at(-1)?.at ?? null) : null,
  };
}

function endedRuns(log: readonly KeptPing[], { settings }: CheckWithState): RunRow[] {
  const ends = log.filter(({ kind }) => kind === "success" || kind === "fail");
  return ends.map((end, index): RunRow => {
    const startAt = end.durationMs === null ? null : end.at - end.durationMs;
    const previousEndAt = ends[index + 1]?.at;
    return {
      n: end.n,
      outcome: end.kind === "fail" ? "fail" : "success",
      at: end.at,
      startAt,
      durationMs: end.durationMs,
      isLate: previousEndAt !== undefined && isLateRun(settings, { previousEndAt, startAt, endAt: end.at }),
      exitStatus: end.exitStatus,
      excerpt: null,
      bodySize: end.bodySize,
    };
  });
}

function running(log: readonly KeptPing[], { state }: CheckWithState): RunRow[] {
  const { lastStartAt, pingCount } = state;
  // The log was read after the state: what came in between may have ended this run, which stands there as ended then.
  const isOver = log.some(({ n, kind }) => n > pingCount && (kind === "success" || kind === "fail"));
  if (lastStartAt === null || isOver) return [];
  const start = log.find(({ kind, at }) => kind === "start" && at === lastStartAt);
  return [{ ...NOTHING, n: start?.n ?? null, outcome: "running", at: lastStartAt, startAt: lastStartAt }];
}

function missing(flips: readonly StoredFlip[]): RunRow[] {
  return flips
    .filter(({ reason, takenBackAt }) => reason === "timeout" && takenBackAt === null)
    .map(({ at }) => ({ ...NOTHING, outcome: "missing", at }));
}

function unseen({ at }: CheckEvent): RunRow {
  return { ...NOTHING, outcome: "unseen", at };
}

const NOTHING = {
  n: null,
  startAt: null,
  durationMs: null,
  isLate: false,
  exitStatus: null,
  excerpt: null,
  bodySize: null,
} as const;
