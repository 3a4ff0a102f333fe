// All routes of the Overdue API by their operation ids.
import { accountRoutes } from "./account.ts";
import { adminRoutes } from "./admin.ts";
import { channelRoutes } from "./channels.ts";
import { checkPageRoutes } from "./check-page.ts";
import { historyRoutes } from "./history.ts";
import { checkRoutes } from "./checks.ts";
import { incidentRoutes } from "./incidents.ts";
import { liveRoutes } from "./live.ts";
import { overviewRoutes } from "./overview.ts";
import { policyRoutes } from "./policies.ts";
import { projectRoutes } from "./projects.ts";
import { silenceRoutes } from "./silences.ts";
import { timelineRoutes } from "./timeline.ts";
import { tokenRoutes } from "./tokens.ts";

export const API_ROUTES = {
  ...projectRoutes,
  ...checkPageRoutes,
  ...historyRoutes,
  ...incidentRoutes,
  ...channelRoutes,
  ...silenceRoutes,
  ...overviewRoutes,
  ...timelineRoutes,
  ...checkRoutes,
  ...policyRoutes,
  ...liveRoutes,
  ...accountRoutes,
  ...tokenRoutes,
  ...adminRoutes,
} as const;

export type ApiRoutes = typeof API_ROUTES;
export type OperationId = keyof ApiRoutes;
