// The Management API as a handler of the shared listener: which URLs belong to it, and its Fastify routes.
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { BodySchema, Route } from "../../contract/route.ts";
import { ROUTE_PATHS, ROUTES } from "../../contract/routes.ts";
import { VERSION_NUMBERS, type VersionColumn, VERSIONS } from "../../contract/versions.ts";
import type { Credential, Dialect } from "../../core/access.ts";
import { AppError, ERROR_TEXT } from "../../core/errors.ts";
import type { RateVerdict } from "../../core/rate-limit.ts";
import { byteBudget } from "../../lib/http/body.ts";
import { ConcurrencyByKey } from "../../lib/concurrency-by-key.ts";
import { certainAddressReader, networkOf, networkReader } from "../../lib/http/client-address.ts";
import { type HttpHandler, RequestQueue } from "../../lib/http/listener.ts";
import type { Secrets } from "../../core/secrets.ts";
import { basePath, hostMatcher, requestTarget } from "../../lib/http/request-target.ts";
import { writePieces } from "../../lib/http/response.ts";
import { limitedWarning, type Log } from "../../lib/log.ts";
import { sha1Hex } from "../../lib/secrets.ts";
import { findKeyWithProject } from "../../store/api-keys.ts";
import type { Db } from "../../store/db.ts";
import { isDatabaseAway } from "../../store/errors.ts";
import {
  CheckLookups,
  identify,
  type IdentifiedToken,
  identifyToken,
  type LookUp,
  RateLimiter,
  type TokenSource,
  TooManyRequestsError,
  type UsedKey,
} from "../api/auth.ts";
import { identify as identifyCaller, type IdentifyDeps } from "../api/identify.ts";
import { SenderGoneError } from "../api/request-body.ts";
import type { RespondDeps } from "../api/respond.ts";
import type { ApiContext as OverdueContext } from "../api/route.ts";
import { ROUTES as OVERDUE_ROUTES } from "../api/routes.ts";
import {
  addApiRoutes,
  type ApiAnswered,
  isApiUrl,
  NO_SCHEMAS,
  ROUTED_METHODS,
  setRoutedMethod,
} from "../api/server.ts";
import {
  AnswerCollector,
  type ApiContext,
  cachedSerializers,
  KnownLists,
  refusal,
  render,
  type Rendered,
} from "./exchange.ts";
import { answerTo, type Resource, resourceOf, respond, type RespondParts } from "./respond.ts";

/** The path from the version on, with its query; null for a request that is not for the API. */
export type LocateApi = (url: string, host: string | undefined) => string | null;

const API_PATH = "/api";
/** The only version that has a separate host. */
const HOST_VERSION = /^\/v3(?=[/?]|$)/;
/** A path that never exists: a request for the API that no version can answer. */
const NOWHERE = "/";

/** A locator for these URLs. A path in the site's URL is accepted, whether or not a proxy removes it. */
export function apiLocator({ siteUrl, apiUrl }: { siteUrl: URL; apiUrl: URL | null }): LocateApi {
  const sitePath = basePath(siteUrl);
  const bases = sitePath === "" ? [API_PATH] : [API_PATH, sitePath + API_PATH];
  const isOnHost = apiUrl === null ? () => false : onHost(apiUrl, siteUrl);
  const hostBase = apiUrl === null ? "" : basePath(apiUrl);
  const isShared = apiUrl !== null && apiUrl.host === siteUrl.host;
  return (url, host) => {
    const target = requestTarget(url, host);
    if (target === null) return null;
    for (const base of bases) {
      const rest = below(base, target.path);
      if (rest !== null) return rest;
    }
    if (!isOnHost(target.host)) return null;
    const rest = below(hostBase, target.path);
    if (rest !== null && HOST_VERSION.test(rest)) return rest;
    // On a host that is shared with the site, all other paths belong to other handlers.
    return isShared ? null : NOWHERE;
  };
}

function onHost(apiUrl: URL, siteUrl: URL): (host: string | undefined) => boolean {
  return apiUrl.host === siteUrl.host ? () => true : hostMatcher(apiUrl, siteUrl);
}

/** The rest of a path after a base; the base alone is its root. */
function below(base: string, path: string): string | null {
  if (!path.startsWith(base)) return null;
  const rest = path.slice(base.length);
  if (rest === "" || rest.startsWith("?")) return `${NOWHERE}${rest}`;
  return rest.startsWith("/") ? rest : null;
}

