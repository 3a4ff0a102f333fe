// All routes of the dashboard. The permission matrix is generated from this table and tested against it.
import { type TimelineQuery, timelineRoutes } from "../../contract/api/timeline.ts";
import { validateQuery } from "../../contract/api/validate.ts";
import { AppError } from "../../core/errors.ts";
import { accountRoutes } from "./account.ts";
import { boardRoutes } from "./board.ts";
import { readCheckPage } from "../api/check.ts";
import { projectCards, projectHead, readOverview, recentMonitoringGap } from "../api/checks.ts";
import { readTimeline } from "../api/timeline.ts";
import { listProjectsOfAccount } from "../../store/projects.ts";
import { type PageData, pageRoutes, shellRoutes } from "./pages.ts";
import type { AccountRequest, CheckRequest, ProjectRequest, WebRequest, WebRoute } from "./route.ts";
import { reportRoutes } from "./report.ts";
import { setUpRoutes } from "./setup.ts";
import { signInRoutes } from "./sign-in.ts";
import { tokenRoutes } from "./tokens.ts";

const checkPage = async (webRequest: WebRequest) => {
  // The paths of these pages name a check, and only members have access.
  const request = webRequest as CheckRequest;
  const check = await readCheckPage(request.context, request);
  return { kind: "check" as const, project: projectHead(request.project, request.role), check };
};

/** The query of the timeline in the URL of its page; null if it is not valid: the page then shows why. */
function timelineQuery(url: string, zone: string | null): TimelineQuery | null {
  const given = new URLSearchParams(url.split("?")[1] ?? "");
  if (zone !== null) given.set("zone", zone);
  const validated = validateQuery(timelineRoutes.getTimeline.query, given);
  return validated.ok ? (validated.value as TimelineQuery) : null;
}

/** The initial data of each page that needs some. */
const PAGE_DATA: PageData = {
  projects: async (request) => {
    const { context, account, now } = request as AccountRequest;
    const projects = await listProjectsOfAccount(context.database, account.id);
    return {
      kind: "projects",
      projects: await projectCards(context, { projects, now }),
      monitoringGap: recentMonitoringGap(context, now),
    };
  },
  checks: async (request) => {
    const { account, ...about } = request as ProjectRequest;
    return { kind: "checks", ...(await readOverview(about, account.id)) };
  },
  check: checkPage,
  run: checkPage,
  timeline: async (request) => {
    const { context, project, role, account, url, now } = request as ProjectRequest;
    const query = timelineQuery(url, account.zone);
    if (query === null) return null;
    try {
      const timeline = await readTimeline({ context, project, query, now });
      return { kind: "timeline", project: projectHead(project, role), query, timeline };
    } catch (error) {
      if (error instanceof AppError) return null;
      throw error;
    }
  },
};

export const WEB_ROUTES: readonly WebRoute[] = [
  ...pageRoutes(PAGE_DATA),
  ...shellRoutes,
  ...boardRoutes,
  ...reportRoutes,
  ...setUpRoutes,
  ...signInRoutes,
  ...accountRoutes,
  ...tokenRoutes,
];
