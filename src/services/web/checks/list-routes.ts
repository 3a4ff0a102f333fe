// The routes that read: projects as cards, the page of a project, its rows page by page, details of the rows that can
// be seen, what is in the bin, and how a check has left.
import { DetailsQuery, RowsQuery } from "../../../contract/web/requests/checks.ts";
import { DETAIL_ROWS_MAX, ROWS_PAGE_MAX } from "../../../contract/web/requests/sizes.ts";
import type { ProjectsBoot } from "../../../contract/web/boot.ts";
import type { DeletedRow, RowsPage } from "../../../contract/web/check-row.ts";
import { isUuid } from "../../../core/identity.ts";
import { DAY_MS } from "../../../core/instant.ts";
import { DAYS_KEPT, keptFrom } from "../../../core/retention.ts";
import { listDeletedChecks } from "../../../store/checks/check-search.ts";
import { findLeanChecks, listLeanChecks } from "../../../store/checks/check-rows.ts";
import { accountRoute, projectRoute, WebRefusal, type WebRoute } from "../route.ts";
import { detailsOf } from "./details.ts";
import { readGone } from "./gone.ts";
import { checksBoot, projectCards, receivingTrouble } from "./overview.ts";
import { rowsOf } from "./rows.ts";

/** Of the bin no more are listed. */
const DELETED_LISTED_MAX = 100;

const projects = accountRoute({
  name: "projects",
  method: "GET",
  path: "/web/api/projects",
  access: "account",
  answer: async (ask) => {
    const page: ProjectsBoot = {
      cards: await projectCards(ask),
      receiving: receivingTrouble(ask.house, ask.now),
    };
    return { json: page };
  },
});

const overview = projectRoute({
  name: "checks page",
  method: "GET",
  path: "/web/api/projects/:project/overview",
  access: "view",
  answer: async (ask) => ({ json: await checksBoot(ask) }),
});

const rows = projectRoute({
  name: "rows",
  method: "GET",
  path: "/web/api/projects/:project/checks",
  access: "view",
  query: RowsQuery,
  answer: async ({ house, project, query, now }) => {
    const { after = "0", limit = ROWS_PAGE_MAX } = query;
    const found = await listLeanChecks(house.database, {
      projectId: project.id,
      afterId: Number(after),
      limit,
    });
    const last = found.at(-1);
    const next = found.length < limit || last === undefined ? null : String(last.id);
    const page: RowsPage = { rows: rowsOf(found, now), next };
    return { json: page };
  },
});

const details = projectRoute({
  name: "row details",
  method: "GET",
  path: "/web/api/projects/:project/rows",
  access: "view",
  query: DetailsQuery,
  answer: async ({ house, project, query }) => {
    const uuids = [...new Set(query.ids.split(","))];
    if (uuids.length > DETAIL_ROWS_MAX || !uuids.every(isUuid)) {
      throw new WebRefusal(
        "invalid",
        `ids must be at most ${DETAIL_ROWS_MAX} UUIDs, separated by commas.`,
        "ids",
      );
    }
    const found = await findLeanChecks(house.database, uuids);
    const own = found.filter(({ projectId }) => projectId === project.id);
    return { json: await detailsOf(house.database, own) };
  },
});

const deleted = projectRoute({
  name: "deleted checks",
  method: "GET",
  path: "/web/api/projects/:project/deleted",
  access: "view",
  answer: async ({ house, project, now }) => {
    const found = await listDeletedChecks(house.database, {
      projectId: project.id,
      from: keptFrom("deletedCheck", now),
      limit: DELETED_LISTED_MAX,
    });
    const listed: DeletedRow[] = found.map(({ uuid, name, deletedAt }) => ({
      id: uuid,
      name,
      deletedAt,
      goneAt: deletedAt + DAYS_KEPT.deletedCheck * DAY_MS,
    }));
    return { json: listed };
  },
});

const gone = projectRoute({
  name: "check that has gone",
  method: "GET",
  path: "/web/api/projects/:project/gone/:gone",
  access: "view",
  answer: async (ask) => ({ json: await readGone(ask, ask.params["gone"] ?? "") }),
});

export const listRoutes: readonly WebRoute[] = [projects, overview, rows, details, deleted, gone];
