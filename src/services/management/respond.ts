// From a request of the Management API to its response.
import type { IncomingMessage } from "node:http";
import { presentChannels } from "../../contract/channels.ts";
import type { BodySchema, CheckNaming, Route, RouteMethod } from "../../contract/route.ts";
import { presentStatus, routesOf } from "../../contract/routes.ts";
import { type ApiEndpoint, hasEndpoint, postedColumn, type VersionColumn } from "../../contract/versions.ts";
import { type Access, decideAccess, type Target } from "../../core/access.ts";
import { requestObject } from "../../core/check.ts";
import { AppError, ERROR_TEXT, refusalOf } from "../../core/errors.ts";
import { isUniqueKey, isUuid } from "../../core/identity.ts";
import { API_ANSWER_MS_MAX, STATUS_QUERY_MS_MAX } from "../../core/limits.ts";
import type { RateVerdict } from "../../core/rate-limit.ts";
import type { ByteBudget } from "../../lib/http/body.ts";
import type { KeyUse } from "../../operations/api-keys.ts";
import { findKeyWithProject } from "../../store/api-keys.ts";
import { listChannels as readChannels } from "../../store/channels.ts";
import { isDatabaseAway } from "../../store/errors.ts";
import { askDatabase } from "../../store/instance.ts";
import {
  type CheckLookups,
  type Identified,
  identify,
  type RateLimiter,
  TooManyRequestsError,
} from "../api/auth.ts";
import { parseJson, readRequestBody, SenderGoneError } from "../api/request-body.ts";
import { withTimeout } from "../api/with-timeout.ts";
import { listBadges } from "./badges.ts";
import {
  createCheck,
  deleteCheck,
  getCheck,
  listChecks,
  pauseCheck,
  resumeCheck,
  updateCheck,
} from "./checks.ts";
import {
  type Answer,
  type AnswerCollector,
  type CheckHandler,
  type Exchange,
  type Handler,
  type HandlerContext,
  type OpenExchange,
  type OpenHandler,
  preflight,
  refusal,
  render,
  type Rendered,
  type SentAnswer,
} from "./exchange.ts";
import { getPingBody, listFlips, listPings } from "./pings.ts";

/**
 * The object in a body; an empty body and a literal null count as an empty object. Throws AppError for anything else.
 */
export function parseBody(bytes: Uint8Array | null): Readonly<Record<string, unknown>> {
  if (bytes === null || bytes.length === 0) return {};
  const object = requestObject(parseJson(bytes));
  if (!object.ok) throw new AppError("invalid", object.text);
  return object.value;
}

// The check in a path: by UUID in any project, by unique key only in the key's own project.

/** How a path segment names a check; null if it cannot name one. */
export function namingOf(segment: string): CheckNaming | null {
  if (isUuid(segment)) return "uuid";
  return isUniqueKey(segment) ? "uniqueKey" : null;
}

/** The relation of a found check to the project of the key. */
function targetOf(check: Identified["check"], projectId: number): Target {
  if (check === null) return "absent";
  return check.projectId === projectId ? "own" : "foreign";
}

/** All of them, oldest first. */
const listChannels: Handler = async ({ project }, { database }) => ({
  status: 200,
  json: presentChannels(await readChannels(database, project.id)),
});

// The status endpoint, for load balancers. Needs no key.

/** 200 if the database answers in time, 503 otherwise. */
const getStatus: OpenHandler = async ({ column }, { database, log }) => {
  try {
    await askDatabase(database, { limitMs: STATUS_QUERY_MS_MAX });
  } catch (error) {
    log.debug({ err: error }, "the status query failed");
    throw new AppError("unavailable", ERROR_TEXT.unavailable);
  }
  const shown = presentStatus(column.statusAnswer);
  return "json" in shown ? { status: 200, ...shown } : { status: 200, ...shown, type: "text/plain" };
};

export type Responder =
  | { about: "nothing"; handler: OpenHandler }
  | { about: "project"; handler: Handler }
  | { about: "check"; handler: CheckHandler };

const RESPONDERS: Readonly<Record<ApiEndpoint, Responder>> = {
  listChecks: { about: "project", handler: listChecks },
  createCheck: { about: "project", handler: createCheck },
  getCheck: { about: "check", handler: getCheck },
  updateCheck: { about: "check", handler: updateCheck },
  pauseCheck: { about: "check", handler: pauseCheck },
  resumeCheck: { about: "check", handler: resumeCheck },
  deleteCheck: { about: "check", handler: deleteCheck },
  listPings: { about: "check", handler: listPings },
  getPingBody: { about: "check", handler: getPingBody },
  listFlips: { about: "check", handler: listFlips },
  listChannels: { about: "project", handler: listChannels },
  listBadges: { about: "project", handler: listBadges },
  getStatus: { about: "nothing", handler: getStatus },
};

