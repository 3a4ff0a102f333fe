// What a route of the Overdue API is: data, from which the server's validation, the OpenAPI document, the reference page,
// the client, and the permission tests are made.
import type { Static, TSchema } from "typebox";
import type { Action } from "../../core/access.ts";

/** Below the public URL. */
export const API_PATH = "/api/overdue/v1";

/**
 * Who may call a route: anyone, anyone with an account, a server admin, or a member of the project named by the path
 * (`{project}`, `{check}`, or `{channel}`) whose role allows the action.
 */
export type ApiAccess = "anyone" | "account" | "admin" | Action;

/** The least privileged kind of project API key that may call a route; null: none may. */
export type KeyAccess = "readOnly" | "readWrite" | null;

export const API_TAGS = {
  Projects: "Projects, their members, invitations, and API keys.",
  Checks: "The monitored jobs and their settings.",
  Policies: "When problems are notified, and how.",
  History: "Runs, pings, and events of checks.",
  Incidents: "Problems of checks, from the first alert to the recovery.",
  Channels: "Where notifications are sent.",
  Deliveries: "Notifications and their results.",
  "Fire drills": "Simulated outages that show who would be notified, and how fast.",
  Silences: "Times in which no notifications are sent, and maintenance windows.",
  "Near misses": "Requests that reached no check, and further addresses of checks.",
  Forecast: "What the schedules of the next 12 months have in store.",
  "Status pages": "Public pages with the state of chosen checks.",
  Live: "Changes of a project as they happen.",
  Account: "Your account.",
  Admin: "The server and its accounts. For server admins.",
} as const;

export type ApiTag = keyof typeof API_TAGS;

export type RouteDefinition = {
  method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** Below API_PATH, with `{name}` for each parameter. */
  path: string;
  access: ApiAccess;
  keys: KeyAccess;
  tag: ApiTag;
  summary: string;
  description?: string;
  query?: TSchema;
  body?: TSchema;
  success: {
    status: number;
    description: string;
    /** Null: there is no body. */
    schema: TSchema | null;
    /** The media type, if it is not JSON. */
    type?: string;
    example?: unknown;
  };
  /** Statuses of errors besides those that all routes of its kind have; see `errorStatuses`. */
  errors?: readonly number[];
  /** A POST that changes nothing: a token with the scope `read` is enough. */
  readsOnly?: true;
  /** A session must have been re-authenticated recently; a token needs the scope `admin`. */
  reauth?: true;
  /** `{check}` names a deleted check that can still be restored. */
  deleted?: true;
  /** The response has an ETag; a route that changes the resource accepts If-Match. */
  etag?: true;
  /** The request may have an Idempotency-Key. */
  idempotencyKey?: true;
  /** An example of the body. */
  bodyExample?: object;
};

/** Keeps the exact types of a definition. */
export function route<const D extends RouteDefinition>(definition: D): D {
  return definition;
}

/** The parameters in a path: `"project" | "check"`. */
export type ParamsOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamsOf<Rest>
  : never;

export type BodyOf<D extends RouteDefinition> = D extends { body: infer S extends TSchema }
  ? Static<S>
  : undefined;
export type QueryOf<D extends RouteDefinition> = D extends { query: infer S extends TSchema }
  ? Static<S>
  : // oxlint-disable-next-line typescript/no-generated-empty-object-type -- A route without a query takes no parameters.
    Record<never, never>;
export type ResponseOf<D extends RouteDefinition> = D["success"]["schema"] extends infer S extends TSchema
  ? Static<S>
  : null;

/** Whether a request changes nothing. */
export function isRead({ method, readsOnly }: RouteDefinition): boolean {
  return method === "GET" || readsOnly === true;
}

/** The parameter names of a path, in order. */
export function paramsOf(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
}

/** The error statuses that a route can have, ascending. */
export function errorStatuses(definition: RouteDefinition): number[] {
  const { access, method, body, query, path, etag, idempotencyKey, errors = [] } = definition;
  const statuses = new Set<number>([...errors, 429, 500, 503]);
  if (access !== "anyone") statuses.add(401).add(403);
  if (body !== undefined || query !== undefined) statuses.add(400);
  if (body !== undefined) statuses.add(413);
  if (paramsOf(path).length > 0 || access === "admin") statuses.add(404);
  if (etag === true && method !== "GET" && method !== "POST") statuses.add(412);
  if (idempotencyKey === true) statuses.add(409).add(422);
  return [...statuses].toSorted((a, b) => a - b);
}
