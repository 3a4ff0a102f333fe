// From a request to the Overdue API to its response. The order is the same for all routes: credentials, path, role, query,
// body, handler. Errors become problem details.
import type { IncomingMessage } from "node:http";
import { PROBLEM_TYPE, type Problem, problemOf, reauthProblem } from "../../contract/api/problem.ts";
import { isRead, type RouteDefinition } from "../../contract/api/route.ts";
import { validateBody, type Validated, validateQuery } from "../../contract/api/validate.ts";
import {
  type ApiAccess,
  type ApiCaller,
  type ApiRule,
  decideApiCaller,
  decideApiRole,
  KEY_ROLES,
  type Role,
} from "../../core/access.ts";
import { AppError, ERROR_TEXT, refusalOf } from "../../core/errors.ts";
import { isUuid } from "../../core/identity.ts";
import type { Instant } from "../../core/instant.ts";
import { API_ANSWER_MS_MAX } from "../../core/limits.ts";
import type { RateVerdict } from "../../core/rate-limit.ts";
import type { ConcurrencyByKey } from "../../lib/concurrency-by-key.ts";
import type { ByteBudget } from "../../lib/http/body.ts";
import { originProblem } from "../../lib/http/same-origin.ts";
import type { LimitedWarning } from "../../lib/log.ts";
import { findChannelByUuid } from "../../store/channels.ts";
import { findDeletedCheck, findShownCheck } from "../../store/checks.ts";
import { isDatabaseAway } from "../../store/errors.ts";
import { findProjectByUuid, findProjectEntry, type Project } from "../../store/projects.ts";
import type { Person } from "../../store/sessions.ts";
import { RETRY_AFTER_SECONDS, TooManyRequestsError } from "./auth.ts";
import { parseJson, readRequestBody, SenderGoneError } from "./request-body.ts";
import { withTimeout } from "./with-timeout.ts";
import { sentenceOf } from "./params.ts";
import type { Actor, ApiAnswer, ApiContext, ApiHandler, ApiProblem, ApiRequest } from "./route.ts";

/** A route with its operation id and handler. */
export type ApiRoute = { id: string; definition: RouteDefinition; handler: ApiHandler };

/** The sender of a request, as identified by its credentials. */
export type Identity = {
  caller: ApiCaller;
  actor: Actor;
  account: Person | null;
  sessionId: number | null;
  /** The project of an API key, the only one it may access. */
  keyProject: { id: number; uuid: string } | null;
  rate: RateVerdict | null;
};

/** The origin of a request. */
export type Source = {
  headers: IncomingMessage["headers"];
  /** The other end of the connection. */
  peer: string | undefined;
  remoteAddr: string | null;
  network: string;
  ua: string;
  now: Instant;
};

export type RespondDeps = {
  context: ApiContext;
  siteUrl: URL;
  /** Identifies the sender of a request. Throws TooManyRequestsError. */
  identify(source: Source): Promise<Identity>;
  sourceOf(raw: IncomingMessage): Source;
  /** Concurrent requests of one account. */
  requests: ConcurrencyByKey;
  /** Memory for bodies that are being read. */
  budget: ByteBudget;
  /** Limited, because every request fails while the database is unavailable. */
  warnAway: LimitedWarning;
};

export type RoutedRequest = {
  route: ApiRoute;
  raw: IncomingMessage;
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** Called when the rest of the request will not be read. */
  onEndless: () => void;
};

export type Responded = { answer: ApiAnswer; rate: RateVerdict | null };

/** Answers a request. Rejects only if the client has disconnected. */
export async function respond(deps: RespondDeps, request: RoutedRequest): Promise<Responded> {
  const state: { rate: RateVerdict | null } = { rate: null };
  try {
    const answer = await answerRoute(deps, request, (rate) => (state.rate = rate));
    return { answer, rate: state.rate };
  } catch (error) {
    if (error instanceof SenderGoneError) throw error;
    const rate = error instanceof TooManyRequestsError ? error.rate : state.rate;
    return { answer: errorAnswer(deps, error, request.route.id), rate };
  }
}

