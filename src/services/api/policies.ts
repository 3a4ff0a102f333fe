// Handlers of the policies of checks, projects, and tags.
import type { policyRoutes } from "../../contract/api/policies.ts";
import { AppError } from "../../core/errors.ts";
import type { ApiHandlers } from "./route.ts";

const pending = () => Promise.reject(new AppError("unavailable", "Not available yet."));

export const policyHandlers: ApiHandlers<typeof policyRoutes> = {
  getCheckPolicy: pending,
  updateCheckPolicy: pending,
  getProjectPolicy: pending,
  updateProjectPolicy: pending,
  getTagRules: pending,
  setTagRules: pending,
};
