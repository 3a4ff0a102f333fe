// Serves status pages at /status/<slug>/ and on their own domains. A page is sent from memory; the database is needed
// only for logos, subscriptions and passwords. Sessions are ignored here.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Signing } from "../../core/email.ts";
import { AppError, type ErrorCode, HTTP_STATUS } from "../../core/errors.ts";
import type { Instant } from "../../core/instant.ts";
import { STATUS_UNLOCK_DAYS } from "../../core/limits.ts";
import { isUnlockCookie, unlockCookie } from "../../core/status-page.ts";
import { byteBudget, type ReadBody, readBody } from "../../lib/http/body.ts";
import { networkReader } from "../../lib/http/client-address.ts";
import { readCookies } from "../../lib/http/cookies.ts";
import { html } from "../../lib/http/html.ts";
import type { HttpHandler } from "../../lib/http/listener.ts";
import { basePath, requestTarget, sitePath } from "../../lib/http/request-target.ts";
import { asyncHandler, DATA_POLICY, type HttpResponse } from "../../lib/http/response.ts";
import { originProblem } from "../../lib/http/same-origin.ts";
import type { Log } from "../../lib/log.ts";
import { TooBusyError } from "../../lib/password-hash.ts";
import {
  confirmSubscription,
  findLinkedSubscriber,
  isPagePassword,
  subscribeByEmail,
  unsubscribe,
} from "../../operations/status-subscribers.ts";
import type { Database } from "../../store/db.ts";
import { isDatabaseAway } from "../../store/errors.ts";
import { findStatusLogo } from "../../store/status-pages.ts";
import { RETRY_AFTER_SECONDS } from "../api/auth.ts";
import type { Documents, ServedPage, StatusBoard } from "./board.ts";
import { type Card, type CardOwner, renderCard, type RenderedPage } from "./page.ts";
import { prepare, type Prepared, sendPrepared } from "./prepared.ts";
import { CARD_WORDS as words } from "./words.ts";

export type StatusFont = { name: string; bytes: Buffer };

export type StatusHandlerOptions = {
  board: StatusBoard;
  database: Database;
  /** Null until the database was reached once. */
  signing(): Signing | null;
  site: { name: string; url: string };
  /** Hosts of the server itself, which no page can take over. */
  ownHosts: ReadonlySet<string>;
  trustedProxies: readonly string[];
  font: StatusFont | null;
  now(): Instant;
  log: Log;
};

export type StatusHandler = HttpHandler & { answerCounts(): Readonly<Record<string, number>> };

const ROOT = "/status";
const SLUG_PATH = /^\/status\/(?<slug>[^/]+)(?<rest>\/.*)?$/;
const COOKIE = "overdue_status";
const AT_ONCE_MAX = 50;
/** A form has one short field. */
const FORM_BYTES_MAX = 4_096;
const FORMS_BYTES_MAX = 1024 * 1024;
const DAY_SECONDS = 86_400;
/** Longer than any valid token, so that an invalid one gets an error page. */
const TOKEN_PATH = /^(?<verb>confirm|unsubscribe)\/(?<token>[A-Za-z0-9._:-]{1,300})\/?$/;
const DOCUMENTS: Readonly<Record<string, keyof Documents>> = {
  "": "page",
  "feed.atom": "atom",
  "feed.rss": "rss",
  "status.json": "json",
};
const FOREVER = "public, max-age=31536000, immutable";
const LOGO_CACHE = "max-age=3600";
/** Attempts are counted for an hour. */
const ATTEMPTS_RETRY_SECONDS = "600";
const NO_STORE = "private, no-store";

/** The page that a request is for, and the path below it. */
type Target = {
  served: ServedPage;
  /** Without the leading slash; null: the slash after the slug is missing. */
  rest: string | null;
  /** The path of the page in the browser. */
  home: string;
  /** The public origin of the page. */
  origin: URL;
};

