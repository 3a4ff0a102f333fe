// Lists of projects and checks: cards, the overview of a project, rows, details, deleted and removed checks.
import {
  type CheckRow,
  type DeletedCheck,
  type MonitoringGap,
  type Overview,
  type overviewRoutes,
  type ProjectCard,
  type ProjectHead,
  type RemovedCheck,
  type SilentChecks,
  type SinceAway,
  type StateCounts,
  type TagCount,
} from "../../contract/api/overview.ts";
import { isUrgent, SHOWN_STATES } from "../../contract/api/check-row.ts";
import { BULK_CHECKS_MAX, DETAIL_ROWS_MAX, ROWS_PAGE_MAX } from "../../contract/api/limits.ts";
import { channelName } from "../../contract/api/words.ts";
import { type Action, ACTION_ROLES, KEY_ROLES, mayDo, type Role } from "../../core/access.ts";
import { usableChannels } from "../../core/channel.ts";
import { AppError } from "../../core/errors.ts";
import { isUuid } from "../../core/identity.ts";
import { DAY_MS, type Instant, MINUTE_MS, SECOND_MS } from "../../core/instant.ts";
import { DAYS_KEPT, keptFrom } from "../../core/retention.ts";
import { statusAt } from "../../core/state.ts";
import { listAudit } from "../../operations/audit.ts";
import { isVerified, mailAddressOf } from "../../operations/channels.ts";
import { noteVisit } from "../../operations/sessions.ts";
import type { AuditEntry } from "../../store/audit.ts";
import { listChannels } from "../../store/channels.ts";
import {
  findLeanChecks,
  findWatchedChecks,
  listLeanChecks,
  listSilentChecks,
  listUrgentChecks,
  type Tally,
  tallyChecks,
  tallyTags,
} from "../../store/check-lists.ts";
import { deletedAtOf, findDeletedCheck, findShownCheck, listDeletedChecks } from "../../store/checks.ts";
import type { Db } from "../../store/db.ts";
import { listDownSince, listNewestFlipIds, listNewestFlips } from "../../store/flips.ts";
import {
  countChecksMadeSince,
  findProjectByUuid,
  listProjectsOfAccount,
  type Project,
} from "../../store/projects.ts";
import { detailsOf, rowsOf } from "./check-rows.ts";
import { FLIPS_LOOKED_AT, FLIPS_SENT_MAX } from "./live-hub.ts";
import { changedBy, notFound, uuidParam } from "./params.ts";
import type { ApiContext, ApiHandlers } from "./route.ts";

type Reading = Pick<ApiContext, "database" | "visibility">;
type ProjectRequest = { context: Reading; project: Project; role: Role; now: Instant };

/** A project, and what the current user may do in it. */
export function projectHead({ uuid, name }: Pick<Project, "uuid" | "name">, role: Role): ProjectHead {
  const actions = Object.keys(ACTION_ROLES) as Action[];
  return { id: uuid, name, role, may: actions.filter((action) => mayDo(role, action)) };
}

/** The current row of one check. */
export async function presentRow(
  { database }: Pick<ApiContext, "database">,
  { check, now }: { check: { uuid: string }; now: Instant },
): Promise<CheckRow> {
  const [row] = rowsOf(await findLeanChecks(database, [check.uuid]), now);
  if (row === undefined) throw new AppError("not_found", "The check was deleted.");
  return row;
}

// What has happened in a project since the user's last visit.

/** A shorter absence is ignored. */
const AWAY_MS_MIN = 30 * MINUTE_MS;
/** Older changes are not shown. */
const AWAY_DAYS_MAX = 14;
const NAMED_MAX = 50;

/** Stores the visit and returns what has happened since the last one; null: nothing, or the absence was too short. */
async function sinceAway(
  { context, project, now }: ProjectRequest,
  accountId: number,
): Promise<SinceAway | null> {
  const { database } = context;
  const projectId = project.id;
  const lastAt = await noteVisit(database, { projectId, accountId, at: now });
  if (lastAt === null || now - lastAt < AWAY_MS_MIN) return null;
  const since = Math.max(lastAt, now - AWAY_DAYS_MAX * DAY_MS);
  const [went, added] = await Promise.all([
    listDownSince(database, { projectId, since, limit: NAMED_MAX }),
    countChecksMadeSince(database, { projectId, since }),
  ]);
  if (went.length === 0 && added === 0) return null;
  const named = (isDown: boolean) =>
    went.filter((one) => one.isDown === isDown).map(({ uuid, name }) => ({ id: uuid, name }));
  return { sinceAt: since, wentDown: named(true), recovered: named(false), createdCount: added };
}

/** Maximum number of channels that a warning offers; all of them are on the channels page. */
const CHANNELS_OFFERED_MAX = 20;