// The order of these steps is visible to clients: route, method, body, key, check, permission, endpoint.

export type RespondParts = {
  context: HandlerContext;
  lookups: CheckLookups;
  limiter: RateLimiter;
  /** Total bytes of all bodies while they are read. */
  budget: ByteBudget;
  /** Limits the total size of all responses in memory. */
  beginner: AnswerCollector;
  /** The client network of a request. */
  networkOf: (request: IncomingMessage) => string;
  /** Called for each valid key. */
  keyUsed: (use: KeyUse) => void;
  onFault: (error: unknown, at: { endpoint: string | null; version: number }) => void;
};

/** A path of the API in a version, as found by the router. */
export type Resource = {
  column: VersionColumn;
  hasSlash: boolean;
  /** Schemas are built once, not per request. */
  bodySchemas: ReadonlyMap<Route, BodySchema>;
  /** The routes of the path by how it names a check, or none. */
  routes: Readonly<Record<CheckNaming | "none", RoutesOfPath>>;
};

/** The same path with different methods. */
type RoutesOfPath = { routes: readonly Route[]; methods: readonly RouteMethod[] };

/** The resource of a path, created once. */
export function resourceOf({
  path,
  ...resource
}: Pick<Resource, "column" | "hasSlash" | "bodySchemas"> & { path: string }): Resource {
  const routesBy = (naming: CheckNaming | null): RoutesOfPath => {
    const routes = routesOf(path, naming).filter(({ endpoint }) => hasEndpoint(resource.column, endpoint));
    return { routes, methods: routes.map(({ method }) => method) };
  };
  return {
    ...resource,
    routes: { none: routesBy(null), uuid: routesBy("uuid"), uniqueKey: routesBy("uniqueKey") },
  };
}

export type ApiRequest = {
  resource: Resource;
  /** The values of `{check}` and `{n}` in the path. */
  params: Readonly<Partial<Record<"check" | "n", string>>>;
  query: URLSearchParams;
  raw: IncomingMessage;
  /** Called when the rest of the request will not be read. */
  onEndless: () => void;
};

export type Response = Rendered & { endpoint: string | null };

/** Answers a request. Rejects only if the client has disconnected. */
export async function respond(parts: RespondParts, request: ApiRequest): Promise<Response> {
  const { resource, raw } = request;
  const { routes, methods } = routesFor(request);
  if (routes.length > 0 && raw.method === "OPTIONS") return { ...preflight(methods), endpoint: null };
  const ifNoneMatch = raw.headers["if-none-match"];
  const route = routes.find((one) => takes(one, request));
  if (route === undefined) {
    const how = { route: null, ...(methods.length > 0 && { methods }), rate: null, ifNoneMatch };
    return { ...render(noRoute(methods), how), endpoint: null };
  }
  const { endpoint } = route;
  let rate: RateVerdict | null = null;
  let answer: SentAnswer;
  try {
    answer = await answerRoute(parts, { ...request, route, onRate: (verdict) => (rate = verdict) });
  } catch (error) {
    if (error instanceof SenderGoneError) throw error;
    if (error instanceof TooManyRequestsError) rate = error.rate;
    answer = answerTo(error, () => parts.onFault(error, { endpoint, version: resource.column.number }));
  }
  return { ...render(answer, { route, methods, rate, ifNoneMatch }), endpoint };
}

/** The response for an unknown path or an unsupported method. */
function noRoute(methods: readonly string[]): SentAnswer {
  if (methods.length === 0) return refusal("not_found", ERROR_TEXT.notFound);
  const allowed = [...(methods.includes("GET") ? ["HEAD"] : []), ...methods, "OPTIONS"];
  return {
    ...refusal("method_not_allowed", ERROR_TEXT.methodNotAllowed),
    headers: { Allow: allowed.toSorted().join(", ") },
  };
}

/** The response to any thrown error. */
export function answerTo(error: unknown, onFault: () => void): SentAnswer {
  if (isDatabaseAway(error)) {
    onFault();
    return refusal("unavailable", ERROR_TEXT.unavailable);
  }
  if (!(error instanceof AppError)) onFault();
  const { code, text } = refusalOf(error);
  return refusal(code, text);
}

/** The routes of a path in its version, by how the path names the check. */
function routesFor({ resource, params }: ApiRequest): RoutesOfPath {
  const naming = params.check === undefined ? "none" : namingOf(params.check);
  if (naming === null || (params.n !== undefined && numberOf(params.n) === null)) return NO_ROUTES;
  return resource.routes[naming];
}

const NO_ROUTES: RoutesOfPath = { routes: [], methods: [] };

function numberOf(text: string): number | null {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : null;
  return number !== null && Number.isSafeInteger(number) ? number : null;
}

