// From a request of the dashboard to its response.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { WebError } from "../../contract/api/boot.ts";
import { validateBody, type Validated, validateQuery } from "../../contract/api/validate.ts";
import { mayDo, type Role } from "../../core/access.ts";
import { AppError, type ErrorCode, HTTP_STATUS } from "../../core/errors.ts";
import { isUuid } from "../../core/identity.ts";
import type { ConcurrencyByKey } from "../../lib/concurrency-by-key.ts";
import { isBeyondBounds, type JsonBounds } from "../../lib/http/body.ts";
import { type certainAddressReader, networkOf } from "../../lib/http/client-address.ts";
import { compress } from "../../lib/http/compress.ts";
import { readCookies } from "../../lib/http/cookies.ts";
import { DATA_POLICY, SAFETY_HEADERS } from "../../lib/http/response.ts";
import { originProblem } from "../../lib/http/same-origin.ts";
import type { LimitedWarning } from "../../lib/log.ts";
import { findShownCheck } from "../../store/checks.ts";
import { isDatabaseAway } from "../../store/errors.ts";
import { findProjectEntry, type Project } from "../../store/projects.ts";
import { PAGE_HEADERS, renderPage } from "./plain-page.ts";
import {
  type CheckRecord,
  type RequestSource,
  sentenceOf,
  type Session,
  type WebAnswer,
  type WebContext,
  WebRefusal,
  type WebRequest,
  type WebRoute,
} from "./route.ts";

/** Our forms have a few short fields. */
const FORM_BYTES_MAX = 32 * 1024;
/** A thousand ids with their data are far smaller; the validator limits the depth. */
const BOUNDS: JsonBounds = { valuesMax: 10_000, nestingMax: Number.POSITIVE_INFINITY };

/** Accepts bodies as bytes for all routes of an app. */
export function addBodyReader(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, bytes, done) => done(null, bytes));
}

/** The parsed body of a request; null: it has none. One that cannot be parsed is rejected with a sentence. */
export function readBody({ body, headers }: Pick<FastifyRequest, "body" | "headers">): unknown {
  if (!(body instanceof Uint8Array) || body.length === 0) return null;
  if (headers["content-type"]?.startsWith("application/x-www-form-urlencoded") === true) {
    if (body.length > FORM_BYTES_MAX) throw tooLarge();
    return Object.fromEntries(new URLSearchParams(textOf(body)));
  }
  if (isBeyondBounds(body, BOUNDS)) throw tooLarge();
  try {
    return JSON.parse(textOf(body));
  } catch {
    throw new WebRefusal("invalid", "The request body is not valid JSON.");
  }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
}

function tooLarge(): WebRefusal {
  return new WebRefusal("too_large", "The request is too large.");
}

// Resolves the session and what the path names, and checks access. To non-members a project looks nonexistent.

export type Found = Pick<WebRequest, "session" | "account" | "project" | "role" | "check">;

/** Not signed in; a page redirects to the sign-in page. */
class SignInError extends Error {
  override readonly name = "SignInError";
}

/** The user has to re-authenticate. */
class ReauthError extends Error {
  override readonly name = "ReauthError";
}

export type Caller = {
  route: WebRoute;
  params: Readonly<Record<string, string>>;
  session: Session | null;
};

/** Finds the resources of a request. Throws the error to respond with. */
export async function lookUp(context: WebContext, { route, params, session }: Caller): Promise<Found> {
  const found = { session, account: session?.account ?? null };
  const nothing = { project: null, role: null, check: null };
  if (route.access === "anyone") return { ...found, ...nothing };
  if (session === null) throw new SignInError("You are not signed in.");
  if (route.access === "operator" && !session.account.isAdmin) throw absent();
  if (route.access === "account" || route.access === "operator") {
    demandProof(route, session);
    return { ...found, ...nothing };
  }
  const named = await findNamed(context, { params, session });
  if (!mayDo(named.role, route.access)) {
    throw new WebRefusal("forbidden", `Your role in the project ${named.project.name} doesn't allow this.`);
  }
  demandProof(route, session);
  return { ...found, ...named };
}

function demandProof(route: WebRoute, session: Session): void {
  if (route.reauth === true && !session.isProven) throw new ReauthError("Re-authenticate to continue.");
}

type Named = { project: Project; role: Role; check: CheckRecord | null };

async function findNamed(
  { database }: WebContext,
  { params, session }: { params: Caller["params"]; session: Session },
): Promise<Named> {
  const { project: projectUuid, check: checkUuid } = params;
  for (const uuid of [projectUuid, checkUuid]) {
    if (uuid !== undefined && !isUuid(uuid)) throw absent();
  }
  const check = checkUuid === undefined ? null : await findShownCheck(database, checkUuid);
  if (checkUuid !== undefined && check === null) throw absent();
  const accountId = session.account.id;
  const entry =
    check === null
      ? await findProjectEntry(database, { accountId, projectUuid: projectUuid ?? "" })
      : await findProjectEntry(database, { accountId, projectId: check.projectId });
  if (entry === null) throw absent();
  const { project, role } = entry;
  if (projectUuid !== undefined && project.uuid !== projectUuid) throw absent();
  return { project, role, check };
}