/** The checks that are down and have no enabled channel. */
async function readSilent({ context: { database }, project }: ProjectRequest): Promise<SilentChecks> {
  const channels = await listChannels(database, project.id);
  const usable = usableChannels(channels, {
    isConfirmed: (channel) => mailAddressOf(channel) === null || isVerified(channel),
  });
  const { uuids, total } = await listSilentChecks(database, {
    projectId: project.id,
    channelIds: usable.map(({ id }) => id),
    limit: BULK_CHECKS_MAX,
  });
  return {
    downCount: total,
    downIds: uuids,
    channels: usable
      .slice(0, CHANNELS_OFFERED_MAX)
      .map((channel) => ({ id: channel.uuid, name: channelName(channel) })),
  };
}

// How a check left the project, for a user who still has its page open: deleted or moved, when, by whom, and whether it can
// be restored. The target project is not named, because the user may not have access to it.

const REMOVALS = { "check.deleted": "deleted", "check.moved": "moved" } as const;

/** How a check left the project; throws "not found" if it is still there or nothing is known about it. */
async function readRemoval(
  { context, project, role, now }: ProjectRequest,
  { uuid, accountId }: { uuid: string; accountId: number | null },
): Promise<RemovedCheck> {
  const { database: db } = context;
  const shown = await findShownCheck(db, uuid);
  if (shown?.projectId === project.id) throw notFound();
  const deleted = await findDeletedCheck(db, uuid);
  const deletedAt = deleted?.projectId === project.id ? await deletedAtOf(db, deleted.id) : null;
  // The check existed a moment ago, so the newest page of the audit log contains it.
  const { entries } = await listAudit(db, { projectId: project.id });
  const entry = entries.find(({ what, before }) => what in REMOVALS && uuidIn(before) === uuid);
  const how = deletedAt === null ? removalOf(entry) : "deleted";
  const at = deletedAt ?? entry?.at;
  if (how === null || at === undefined) throw notFound();
  const isKept = deletedAt !== null && deletedAt >= keptFrom(DAYS_KEPT.deletedCheck, now);
  return {
    how,
    at,
    by: how === removalOf(entry) ? changedBy(entry, accountId) : null,
    expiresAt: isKept ? deletedAt + DAYS_KEPT.deletedCheck * DAY_MS : null,
    mayRestore: isKept && mayDo(role, "editChecks"),
  };
}

function removalOf(entry: AuditEntry | undefined): RemovedCheck["how"] | null {
  return entry === undefined ? null : (REMOVALS[entry.what as keyof typeof REMOVALS] ?? null);
}

function uuidIn(side: object | null): unknown {
  return side !== null && "uuid" in side ? side.uuid : null;
}

// The checks page of a project and the project cards: a few statements for any number of checks.

/** Rows included in the page, and how many of them include all details. */
const FIRST_ROWS = 100;
const FIRST_DETAILS = 30;
/** Maximum number of tags that are offered. */
const TAGS_MAX = 300;
/** A monitoring gap is shown for this long after its end. */
const GAP_SHOWN_MS = 60 * MINUTE_MS;
/** A shorter gap is a planned restart, and is not shown once it is over. */
const RESTART_MS_MAX = 30 * SECOND_MS;

/** The overview of a project. `visitor` is the account whose visit is recorded; null: no visit is recorded. */
export async function readOverview(request: ProjectRequest, visitor: number | null): Promise<Overview> {
  const { context, project, role, now } = request;
  const { database } = context;
  // Read before the rows, so that every check of this list is among the rows.
  const flips = await listNewestFlipIds(database, {
    projectId: project.id,
    lookedAt: FLIPS_LOOKED_AT,
    limit: FLIPS_SENT_MAX,
  });
  // The rows are read first: their cursor must not be newer than the rest of the page.
  const urgent = await listUrgentChecks(database, { projectId: project.id, now, limit: FIRST_ROWS });
  const [tallies, tags, details, since, silent] = await Promise.all([
    tallyChecks(database, { projectIds: [project.id], now }),
    tallyTags(database, { projectId: project.id, now, limit: TAGS_MAX }),
    detailsOf(database, urgent.checks.slice(0, FIRST_DETAILS)),
    visitor === null ? null : sinceAway(request, visitor),
    readSilent(request),
  ]);
  const [tally] = await settled(database, tallies, now);
  return {
    project: projectHead(project, role),
    counts: countsOf(tally),
    tags: tags.map(toTag).toSorted((one, other) => (one.name < other.name ? -1 : 1)),
    checks: rowsOf(urgent.checks, now),
    details,
    total: tally?.total ?? 0,
    cursor: String(urgent.cursor),
    flips,
    since,
    monitoringGap: recentMonitoringGap(context, now),
    silent,
  };
}

function toTag({ tag, count, rank }: { tag: string; count: number; rank: number }): TagCount {
  return { name: tag, count, state: SHOWN_STATES[rank] ?? "paused" };
}

