// The routes of the Overdue API in the Fastify app that it shares with the Management API.
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifyServerOptions } from "fastify";
import type { IncomingMessage } from "node:http";
import { API_PATH, isRead } from "../../contract/api/route.ts";
import type { RateVerdict } from "../../core/rate-limit.ts";
import { compress } from "../../lib/http/compress.ts";
import { DATA_POLICY, SAFETY_HEADERS } from "../../lib/http/response.ts";
import { rateHeaders } from "./auth.ts";
import { SenderGoneError } from "./request-body.ts";
import { NOT_ALLOWED, NOT_FOUND, respond, type RespondDeps, TOO_BUSY } from "./respond.ts";
import type { ApiRoute } from "./respond.ts";
import type { ApiAnswer } from "./route.ts";

/** Requests answered at a time; others get 503. */
const AT_ONCE_MAX = 500;
/** Stands for all methods that no route supports. */
const OTHER_METHOD = "TRACE";
const PREFLIGHT_SECONDS = "600";
const OK = 200;
const NO_CONTENT = 204;

/** The path of the API in the app, which serves everything below /api. */
const PREFIX = API_PATH.replace(/^\/api/, "");

/** Without it, Fastify loads its validator and its serializer, which no route uses. */
export const NO_SCHEMAS: NonNullable<FastifyServerOptions["schemaController"]> = {
  compilersFactory: { buildValidator: unused, buildSerializer: unused },
};

function unused(): never {
  throw new Error("routes have no Fastify schemas");
}

/** The methods that routes are added with. The router needs memory for each method of each path. */
export const ROUTED_METHODS: readonly string[] = [
  "DELETE",
  "GET",
  "HEAD",
  "OPTIONS",
  "PATCH",
  "POST",
  "PUT",
  OTHER_METHOD,
];

/** Gives a request one of the methods that the router has. */
export function setRoutedMethod(request: IncomingMessage): void {
  if (!ROUTED_METHODS.includes(request.method ?? "")) request.method = OTHER_METHOD;
}

/** A response, for metrics. */
export type ApiAnswered = { api: "management" | "overdue"; isRead: boolean; status: number; ms: number };

export type ApiServing = {
  deps: RespondDeps;
  routes: readonly ApiRoute[];
  /** Responses by status. */
  counts: Record<string, number>;
  /** Called when a response has been sent, or a stream has begun. */
  onAnswered(answered: ApiAnswered): void;
  /** Waits for earlier requests of the same connection; returns the function that ends this one. */
  takeTurn(request: FastifyRequest): Promise<() => void>;
  closeAfterAnswer(reply: FastifyReply): void;
};

/** Whether a URL in the app, which serves everything below /api, belongs to this API. */
export function isApiUrl(url: string): boolean {
  return /^\/overdue(?:[/?]|$)/.test(url);
}

/**
 * Adds every path with all methods, so that unsupported ones get our own response. Returns the handler that answers
 * 404.
 */
export function addApiRoutes(
  app: FastifyInstance,
  serving: ApiServing,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  const state = { atOnce: 0 };
  for (const [path, routes] of Map.groupBy(serving.routes, ({ definition }) => definition.path)) {
    const url = PREFIX + path.replaceAll(/\{(\w+)\}/g, ":$1");
    for (const form of [url, `${url}/`]) {
      app.route({
        method: [...ROUTED_METHODS],
        url: form,
        handler: (request, reply) => serve(serving, { state, routes, request, reply }),
      });
    }
  }
  const nothing = (request: FastifyRequest, reply: FastifyReply) =>
    send(serving, { request, reply, answer: NOT_FOUND, methods: [], rate: null });
  for (const url of [PREFIX, `${PREFIX}/*`, "/overdue", "/overdue/*"]) {
    app.route({ method: [...ROUTED_METHODS], url, handler: nothing });
  }
  return nothing;
}

type Exchange = { request: FastifyRequest; reply: FastifyReply };

