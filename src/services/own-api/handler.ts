// Our own API as a handler of the shared listener, for what is beyond the compatible one: from a request to its
// answer, in the order path, method, key, rights, body, endpoint.
import type { IncomingMessage } from "node:http";
import { PROBLEM_TYPE, problemOf } from "../../contract/own/problem.ts";
import type { OwnRoute } from "../../contract/own/routes.ts";
import { decideOwnAccess } from "../../core/access.ts";
import { AppError, type ErrorCode, ERROR_TEXT, HTTP_STATUS, refusalOf } from "../../core/errors.ts";
import type { RateVerdict } from "../../core/request/rate-limit.ts";
import { answering, type HttpAnswer } from "../../lib/http/answering.ts";
import type { HttpHandler } from "../../lib/http/listener.ts";
import { requestTarget, sitePath } from "../../lib/http/request-target.ts";
import { type LimitedWarning, limitedWarning } from "../../lib/log.ts";
import { Turns } from "../../lib/http/turns.ts";
import { isDatabaseAway } from "../../store/errors.ts";
import { handlerOf } from "./endpoints.ts";
import type { Door, House } from "./exchange.ts";
import { isOwnPath, type Located, locateOwn } from "./locate.ts";

export type OwnApiOptions = { house: House; door: Door; siteUrl: URL; monotonic: () => number };

export type OwnApiHandler = HttpHandler & {
  /** How many answers were given, by status. */
  answerCounts(): Readonly<Record<string, number>>;
};

/** So many are answered at once; those beyond are told to come back. */
const AT_ONCE_MAX = 500;
const RETRY_AFTER_SECONDS = "5";
const PREFLIGHT_SECONDS = "600";

/** Handles everything below the prefix of our own API. */
export function ownApiHandler(options: OwnApiOptions): OwnApiHandler {
  const pathOf = sitePath(options.siteUrl);
  const turns = new Turns();
  const warnAway = limitedWarning(options.house.log, options.monotonic);
  const answers = answering({
    atOnceMax: AT_ONCE_MAX,
    answer: async (request) => {
      const { before, end } = turns.take(request.socket);
      try {
        if (before !== null) await before;
        return await answerLogged({ ...options, warnAway }, { request, path: pathOf(request.url ?? "") });
      } finally {
        end();
      }
    },
    // Whatever can be said about an error has been said before it gets here.
    instead: () => refusal("unavailable", ERROR_TEXT.unavailable),
  });
  return {
    handles: ({ url = "" }) => isOwnPath(pathOf(url)),
    handle: (request, response) => answers.handle(request, response),
    answerCounts: () => answers.counts(),
  };
}

/** While the database is away every request fails in the same way. */
type Answering = OwnApiOptions & { warnAway: LimitedWarning };
type Asked = { request: IncomingMessage; path: string };

async function answerLogged(options: Answering, { request, path }: Asked): Promise<HttpAnswer> {
  const startedAtMs = options.monotonic();
  const located = locateOwn(path);
  const route = located.routes.find(({ method }) => method === methodOf(request));
  const answer = await respond(options, { request, located, route });
  const ms = Math.round(options.monotonic() - startedAtMs);
  const { method, headers } = request;
  const line = {
    method,
    endpoint: route?.endpoint ?? null,
    status: answer.status,
    ua: headers["user-agent"],
    ms,
  };
  options.house.log.debug(line, "own api");
  return answer;
}

/** HEAD is answered as GET; the server leaves the body out. */
function methodOf({ method }: IncomingMessage): string | undefined {
  return method === "HEAD" ? "GET" : method;
}

type Routed = { request: IncomingMessage; located: Located; route: OwnRoute | undefined };

async function respond(options: Answering, { request, located, route }: Routed): Promise<HttpAnswer> {
  const methods = located.routes.map(({ method }) => method);
  if (methods.length === 0) return refusal("not_found", "Not found.");
  if (request.method === "OPTIONS") return { status: 204, headers: corsHeaders(methods), body: "" };
  const state: Progress = { rate: null, isEndless: false };
  try {
    if (route === undefined) throw new AppError("method_not_allowed", ERROR_TEXT.methodNotAllowed);
    const found = await options.door.inTime(answerRoute(options, { request, located, route, state }));
    return withHeaders(found, { methods, state });
  } catch (error) {
    return withHeaders(refused(options, { error, endpoint: route?.endpoint ?? null, methods }), {
      methods,
      state,
    });
  }
}

