// Compares responses of the Overdue API with the definitions of their routes. The cast does this for every request.
import { Value } from "typebox/value";
import { PROBLEM_TYPE, ProblemSchema } from "../../src/contract/api/problem.ts";
import { API_PATH, errorStatuses, type RouteDefinition } from "../../src/contract/api/route.ts";
import { API_ROUTES } from "../../src/contract/api/routes.ts";

type Response = { status: number; headers: Headers; text: string };

const ROUTES = Object.entries<RouteDefinition>(API_ROUTES).map(([id, definition]) => ({
  id,
  definition,
  pattern: new RegExp(
    `^${API_PATH}${definition.path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}/?$`,
  ),
}));

export type FoundRoute = { id: string; definition: RouteDefinition };

/** The route of a request; null: there is none, or it is not of the Overdue API. */
export function findRoute(method: string, path: string): FoundRoute | null {
  const [target = ""] = path.split("?");
  const literal = ROUTES.filter(
    ({ definition, pattern }) => definition.method === method && pattern.test(target),
  );
  // A path without parameters is more specific than one with them, as in the router.
  return literal.toSorted((a, b) => parameterCount(a) - parameterCount(b))[0] ?? null;
}

function parameterCount({ definition: { path } }: FoundRoute): number {
  return path.split("{").length - 1;
}

/** Throws an error if a response of the Overdue API is not as documented. */
export function checkApiResponse(method: string, path: string, response: Response): void {
  if (!path.startsWith(`${API_PATH}/`) || method === "HEAD" || method === "OPTIONS") return;
  const route = findRoute(method, path);
  const problems = response.status >= 400 ? errorProblems(route, response) : successProblems(route, response);
  if (problems.length === 0) return;
  const { status, text } = response;
  throw new Error(
    `${route?.id ?? "unknown route"}: ${method} ${path} → ${status} ${text.slice(0, 2_000)}\n${problems.join("\n")}`,
  );
}

function errorProblems(route: FoundRoute | null, { status, headers, text }: Response): string[] {
  const type = headers.get("content-type");
  if (type !== PROBLEM_TYPE) return [`content type ${String(type)}`];
  const json = JSON.parse(text) as { status?: unknown };
  const problems = schemaProblems(ProblemSchema, json);
  if (json.status !== status) problems.push(`the problem has the status ${String(json.status)}`);
  if (route !== null && status !== 405 && !errorStatuses(route.definition).includes(status)) {
    problems.push(`the status is not documented`);
  }
  return problems;
}

function successProblems(route: FoundRoute | null, { status, headers, text }: Response): string[] {
  // The OpenAPI document.
  if (route === null) return [];
  const { success, etag, method } = route.definition;
  const problems: string[] = [];
  if (status === 304 && etag === true) return text === "" ? [] : ["304 with a body"];
  if (status !== success.status) problems.push(`the status is not ${success.status}`);
  if (etag === true && method !== "DELETE" && !headers.has("etag")) problems.push("no ETag");
  if (etag !== true && headers.has("etag")) problems.push("undocumented ETag");
  const limit = headers.get("ratelimit-limit");
  if (limit !== null && !(Number(headers.get("ratelimit-remaining")) >= 0))
    problems.push("no RateLimit-Remaining");
  if (success.schema === null) return text === "" ? problems : [...problems, "the response has a body"];
  const type = success.type ?? "application/json";
  const found = headers.get("content-type") ?? "";
  if (!found.startsWith(type)) return [...problems, `content type ${found}`];
  if (type !== "application/json") return problems;
  return [...problems, ...schemaProblems(success.schema, JSON.parse(text))];
}

function schemaProblems(schema: NonNullable<RouteDefinition["success"]["schema"]>, json: unknown): string[] {
  const errors = Value.Errors(schema, json).map(({ instancePath, message }) => `${instancePath} ${message}`);
  if (errors.length > 0) return errors;
  const known = Value.Clean(schema, structuredClone(json));
  return JSON.stringify(known) === JSON.stringify(json)
    ? []
    : [`fields that are not documented; documented are only ${JSON.stringify(known)}`];
}
