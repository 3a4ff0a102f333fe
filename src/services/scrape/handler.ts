// Prometheus pages of projects by HTTP, for whoever has a read-only key.
import type { IncomingMessage } from "node:http";
import { type Credential, decideAccess } from "../../core/access.ts";
import { ERROR_TEXT, type ErrorCode, HTTP_STATUS } from "../../core/errors.ts";
import type { Instant } from "../../core/instant.ts";
import type { RateVerdict } from "../../core/request/rate-limit.ts";
import { type Answering, answering, type HttpAnswer } from "../../lib/http/answering.ts";
import { sitePath } from "../../lib/http/request-target.ts";
import type { HttpHandler } from "../../lib/http/listener.ts";
import type { Log } from "../../lib/log.ts";
import { listScrapedChecks, type ScrapedCheck } from "../../store/checks/check-statuses.ts";
import type { Db } from "../../store/db.ts";
import { isDatabaseAway } from "../../store/errors.ts";
import type { ApiKey } from "../../store/keys.ts";
import { decodeScrapePath } from "./address.ts";
import { scrapePage } from "./page.ts";

export type ScrapeHandlerOptions = {
  database: Db;
  siteUrl: URL;
  /**
   * Finds out whose key this is, and counts the request in the same buckets as the API does. A credential of null:
   * too many have come, and nobody has looked at the key.
   */
  identify(request: IncomingMessage, key: string | undefined): Promise<Visitor>;
  now(): Instant;
  /** Told of each use of a key. */
  keyUsed(use: { keyId: number; at: Instant }): void;
  log: Log;
};

export type Visitor = {
  credential: Credential | null;
  found: { key: Pick<ApiKey, "id" | "projectId"> } | null;
  rate: RateVerdict | null;
};

export type ScrapeHandler = HttpHandler & { answerCounts(): ReturnType<Answering["counts"]> };

/** Pages of large projects take megabytes; scrapers come seldom and one by one. */
const AT_ONCE_MAX = 20;
const RETRY_AFTER_SECONDS = "5";
const PORTION = 1_000;
const NOT_STORED = { "Cache-Control": "no-store" };

/** Handles what comes to the addresses for scrapers. */
export function scrapeHandler(options: ScrapeHandlerOptions): ScrapeHandler {
  const pathOf = sitePath(options.siteUrl);
  const answers = answering({
    atOnceMax: AT_ONCE_MAX,
    answer: (request) => answer(options, { request, path: pathOf(request.url ?? "") }),
    instead: (error) => failure(options.log, error),
  });
  return {
    handles: ({ url = "" }) => decodeScrapePath(pathOf(url)) !== null,
    handle: (request, response) => answers.handle(request, response),
    answerCounts: () => answers.counts(),
  };
}

async function answer(
  options: ScrapeHandlerOptions,
  { request, path }: { request: IncomingMessage; path: string },
): Promise<HttpAnswer> {
  const address = decodeScrapePath(path);
  if (address === null) return refusal("not_found", ERROR_TEXT.notFound);
  if (request.method !== "GET" && request.method !== "HEAD") {
    return refusal("method_not_allowed", ERROR_TEXT.methodNotAllowed, { Allow: "GET, HEAD" });
  }
  if (address === "closed") return refusal("forbidden", ERROR_TEXT.wrongKey);
  const presented = address.key ?? bearerOf(request.headers.authorization);
  const { credential, found, rate } = await options.identify(request, presented);
  if (credential === null) {
    const seconds = rate === null ? RETRY_AFTER_SECONDS : String(rate.retryAfterSeconds);
    return refusal("rate_limited", ERROR_TEXT.tooManyRequests, { "Retry-After": seconds });
  }
  const access = decideAccess({
    endpoint: "scrapeMetrics",
    credential,
    target: "none",
    dialect: "standard",
  });
  if (!access.allowed) {
    const hint = access.code === "unauthenticated" ? { "WWW-Authenticate": "Bearer" } : {};
    return refusal(access.code, access.text, hint);
  }
  // Access is given to known keys only.
  if (found === null) return refusal("internal", ERROR_TEXT.internal);
  const { key } = found;
  const now = options.now();
  options.keyUsed({ keyId: key.id, at: now });
  const checks = await listAll(options.database, key.projectId);
  const headers = { ...NOT_STORED, "Content-Type": "text/plain" };
  return { status: 200, headers, body: scrapePage(checks, now) };
}

/** In portions, because reading thousands of rows at once would let everyone else wait. */
async function listAll(database: Db, projectId: number): Promise<ScrapedCheck[]> {
  const all: ScrapedCheck[] = [];
  for (;;) {
    const afterId = all.at(-1)?.id ?? 0;
    const portion = await listScrapedChecks(database, { projectId, afterId, limit: PORTION });
    all.push(...portion);
    if (portion.length < PORTION) return all;
  }
}

function bearerOf(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+)\s*$/i.exec(authorization ?? "")?.[1];
}

function refusal(code: ErrorCode, text: string, more: Record<string, string> = {}): HttpAnswer {
  return {
    status: HTTP_STATUS[code],
    headers: { ...NOT_STORED, "Content-Type": "application/json", ...more },
    body: JSON.stringify({ error: text }),
  };
}

function failure(log: Log, error: unknown): HttpAnswer {
  if (error !== null) log.error({ err: error }, "project metrics request failed");
  if (error !== null && !isDatabaseAway(error)) return refusal("internal", ERROR_TEXT.internal);
  return refusal("unavailable", ERROR_TEXT.unavailable, { "Retry-After": RETRY_AFTER_SECONDS });
}