/** What becomes known on the way and shows in the headers, however the request ends. */
type Progress = { rate: RateVerdict | null; isEndless: boolean };

async function answerRoute(
  { house, door }: OwnApiOptions,
  asked: Routed & { route: OwnRoute; state: Progress },
): Promise<HttpAnswer> {
  const { request, route, located, state } = asked;
  const { credential, found, rate } = await door.identify(request);
  state.rate = rate;
  if (credential === null) throw new AppError("rate_limited", ERROR_TEXT.tooManyRequests);
  const access = decideOwnAccess({ endpoint: route.endpoint, credential });
  if (!access.allowed) throw new AppError(access.code, access.text);
  if (found === null) throw new Error(`${route.endpoint} accepts requests without an API key`);
  const body = route.body === null ? {} : await door.readObject(request, () => void (state.isEndless = true));
  // Nobody is there any more to read this.
  if (body === null) return refusal("invalid", ERROR_TEXT.unparsableBody);
  const { channel, delivery } = located;
  const {
    status,
    headers = {},
    json,
  } = await handlerOf(route.endpoint)(
    {
      route,
      channel,
      delivery,
      query: queryOf(request),
      headers: request.headers,
      body,
      projectId: found.project.id,
      key: found.key,
      now: found.at,
    },
    house,
  );
  if (json === null) return { status, headers, body: "" };
  return { status, headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify(json) };
}

function queryOf({ url = "" }: IncomingMessage): URLSearchParams {
  const path = requestTarget(url, undefined)?.path ?? "";
  const at = path.indexOf("?");
  return new URLSearchParams(at === -1 ? "" : path.slice(at + 1));
}

/** What is answered to whatever was thrown; a fault of ours, or of the database, is logged. */
function refused(
  { house, warnAway }: Answering,
  { error, endpoint, methods }: { error: unknown; endpoint: string | null; methods: readonly string[] },
): HttpAnswer {
  if (isDatabaseAway(error)) {
    warnAway({ err: error, endpoint }, "an Overdue API request failed because of the database");
    return refusal("unavailable", ERROR_TEXT.unavailable);
  }
  if (!(error instanceof AppError))
    house.log.error({ err: error, endpoint }, "an Overdue API request failed");
  const { code, text } = refusalOf(error);
  const answer = refusal(code, text);
  if (code !== "method_not_allowed") return answer;
  return { ...answer, headers: { ...answer.headers, Allow: allowed(methods) } };
}

function refusal(code: ErrorCode, text: string): HttpAnswer {
  const retry =
    code === "unavailable" || code === "rate_limited" ? { "Retry-After": RETRY_AFTER_SECONDS } : {};
  return {
    status: HTTP_STATUS[code],
    headers: { ...retry, "Content-Type": PROBLEM_TYPE, "Cache-Control": "no-store" },
    body: JSON.stringify(problemOf(code, text)),
  };
}

function allowed(methods: readonly string[]): string {
  return [...(methods.includes("GET") ? ["HEAD"] : []), ...methods, "OPTIONS"].toSorted().join(", ");
}

/** Browsers on any site may call: what protects it is the key, which no browser sends by itself. */
function corsHeaders(methods: readonly string[]): Record<string, string> {
  return {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Headers": "Content-Type, Idempotency-Key, If-Match, X-Api-Key",
    "Access-Control-Allow-Methods": allowed(methods),
    "Access-Control-Expose-Headers":
      "ETag, Location, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After",
    "Access-Control-Max-Age": PREFLIGHT_SECONDS,
  };
}

function withHeaders(
  answer: HttpAnswer,
  { methods, state }: { methods: readonly string[]; state: Progress },
): HttpAnswer {
  const { rate, isEndless } = state;
  const counted: Record<string, string> =
    rate === null
      ? {}
      : {
          "RateLimit-Limit": String(rate.limit),
          "RateLimit-Remaining": String(rate.remaining),
          "RateLimit-Reset": String(rate.resetSeconds),
          ...(!rate.isAllowed && { "Retry-After": String(rate.retryAfterSeconds) }),
        };
  const headers = {
    "Cache-Control": "no-store",
    ...corsHeaders(methods),
    ...answer.headers,
    ...counted,
    // What is still coming is no request that anybody could read.
    ...(isEndless && { Connection: "close" }),
  };
  return { ...answer, headers };
}
