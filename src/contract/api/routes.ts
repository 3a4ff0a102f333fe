// All routes of the Overdue API by their operation ids.
import { accountRoutes } from "./account.ts";
import { projectRoutes } from "./projects.ts";
import { tokenRoutes } from "./tokens.ts";

export const API_ROUTES = { ...projectRoutes, ...accountRoutes, ...tokenRoutes } as const;

export type ApiRoutes = typeof API_ROUTES;
export type OperationId = keyof ApiRoutes;
