// The Overdue API: routing, endpoints, and the handler. A request is checked in the order path, method, key, permissions,
// body.
import type { IncomingMessage } from "node:http";
import { shownConfig } from "../../channels/channel-config.ts";
import { addressWarnings, CONFIG_RULES, kindNamed, KINDS, type Reach } from "../../channels/registry.ts";
import {
  type ChannelJson,
  channelTag,
  cursorOf,
  presentChannel,
  presentDelivery,
  presentKind,
  PROBLEM_TYPE,
  problemOf,
  readIfMatch,
  readPage,
} from "../../contract/channels.ts";
import { OWN_API_PATH, OWN_ROUTES, type OwnRoute } from "../../contract/own-routes.ts";
import { decideOwnAccess, type OwnEndpoint } from "../../core/access.ts";
import { readChannelRequest } from "../../core/channel.ts";
import {
  AppError,
  type Checked,
  ERROR_TEXT,
  type ErrorCode,
  HTTP_STATUS,
  refusalOf,
} from "../../core/errors.ts";
import { isUuid, type KeyKind } from "../../core/identity.ts";
import type { Instant } from "../../core/instant.ts";
import { IDEMPOTENCY_KEY_LENGTH_MAX } from "../../core/limits.ts";
import type { RateVerdict } from "../../core/rate-limit.ts";
import { type HttpHandler, RequestQueue } from "../../lib/http/listener.ts";
import { requestTarget, sitePath } from "../../lib/http/request-target.ts";
import { asyncHandler, type HttpResponse } from "../../lib/http/response.ts";
import { type LimitedWarning, limitedWarning, type Log } from "../../lib/log.ts";
import {
  createChannel,
  deleteChannel,
  getChannel,
  isVerified,
  listChannelPage,
  listChecksOfChannel,
  type Once,
  updateChannel,
} from "../../operations/channels.ts";
import { getDelivery, listDeliveries, retryDelivery, testChannel } from "../../operations/deliveries.ts";
import type { ManagedChannel } from "../../store/channels.ts";
import type { Database } from "../../store/db.ts";
import { isDatabaseAway } from "../../store/errors.ts";
import type { ApiAuth } from "./server.ts";

/** What endpoints work with. */
export type OwnApiContext = {
  database: Database;
  /** The published address of this API, without a slash at its end. */
  baseUrl: string;
  /** Whether this installation asks addresses before it writes to them. */
  mailVerification: boolean;
  /** How far messages get, to warn of an address that nothing will reach. */
  destinations: Reach;
  log: Log;
};

/** A request with a key that may make it. */
export type Exchange = {
  route: OwnRoute;
  /** What the path has in place of `{channel}` and `{delivery}`, in the right form; zero and empty where it has none. */
  channel: string;
  delivery: number;
  query: URLSearchParams;
  headers: IncomingMessage["headers"];
  /** The JSON object that was sent; empty where none is read. Not judged yet. */
  body: Readonly<Record<string, unknown>>;
  projectId: number;
  key: { id: number; kind: KeyKind };
  /** The database's clock. */
  now: Instant;
};

export type Answer = { status: number; headers?: Readonly<Record<string, string>>; json: unknown };

/** Throws AppError for what is refused; everything else that it throws is a fault of ours. */
export type Handler = (exchange: Exchange, context: OwnApiContext) => Promise<Answer>;

export type Located = {
  /** The routes of the path, one for each of its methods; none where nothing is. */
  routes: readonly OwnRoute[];
  channel: string;
  delivery: number;
};

const OWN_PATH = new RegExp(`^${OWN_API_PATH}/(kinds|channels|deliveries)(/|$)`);

/** Whether a path, below the site, belongs to this API. */
function isOwnPath(path: string): boolean {
  return OWN_PATH.test(path);
}

const PATTERNS = [...Map.groupBy(OWN_ROUTES, ({ path }) => path)].map(([path, routes]) => ({
  pattern: new RegExp(`^${OWN_API_PATH}${path.replace(/\{(\w+)\}/g, "(?<$1>[^/]+)")}/?$`),
  routes,
}));

/** A number of a delivery as we print it. */
const DELIVERY = /^[1-9]\d{0,14}$/;

/** What a path, below the site and without its query, stands for. A slash more at its end does not matter. */
export function locateOwn(path: string): Located {
  for (const { pattern, routes } of PATTERNS) {
    const match = pattern.exec(path);
    if (match === null) continue;
    const { channel = "", delivery = "" } = match.groups ?? {};
    // What cannot be a name names nothing.
    if (channel !== "" && !isUuid(channel)) break;
    if (delivery !== "" && !DELIVERY.test(delivery)) break;
    return { routes, channel, delivery: delivery === "" ? 0 : Number(delivery) };
  }
  return { routes: [], channel: "", delivery: 0 };
}