function absent(): WebRefusal {
  return new WebRefusal("not_found", "It doesn't exist, or you don't have access to it.");
}

const OK = 200;
const FOUND = 303;

/** Headers of every response that is not a page. */
const DATA_HEADERS = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": DATA_POLICY,
};

export type Sending = { acceptEncoding: string | undefined; isHead: boolean; base: string };

/** Sends the response; resolves to its status. */
export async function sendAnswer(
  reply: FastifyReply,
  answer: WebAnswer,
  { acceptEncoding, isHead, base }: Sending,
): Promise<number> {
  const { status = OK, headers = {}, cookies = [] } = answer;
  if ("stream" in answer) {
    if (isHead) {
      await reply
        .code(status)
        .headers({ ...SAFETY_HEADERS, ...DATA_HEADERS })
        .send();
      return status;
    }
    reply.hijack();
    answer.stream(reply.raw);
    return status;
  }
  reply.headers({ ...SAFETY_HEADERS });
  if (cookies.length > 0) reply.header("Set-Cookie", cookies);
  if ("redirect" in answer) {
    const { redirect } = answer;
    const isStatus = status >= 300 && status < 400;
    reply.code(isStatus ? status : FOUND).headers({ ...DATA_HEADERS, ...headers });
    await reply.header("Location", redirect.startsWith("/") ? `${base}${redirect}` : redirect).send();
    return reply.statusCode;
  }
  const { type, bytes, more } = contentOf(answer);
  const encoded =
    "packed" in answer ? { bytes, encoding: answer.encoding } : await compress(bytes, acceptEncoding);
  reply.code(status).headers({ "Content-Type": type, Vary: "Accept-Encoding", ...more, ...headers });
  if (encoded.encoding !== null) reply.header("Content-Encoding", encoded.encoding);
  await reply.send(encoded.bytes);
  return status;
}

type Content = { type: string; bytes: Buffer; more: Readonly<Record<string, string>> };

function contentOf(answer: Exclude<WebAnswer, { redirect: string } | { stream: unknown }>): Content {
  if ("json" in answer) {
    const bytes = Buffer.from(JSON.stringify(answer.json) ?? "null");
    return { type: "application/json; charset=utf-8", bytes, more: DATA_HEADERS };
  }
  if ("html" in answer) {
    return {
      type: "text/html; charset=utf-8",
      bytes: Buffer.from(answer.html),
      more: { "Cache-Control": "no-store" },
    };
  }
  const content = "packed" in answer ? answer.packed : answer.content;
  const bytes = typeof content === "string" ? Buffer.from(content) : bufferOf(content);
  return { type: answer.type, bytes, more: DATA_HEADERS };
}

function bufferOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

const TITLES: Readonly<Record<number, string>> = {
  403: "Access denied",
  404: "Page not found",
  503: "Something went wrong",
};

const HOME = "Go to the dashboard";

/** The response for an unknown path. */
export function nothingHere(site: { name: string; url: string }): {
  headers: Readonly<Record<string, string>>;
  html: string;
} {
  const page = { title: TITLES[404] ?? "", sentences: ["No page exists at this URL."], home: HOME };
  return { headers: PAGE_HEADERS, html: renderPage(page, site) };
}

/** An error: JSON for a script, a page for a person. */
function refusalAnswer(
  { status, trouble, isPage }: { status: number; trouble: WebError; isPage: boolean },
  site: { name: string; url: string },
): WebAnswer {
  const headers: Record<string, string> = status === 503 ? { "Retry-After": "5" } : {};
  if (!isPage) return { status, json: trouble, headers };
  const title = TITLES[status] ?? "Something went wrong";
  const { "Content-Type": _, ...pageHeaders } = PAGE_HEADERS;
  return {
    status,
    html: renderPage({ title, sentences: [trouble.error], home: HOME }, site),
    headers: { ...pageHeaders, ...headers },
  };
}

// The order is the same for all routes: origin, session, path, access, query, body, route. Errors become sentences.

export type RespondParts = {
  context: WebContext;
  siteUrl: URL;
  addressOf: ReturnType<typeof certainAddressReader>;
  /** By account. */
  requests: ConcurrencyByKey;
  /** While the database is unavailable every request fails in the same way. */
  warnAway: LimitedWarning;
};

type Asked = { route: WebRoute; request: FastifyRequest };

/** Answers a request by its route. Never throws. */
export async function respond(parts: RespondParts, { route, request }: Asked): Promise<WebAnswer> {
  try {
    const { siteUrl } = parts;
    if (route.method !== "GET" && route.fromAnywhere !== true) demandOrigin(request, siteUrl);
    const arrival = arrivalOf(parts, request);
    const { session, setCookies } = await parts.context.resolveSession(arrival);
    const work = async () => route.answer(await requestOf(parts, { route, request, arrival, session }));
    const answer = session === null ? await work() : await withAccountLimit(parts, session, work);
    return setCookies.length === 0
      ? answer
      : { ...answer, cookies: [...setCookies, ...(answer.cookies ?? [])] };
  } catch (error) {
    return answerTo(error, { parts, isPage: isPagePath(request.url), url: request.url, name: route.name });
  }
}

