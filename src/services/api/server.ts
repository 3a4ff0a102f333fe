// The Management API as a handler of the shared listener: Fastify finds the route, respond.ts answers it. The
// framework reads and judges no body: what clients see of that is ours.
import type { IncomingMessage, ServerResponse } from "node:http";
import { METHODS } from "node:http";
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { BodySchema, Route } from "../../contract/route.ts";
import { ROUTE_PATHS, ROUTES } from "../../contract/routes.ts";
import { VERSION_NUMBERS, type VersionColumn, VERSIONS } from "../../contract/versions.ts";
import type { Dialect } from "../../core/access.ts";
import { AppError, ERROR_TEXT } from "../../core/errors.ts";
import { byteBudget } from "../../lib/http/body.ts";
import { networkReader } from "../../lib/http/client-address.ts";
import type { HttpHandler } from "../../lib/http/listener.ts";
import { writePieces } from "../../lib/http/write-pieces.ts";
import { Turns } from "../../lib/http/turns.ts";
import { limitedWarning, type Log } from "../../lib/log.ts";
import { isDatabaseAway } from "../../store/errors.ts";
import { AnswerBeginner } from "./begun-answer.ts";
import { type ApiDoor, doorOf } from "./door.ts";
import type { House } from "./exchange.ts";
import { apiLocator } from "./locate.ts";
import { RateLimiter } from "./rate-limiter.ts";
import { refusal, render, type Rendered } from "./render.ts";
import { SenderGoneError } from "./request-body.ts";
import { answerTo, type Resource, respond, type RespondParts } from "./respond.ts";

export type ApiOptions = {
  house: House;
  siteUrl: URL;
  /** The host of version 3, if it has one of its own. */
  apiUrl: URL | null;
  dialect: Dialect;
  /** How many requests a minute a key may make; 0 means without limit. */
  requestsPerMinute: number;
  /** The proxies whose forwarding headers are believed. */
  trustedProxies: readonly string[];
  keyUsed: RespondParts["keyUsed"];
  monotonic: () => number;
};

export type ApiHandler = HttpHandler & {
  /** How many answers were given, by status. */
  answerCounts(): Readonly<Record<string, number>>;
  /** What other APIs of the process share with this one. */
  door: ApiDoor;
  close(): Promise<void>;
};

/** All bodies that are being read hold no more than this together. */
const BODY_BYTES_HELD_MAX = 64 * 1024 * 1024;
/** Requests that are being answered at once; those beyond are told to come back. */
const AT_ONCE_MAX = 1_000;
/** Paths have UUIDs and numbers; whatever is longer names nothing. */
const PARAM_LENGTH_MAX = 100;
/** How long a sender whose request will not be read may go on, so that it gets to read the answer. */
const LINGER_MS = 2_000;

type Serving = {
  options: ApiOptions;
  parts: RespondParts;
  counts: Record<string, number>;
  atOnce: number;
  turns: Turns;
};

/** Builds the API. It answers when it is handed a request, and holds nothing open by itself. */
export async function apiHandler(options: ApiOptions): Promise<ApiHandler> {
  const locate = apiLocator(options);
  const serving: Serving = {
    options,
    parts: respondParts(options),
    counts: {},
    atOnce: 0,
    turns: new Turns(),
  };
  const app = fastify({
    logger: false,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: PARAM_LENGTH_MAX },
    rewriteUrl: (request) => locate(request.url ?? "", request.headers.host) ?? "/",
    frameworkErrors: (_error, request, reply) => void notFound(serving, request, reply),
  });
  addRoutes(app, serving);
  await app.ready();
  return {
    handles: (request) => locate(request.url ?? "", request.headers.host) !== null,
    handle: (request: IncomingMessage, response: ServerResponse) => app.routing(request, response),
    answerCounts: () => ({ ...serving.counts }),
    door: doorOf(serving.parts),
    close: () => app.close(),
  };
}

function respondParts({
  house,
  requestsPerMinute,
  trustedProxies,
  monotonic,
  keyUsed,
}: ApiOptions): RespondParts {
  const networkAt = networkReader(trustedProxies);
  return {
    house,
    limiter: new RateLimiter({ perMinute: requestsPerMinute, monotonic }),
    budget: byteBudget(BODY_BYTES_HELD_MAX),
    beginner: new AnswerBeginner(),
    networkOf: ({ socket, headers }) =>
      networkAt({ peer: socket.remoteAddress, forwardedFor: headers["x-forwarded-for"] }),
    keyUsed,
    onFault: faultLog(house.log, monotonic),
  };
}

/** While the database is away every request fails alike: one line a second says so. Other faults are told each. */
function faultLog(log: Log, monotonic: () => number): RespondParts["onFault"] {
  const warn = limitedWarning(log, monotonic);
  return (error, at) => {
    if (!isDatabaseAway(error)) return log.error({ err: error, ...at }, "an API request failed");
    warn({ err: error, ...at }, "an API request failed because of the database");
  };
}

/** Every path in every version, with and without a slash at its end, for every method that HTTP has. */
function addRoutes(app: FastifyInstance, serving: Serving): void {
  // The framework would answer for methods it does not know, and read bodies of those it does.
  for (const method of METHODS) app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  app.setNotFoundHandler((request, reply) => notFound(serving, request, reply));
  app.setErrorHandler((error, _request, reply) => fail(serving, reply, error));
  for (const number of VERSION_NUMBERS) {
    const column = VERSIONS[serving.options.dialect][number];
    const bodySchemas = schemasOf(column);
    for (const path of ROUTE_PATHS) {
      const bare = `/v${number}${path.replace(/\/$/, "")}`;
      for (const hasSlash of [false, true]) {
        const url = (hasSlash ? `${bare}/` : bare).replace(/\{(\w+)\}/g, ":$1");
        const resource: Resource = { column, path, hasSlash, bodySchemas };
        app.route({
          method: [...METHODS],
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
      onEndless: () => letGoOf(reply),
    });
    const took = { ms: Math.round(serving.options.monotonic() - startedAtMs) };
    const { method, headers } = request;
    const { status, endpoint } = answered;
    const version = resource.column.number;
    serving.options.house.log.debug(
      { method, version, endpoint, status, ua: headers["user-agent"], ...took },
      "api",
    );
    const { stream } = answered;
    if (stream !== undefined) return await sendStream(serving, reply, { ...answered, stream });
    return await send(serving, reply, answered);
  } catch (error) {
    if (!(error instanceof SenderGoneError)) throw error;
    reply.hijack();
    return reply;
  } finally {
    end();
    serving.atOnce -= 1;
  }
}

/** The query is read by ourselves: the framework's reader knows no repeated names in the form we want. */
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

/** Sends an answer while it is made. When that fails, the connection is cut: half an answer must not look whole. */
async function sendStream(
  serving: Serving,
  reply: FastifyReply,
  { status, headers, release, stream }: Rendered & { stream: AsyncGenerator<string> },
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

/** Closes the connection after the answer: what is still coming is no request that anybody could read. */
function letGoOf(reply: FastifyReply): void {
  const { raw } = reply;
  raw.shouldKeepAlive = false;
  const { socket } = raw;
  const timer = setTimeout(() => socket?.destroy(), LINGER_MS);
  timer.unref();
  raw.once("close", () => clearTimeout(timer));
}