// Authentication and rate limits, shared with the Overdue API.

/** The sender of a request. */
export type Caller = {
  /** Null: rate limited, so the key was not looked up. */
  credential: Credential | null;
  found: UsedKey | null;
  rate: RateVerdict | null;
};

export type ApiAuth = {
  /** Finds the owner of an API key, and counts the request. */
  identifyKey(from: { network: string; key: string | undefined }): Promise<Caller>;
  /** Finds the owner of a personal access token, and counts the request. Throws TooManyRequestsError. */
  identifyToken(from: TokenSource): Promise<IdentifiedToken>;
  /** What rate limits apply to. */
  networkOf(request: IncomingMessage): string;
};

export type ApiAuthParts = Pick<RespondParts, "limiter" | "networkOf"> & {
  context: { database: Db; secrets: Secrets };
};

export function apiAuth({ context, limiter, ...parts }: ApiAuthParts): ApiAuth {
  const { database, secrets } = context;
  const identifyKey: ApiAuth["identifyKey"] = async ({ network, key }) => {
    const presented = { header: key, body: undefined, network };
    try {
      const find: LookUp = async (digests) => ({
        found: await findKeyWithProject(database, digests),
        check: null,
      });
      return await identify({ secrets, limiter }, presented, find);
    } catch (error) {
      if (!(error instanceof TooManyRequestsError)) throw error;
      return { credential: null, found: null, rate: error.rate };
    }
  };
  return {
    identifyKey,
    identifyToken: (from) => identifyToken({ database, secrets, limiter }, from),
    networkOf: parts.networkOf,
  };
}

// Fastify finds the route and respond.ts answers it. Fastify does not parse bodies, because error texts are part of the
// API.

export type ApiOptions = {
  context: ApiContext;
  siteUrl: URL;
  /** The separate host of version 3, if there is one. */
  apiUrl: URL | null;
  dialect: Dialect;
  /** Requests per minute that a key may make; 0 means no limit. */
  requestsPerMinute: number;
  /** The proxies whose forwarding headers are trusted. */
  trustedProxies: readonly string[];
  keyUsed: RespondParts["keyUsed"];
  monotonic: () => number;
  onAnswered?: (answered: ApiAnswered) => void;
  /** The Overdue API, which shares the server, the credentials, and their limits. */
  overdue: ({ context: OverdueContext } & Pick<IdentifyDeps, "resolveSession" | "tokenUsed">) | null;
};

export type ApiHandler = HttpHandler & {
  /** Number of responses by status. */
  answerCounts(): Readonly<Record<string, number>>;
  /** The same for the Overdue API. */
  overdueCounts(): Readonly<Record<string, number>>;
  /** Shared with other APIs of the process. */
  auth: ApiAuth;
  close(): Promise<void>;
};

/** Total bytes of all bodies that are being read. */
const BODY_BYTES_HELD_MAX = 64 * 1024 * 1024;
/** Requests answered concurrently; further ones get 503. */
const AT_ONCE_MAX = 1_000;
/** Concurrent and waiting requests of one account to the Overdue API; further ones are rejected. */
const ACCOUNT_LIMITS = { runningMax: 500, perKeyMax: 4, waitingPerKeyMax: 64 };
/** Paths contain UUIDs and numbers; a longer one names nothing. */
const PARAM_LENGTH_MAX = 100;
/** How long a client whose request is not read further may keep sending, so that it can read the response. */
const LINGER_MS = 2_000;

type Serving = {
  options: ApiOptions;
  parts: RespondParts;
  counts: Record<string, number>;
  atOnce: number;
  turns: RequestQueue;
};

