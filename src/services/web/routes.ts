// All routes of the dashboard, joined from its folders. The server serves this table, and the matrix of rights is
// generated from it and tested against it.
import { adminRoutes } from "./account/admin.ts";
import { accountRoutes } from "./account/routes.ts";
import { checkRoutes, PAGE_DATA } from "./checks/routes.ts";
import { channelRoutes } from "./channels/routes.ts";
import { historyRoutes } from "./history/routes.ts";
import { liveRoutes } from "./live/routes.ts";
import { projectRoutes } from "./projects/routes.ts";
import type { WebRoute } from "./route.ts";
import { setUpRoutes } from "./set-up/routes.ts";
import { pageRoutes, shellRoutes } from "./shell/routes.ts";
import { signInRoutes } from "./sign-in/routes.ts";

export const WEB_ROUTES: readonly WebRoute[] = [
  ...pageRoutes(PAGE_DATA),
  ...shellRoutes,
  ...checkRoutes,
  ...liveRoutes,
  ...historyRoutes,
  ...channelRoutes,
  ...setUpRoutes,
  ...signInRoutes,
  ...accountRoutes,
  ...projectRoutes,
  ...adminRoutes,
];
