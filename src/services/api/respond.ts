// From a request to its answer, in the order that clients see: is there such a thing, may it be done, can the body
// be read, whose key is it, is the check there, may this key, and only then the endpoint itself.
import type { IncomingMessage } from "node:http";
import type { BodySchema, CheckNaming, Route } from "../../contract/route.ts";
import { routesOf } from "../../contract/routes.ts";
import { hasEndpoint, postedColumn, type VersionColumn } from "../../contract/versions.ts";
import { type Access, decideAccess, type Target } from "../../core/access.ts";
import { AppError, ERROR_TEXT, refusalOf } from "../../core/errors.ts";
import { API_ANSWER_MS_MAX } from "../../core/limits.ts";
import type { RateVerdict } from "../../core/request/rate-limit.ts";
import type { ByteBudget } from "../../lib/http/body.ts";
import { isDatabaseAway } from "../../store/errors.ts";
import type { AnswerBeginner } from "./begun-answer.ts";
import { type Identified, identify, TooManyRequestsError } from "./credentials.ts";
import { type Responder, RESPONDERS } from "./endpoints.ts";
import type { Answer, Exchange, FoundCheck, House, OpenExchange, SentAnswer } from "./exchange.ts";
import { parseBody } from "./json-body.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import { preflight, refusal, render, type Rendered } from "./render.ts";
import { readRequestBody, SenderGoneError } from "./request-body.ts";
import { findByUniqueKey, findByUuid, namingOf, targetOf } from "./targets.ts";
import { inTime } from "./trouble.ts";

export type RespondParts = {
  house: House;
  limiter: RateLimiter;
  /** How many bytes all bodies together may hold while they are read. */
  budget: ByteBudget;
  /** Limits what all answers together may hold. */
  beginner: AnswerBeginner;
  /** The network that a request comes from. */
  networkOf: (request: IncomingMessage) => string;
  /** Told of each good key. */
  keyUsed: (use: { keyId: number; at: number }) => void;
  onFault: (error: unknown, at: { endpoint: string | null; version: number }) => void;
};

/** A path of the API in a version, as the router found it. */
export type Resource = {
  column: VersionColumn;
  path: string;
  hasSlash: boolean;
  /** Schemas are built once, not for each request. */
  bodySchemas: ReadonlyMap<Route, BodySchema>;
};

export type ApiRequest = {
  resource: Resource;
  /** What the path has in place of `{check}` and `{n}`. */
  params: Readonly<Partial<Record<"check" | "n", string>>>;
  query: URLSearchParams;
  raw: IncomingMessage;
  /** Called when the rest of the request will not be read. */
  onEndless: () => void;
};

export type Response = Rendered & { endpoint: string | null };

/** Answers a request, whatever happens. Rejects only when the sender has gone away. */
export async function respond(parts: RespondParts, request: ApiRequest): Promise<Response> {
  const { resource, raw } = request;
  const routes = routesFor(request);
  const methods = routes.map(({ method }) => method);
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

/** Either nothing is there, or nothing that can be done in this way. */
function noRoute(methods: readonly string[]): SentAnswer {
  if (methods.length === 0) return refusal("not_found", ERROR_TEXT.notFound);
  const allowed = [...(methods.includes("GET") ? ["HEAD"] : []), ...methods, "OPTIONS"];
  return {
    ...refusal("method_not_allowed", ERROR_TEXT.methodNotAllowed),
    headers: { Allow: allowed.toSorted().join(", ") },
  };
}

/** What is answered to whatever was thrown. */
export function answerTo(error: unknown, onFault: () => void): SentAnswer {
  if (isDatabaseAway(error)) {
    onFault();
    return refusal("unavailable", ERROR_TEXT.unavailable);
  }
  if (!(error instanceof AppError)) onFault();
  const { code, text } = refusalOf(error);
  return refusal(code, text);
}

/** The routes that a path has in its version, for a check that is named as the path does it. */
function routesFor({ resource, params }: ApiRequest): Route[] {
  const naming: CheckNaming | null = params.check === undefined ? null : namingOf(params.check);
  if (params.check !== undefined && naming === null) return [];
  if (params.n !== undefined && numberOf(params.n) === null) return [];
  return routesOf(resource.path, naming).filter(({ endpoint }) => hasEndpoint(resource.column, endpoint));
}

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
  const { house } = parts;
  const column =
    raw.method === "POST" && route.method === "GET" ? postedColumn(resource.column) : resource.column;
  const open: OpenExchange = { endpoint: route.endpoint, column, query };
  const responder = RESPONDERS[route.endpoint];
  if (responder.about === "nothing") return whole(await responder.handler(open, house));
  // A body that cannot be read is told before anything is said about keys.
  const { onEndless } = request;
  const { budget } = parts;
  const isPost = route.method === "POST";
  const body = isPost ? parseBody(await readRequestBody(raw, { budget, onEndless })) : {};
  const asked = { ...request, open, responder, body };
  const { answer, projectId } = await inTime(answerWithKey(parts, asked), API_ANSWER_MS_MAX);
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
  const { house } = parts;
  const { dialect } = resource.column;
  const segment = params.check;
  const { who, check } = await lookUp(parts, { raw, apiKey: body["api_key"], segment });
  request.onRate(who.rate);
  const { credential } = who;
  const target = targetFor(who, { segment, check });
  permit(decideAccess({ endpoint: route.endpoint, credential, target, dialect }));
  if (who.found === null) throw new Error(`${route.endpoint} accepts requests without an API key`);
  const { key, project, at: now } = who.found;
  parts.keyUsed({ keyId: key.id, at: now });
  const bodySchema = resource.bodySchemas.get(route) ?? null;
  const exchange: Exchange = { ...open, project, keyKind: key.kind, keyId: key.id, body, bodySchema, now };
  const answer = await handled(responder, { exchange, check, n: params.n }, house);
  return { answer, projectId: project.id };
}

async function handled(
  responder: Read["responder"],
  { exchange, check, n }: { exchange: Exchange; check: FoundCheck | null; n: string | undefined },
  house: House,
): Promise<Answer> {
  if (responder.about === "project") return responder.handler(exchange, house);
  if (check === null) throw new Error(`${exchange.endpoint} accepts requests without a check`);
  return responder.handler({ ...exchange, check, n: n === undefined ? null : numberOf(n) }, house);
}

/** The key, and the check that the path names if it names one. */
async function lookUp(
  { house, limiter, networkOf }: RespondParts,
  { raw, apiKey, segment }: { raw: IncomingMessage; apiKey: unknown; segment: string | undefined },
): Promise<{ who: Identified<FoundCheck>; check: FoundCheck | null }> {
  const { database, secretKey } = house;
  const given = raw.headers["x-api-key"];
  const header = Array.isArray(given) ? given.join(",") : given;
  const isByUuid = segment !== undefined && namingOf(segment) === "uuid";
  const who = await identify(
    { database, secretKey, limiter },
    { header, body: apiKey, network: networkOf(raw) },
    async () => (isByUuid ? findByUuid(database, segment) : null),
  );
  if (segment === undefined || isByUuid || who.found === null) return { who, check: who.beside };
  const projectId = who.found.project.id;
  return { who, check: await findByUniqueKey(database, { key: segment, projectId }) };
}

function targetFor(
  { found }: Identified<FoundCheck>,
  { segment, check }: { segment: string | undefined; check: FoundCheck | null },
): Target {
  return segment === undefined || found === null ? "none" : targetOf(check, found.project.id);
}

function permit(access: Access): void {
  if (!access.allowed) throw new AppError(access.code, access.text);
}