async function answerRoute(
  deps: RespondDeps,
  request: RoutedRequest,
  onRate: (rate: RateVerdict | null) => void,
): Promise<ApiAnswer> {
  const { route, raw } = request;
  const { definition } = route;
  const source = deps.sourceOf(raw);
  const identity = await deps.identify(source);
  onRate(identity.rate);
  // Browsers send cookies by themselves, so a change needs proof that it comes from our page.
  if (identity.caller.kind === "session" && definition.method !== "GET") {
    const problem = originProblem(source.headers, deps.siteUrl);
    if (problem !== null) throw new AppError("forbidden", problem);
  }
  permit(decideApiCaller(ruleOf(definition), identity.caller));
  const work = async () => handle(deps, { ...request, source, identity });
  return identity.account === null ? work() : withAccountLimit(deps, identity.account, work);
}

type Identified = RoutedRequest & { source: Source; identity: Identity };

async function handle(deps: RespondDeps, request: Identified): Promise<ApiAnswer> {
  const { context, budget } = deps;
  const { route, raw, params, source, identity, query, onEndless } = request;
  const { definition } = route;
  let named = await findNamed(context, request);
  permit(decideApiRole(ruleOf(definition), identity.caller, named.role));
  if (context.awaitLog !== null && named.check !== null && isRead(definition)) {
    await context.awaitLog(named.check.uuid);
    named = await findNamed(context, request);
  }
  const asked = definition.query === undefined ? {} : validated(validateQuery(definition.query, query));
  const body =
    definition.body === undefined
      ? undefined
      : validated(
          validateBody(definition.body, bodyValue(await readRequestBody(raw, { budget, onEndless }))),
        );
  const { caller, actor, account, sessionId, keyProject } = identity;
  const handled = {
    context,
    actor,
    account,
    sessionId,
    keyKind: caller.kind === "key" ? caller.key : null,
    keyProject,
    ...named,
    params,
    query: asked,
    body,
    now: source.now,
    remoteAddr: source.remoteAddr,
    network: source.network,
    ua: source.ua,
    headers: source.headers,
    isStillAllowed: () => isStillAllowed(deps, request),
  };
  // The types of the definition hold: access, path, query and body were checked above.
  return withTimeout(route.handler(handled as unknown as ApiRequest), API_ANSWER_MS_MAX);
}

/** Whether the same request would be allowed now. */
async function isStillAllowed(deps: RespondDeps, request: Identified): Promise<boolean> {
  try {
    const identity = await deps.identify({ ...request.source, now: deps.context.now() });
    const rule = ruleOf(request.route.definition);
    if (!decideApiCaller(rule, identity.caller).allowed) return false;
    const { role } = await findNamed(deps.context, { ...request, identity });
    return decideApiRole(rule, identity.caller, role).allowed;
  } catch (error) {
    // While the database is unavailable, no updates are sent either.
    if (!(error instanceof AppError)) return true;
    return error.code === "rate_limited";
  }
}

function ruleOf(definition: RouteDefinition): ApiRule {
  const { access, keys, reauth } = definition;
  return { access, keys, isRead: isRead(definition), needsReauth: reauth === true };
}

function permit(access: ApiAccess): void {
  if (access.allowed) return;
  if (access.reauth === true) throw new ReauthError(access.text);
  throw new AppError(access.code, access.text);
}

class ReauthError extends AppError {
  constructor(text: string) {
    super("forbidden", text);
  }
}

type Named = {
  project: Project | null;
  role: Role | null;
  check: Awaited<ReturnType<typeof findShownCheck>>;
  channel: Awaited<ReturnType<typeof findChannelByUuid>>;
};

/** Finds the resources in the path. To non-members, a project and everything in it looks nonexistent. */
async function findNamed(
  { database }: ApiContext,
  { route, params, identity }: Pick<Identified, "route" | "params" | "identity">,
): Promise<Named> {
  const { access, deleted } = route.definition;
  if (access === "anyone" || access === "account" || access === "admin") {
    return { project: null, role: null, check: null, channel: null };
  }
  const { project: projectUuid, check: checkUuid, channel: channelUuid } = params;
  for (const uuid of [projectUuid, checkUuid, channelUuid]) {
    if (uuid !== undefined && !isUuid(uuid)) throw absent();
  }
  const findCheck = deleted === true ? findDeletedCheck : findShownCheck;
  const check = checkUuid === undefined ? null : await findCheck(database, checkUuid);
  const channel = channelUuid === undefined ? null : await findChannelByUuid(database, channelUuid);
  if ((checkUuid !== undefined && check === null) || (channelUuid !== undefined && channel === null)) {
    throw absent();
  }
  const projectId = check?.projectId ?? channel?.projectId;
  const entry = await findEntry(database, { identity, projectId, projectUuid });
  if (entry === null) throw absent();
  const { project } = entry;
  const isElsewhere = (other: { projectId: number } | null) =>
    other !== null && other.projectId !== project.id;
  if (
    (projectUuid !== undefined && project.uuid !== projectUuid) ||
    isElsewhere(check) ||
    isElsewhere(channel)
  ) {
    throw absent();
  }
  return { ...entry, check, channel };
}

