// Every route of the Management API, as data: the server, the OpenAPI document, the client and the tests read it.
// Whether a version has a route is said in versions.ts, and who may call it in core/access.ts.
import { Type } from "typebox";
import { ENDPOINT_RIGHTS } from "../core/access.ts";
import { checkBodySchema } from "./check-body.ts";
import { EXAMPLE_ANSWERS, EXAMPLE_CHECK } from "./check-examples.ts";
import { type Check, checkSchema } from "./check-schemas.ts";
import type { CheckNaming, QueryParameter, Route, RouteResponse } from "./route.ts";
import { HISTORY_ROUTES } from "./history/routes.ts";
import type { ApiEndpoint } from "./versions.ts";

/** What every refusal says. */
export const ErrorBody = Type.Object({
  error: Type.String({ description: "A short error message." }),
});

const LIST_QUERY: readonly QueryParameter[] = [
  {
    name: "slug",
    description: "Return only checks with this slug. Versions 2 and 3 only.",
    schema: Type.String(),
    isRepeatable: false,
  },
  {
    name: "tag",
    description: "Return only checks with this tag. If repeated, checks must have all given tags.",
    schema: Type.String(),
    isRepeatable: true,
  },
];

/** An answer that is one check. */
function oneCheck(
  endpoint: ApiEndpoint & keyof typeof EXAMPLE_ANSWERS,
  description: string,
  example: Check = EXAMPLE_ANSWERS[endpoint],
): RouteResponse {
  return { description, schema: (sight) => checkSchema({ ...sight, endpoint }), example };
}

const CHECK_ROUTES: readonly Route[] = [
  {
    endpoint: "listChecks",
    method: "GET",
    path: "/checks/",
    namedBy: [],
    summary: "List checks",
    description: "Lists the checks of the project, optionally filtered.",
    query: LIST_QUERY,
    body: null,
    responses: {
      200: {
        description: "The checks.",
        schema: (sight) =>
          Type.Object({ checks: Type.Array(checkSchema({ ...sight, endpoint: "listChecks" })) }),
        example: { checks: [EXAMPLE_CHECK] },
      },
    },
    refusals: [],
    isTagged: true,
  },
  {
    endpoint: "createCheck",
    method: "POST",
    path: "/checks/",
    namedBy: [],
    summary: "Create a check",
    description: "Creates a check, or updates the existing check that matches the fields in `unique`.",
    query: [],
    body: (column) => checkBodySchema(column.params),
    responses: {
      200: oneCheck("createCheck", "The existing check, updated."),
      201: oneCheck("createCheck", "The new check.", EXAMPLE_ANSWERS.created),
    },
    // Besides a key that may not write: the account has as many checks as it may have.
    refusals: [403],
    isTagged: false,
  },
  {
    endpoint: "getCheck",
    method: "GET",
    path: "/checks/{check}",
    namedBy: ["uuid", "uniqueKey"],
    summary: "Get a check",
    description: "Returns a check by its UUID or unique key.",
    query: [],
    body: null,
    responses: { 200: oneCheck("getCheck", "The check.") },
    refusals: [],
    isTagged: true,
  },
  {
    endpoint: "updateCheck",
    method: "POST",
    path: "/checks/{check}",
    namedBy: ["uuid"],
    summary: "Update a check",
    description: "Updates the given fields of a check.",
    query: [],
    body: (column) => checkBodySchema(column.params),
    responses: { 200: oneCheck("updateCheck", "The updated check.") },
    refusals: [],
    isTagged: false,
  },
  {
    endpoint: "deleteCheck",
    method: "DELETE",
    path: "/checks/{check}",
    namedBy: ["uuid"],
    summary: "Delete a check",
    description: "Permanently deletes a check and its history.",
    query: [],
    body: null,
    responses: { 200: oneCheck("deleteCheck", "The deleted check.") },
    refusals: [],
    isTagged: false,
  },
  {
    endpoint: "pauseCheck",
    method: "POST",
    path: "/checks/{check}/pause",
    namedBy: ["uuid"],
    summary: "Pause a check",
    description: "Pauses monitoring of a check.",
    query: [],
    body: null,
    responses: { 200: oneCheck("pauseCheck", "The paused check.") },
    refusals: [],
    isTagged: false,
  },
  {
    endpoint: "resumeCheck",
    method: "POST",
    path: "/checks/{check}/resume",
    namedBy: ["uuid"],
    summary: "Resume a check",
    description: "Resumes monitoring of a paused check. Its status changes to `new`.",
    query: [],
    body: null,
    responses: { 200: oneCheck("resumeCheck", "The resumed check.") },
    refusals: [409],
    isTagged: false,
  },
];

export const ROUTES: readonly Route[] = [...CHECK_ROUTES, ...HISTORY_ROUTES];

/** The statuses with which a route may refuse, apart from those that any request to any server may meet. */
export function refusalStatuses(route: Route): number[] {
  const rights = ENDPOINT_RIGHTS[route.endpoint];
  const statuses = new Set<number>(route.refusals);
  if (route.method === "POST") statuses.add(400).add(413);
  if (rights !== "open") statuses.add(401).add(429);
  if (rights !== "open" && (!rights.readOnly || route.namedBy.length > 0)) statuses.add(403);
  if (route.namedBy.length > 0) statuses.add(404);
  return [...statuses.add(500).add(503)].toSorted((one, other) => one - other);
}

/** The routes that a path has for a check that is named in a certain way. */
export function routesOf(path: string, naming: CheckNaming | null): Route[] {
  return ROUTES.filter((route) => route.path === path && (naming === null || route.namedBy.includes(naming)));
}

/** Each path once, in the order of the routes. */
export const ROUTE_PATHS: readonly string[] = [...new Set(ROUTES.map(({ path }) => path))];
