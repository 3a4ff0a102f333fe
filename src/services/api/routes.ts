// All routes of the Overdue API with their handlers.
import { API_ROUTES, type ApiRoutes } from "../../contract/api/routes.ts";
import { accountHandlers } from "./account.ts";
import { adminHandlers } from "./admin.ts";
import { channelHandlers } from "./channels.ts";
import { checkPageHandlers, historyHandlers } from "./check.ts";
import { boardHandlers } from "./board.ts";
import { badgeHandlers } from "./badges.ts";
import { checkHandlers } from "./check-changes.ts";
import { overviewHandlers } from "./checks.ts";
import { crontabHandlers } from "./crontab.ts";
import { forecastHandlers } from "./forecast.ts";
import { fireDrillHandlers } from "./fire-drills.ts";
import { incidentHandlers } from "./incidents.ts";
import { liveHandlers } from "./live.ts";
import { nearMissHandlers } from "./near-misses.ts";
import { policyHandlers } from "./policies.ts";
import { projectHandlers } from "./projects.ts";
import { reportHandlers } from "./report.ts";
import type { ApiRoute } from "./respond.ts";
import type { ApiHandler, ApiHandlers } from "./route.ts";
import { silenceHandlers } from "./silences.ts";
import { statusPageHandlers } from "./status-pages.ts";
import { timelineHandlers } from "./timeline.ts";
import { tokenHandlers } from "./tokens.ts";

const HANDLERS: ApiHandlers<ApiRoutes> = {
  ...projectHandlers,
  ...checkPageHandlers,
  ...historyHandlers,
  ...incidentHandlers,
  ...channelHandlers,
  ...silenceHandlers,
  ...nearMissHandlers,
  ...forecastHandlers,
  ...fireDrillHandlers,
  ...statusPageHandlers,
  ...overviewHandlers,
  ...timelineHandlers,
  ...checkHandlers,
  ...crontabHandlers,
  ...badgeHandlers,
  ...boardHandlers,
  ...reportHandlers,
  ...policyHandlers,
  ...liveHandlers,
  ...accountHandlers,
  ...tokenHandlers,
  ...adminHandlers,
};

export const ROUTES: readonly ApiRoute[] = Object.entries(API_ROUTES).map(([id, definition]) => ({
  id,
  definition,
  // Each handler receives only requests of its own definition.
  handler: HANDLERS[id as keyof ApiRoutes] as unknown as ApiHandler,
}));
