// The wall board of a project, and its share links.
import type { Board, BoardCandle, BoardCard, boardRoutes, BoardTally } from "../../contract/api/board.ts";
import {
  type BoardCheck,
  type BoardIncident,
  boardCards,
  boardGroups,
  boardHeadline,
  boardOrder,
  type BoardCard as ChosenCard,
  type GroupTally,
  groupTallies,
  type StateTally,
  tallyOf,
  totalOf,
} from "../../core/board.ts";
import { parseIncidentKey } from "../../core/incident.ts";
import type { Instant } from "../../core/instant.ts";
import {
  BOARD_CANDLES_MAX,
  BOARD_GROUPS_MAX,
  BOARD_INCIDENTS_READ_MAX,
  BOARD_NEXT_MAX,
} from "../../core/limits.ts";
import { createBoardLink, revokeBoardLink } from "../../operations/board-links.ts";
import { type IncidentWithChecks, listIncidents } from "../../operations/incidents.ts";
import { findAccountNames } from "../../store/accounts.ts";
import { listBoardLinks } from "../../store/board-links.ts";
import {
  listNextExpected,
  listUrgentChecks,
  type LeanCheck,
  tallyChecks,
  tallyFirstTags,
} from "../../store/check-lists.ts";
import type { Db } from "../../store/db.ts";
import { listChecksWithAlert } from "../../store/incidents.ts";
import type { Project } from "../../store/projects.ts";
import { rowsOf } from "./check-rows.ts";
import { recentMonitoringGap, settled } from "./checks.ts";
import { uuidParam } from "./params.ts";
import type { ApiContext, ApiHandlers } from "./route.ts";

type Reading = { context: Pick<ApiContext, "database" | "visibility">; project: Project; now: Instant };

/** The board at an instant: a few statements for any number of checks. */
export async function readBoard({ context, project, now }: Reading): Promise<Board> {
  const { database } = context;
  const projectId = project.id;
  const [urgent, tallies, withAlert, incidents, next] = await Promise.all([
    listUrgentChecks(database, { projectId, now, limit: BOARD_CANDLES_MAX + 1 }),
    tallyChecks(database, { projectIds: [projectId], now }),
    listChecksWithAlert(database, projectId),
    readIncidents(database, projectId),
    listNextExpected(database, { projectId, now, limit: BOARD_NEXT_MAX }),
  ]);
  const isSummary = urgent.checks.length > BOARD_CANDLES_MAX;
  const checks = boardChecks(urgent.checks.slice(0, BOARD_CANDLES_MAX), { withAlert, now });
  const [tally] = isSummary ? await settled(database, tallies, now) : [];
  const counts = tally === undefined ? tallyOf(checks) : stateTally(tally.byRank);
  const groups = isSummary ? await readGroups(database, { projectId, now }) : groupTallies(checks);
  const cards = boardCards({ checks, incidents });
  const openCount = incidents.filter((incident) => incident.openCount > 0).length;
  return {
    project: project.name,
    tz: project.tz,
    now,
    headline: boardHeadline({ counts, checks, incidents }),
    counts,
    total: totalOf(counts),
    cards: cards.map(presentCard),
    moreCount: Math.max(0, openCount + counts.late - cards.filter(({ kind }) => kind !== "down").length),
    isSummary,
    ...presentGroups(boardGroups(groups, counts), { checks, isSummary, now }),
    next,
    monitoringGap: recentMonitoringGap(context, now),
  };
}

function boardChecks(
  checks: readonly LeanCheck[],
  { withAlert, now }: { withAlert: ReadonlySet<number>; now: Instant },
): BoardCheck[] {
  const ids = checks.map(({ id }) => id);
  return rowsOf(checks, now).map((row, index) => ({ ...row, hasAlert: withAlert.has(ids[index] ?? 0) }));
}

function stateTally([down = 0, late = 0, up = 0, fresh = 0, paused = 0]: readonly number[]): StateTally {
  return { down, late, up, new: fresh, paused };
}