function checked<T>(read: Checked<T>): T {
  if (!read.ok) throw new AppError("invalid", read.text);
  return read.value;
}

function shown(channel: ManagedChannel, { destinations }: OwnApiContext): ChannelJson {
  const kind = kindNamed(channel.kind);
  return presentChannel({
    ...channel,
    // For a kind stored by a newer release, it is unknown which fields are secret.
    shownConfig: kind === null ? {} : shownConfig(kind, channel.config),
    isVerified: channel.kind === "email" ? isVerified(channel) : null,
    warnings: addressWarnings(channel, destinations),
  });
}

/** What a key sees of a channel: a read-only key no address and nothing of what was sent to it. */
function seen(channel: ManagedChannel, { key }: Exchange, context: OwnApiContext): Partial<ChannelJson> {
  const { uuid: id, kind, name } = channel;
  return key.kind === "readOnly" ? { id, kind, name } : shown(channel, context);
}

function tagged(channel: ManagedChannel, json: object): Answer {
  return { status: 200, headers: { ETag: channelTag(channel) }, json };
}

/** By whom and when a change is made. */
function changing({ key, now }: Exchange) {
  return { by: { accountId: null, keyId: key.id }, at: now };
}

function nameOf({ projectId, channel }: Exchange) {
  return { projectId, uuid: channel };
}

const KEY = new RegExp(`^[\\x21-\\x7e]{1,${IDEMPOTENCY_KEY_LENGTH_MAX}}$`);

function onceOf({ headers, body }: Exchange): Once | null {
  const given = headers["idempotency-key"];
  if (given === undefined) return null;
  if (typeof given !== "string" || !KEY.test(given)) {
    const text = `Idempotency-Key must be 1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} printable ASCII characters without spaces.`;
    throw new AppError("invalid", text);
  }
  return { key: given, request: JSON.stringify(body) };
}

const create: Handler = async (exchange, context) => {
  const { database, mailVerification, baseUrl } = context;
  const {
    kind,
    name = "",
    config = {},
    isEnabled = true,
    checks = "*",
  } = checked(readChannelRequest(exchange.body));
  if (kind === undefined) throw new AppError("invalid", "kind is required.");
  const { channel, made } = await createChannel(database, {
    projectId: exchange.projectId,
    kind,
    name,
    config,
    isEnabled,
    checks,
    once: onceOf(exchange),
    rules: CONFIG_RULES,
    mailVerification,
    ...changing(exchange),
  });
  const answer = tagged(channel, { ...shown(channel, context), made });
  return {
    ...answer,
    status: 201,
    headers: { ...answer.headers, Location: `${baseUrl}/channels/${channel.uuid}` },
  };
};

const update: Handler = async (exchange, context) => {
  const channel = await updateChannel(context.database, {
    ...nameOf(exchange),
    change: checked(readChannelRequest(exchange.body)),
    expected: readIfMatch(exchange.headers["if-match"]),
    rules: CONFIG_RULES,
    mailVerification: context.mailVerification,
    ...changing(exchange),
  });
  return tagged(channel, shown(channel, context));
};

const HANDLERS: Readonly<Record<OwnEndpoint, Handler>> = {
  listKinds: async () => ({ status: 200, json: { kinds: KINDS.map(presentKind) } }),
  listChannels: async (exchange, context) => {
    const { query, projectId } = exchange;
    const { items, next } = await listChannelPage(context.database, {
      projectId,
      ...checked(readPage(query)),
    });
    const channels = items.map((one) => seen(one, exchange, context));
    return { status: 200, json: { channels, next_cursor: cursorOf(next) } };
  },
  createChannel: create,
  getChannel: async (exchange, context) => {
    const channel = await getChannel(context.database, nameOf(exchange));
    return tagged(channel, seen(channel, exchange, context));
  },
  updateChannel: update,
  deleteChannel: async (exchange, { database }) => {
    const expected = readIfMatch(exchange.headers["if-match"]);
    await deleteChannel(database, { ...nameOf(exchange), expected, ...changing(exchange) });
    return { status: 204, json: null };
  },
  listChecksOfChannel: async (exchange, { database }) => {
    const page = { ...nameOf(exchange), ...checked(readPage(exchange.query)) };
    const { items, next } = await listChecksOfChannel(database, page);
    const checks = items.map(({ uuid, name }) => ({ id: uuid, name }));
    return { status: 200, json: { checks, next_cursor: cursorOf(next) } };
  },
  testChannel: async (exchange, { database }) => {
    const planned = await testChannel(database, { ...nameOf(exchange), ...changing(exchange) });
    return { status: 202, json: { deliveries: planned.map(presentDelivery) } };
  },
  listDeliveries: async (exchange, { database }) => {
    const page = { ...nameOf(exchange), ...checked(readPage(exchange.query)) };
    const { items, next } = await listDeliveries(database, page);
    const deliveries = items.map(presentDelivery);
    return { status: 200, json: { deliveries, next_cursor: cursorOf(next) } };
  },
  getDelivery: async (exchange, { database }) => {
    const { projectId, delivery: deliveryId } = exchange;
    const found = await getDelivery(database, { projectId, deliveryId });
    return { status: 200, json: presentDelivery(found) };
  },
  retryDelivery: async (exchange, { database }) => {
    const { projectId, delivery: deliveryId, now: at } = exchange;
    const due = await retryDelivery(database, { projectId, deliveryId, at });
    return { status: 202, json: presentDelivery(due) };
  },
};