/** Projects with the number of their checks in each state. */
export async function projectCards(
  { database }: Pick<ApiContext, "database">,
  { projects, now }: { projects: readonly (Project & { role: Role })[]; now: Instant },
): Promise<ProjectCard[]> {
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

/** Runs in progress on a schedule cannot be classified by the query, so core decides. */
export async function settled(db: Db, tallies: readonly Tally[], now: Instant): Promise<Tally[]> {
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

/** Moves checks that were counted as up and are late. */
function turnedLate([down = 0, late = 0, up = 0, ...rest]: readonly number[], count: number): number[] {
  return [down, late + count, up - count, ...rest];
}

/** Each check once, as its row is drawn: a run in progress is shown unless the check is late or down. */
function countsOf(tally: Tally | undefined): StateCounts {
  const counts = { new: 0, up: 0, late: 0, down: 0, paused: 0, running: 0 };
  for (const [rank, state] of SHOWN_STATES.entries()) {
    const running = isUrgent(state) ? 0 : (tally?.runningByRank[rank] ?? 0);
    counts[state] = (tally?.byRank[rank] ?? 0) - running;
    counts.running += running;
  }
  return counts;
}

/** The newest monitoring gap that ended recently and was longer than a restart. */
export function recentMonitoringGap(
  { visibility }: Pick<ApiContext, "visibility">,
  now: Instant,
): MonitoringGap | null {
  const shown = visibility().blind.flatMap(({ from, to }) => {
    if (to === null || from > now || to < now - GAP_SHOWN_MS || to - from < RESTART_MS_MAX) return [];
    return [{ fromAt: from, toAt: to }];
  });
  return shown.toSorted((one, other) => one.fromAt - other.fromAt).at(-1) ?? null;
}

/** Maximum number of deleted checks in the list. */
const DELETED_LISTED_MAX = 100;

export const overviewHandlers: ApiHandlers<typeof overviewRoutes> = {
  listProjects: async ({ context, account, keyProject, keyKind, now }) => {
    const { database } = context;
    if (account !== null) {
      const projects = await listProjectsOfAccount(database, account.id);
      return { json: projectList(context, await projectCards(context, { projects, now }), now) };
    }
    const project = keyProject === null ? null : await findProjectByUuid(database, keyProject.uuid);
    if (project === null || keyKind === null) throw notFound();
    const projects = [{ ...project, role: KEY_ROLES[keyKind] }];
    const cards = await projectCards(context, { projects, now });
    // The id of a check allows sending pings, which a read-only key must not.
    const shown = keyKind === "readOnly" ? cards.map((card) => ({ ...card, lastFlip: null })) : cards;
    return { json: projectList(context, shown, now) };
  },
  getOverview: async ({ context, project, role, account, sessionId, now }) => {
    const visitor = sessionId === null ? null : (account?.id ?? null);
    return { json: await readOverview({ context, project, role, now }, visitor) };
  },
  listChecks: async ({ context, project, query, now }) => {
    const { cursor = "0", limit = ROWS_PAGE_MAX } = query;
    const found = await listLeanChecks(context.database, {
      projectId: project.id,
      afterId: Number(cursor),
      limit,
    });
    const last = found.at(-1);
    const next = found.length < limit || last === undefined ? null : String(last.id);
    return { json: { checks: rowsOf(found, now), next } };
  },
  listCheckDetails: async ({ context, project, query }) => {
    const uuids = [...new Set(query.ids.split(","))];
    if (uuids.length > DETAIL_ROWS_MAX || !uuids.every(isUuid)) {
      throw new AppError(
        "invalid",
        `ids must be at most ${DETAIL_ROWS_MAX} UUIDs, separated by commas.`,
        "ids",
      );
    }
    const found = await findLeanChecks(context.database, uuids);
    const own = found.filter(({ projectId }) => projectId === project.id);
    return { json: { checks: await detailsOf(context.database, own) } };
  },
  listSilentChecks: async (request) => ({ json: await readSilent(request) }),
  listDeletedChecks: async ({ context, project, now }) => {
    const found = await listDeletedChecks(context.database, {
      projectId: project.id,
      from: keptFrom(DAYS_KEPT.deletedCheck, now),
      limit: DELETED_LISTED_MAX,
    });
    const checks = found.map(
      ({ uuid, name, deletedAt }): DeletedCheck => ({
        id: uuid,
        name,
        deletedAt,
        expiresAt: deletedAt + DAYS_KEPT.deletedCheck * DAY_MS,
      }),
    );
    return { json: { checks } };
  },
  getRemovedCheck: async (request) => {
    const uuid = uuidParam(request.params.id);
    return { json: await readRemoval(request, { uuid, accountId: request.actor.accountId }) };
  },
};

function projectList(context: Reading, projects: ProjectCard[], now: Instant) {
  return { projects, monitoringGap: recentMonitoringGap(context, now) };
}
