// The page of a project's checks and the cards of all projects: counts, tags, the rows that need somebody first. A few
// statements, whatever the number of checks.
import type {
  ChecksBoot,
  ProjectCard,
  ReceivingTrouble,
  StateCounts,
  TagCount,
} from "../../../contract/web/boot.ts";
import { isUrgent, SHOWN_STATES } from "../../../contract/web/check-row.ts";
import { type Instant, MINUTE_MS, SECOND_MS } from "../../../core/instant.ts";
import { statusAt } from "../../../core/machine/status.ts";
import { listProjectsOfAccount } from "../../../store/accounts/projects.ts";
import { listUrgentChecks } from "../../../store/checks/check-rows.ts";
import { findWatchedChecks } from "../../../store/checks/check-statuses.ts";
import { type Tally, tallyChecks, tallyTags } from "../../../store/checks/check-tallies.ts";
import type { Db } from "../../../store/db.ts";
import { listNewestFlipIds, listNewestFlips } from "../../../store/history/newest-flips.ts";
import type { WebHouse } from "../house.ts";
import type { AccountAsk, ProjectAsk } from "../route.ts";
import { FLIPS_LOOKED_AT, FLIPS_TOLD_MAX } from "../live/changes.ts";
import { projectHead } from "../shell/boot.ts";
import { detailsOf } from "./details.ts";
import { rowsOf } from "./rows.ts";
import { readSilent } from "./silent.ts";
import { sinceAway } from "./since.ts";

/** Rows that come with the page, and how many of them with all details. */
const FIRST_ROWS = 100;
const FIRST_DETAILS = 30;
/** More tags than these nobody picks from. */
const TAGS_MAX = 300;
/** Trouble that has ended is told for this long. */
const TROUBLE_TOLD_MS = 60 * MINUTE_MS;
/** A gap that was shorter is a planned restart, and not worth a word once it is over. */
const RESTART_MS_MAX = 30 * SECOND_MS;

/** The page of a project's checks. */
export async function checksBoot(ask: ProjectAsk): Promise<ChecksBoot> {
  const { house, project, role, now } = ask;
  const { database } = house;
  // Before the rows: what is in this list is in them for certain.
  const flips = await listNewestFlipIds(database, {
    projectId: project.id,
    lookedAt: FLIPS_LOOKED_AT,
    limit: FLIPS_TOLD_MAX,
  });
  // The rows first of the rest: their cursor must not be newer than anything that is told beside them.
  const urgent = await listUrgentChecks(database, { projectId: project.id, now, limit: FIRST_ROWS });
  const [tallies, tags, details, since, silent] = await Promise.all([
    tallyChecks(database, { projectIds: [project.id], now }),
    tallyTags(database, { projectId: project.id, now, limit: TAGS_MAX }),
    detailsOf(database, urgent.checks.slice(0, FIRST_DETAILS)),
    sinceAway(ask),
    readSilent(ask),
  ]);
  const [tally] = await settled(database, tallies, now);
  return {
    project: projectHead(project, role),
    counts: countsOf(tally),
    tags: tags.map(toTag).toSorted((one, other) => (one.name < other.name ? -1 : 1)),
    rows: rowsOf(urgent.checks, now),
    details,
    total: tally?.total ?? 0,
    cursor: String(urgent.cursor),
    flips,
    since,
    receiving: receivingTrouble(house, now),
    silent,
  };
}

function toTag({ tag, count, rank }: { tag: string; count: number; rank: number }): TagCount {
  return { name: tag, count, state: SHOWN_STATES[rank] ?? "paused" };
}

/** The projects of an account, each with how its checks are. */
export async function projectCards({ house, account, now }: AccountAsk): Promise<ProjectCard[]> {
  const { database } = house;
  const projects = await listProjectsOfAccount(database, account.id);
  const projectIds = projects.map(({ id }) => id);
  const [counted, flips] = await Promise.all([
    tallyChecks(database, { projectIds, now }),
    listNewestFlips(database, projectIds),
  ]);
  const tallies = new Map((await settled(database, counted, now)).map((one) => [one.projectId, one]));
  const lastFlips = new Map(flips.map((flip) => [flip.projectId, flip]));
  return projects.map((project) => {
    const tally = tallies.get(project.id);
    const worst = tally?.byRank.findIndex((count) => count > 0) ?? -1;
    const flip = lastFlips.get(project.id);
    return {
      ...projectHead(project, project.role),
      counts: countsOf(tally),
      total: tally?.total ?? 0,
      worst: SHOWN_STATES[worst] ?? null,
      lastFlip:
        flip === undefined ? null : { checkId: flip.uuid, checkName: flip.name, to: flip.to, at: flip.at },
    };
  });
}

/** Those that could not be told where they were counted are asked of core: runs in progress on a schedule. */
async function settled(db: Db, tallies: readonly Tally[], now: Instant): Promise<Tally[]> {
  const uncertain = tallies.flatMap((tally) => tally.uncertain);
  const checks = uncertain.length === 0 ? [] : await findWatchedChecks(db, uncertain);
  const late = new Set(checks.filter((check) => statusAt(check, now) === "grace").map(({ id }) => id));
  return tallies.map((tally) => {
    const count = tally.uncertain.filter((id) => late.has(id)).length;
    return {
      ...tally,
      byRank: turnedLate(tally.byRank, count),
      runningByRank: turnedLate(tally.runningByRank, count),
    };
  });
}

/** So many that were counted as up are late. */
function turnedLate([down = 0, late = 0, up = 0, ...rest]: readonly number[], count: number): number[] {
  return [down, late + count, up - count, ...rest];
}

/** Each check once, as its row is drawn: a run in progress is told unless there is something worse to tell. */
function countsOf(tally: Tally | undefined): StateCounts {
  const counts = { new: 0, up: 0, late: 0, down: 0, paused: 0, running: 0 };
  for (const [rank, state] of SHOWN_STATES.entries()) {
    const running = isUrgent(state) ? 0 : (tally?.runningByRank[rank] ?? 0);
    counts[state] = (tally?.byRank[rank] ?? 0) - running;
    counts.running += running;
  }
  return counts;
}

/** Whether we could not receive, now or a short time ago; told, because it excuses jobs and nobody else says so. */
export function receivingTrouble({ sight }: Pick<WebHouse, "sight">, now: Instant): ReceivingTrouble | null {
  const last = sight()
    .blind.filter(({ from, to }) => from <= now && (to === null || to >= now - TROUBLE_TOLD_MS))
    .filter(({ from, to }) => to === null || to - from >= RESTART_MS_MAX)
    .toSorted((one, other) => one.from - other.from)
    .at(-1);
  return last === undefined ? null : { fromAt: last.from, toAt: last.to };
}