function takes(route: Route, { raw, resource }: ApiRequest): boolean {
  const method = raw.method === "HEAD" ? "GET" : raw.method;
  if (route.method === method) return true;
  return method === "POST" && route.isPostedWithoutSlash === true && !resource.hasSlash;
}

type Routed = ApiRequest & { route: Route; onRate: (rate: RateVerdict | null) => void };

async function answerRoute(parts: RespondParts, request: Routed): Promise<SentAnswer> {
  const { route, resource, raw, query } = request;
  const { context } = parts;
  const column =
    raw.method === "POST" && route.method === "GET" ? postedColumn(resource.column) : resource.column;
  const open: OpenExchange = { endpoint: route.endpoint, column, query };
  const responder = RESPONDERS[route.endpoint];
  if (responder.about === "nothing") return whole(await responder.handler(open, context));
  // An unreadable body is reported before a wrong key.
  const { onEndless } = request;
  const { budget } = parts;
  const isPost = route.method === "POST";
  const body = isPost ? parseBody(await readRequestBody(raw, { budget, onEndless })) : {};
  const asked = { ...request, open, responder, body };
  const { answer, projectId } = await withTimeout(answerWithKey(parts, asked), API_ANSWER_MS_MAX);
  if (!("pieces" in answer)) return answer;
  const { pieces, ...head } = answer;
  return { ...head, ...(await parts.beginner.begin(pieces, { projectId })) };
}

type Read = Routed & {
  open: OpenExchange;
  responder: Exclude<Responder, { about: "nothing" }>;
  body: Exchange["body"];
};

function whole(answer: Answer): SentAnswer {
  if ("pieces" in answer) throw new Error("only project responses can be streamed");
  return answer;
}

async function answerWithKey(
  parts: RespondParts,
  request: Read,
): Promise<{ answer: Answer; projectId: number }> {
  const { route, resource, raw, params, open, responder, body } = request;
  const { context } = parts;
  const { dialect } = resource.column;
  const segment = params.check;
  const isRead = route.method === "GET";
  const who = await lookUp(parts, { raw, apiKey: body["api_key"], segment, isRead });
  request.onRate(who.rate);
  const { credential, check } = who;
  const target = targetFor(who, segment);
  permit(decideAccess({ endpoint: route.endpoint, credential, target, dialect }));
  if (who.found === null) throw new Error(`${route.endpoint} accepts requests without an API key`);
  const { key, project, at: now, renewal } = who.found;
  parts.keyUsed({ keyId: key.id, at: now, renewal });
  const bodySchema = resource.bodySchemas.get(route) ?? null;
  const ifNoneMatch = raw.headers["if-none-match"];
  const exchange: Exchange = {
    ...open,
    project,
    keyKind: key.kind,
    keyId: key.id,
    body,
    bodySchema,
    ifNoneMatch,
    now,
  };
  const answer = await handled(responder, { exchange, check, n: params.n }, context);
  return { answer, projectId: project.id };
}

async function handled(
  responder: Read["responder"],
  { exchange, check, n }: { exchange: Exchange; check: Identified["check"]; n: string | undefined },
  context: HandlerContext,
): Promise<Answer> {
  if (responder.about === "project") return responder.handler(exchange, context);
  if (check === null) throw new Error(`${exchange.endpoint} accepts requests without a check`);
  return responder.handler({ ...exchange, check, n: n === undefined ? null : numberOf(n) }, context);
}

type LookedUp = { raw: IncomingMessage; apiKey: unknown; segment: string | undefined; isRead: boolean };

/** The key, and the check in the path, if there is one. */
function lookUp(
  { context, lookups, limiter, networkOf }: RespondParts,
  { raw, apiKey, segment, isRead }: LookedUp,
): Promise<Identified> {
  const { database, secrets } = context;
  const given = raw.headers["x-api-key"];
  const header = Array.isArray(given) ? given.join(",") : given;
  const presented = { header, body: apiKey, network: networkOf(raw) };
  const namedBy = segment === undefined ? null : namingOf(segment);
  return identify({ secrets, limiter }, presented, async (digests) => {
    if (segment === undefined || namedBy === null) {
      return { found: await findKeyWithProject(database, digests), check: null };
    }
    const found = await lookups.find(namedBy, { digests, name: segment });
    const { awaitLog } = context;
    if (awaitLog === null || !isRead || found.found === null || found.check === null) return found;
    await awaitLog(found.check.uuid);
    return lookups.find(namedBy, { digests, name: segment });
  });
}

function targetFor({ found, check }: Identified, segment: string | undefined): Target {
  return segment === undefined || found === null ? "none" : targetOf(check, found.project.id);
}

function permit(access: Access): void {
  if (!access.allowed) throw new AppError(access.code, access.text);
}
