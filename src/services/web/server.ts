// The dashboard as a handler of the shared listener: Fastify finds the route, respond.ts answers it.
import { fastify, type FastifyReply, type FastifyRequest } from "fastify";
import type { IncomingMessage, ServerResponse } from "node:http";
import { ConcurrencyByKey } from "../../lib/concurrency-by-key.ts";
import { certainAddressReader } from "../../lib/http/client-address.ts";
import type { HttpHandler } from "../../lib/http/listener.ts";
import { basePath, sitePath } from "../../lib/http/request-target.ts";
import { limitedWarning } from "../../lib/log.ts";
import { NO_SCHEMAS } from "../api/server.ts";
import { addBodyReader, answerTo, isPagePath, respond, type RespondParts, sendAnswer } from "./respond.ts";
import { type WebAnswer, type WebContext, WebRefusal, type WebRoute } from "./route.ts";
import { WEB_ROUTES } from "./routes.ts";

export type WebOptions = {
  context: WebContext;
  /** The proxies whose forwarding headers are trusted. */
  trustedProxies: readonly string[];
  /** Replaces all routes of the dashboard. */
  routes?: readonly WebRoute[];
};

export type WebHandler = HttpHandler & {
  answerCounts(): Readonly<Record<string, number>>;
  close(): Promise<void>;
};

/** A form with a long description, or a thousand ids, is far smaller. */
const BODY_BYTES_MAX = 1024 * 1024;
/** Bodies without a session: a form, or a passkey response. */
const STRANGER_BODY_BYTES_MAX = 64 * 1024;
/** Requests answered concurrently; further ones get 503. */
const AT_ONCE_MAX = 500;
/** Concurrent and waiting requests of one account; further ones are rejected. */
const ACCOUNT_LIMITS = { runningMax: AT_ONCE_MAX, perKeyMax: 4, waitingPerKeyMax: 64 };
/** Tokens in links are the longest. */
const PARAM_LENGTH_MAX = 300;

/** Builds the dashboard. It has no listener of its own and only answers requests passed to it. */
export async function webHandler(options: WebOptions): Promise<WebHandler> {
  const { context, trustedProxies, routes = WEB_ROUTES } = options;
  const siteUrl = new URL(context.site.url);
  const pathOf = sitePath(siteUrl);
  const serving: Serving = {
    parts: {
      context,
      siteUrl,
      addressOf: certainAddressReader(trustedProxies),
      requests: new ConcurrencyByKey(ACCOUNT_LIMITS),
      warnAway: limitedWarning(context.log),
    },
    base: basePath(siteUrl),
    counts: {},
    atOnce: 0,
  };
  const app = fastify({
    logger: false,
    schemaController: NO_SCHEMAS,
    bodyLimit: BODY_BYTES_MAX,
    exposeHeadRoutes: true,
    routerOptions: { maxParamLength: PARAM_LENGTH_MAX, ignoreTrailingSlash: true },
    rewriteUrl: (request) => belowSite(request.url ?? "", pathOf),
    frameworkErrors: (error, request, reply) => void refuse(serving, { error, request, reply }),
  });
  addBodyReader(app);
  app.setErrorHandler((error, request, reply) => refuse(serving, { error, request, reply }));
  app.setNotFoundHandler((request, reply) => refuse(serving, { error: NOTHING_HERE, request, reply }));
  for (const route of routes) {
    const handler = (request: FastifyRequest, reply: FastifyReply) =>
      serve(serving, { route, request, reply });
    const bodyLimit = route.access === "anyone" ? STRANGER_BODY_BYTES_MAX : BODY_BYTES_MAX;
    app.route({ method: route.method, url: route.path, bodyLimit, handler });
  }
  await app.ready();
  const firsts = new Set(["web", ...routes.map(({ path }) => firstSegment(path))]);
  return {
    handles: ({ url = "" }) => firsts.has(firstSegment(pathOf(url))),
    handle: (request: IncomingMessage, response: ServerResponse) => app.routing(request, response),
    answerCounts: () => ({ ...serving.counts }),
    close: () => app.close(),
  };
}

type Serving = { parts: RespondParts; base: string; counts: Record<string, number>; atOnce: number };
type Exchange = { request: FastifyRequest; reply: FastifyReply };

async function serve(
  serving: Serving,
  { route, ...at }: Exchange & { route: WebRoute },
): Promise<FastifyReply> {
  if (serving.atOnce >= AT_ONCE_MAX) return refuse(serving, { ...at, error: TOO_MANY });
  serving.atOnce += 1;
  try {
    return await send(serving, at, await respond(serving.parts, { route, request: at.request }));
  } finally {
    serving.atOnce -= 1;
  }
}

function refuse(serving: Serving, { error, ...at }: Exchange & { error: unknown }): Promise<FastifyReply> {
  const { url } = at.request;
  const { parts } = serving;
  return send(serving, at, answerTo(error, { parts, isPage: isPagePath(url), url, name: null }));
}

async function send(
  serving: Serving,
  { request, reply }: Exchange,
  answer: WebAnswer,
): Promise<FastifyReply> {
  const { base, counts } = serving;
  const { method, headers } = request;
  const status = await sendAnswer(reply, answer, {
    acceptEncoding: headers["accept-encoding"],
    isHead: method === "HEAD",
    base,
  });
  counts[status] = (counts[status] ?? 0) + 1;
  return reply;
}

const NOTHING_HERE = new WebRefusal("not_found", "No page exists at this URL.");
const TOO_MANY = new WebRefusal(
  "unavailable",
  "The server is handling too many requests. Try again in a moment.",
);

function firstSegment(path: string): string {
  return path.split("/", 2)[1] ?? "";
}

/** The path below the site, with its query. */
function belowSite(url: string, pathOf: (url: string) => string): string {
  const queryAt = url.indexOf("?");
  return `${pathOf(url)}${queryAt === -1 ? "" : url.slice(queryAt)}`;
}