/** A request that has not started by then is rejected. */
const ACCOUNT_WAIT_MS_MAX = 30_000;

/** Limits concurrent requests of one account. */
async function withAccountLimit(
  { requests }: RespondParts,
  { account }: Session,
  work: () => Promise<WebAnswer>,
): Promise<WebAnswer> {
  const end = await requests.begin(String(account.id), { withinMs: ACCOUNT_WAIT_MS_MAX });
  if (end === null) throw new WebRefusal("rate_limited", "Too many open requests. Try again in a moment.");
  try {
    return await work();
  } finally {
    end();
  }
}

/** Scripts send requests below this path; every other path is opened as a page. */
export function isPagePath(url: string): boolean {
  return !url.startsWith("/web/");
}

function arrivalOf({ context, addressOf }: RespondParts, { raw }: FastifyRequest): RequestSource {
  const { headers, socket } = raw;
  const peer = socket.remoteAddress;
  // Also shown for a session: an intruder must not be able to fake the owner's address.
  const address = addressOf({ peer, forwardedFor: headers["x-forwarded-for"] });
  return {
    cookies: readCookies(headers.cookie),
    headers,
    peer,
    remoteAddr: address === "" ? null : address,
    network: networkOf(address),
    ua: headers["user-agent"] ?? "",
    now: context.now(),
  };
}

async function requestOf(
  { context }: RespondParts,
  { route, request, arrival, session }: Asked & { arrival: RequestSource; session: Session | null },
): Promise<WebRequest> {
  const params = request.params as Record<string, string>;
  const found = await lookUp(context, { route, params, session });
  const queryAt = request.url.indexOf("?");
  const search = new URLSearchParams(queryAt === -1 ? "" : request.url.slice(queryAt + 1));
  return {
    context,
    ...found,
    ...arrival,
    remoteAddr: arrival.remoteAddr ?? "",
    params,
    query: route.query === undefined ? {} : validated(validateQuery(route.query, search)),
    body: route.body === undefined ? null : validated(validateBody(route.body, readBody(request) ?? {})),
    url: request.url,
  };
}

function demandOrigin({ raw }: FastifyRequest, siteUrl: URL): void {
  const trouble = originProblem(raw.headers, siteUrl);
  if (trouble !== null) throw new WebRefusal("forbidden", trouble);
}

function validated(verdict: Validated): unknown {
  if (verdict.ok) return verdict.value;
  throw new WebRefusal("invalid", verdict.error, verdict.field ?? null);
}

type Thrown = {
  parts: Pick<RespondParts, "context" | "warnAway">;
  isPage: boolean;
  url: string;
  /** The name of the route, for the log. */
  name: string | null;
};

const SORRY = "Something went wrong on our side. Try again in a few minutes.";

/** The response to any thrown error. */
export function answerTo(error: unknown, { parts, isPage, url, name }: Thrown): WebAnswer {
  const { site, log } = parts.context;
  if (error instanceof SignInError && isPage) {
    return { redirect: `/accounts/login/?next=${encodeURIComponent(url)}` };
  }
  if (error instanceof ReauthError && isPage) {
    return { redirect: `/accounts/confirm/?next=${encodeURIComponent(url)}` };
  }
  const refused = (code: ErrorCode, trouble: WebError) =>
    refusalAnswer({ status: HTTP_STATUS[code], trouble, isPage }, site);
  if (error instanceof SignInError) return refused("unauthenticated", { error: error.message });
  if (error instanceof ReauthError) return refused("forbidden", { error: error.message, reauth: true });
  if (error instanceof WebRefusal) {
    const { code, message, field } = error;
    return refused(code, { error: message, ...(field !== null && { field }) });
  }
  if (error instanceof AppError) return refused(error.code, { error: sentenceOf(error.message) });
  if (isDatabaseAway(error)) {
    parts.warnAway({ err: error, route: name }, "dashboard request failed: database unavailable");
    return refused("unavailable", { error: SORRY });
  }
  const status = clientStatusOf(error);
  if (status !== null) {
    const said = status === 413 ? "The request is too large." : "The request is malformed.";
    return refusalAnswer({ status, trouble: { error: said }, isPage }, site);
  }
  log.error({ err: error, route: name }, "dashboard request failed");
  return refused("internal", { error: SORRY });
}

/** Errors of the framework: a body that is too large, a URL that cannot be decoded. */
function clientStatusOf(error: unknown): number | null {
  if (!(error instanceof Error) || !("statusCode" in error) || !("code" in error)) return null;
  const { statusCode, code } = error;
  const isOurs = typeof code === "string" && code.startsWith("FST_");
  return isOurs && typeof statusCode === "number" && statusCode >= 400 && statusCode < 500
    ? statusCode
    : null;
}
