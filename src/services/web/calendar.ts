// Calendar feeds of the forecast. Calendar programs have no session: the secret is in the path.
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { CalendarEvent } from "../../core/icalendar.ts";
import { calendarText } from "../../core/icalendar.ts";
import type { Instant } from "../../core/instant.ts";
import { FORECAST_FEED_REQUESTS_PER_MINUTE } from "../../core/limits.ts";
import type { ForecastEntry } from "../../core/project-forecast.ts";
import { networkReader } from "../../lib/http/client-address.ts";
import { entityTag, matchesTag } from "../../lib/http/entity-tag.ts";
import type { HttpHandler } from "../../lib/http/listener.ts";
import { sitePath } from "../../lib/http/request-target.ts";
import { type AsyncHandler, asyncHandler, DATA_POLICY, type HttpResponse } from "../../lib/http/response.ts";
import type { Log } from "../../lib/log.ts";
import { isUnreachable } from "../../lib/postgres-error.ts";
import { findFeedProject, readForecast } from "../../operations/forecast.ts";
import type { Database } from "../../store/db.ts";
import type { Project } from "../../store/projects.ts";
import { RateLimiter, RETRY_AFTER_SECONDS } from "../api/auth.ts";

const PATH = /^\/calendar\/(?<token>[A-Za-z0-9_-]{1,100})\.ics$/;

function decodeCalendarPath(path: string): string | null {
  return PATH.exec(path)?.groups?.["token"] ?? null;
}

export type CalendarHandlerOptions = {
  database: Database;
  siteUrl: string;
  trustedProxies: readonly string[];
  now(): Instant;
  /** Milliseconds on a clock that is never set. */
  monotonic(): number;
  log: Log;
};

export type CalendarHandler = HttpHandler & { answerCounts(): ReturnType<AsyncHandler["counts"]> };

const AT_ONCE_MAX = 10;
/** The URL is a secret, so that no shared cache may keep the response. */
const HEADERS = {
  "Cache-Control": "private, no-cache",
  "Content-Security-Policy": DATA_POLICY,
  "Referrer-Policy": "no-referrer",
};

/** Handles requests to calendar feeds. */
export function calendarHandler(options: CalendarHandlerOptions): CalendarHandler {
  const pathOf = sitePath(new URL(options.siteUrl));
  const networkOf = networkReader(options.trustedProxies);
  const limiter = new RateLimiter({
    perMinute: FORECAST_FEED_REQUESTS_PER_MINUTE,
    monotonic: () => options.monotonic(),
  });
  const answers = asyncHandler({
    atOnceMax: AT_ONCE_MAX,
    answer: (request) => {
      const { socket, headers, url = "" } = request;
      const network = networkOf({ peer: socket.remoteAddress, forwardedFor: headers["x-forwarded-for"] });
      const verdict = limiter.takeForKey(network);
      if (verdict?.isAllowed === false) {
        const after = { "Retry-After": String(verdict.retryAfterSeconds) };
        return Promise.resolve(refusal(429, "Too many requests. Try again in a minute.", after));
      }
      return answer(options, { request, token: decodeCalendarPath(pathOf(url)) ?? "" });
    },
    instead: (error) => failure(options, error),
  });
  return {
    handles: ({ url = "" }) => decodeCalendarPath(pathOf(url)) !== null,
    handle: (request, response) => answers.handle(request, response),
    answerCounts: () => answers.counts(),
  };
}

async function answer(
  options: CalendarHandlerOptions,
  { request, token }: { request: IncomingMessage; token: string },
): Promise<HttpResponse> {
  const { method, headers } = request;
  if (method !== "GET" && method !== "HEAD") {
    return refusal(405, "Method not allowed.", { Allow: "GET, HEAD" });
  }
  const project = await findFeedProject(options.database, token);
  if (project === null) {
    return refusal(404, "This calendar feed does not exist. Create a new one on the forecast page.");
  }
  const { entries, window } = await readForecast(options.database, { project, now: options.now() });
  const body = calendarText(
    entries.flatMap((entry) => eventsOf(entry, project, options.siteUrl)),
    { name: `${project.name}: forecast`, stamp: window.from },
  );
  const tag = entityTag(body);
  const tagged = { ...HEADERS, ETag: tag };
  if (matchesTag(headers["if-none-match"], tag)) return { status: 304, headers: tagged, body: "" };
  return { status: 200, headers: { ...tagged, "Content-Type": "text/calendar; charset=utf-8" }, body };
}

function eventsOf(entry: ForecastEntry, project: Project, siteUrl: string): CalendarEvent[] {
  const { id, dates, title, why, zone } = entry;
  return dates.map((date) => ({
    uid: `${createHash("sha256").update(`${project.uuid} ${id} ${date}`).digest("hex").slice(0, 32)}@overdue`,
    date,
    summary: title,
    description: `${why.replaceAll("`", "")}\nTime zone: ${zone}`,
    url: `${siteUrl}/projects/${project.uuid}/forecast/`,
  }));
}

function refusal(status: number, text: string, more: Readonly<Record<string, string>> = {}): HttpResponse {
  const headers = { ...HEADERS, "Content-Type": "text/plain; charset=utf-8", ...more };
  return { status, headers, body: `${text}\n` };
}

function failure({ log }: CalendarHandlerOptions, error: unknown): HttpResponse {
  if (error !== null) log.error({ err: error }, "calendar feed request failed");
  if (error !== null && !isUnreachable(error)) return refusal(500, "Something went wrong on our side.");
  return refusal(503, "Not available right now. Try again later.", { "Retry-After": RETRY_AFTER_SECONDS });
}