async function findEntry(
  database: ApiContext["database"],
  of: { identity: Identity; projectId: number | undefined; projectUuid: string | undefined },
): Promise<{ project: Project; role: Role } | null> {
  const { identity, projectId, projectUuid = "" } = of;
  const { caller, account, keyProject } = identity;
  if (caller.kind === "key" && keyProject !== null) {
    if (projectId !== undefined && projectId !== keyProject.id) return null;
    const project = await findProjectByUuid(database, keyProject.uuid);
    return project === null ? null : { project, role: KEY_ROLES[caller.key] };
  }
  if (account === null) return null;
  const { id: accountId } = account;
  return projectId === undefined
    ? findProjectEntry(database, { accountId, projectUuid })
    : findProjectEntry(database, { accountId, projectId });
}

function absent(): AppError {
  return new AppError("not_found", "It doesn't exist, or you don't have access to it.");
}

/** A request that has not started by then is rejected. */
const ACCOUNT_WAIT_MS_MAX = 30_000;

async function withAccountLimit(
  { requests }: RespondDeps,
  account: Person,
  work: () => Promise<ApiAnswer>,
): Promise<ApiAnswer> {
  const end = await requests.begin(String(account.id), { withinMs: ACCOUNT_WAIT_MS_MAX });
  if (end === null) throw new AppError("rate_limited", "Too many open requests. Try again in a moment.");
  try {
    return await work();
  } finally {
    end();
  }
}

/** No body is an empty object. */
function bodyValue(bytes: Uint8Array | null): unknown {
  return bytes === null || bytes.length === 0 ? {} : parseJson(bytes);
}

function validated(verdict: Validated): unknown {
  if (verdict.ok) return verdict.value;
  throw new AppError("invalid", verdict.error, verdict.field ?? null);
}

/** The response to any thrown error. Internal errors are logged. */
function errorAnswer(
  { context, warnAway }: Pick<RespondDeps, "context" | "warnAway">,
  error: unknown,
  route: string | null,
): ApiAnswer {
  if (isDatabaseAway(error)) {
    warnAway({ err: error, route }, "API request failed: database unavailable");
    return problemAnswer(problemOf("unavailable", "The server is temporarily unavailable. Try again later."));
  }
  if (error instanceof ReauthError) return problemAnswer(reauthProblem(error.message));
  if (!(error instanceof AppError)) context.log.error({ err: error, route }, "API request failed");
  const { code, text } = refusalOf(error);
  const { field = null, conflict = null } = error as Partial<ApiProblem>;
  return problemAnswer(
    problemOf(code, sentenceOf(text), {
      ...(field !== null && { field }),
      ...(conflict !== null && { conflict }),
    }),
  );
}

function problemAnswer(problem: Problem): ApiAnswer {
  const { status } = problem;
  const isLater = status === 429 || status === 503;
  return {
    status,
    headers: {
      ...(isLater && { "Retry-After": RETRY_AFTER_SECONDS }),
      ...(status === 401 && { "WWW-Authenticate": "Bearer" }),
    },
    content: JSON.stringify(problem),
    type: PROBLEM_TYPE,
  };
}

export const NOT_FOUND = problemAnswer(problemOf("not_found", "No such endpoint."));
export const NOT_ALLOWED = problemAnswer(
  problemOf("method_not_allowed", sentenceOf(ERROR_TEXT.methodNotAllowed)),
);
export const TOO_BUSY = problemAnswer(
  problemOf("unavailable", "Too many requests at once. Try again later."),
);