async function readGroups(
  db: Db,
  { projectId, now }: { projectId: number; now: Instant },
): Promise<GroupTally[]> {
  const found = await tallyFirstTags(db, { projectId, now, limit: BOARD_GROUPS_MAX });
  return found.map(({ tag, byRank }) => ({ tag: tag === "" ? null : tag, ...stateTally(byRank) }));
}

async function readIncidents(db: Db, projectId: number): Promise<BoardIncident[]> {
  const limit = BOARD_INCIDENTS_READ_MAX;
  const { incidents } = await listIncidents(db, { projectId, state: "open", before: null, limit });
  const accountIds = incidents.flatMap(({ acknowledged }) => acknowledged?.by.accountId ?? []);
  const names = accountIds.length === 0 ? new Map<number, string>() : await findAccountNames(db, accountIds);
  return incidents.map((incident) => boardIncident(incident, names));
}

function boardIncident(incident: IncidentWithChecks, names: ReadonlyMap<number, string>): BoardIncident {
  const { key, checks, openCount, openedAt, cause, acknowledged, nextStepAt } = incident;
  const parsed = key === null ? null : parseIncidentKey(key);
  const accountId = acknowledged?.by.accountId ?? null;
  const name = accountId === null ? null : (names.get(accountId) ?? null);
  return {
    tag: parsed?.kind === "tag" ? parsed.tag : null,
    firstName: checks[0]?.name ?? "",
    openCount,
    openedAt,
    cause,
    // An account without a name is named by its email address, which a public screen must not show.
    acknowledged: acknowledged && { at: acknowledged.at, by: name?.includes("@") === true ? null : name },
    nextStepAt,
  };
}

function presentCard(card: ChosenCard): BoardCard {
  switch (card.kind) {
    case "open":
    case "acknowledged":
      return card;
    case "down": {
      const { name, downSince: since, downReason: reason, exitStatus } = card.check;
      return { kind: "down", name, since, reason, exitStatus };
    }
    case "late":
      return { kind: "late", name: card.check.name, fuse: card.check.fuse };
  }
}

function presentGroups(
  { groups, rest }: ReturnType<typeof boardGroups>,
  { checks, isSummary, now }: { checks: readonly BoardCheck[]; isSummary: boolean; now: Instant },
): Pick<Board, "groups" | "rest"> {
  const listed = isSummary ? checks.filter(({ state }) => state === "down" || state === "late") : checks;
  const byTag = Map.groupBy(listed, ({ tags }) => tags[0] ?? null);
  return {
    groups: groups.map(({ tag, ...counts }) => ({
      tag,
      counts: counts satisfies BoardTally,
      candles: boardOrder(byTag.get(tag) ?? [], now).map(presentCandle),
    })),
    rest,
  };
}

function presentCandle({ name, state, runningSince, fuse }: BoardCheck): BoardCandle {
  return { name, state, runningSince, fuse };
}

export const boardHandlers: ApiHandlers<typeof boardRoutes> = {
  getBoard: async ({ context, project, now }) => ({ json: await readBoard({ context, project, now }) }),
  listBoardLinks: async ({ context, project }) => {
    const links = await listBoardLinks(context.database, project.id);
    return {
      json: {
        links: links.map(({ uuid, name, createdAt, lastUsedAt }) => ({
          id: uuid,
          name,
          createdAt,
          lastUsedAt,
        })),
      },
    };
  },
  createBoardLink: async ({ context, project, actor, body, now }) => {
    const made = await createBoardLink(context.database, { project, name: body.name, by: actor, at: now });
    const { uuid: id, name, createdAt, lastUsedAt } = made.link;
    const url = `${context.urls.site}/board/${made.token}/`;
    return { json: { link: { id, name, createdAt, lastUsedAt }, url } };
  },
  revokeBoardLink: async ({ context, project, actor, params, now }) => {
    const uuid = uuidParam(params.link);
    await revokeBoardLink(context.database, { project, uuid, by: actor, at: now });
    return { json: null };
  },
};
