import { expect, test } from "vitest";
import type { RouteDefinition } from "./route.ts";
import { API_ROUTES } from "./routes.ts";

test("operations that cannot be undone, or give others control, require re-authentication", () => {
  const withReauth = Object.entries<RouteDefinition>(API_ROUTES).filter(([, { reauth }]) => reauth === true);
  expect(withReauth.map(([id]) => id).toSorted()).toEqual([
    "deleteProject",
    "requestTransfer",
    "updateAccountAsAdmin",
  ]);
});