async function serve(
  serving: ApiServing,
  { state, routes, request, reply }: Exchange & { state: { atOnce: number }; routes: readonly ApiRoute[] },
): Promise<FastifyReply> {
  const methods = routes.map(({ definition }) => definition.method);
  const method = request.method === "HEAD" ? "GET" : request.method;
  const at = { request, reply, methods, rate: null };
  if (method === "OPTIONS") return send(serving, { ...at, answer: { status: NO_CONTENT, json: null } });
  const route = routes.find(({ definition }) => definition.method === method);
  if (route === undefined) {
    return send(serving, { ...at, answer: { ...NOT_ALLOWED, headers: { Allow: allowed(methods) } } });
  }
  if (state.atOnce >= AT_ONCE_MAX) return send(serving, { ...at, answer: TOO_BUSY });
  state.atOnce += 1;
  const end = await serving.takeTurn(request);
  try {
    const startedAt = performance.now();
    const { answer, rate } = await respond(serving.deps, {
      route,
      raw: request.raw,
      params: request.params as Record<string, string>,
      query: queryOf(request.url),
      onEndless: () => serving.closeAfterAnswer(reply),
    });
    const status = answer.status ?? route.definition.success.status;
    serving.deps.context.log.debug(
      { method, route: route.id, status, ms: Math.round(performance.now() - startedAt) },
      "overdue api",
    );
    const sent = await send(serving, { ...at, answer: { ...answer, status }, rate });
    const ms = performance.now() - startedAt;
    serving.onAnswered({ api: "overdue", isRead: isRead(route.definition), status, ms });
    return sent;
  } catch (error) {
    if (!(error instanceof SenderGoneError)) throw error;
    reply.hijack();
    return reply;
  } finally {
    end();
    state.atOnce -= 1;
  }
}

type Sending = Exchange & { answer: ApiAnswer; methods: readonly string[]; rate: RateVerdict | null };

async function send(serving: ApiServing, sending: Sending): Promise<FastifyReply> {
  const { request, reply, answer, methods, rate } = sending;
  const { status = OK } = answer;
  serving.counts[status] = (serving.counts[status] ?? 0) + 1;
  if ("stream" in answer) {
    if (request.method === "HEAD")
      return reply
        .code(status)
        .headers({ ...SAFETY_HEADERS })
        .send();
    reply.hijack();
    for (const [name, value] of Object.entries({ ...corsHeaders(methods), ...rateHeaders(rate) })) {
      reply.raw.setHeader(name, value);
    }
    answer.stream(reply.raw);
    return reply;
  }
  reply.code(status).headers({
    ...SAFETY_HEADERS,
    "Cache-Control": "no-store",
    "Content-Security-Policy": DATA_POLICY,
    Vary: "Accept-Encoding",
    ...corsHeaders(methods),
    ...answer.headers,
    ...rateHeaders(rate),
  });
  if ("json" in answer && answer.json === null) return reply.send();
  const isJson = "json" in answer;
  const bytes = Buffer.from(isJson ? JSON.stringify(answer.json) : answer.content);
  const packed = await compress(bytes, request.headers["accept-encoding"]);
  if (packed.encoding !== null) reply.header("Content-Encoding", packed.encoding);
  return reply.header("Content-Type", isJson ? "application/json" : answer.type).send(packed.bytes);
}

function queryOf(url: string): URLSearchParams {
  const at = url.indexOf("?");
  return new URLSearchParams(at === -1 ? "" : url.slice(at + 1));
}

function allowed(methods: readonly string[]): string {
  return [...(methods.includes("GET") ? ["HEAD"] : []), ...methods, "OPTIONS"].toSorted().join(", ");
}

/** Scripts of any site may call the API: keys and tokens are not sent by browsers on their own, and cookies only same-site. */
function corsHeaders(methods: readonly string[]): Record<string, string> {
  return {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, If-Match, X-Api-Key",
    "Access-Control-Allow-Methods": allowed(methods),
    "Access-Control-Expose-Headers":
      "ETag, Location, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After",
    "Access-Control-Max-Age": PREFLIGHT_SECONDS,
  };
}