/** Who answers an endpoint. */
function handlerOf(endpoint: OwnEndpoint): Handler {
  return HANDLERS[endpoint];
}

export type OwnApiOptions = {
  context: OwnApiContext;
  /** Shared with the Management API of the process. */
  auth: Pick<ApiAuth, "identify" | "readObject" | "inTime">;
  siteUrl: URL;
  monotonic: () => number;
};

export type OwnApiHandler = HttpHandler & {
  /** How many answers were given, by status. */
  answerCounts(): Readonly<Record<string, number>>;
};

/** So many are answered at once; requests beyond that get 503. */
const AT_ONCE_MAX = 500;
const RETRY_AFTER_SECONDS = "5";
const PREFLIGHT_SECONDS = "600";

/** Handles everything below the prefix of our own API. */
export function ownApiHandler(options: OwnApiOptions): OwnApiHandler {
  const pathOf = sitePath(options.siteUrl);
  const turns = new RequestQueue();
  const warnAway = limitedWarning(options.context.log, options.monotonic);
  const answers = asyncHandler({
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

async function answerLogged(options: Answering, { request, path }: Asked): Promise<HttpResponse> {
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
  options.context.log.debug(line, "own api");
  return answer;
}

/** HEAD is answered as GET; the server leaves the body out. */
function methodOf({ method }: IncomingMessage): string | undefined {
  return method === "HEAD" ? "GET" : method;
}

type Routed = { request: IncomingMessage; located: Located; route: OwnRoute | undefined };

async function respond(options: Answering, { request, located, route }: Routed): Promise<HttpResponse> {
  const methods = located.routes.map(({ method }) => method);
  if (methods.length === 0) return refusal("not_found", "Not found.");
  if (request.method === "OPTIONS") return { status: 204, headers: corsHeaders(methods), body: "" };
  const state: Progress = { rate: null, isEndless: false };
  try {
    if (route === undefined) throw new AppError("method_not_allowed", ERROR_TEXT.methodNotAllowed);
    const found = await options.auth.inTime(answerRoute(options, { request, located, route, state }));
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
  { context, auth }: OwnApiOptions,
  asked: Routed & { route: OwnRoute; state: Progress },
): Promise<HttpResponse> {
  const { request, route, located, state } = asked;
  const { credential, found, rate } = await auth.identify(request);
  state.rate = rate;
  if (credential === null) throw new AppError("rate_limited", ERROR_TEXT.tooManyRequests);
  const access = decideOwnAccess({ endpoint: route.endpoint, credential });
  if (!access.allowed) throw new AppError(access.code, access.text);
  if (found === null) throw new Error(`${route.endpoint} accepts requests without an API key`);
  const body = route.body === null ? {} : await auth.readObject(request, () => void (state.isEndless = true));
  // The client has disconnected.
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
    context,
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
  { context, warnAway }: Answering,
  { error, endpoint, methods }: { error: unknown; endpoint: string | null; methods: readonly string[] },
): HttpResponse {
  if (isDatabaseAway(error)) {
    warnAway({ err: error, endpoint }, "an Overdue API request failed because of the database");
    return refusal("unavailable", ERROR_TEXT.unavailable);
  }
  if (!(error instanceof AppError))
    context.log.error({ err: error, endpoint }, "an Overdue API request failed");
  const { code, text } = refusalOf(error);
  const answer = refusal(code, text);
  if (code !== "method_not_allowed") return answer;
  return { ...answer, headers: { ...answer.headers, Allow: allowed(methods) } };
}

function refusal(code: ErrorCode, text: string): HttpResponse {
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
  answer: HttpResponse,
  { methods, state }: { methods: readonly string[]; state: Progress },
): HttpResponse {
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
    // The rest of the body is not read.
    ...(isEndless && { Connection: "close" }),
  };
  return { ...answer, headers };
}
