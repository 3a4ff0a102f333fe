// All routes of the Overdue API by their operation ids.
import { accountRoutes } from "./account.ts";
import { adminRoutes } from "./admin.ts";
import { boardRoutes } from "./board.ts";
import { channelRoutes } from "./channels.ts";
import { checkPageRoutes } from "./check-page.ts";
import { historyRoutes } from "./history.ts";
import { checkRoutes } from "./checks.ts";
import { forecastRoutes } from "./forecast.ts";
import { fireDrillRoutes } from "./fire-drills.ts";
import { incidentRoutes } from "./incidents.ts";
import { liveRoutes } from "./live.ts";
import { nearMissRoutes } from "./near-misses.ts";
import { overviewRoutes } from "./overview.ts";
import { policyRoutes } from "./policies.ts";
import { projectRoutes } from "./projects.ts";
import { reportRoutes } from "./report.ts";
import { silenceRoutes } from "./silences.ts";
import { statusPageRoutes } from "./status-pages.ts";
import { timelineRoutes } from "./timeline.ts";
import { tokenRoutes } from "./tokens.ts";

export const API_ROUTES = {
  ...projectRoutes,
  ...checkPageRoutes,
  ...historyRoutes,
  ...incidentRoutes,
  ...channelRoutes,
  ...silenceRoutes,
  ...nearMissRoutes,
  ...forecastRoutes,
  ...fireDrillRoutes,
  ...statusPageRoutes,
  ...overviewRoutes,
  ...timelineRoutes,
  ...checkRoutes,
  ...boardRoutes,
  ...reportRoutes,
  ...policyRoutes,
  ...liveRoutes,
  ...accountRoutes,
  ...tokenRoutes,
  ...adminRoutes,
} as const;

export type ApiRoutes = typeof API_ROUTES;
export type OperationId = keyof ApiRoutes;
