// All routes of the dashboard. The permission matrix is generated from this table and tested against it.
import { accountRoutes } from "./account.ts";
import { boardRoutes } from "./board.ts";
import { readCheckPage } from "../api/check.ts";
import { projectCards, projectHead, readOverview, recentMonitoringGap } from "../api/checks.ts";
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