/** Builds the API. It has no listener of its own and only answers requests passed to it. */
export async function apiHandler(options: ApiOptions): Promise<ApiHandler> {
  const locate = apiLocator(options);
  const serving: Serving = {
    options,
    parts: respondParts(options),
    counts: {},
    atOnce: 0,
    turns: new RequestQueue(),
  };
  const overdue: { notFound: ReturnType<typeof addApiRoutes> | null } = { notFound: null };
  const app = fastify({
    logger: false,
    schemaController: NO_SCHEMAS,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: PARAM_LENGTH_MAX },
    rewriteUrl: (request) => locate(request.url ?? "", request.headers.host) ?? "/",
    // For example, a path with an incomplete percent-encoding.
    frameworkErrors: (_error, request, reply) => {
      if (overdue.notFound !== null && isApiUrl(request.url)) void overdue.notFound(request, reply);
      else notFound(serving, request, reply);
    },
  });
  addRoutes(app, serving);
  const overdueCounts: Record<string, number> = {};
  if (options.overdue !== null) {
    overdue.notFound = addApiRoutes(app, {
      deps: overdueDeps(options.overdue, { options, parts: serving.parts }),
      routes: OVERDUE_ROUTES,
      counts: overdueCounts,
      onAnswered: options.onAnswered ?? (() => {}),
      takeTurn: async ({ raw }) => {
        const { before, end } = serving.turns.take(raw.socket);
        if (before !== null) await before;
        return end;
      },
      closeAfterAnswer,
    });
  }
  await app.ready();
  return {
    handles: (request) => locate(request.url ?? "", request.headers.host) !== null,
    handle: (request: IncomingMessage, response: ServerResponse) => {
      setRoutedMethod(request);
      app.routing(request, response);
    },
    answerCounts: () => ({ ...serving.counts }),
    overdueCounts: () => ({ ...overdueCounts }),
    auth: apiAuth(serving.parts),
    close: () => app.close(),
  };
}

function overdueDeps(
  { context, resolveSession, tokenUsed }: NonNullable<ApiOptions["overdue"]>,
  { options, parts }: { options: ApiOptions; parts: RespondParts },
): RespondDeps {
  const { siteUrl, trustedProxies, keyUsed, monotonic } = options;
  const auth = apiAuth(parts);
  const addressOf = certainAddressReader(trustedProxies);
  return {
    context,
    siteUrl,
    identify: (source) => identifyCaller({ auth, keyUsed, tokenUsed, resolveSession }, source),
    sourceOf: ({ headers, socket }) => {
      const peer = socket.remoteAddress;
      const address = addressOf({ peer, forwardedFor: headers["x-forwarded-for"] });
      return {
        headers,
        peer,
        remoteAddr: address === "" ? null : address,
        network: networkOf(address),
        ua: headers["user-agent"] ?? "",
        now: context.now(),
      };
    },
    requests: new ConcurrencyByKey(ACCOUNT_LIMITS),
    budget: parts.budget,
    warnAway: limitedWarning(context.log, monotonic),
  };
}

function respondParts({
  context,
  requestsPerMinute,
  trustedProxies,
  monotonic,
  keyUsed,
}: ApiOptions): RespondParts {
  const networkAt = networkReader(trustedProxies);
  return {
    context: {
      ...context,
      lists: new KnownLists(),
      serializerOf: cachedSerializers({ urls: context.urls, sha1Hex }),
    },
    lookups: new CheckLookups(context.database),
    limiter: new RateLimiter({ perMinute: requestsPerMinute, monotonic }),
    budget: byteBudget(BODY_BYTES_HELD_MAX),
    beginner: new AnswerCollector(),
    networkOf: ({ socket, headers }) =>
      networkAt({ peer: socket.remoteAddress, forwardedFor: headers["x-forwarded-for"] }),
    keyUsed,
    onFault: faultLog(context.log, monotonic),
  };
}

/**
 * While the database is unavailable every request fails: one line per second is logged. Other errors are always logged.
 */
function faultLog(log: Log, monotonic: () => number): RespondParts["onFault"] {
  const warn = limitedWarning(log, monotonic);
  return (error, at) => {
    if (!isDatabaseAway(error)) return log.error({ err: error, ...at }, "an API request failed");
    warn({ err: error, ...at }, "an API request failed because of the database");
  };
}

/** Every path in every version, with and without a trailing slash, for every method. */
function addRoutes(app: FastifyInstance, serving: Serving): void {
  // The framework would answer unsupported methods itself, and read the bodies of supported ones.
  for (const method of ROUTED_METHODS) app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  app.setNotFoundHandler((request, reply) => notFound(serving, request, reply));
  app.setErrorHandler((error, _request, reply) => fail(serving, reply, error));
  for (const number of VERSION_NUMBERS) {
    const column = VERSIONS[serving.options.dialect][number];
    const bodySchemas = schemasOf(column);
    for (const path of ROUTE_PATHS) {
      const bare = `/v${number}${path.replace(/\/$/, "")}`;
      for (const hasSlash of [false, true]) {
        const url = (hasSlash ? `${bare}/` : bare).replace(/\{(\w+)\}/g, ":$1");
        const resource = resourceOf({ column, path, hasSlash, bodySchemas });
        app.route({
          method: [...ROUTED_METHODS],
          url,
          handler: (request, reply) => answer(serving, { resource, request, reply }),
        });
      }
    }
  }
}