export function statusHandler(options: StatusHandlerOptions): StatusHandler {
  const { board, site, font } = options;
  const siteUrl = new URL(site.url);
  const pathOf = sitePath(siteUrl);
  const base = basePath(siteUrl);
  const counts: Record<string, number> = {};
  const count = (status: number) => {
    counts[status] = (counts[status] ?? 0) + 1;
  };
  const parts: Parts = {
    ...options,
    siteUrl,
    budget: byteBudget(FORMS_BYTES_MAX),
    networkOf: networkReader(options.trustedProxies),
    fontFile: font === null ? null : prepareFont(font),
  };

  const domainPage = ({ url = "", headers }: IncomingMessage): ServedPage | null => {
    if (!board.hasDomains) return null;
    const host = hostName(requestTarget(url, headers.host)?.host);
    return host === null || options.ownHosts.has(host) ? null : board.ofDomain(host);
  };

  const locate = (request: IncomingMessage): Target | null => {
    const { url = "" } = request;
    const ofDomain = domainPage(request);
    if (ofDomain !== null) {
      const origin = new URL(`https://${ofDomain.listed.domain}`);
      return { served: ofDomain, rest: withoutQuery(url).slice(1), home: "/", origin };
    }
    const { slug = "", rest } = SLUG_PATH.exec(pathOf(url))?.groups ?? {};
    const served = board.ofSlug(slug);
    if (served === null) return null;
    return { served, rest: rest?.slice(1) ?? null, home: `${base}${ROOT}/${slug}/`, origin: siteUrl };
  };

  const others = asyncHandler({
    atOnceMax: AT_ONCE_MAX,
    answer: async (request) => {
      const target = locate(request);
      if (target === null)
        return board.isReady ? sitePage(parts, { status: 404, ...words.unknownPage }) : notReady(parts);
      try {
        return await answer(parts, { request, target });
      } catch (error) {
        const refused = refusal(parts, target, error);
        if (refused === null) throw error;
        return refused;
      }
    },
    instead: (error) => failure(parts, error),
  });

  const sendFont = async (file: Promise<Prepared>, { request, response }: Exchange) => {
    count(sendPrepared(request, response, await file));
  };

  const sendRenewed = async (
    wanted: Exchange & { served: ServedPage; name: keyof Documents; now: Instant },
  ) => {
    const { request, response, served, name, now } = wanted;
    try {
      const documents = await board.documents(served, now);
      if (documents !== null) return count(sendPrepared(request, response, documents[name]));
    } catch (error) {
      if (!isDatabaseAway(error)) options.log.error({ err: error }, "could not render status page");
    }
    return others.handle(request, response);
  };

  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const { method } = request;
    const target = method === "GET" || method === "HEAD" ? locate(request) : null;
    if (target === null || target.rest === null) return others.handle(request, response);
    const { served } = target;
    const name = DOCUMENTS[target.rest];
    if (target.rest === font?.name && parts.fontFile !== null) {
      void sendFont(parts.fontFile, { request, response });
      return;
    }
    if (name === undefined || !mayRead(parts, { request, served })) return others.handle(request, response);
    const now = options.now();
    const ready = board.ready(served, now);
    if (ready !== null) return count(sendPrepared(request, response, ready[name]));
    void sendRenewed({ request, response, served, name, now });
  };

  return {
    handles: (request) => {
      const path = pathOf(request.url ?? "");
      return path === ROOT || path.startsWith(`${ROOT}/`) || domainPage(request) !== null;
    },
    handle,
    answerCounts: () => {
      const sums = { ...counts };
      for (const [status, number] of Object.entries(others.counts()))
        sums[status] = (sums[status] ?? 0) + number;
      return sums;
    },
  };
}

type Parts = StatusHandlerOptions & {
  siteUrl: URL;
  budget: ReturnType<typeof byteBudget>;
  networkOf: ReturnType<typeof networkReader>;
  fontFile: Promise<Prepared> | null;
};
type Asked = { request: IncomingMessage; target: Target };
type Exchange = { request: IncomingMessage; response: ServerResponse };

function prepareFont({ bytes }: StatusFont): Promise<Prepared> {
  const headers = { "Cache-Control": FOREVER, "Content-Security-Policy": DATA_POLICY };
  return prepare({ type: "font/woff2", body: bytes, headers, isText: false });
}

/** The name in a Host header, in lower case, without port and trailing dot. */
export function hostName(host: string | undefined): string | null {
  if (host === undefined || host === "" || host.startsWith("[")) return null;
  const colon = host.indexOf(":");
  const name = (colon === -1 ? host : host.slice(0, colon)).toLowerCase();
  return name.endsWith(".") ? name.slice(0, -1) : name;
}

