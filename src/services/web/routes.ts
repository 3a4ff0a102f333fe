// All routes of the dashboard. The permission matrix is generated from this table and tested against it.
import { accountRoutes } from "./account.ts";
import { badgeRoutes } from "../own-api/badges.ts";
import { bulkRoutes, changeRoutes, scheduleRoutes } from "../own-api/check-changes.ts";
import { readCheckPage } from "../own-api/check.ts";
import {
  checksBoot,
  listRoutes,
  projectCards,
  recentMonitoringGap,
  silentRoutes,
} from "../own-api/checks.ts";
import { crontabRoutes } from "../own-api/crontab.ts";
import { liveRoutes } from "../own-api/live.ts";
import { type PageData, pageRoutes, projectHead, shellRoutes } from "./pages.ts";
import type { AccountRequest, CheckRequest, ProjectRequest, WebRequest, WebRoute } from "./route.ts";
import { setUpRoutes } from "./setup.ts";
import { signInRoutes } from "./sign-in.ts";
import { tokenRoutes } from "./tokens.ts";

const checkPage = async (webRequest: WebRequest) => {
  // The paths of these pages name a check, and only members are let through.
  const request = webRequest as CheckRequest;
  const check = await readCheckPage(request.context, request);
  return { kind: "check" as const, project: projectHead(request.project, request.role), check };
};

/** The data that comes with each page that needs some at once. */
const PAGE_DATA: PageData = {
  projects: async (request) => ({
    kind: "projects",
    cards: await projectCards(request as AccountRequest),
    receiving: recentMonitoringGap(request.context, request.now),
  }),
  checks: async (request) => ({ kind: "checks", ...(await checksBoot(request as ProjectRequest)) }),
  check: checkPage,
  run: checkPage,
};

export const WEB_ROUTES: readonly WebRoute[] = [
  ...pageRoutes(PAGE_DATA),
  ...shellRoutes,
  ...listRoutes,
  ...changeRoutes,
  ...bulkRoutes,
  ...scheduleRoutes,
  ...crontabRoutes,
  ...silentRoutes,
  ...badgeRoutes,
  ...liveRoutes,
  ...setUpRoutes,
  ...signInRoutes,
  ...accountRoutes,
  ...tokenRoutes,
];