function schemasOf(column: VersionColumn): Map<Route, BodySchema> {
  return new Map(
    ROUTES.flatMap((route) => (route.body === null ? [] : [[route, route.body(column)] as const])),
  );
}

type Asked = { resource: Resource; request: FastifyRequest; reply: FastifyReply };

async function answer(serving: Serving, { resource, request, reply }: Asked): Promise<FastifyReply> {
  if (serving.atOnce >= AT_ONCE_MAX)
    return send(serving, reply, plain(refusal("unavailable", ERROR_TEXT.unavailable)));
  const startedAtMs = serving.options.monotonic();
  serving.atOnce += 1;
  const { before, end } = serving.turns.take(request.raw.socket);
  try {
    if (before !== null) await before;
    const answered = await respond(serving.parts, {
      resource,
      params: request.params as Record<string, string>,
      query: queryOf(request.url),
      raw: request.raw,
      onEndless: () => closeAfterAnswer(reply),
    });
    const took = { ms: Math.round(serving.options.monotonic() - startedAtMs) };
    const { method, headers } = request;
    const { status, endpoint } = answered;
    const version = resource.column.number;
    serving.options.context.log.debug(
      { method, version, endpoint, status, ua: headers["user-agent"], ...took },
      "api",
    );
    const { stream } = answered;
    const sent =
      stream === undefined
        ? await send(serving, reply, answered)
        : await sendStream(serving, reply, { ...answered, stream });
    serving.options.onAnswered?.({
      api: "management",
      isRead: method === "GET" || method === "HEAD",
      status,
      ms: serving.options.monotonic() - startedAtMs,
    });
    return sent;
  } catch (error) {
    if (!(error instanceof SenderGoneError)) throw error;
    reply.hijack();
    return reply;
  } finally {
    end();
    serving.atOnce -= 1;
  }
}

/** The query is parsed here: the framework's parser does not return repeated names in the form needed. */
function queryOf(url: string): URLSearchParams {
  const at = url.indexOf("?");
  return new URLSearchParams(at === -1 ? "" : url.slice(at + 1));
}

function notFound(serving: Serving, _request: unknown, reply: FastifyReply): FastifyReply {
  return send(serving, reply, plain(refusal("not_found", ERROR_TEXT.notFound)));
}

function fail(serving: Serving, reply: FastifyReply, error: unknown): FastifyReply {
  const { onFault } = serving.parts;
  const said = answerTo(error instanceof AppError ? error : new Error("unexpected", { cause: error }), () =>
    onFault(error, { endpoint: null, version: 0 }),
  );
  return send(serving, reply, plain(said));
}

function plain(said: Parameters<typeof render>[0]): Rendered {
  return render(said, { route: null, rate: null, ifNoneMatch: undefined });
}

function send(
  serving: Serving,
  reply: FastifyReply,
  { status, headers, bytes, release }: Rendered,
): FastifyReply {
  serving.counts[status] = (serving.counts[status] ?? 0) + 1;
  const { raw } = reply;
  if (release !== undefined) {
    if (raw.destroyed) release();
    else raw.once("close", release);
  }
  return reply
    .code(status)
    .headers(headers)
    .send(bytes ?? undefined);
}

/**
 * Sends a response while it is rendered. If that fails, the connection is closed: a partial response must not look
 * complete.
 */
async function sendStream(
  serving: Serving,
  reply: FastifyReply,
  { status, headers, release, stream }: Rendered & { stream: AsyncGenerator<string | Uint8Array> },
): Promise<FastifyReply> {
  serving.counts[status] = (serving.counts[status] ?? 0) + 1;
  reply.hijack();
  const { raw } = reply;
  try {
    raw.writeHead(status, headers);
    if (raw.req.method === "HEAD") {
      raw.end();
      await stream.return(undefined);
    } else await writePieces(raw, stream);
  } catch (error) {
    serving.parts.onFault(error, { endpoint: null, version: 0 });
    raw.destroy();
  } finally {
    release?.();
  }
  return reply;
}

/** Closes the connection after the response: the rest of the body is not read. */
function closeAfterAnswer(reply: FastifyReply): void {
  const { raw } = reply;
  raw.shouldKeepAlive = false;
  const { socket } = raw;
  const timer = setTimeout(() => socket?.destroy(), LINGER_MS);
  timer.unref();
  raw.once("close", () => clearTimeout(timer));
}