function withoutQuery(url: string): string {
  const path = requestTarget(url, undefined)?.path ?? "/";
  const end = path.search(/[?#]/);
  return end === -1 ? path : path.slice(0, end);
}

/** Whether the browser has entered the password, or there is none. */
function mayRead(
  options: Parts,
  { request, served }: { request: IncomingMessage; served: ServedPage },
): boolean {
  const { uuid, passwordHash } = served.listed;
  if (passwordHash === null) return true;
  const signing = options.signing();
  const value = readCookies(request.headers.cookie)[COOKIE];
  return (
    signing !== null &&
    value !== undefined &&
    isUnlockCookie(value, { signing, page: { uuid, passwordHash } })
  );
}

/** Everything except documents that are sent from memory. */
async function answer(parts: Parts, asked: Asked): Promise<HttpResponse> {
  const { request, target } = asked;
  const { served, rest, home } = target;
  const method = request.method ?? "";
  if (rest === null) return redirect(301, home);
  const link = TOKEN_PATH.exec(rest)?.groups;
  if (link !== undefined)
    return answerLink(parts, { ...asked, verb: link["verb"] ?? "", token: link["token"] ?? "" });
  if (method === "POST" && (rest === "subscribe" || rest === "unlock")) {
    return answerForm(parts, { ...asked, form: rest });
  }
  if (method !== "GET" && method !== "HEAD") {
    return withHeaders(card(parts, target, { status: 405, ...words.method }), { Allow: "GET, HEAD" });
  }
  // Reloading the result of a form.
  if (rest === "subscribe" || rest === "unlock") return redirect(303, home);
  const isDocument = DOCUMENTS[rest] !== undefined;
  if (!isDocument && rest !== "logo") return card(parts, target, { status: 404, ...words.notFound });
  // The page of the password has the logo, too.
  if (rest === "logo") return logo(parts, asked);
  if (!mayRead(parts, { request, served })) return passwordPage(parts, asked, { status: 403 });
  // It was deleted, or has not been read since the start.
  const response = card(parts, target, { status: 503, ...words.unavailable });
  return withHeaders(response, { "Retry-After": RETRY_AFTER_SECONDS });
}

async function logo({ database }: Parts, { request, target }: Asked): Promise<HttpResponse> {
  const { listed } = target.served;
  const found = await findStatusLogo(database, listed.id);
  if (found === null) return { status: 404, headers: { "Cache-Control": "no-store" }, body: "" };
  const tag = `"${found.digest}"`;
  const headers = {
    "Cache-Control": `${listed.passwordHash === null ? "public" : "private"}, ${LOGO_CACHE}`,
    "Content-Security-Policy": DATA_POLICY,
    ETag: tag,
  };
  if (request.headers["if-none-match"] === tag) return { status: 304, headers, body: "" };
  return { status: 200, headers: { ...headers, "Content-Type": found.type }, body: found.bytes };
}

// Forms: subscribing and the password.

async function answerForm(
  parts: Parts,
  asked: Asked & { form: "subscribe" | "unlock" },
): Promise<HttpResponse> {
  const { request, target, form } = asked;
  const problem = originProblem(request.headers, target.origin);
  if (problem !== null)
    return card(parts, target, { status: 403, title: words.crossSite, sentences: [problem] });
  const { socket, headers } = request;
  const network = parts.networkOf({ peer: socket.remoteAddress, forwardedFor: headers["x-forwarded-for"] });
  const fields = await readForm(request, parts.budget);
  if (fields === null) return card(parts, target, { status: 400, ...words.unreadable });
  if (form === "unlock") return unlock(parts, { ...asked, password: fields.get("password") ?? "", network });
  if (!mayRead(parts, { request, served: target.served })) return passwordPage(parts, asked, { status: 403 });
  const address = (fields.get("email") ?? "").trim();
  const { id: pageId } = target.served.listed;
  await subscribeByEmail(parts.database, { pageId, address, network, at: parts.now() });
  return card(parts, target, { status: 200, ...words.checkEmail(address) });
}

async function unlock(
  parts: Parts,
  { target, request, password, network }: Asked & { password: string; network: string },
): Promise<HttpResponse> {
  const { listed } = target.served;
  const { uuid, passwordHash } = listed;
  const signing = parts.signing();
  if (passwordHash === null || signing === null) return redirect(303, target.home);
  const now = parts.now();
  if (!(await isPagePassword(parts.database, { page: listed, password, network, now }))) {
    return passwordPage(parts, { request, target }, { status: 403, mistake: words.wrongPassword });
  }
  const cookie = [
    `${COOKIE}=${unlockCookie(signing, { uuid, passwordHash })}`,
    `Path=${target.home}`,
    "HttpOnly",
    "SameSite=Lax",
    ...(parts.siteUrl.protocol === "https:" ? ["Secure"] : []),
    `Max-Age=${STATUS_UNLOCK_DAYS * DAY_SECONDS}`,
  ].join("; ");
  return withHeaders(redirect(303, target.home), { "Set-Cookie": cookie });
}

function passwordPage(
  parts: Parts,
  { target }: Asked,
  { status, mistake }: { status: number; mistake?: string },
): HttpResponse {
  const form = html`<form method="post" action="${target.home}unlock"><label>${words.password.label}<input name="password" type="password" required maxlength="200" autocomplete="current-password"></label><button class="button is-main" type="submit">${words.password.act}</button></form>`;
  const { title, sentences } = words.password;
  return card(parts, target, { status, title, sentences, form, ...(mistake !== undefined && { mistake }) });
}

async function readForm(
  request: IncomingMessage,
  budget: ReturnType<typeof byteBudget>,
): Promise<URLSearchParams | null> {
  const limits = { keepBytes: FORM_BYTES_MAX, readBytesMax: FORM_BYTES_MAX, budget };
  const read = await new Promise<ReadBody>((resolve) => readBody(request, limits, resolve));
  if (read.kind !== "whole") return null;
  return new URLSearchParams(new TextDecoder().decode(read.body ?? new Uint8Array()));
}

// Links in emails. A GET changes nothing, because email clients and scanners open every link.

async function answerLink(
  parts: Parts,
  { request, target, verb, token }: Asked & { verb: string; token: string },
): Promise<HttpResponse> {
  const { method } = request;
  const isConfirm = verb === "confirm";
  const text = isConfirm ? words.confirm : words.unsubscribe;
  if (method !== "GET" && method !== "HEAD" && method !== "POST") {
    const refused = card(parts, target, { status: 405, ...words.method });
    return withHeaders(refused, { Allow: "GET, HEAD, POST" });
  }
  const signing = parts.signing();
  if (signing === null) return notReady(parts);
  const { database } = parts;
  const purpose = isConfirm ? "statusConfirm" : "statusUnsubscribe";
  const found = await findLinkedSubscriber(database, { signing, purpose, token });
  const badLink = () => card(parts, target, { status: 404, ...words.badLink });
  if (found?.page.id !== target.served.listed.id) return badLink();
  if (method !== "POST") {
    const form = html`<form method="post"><button class="button is-main" type="submit">${text.act}</button></form>`;
    return card(parts, target, { status: 200, title: text.title, sentences: text.sentences, form });
  }
  const linked = await (isConfirm
    ? confirmSubscription(database, { signing, token, at: parts.now() })
    : unsubscribe(database, { signing, token }));
  return linked === null ? badLink() : card(parts, target, { status: 200, ...text.done });
}

// Small pages.

/** Until the page was read, its small pages have neither its name nor its colors. */
const NAMELESS: CardOwner = {
  title: "Status",
  logo: null,
  brand: { background: null, accent: null, ink: null, button: null },
};

function card(
  parts: Parts,
  { served, home }: Target,
  { status, ...shown }: Card & { status: number },
): HttpResponse {
  // Without the password, only the form is public.
  const owner = served.view ?? NAMELESS;
  return cardResponse(status, renderCard(owner, shown, { base: home, fontName: parts.font?.name ?? null }));
}

function cardResponse(status: number, { text, policy }: RenderedPage): HttpResponse {
  return {
    status,
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": policy,
      "Cache-Control": NO_STORE,
      "X-Robots-Tag": "noindex",
    },
    body: text,
  };
}

const REFUSALS: Partial<Record<ErrorCode, Card>> = {
  invalid: words.invalidEmail,
  rate_limited: words.tooMany,
  conflict: words.full,
  not_found: words.notFound,
};

/** What the request asked for was refused; null: something else went wrong. */
function refusal(parts: Parts, target: Target, error: unknown): HttpResponse | null {
  const shown = error instanceof AppError ? REFUSALS[error.code] : undefined;
  if (!(error instanceof AppError) || shown === undefined) return null;
  const response = card(parts, target, { status: HTTP_STATUS[error.code], ...shown });
  return error.code === "rate_limited"
    ? withHeaders(response, { "Retry-After": ATTEMPTS_RETRY_SECONDS })
    : response;
}

function redirect(status: number, to: string): HttpResponse {
  return { status, headers: { Location: to, "Cache-Control": NO_STORE }, body: "" };
}

function withHeaders(response: HttpResponse, headers: Readonly<Record<string, string>>): HttpResponse {
  return { ...response, headers: { ...response.headers, ...headers } };
}

/** A page of the server, for readers who do not get a status page. */
function sitePage(
  { site, siteUrl }: Pick<Parts, "site" | "siteUrl">,
  { status, ...shown }: Card & { status: number },
) {
  const owner = { ...NAMELESS, title: site.name };
  return cardResponse(status, renderCard(owner, shown, { base: `${basePath(siteUrl)}/`, fontName: null }));
}

function notReady(parts: Pick<Parts, "site" | "siteUrl">): HttpResponse {
  const response = sitePage(parts, { status: 503, ...words.unavailable });
  return withHeaders(response, { "Retry-After": RETRY_AFTER_SECONDS });
}

function failure(parts: Parts, error: unknown): HttpResponse {
  const isBusy = error === null || error instanceof TooBusyError || isDatabaseAway(error);
  if (!isBusy) parts.log.error({ err: error }, "could not answer request to status page");
  return { ...notReady(parts), status: isBusy ? 503 : 500 };
}
