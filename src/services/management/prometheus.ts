// Prometheus metrics of a project: URL, text format, and handler.
import type { IncomingMessage } from "node:http";
import { setImmediate } from "node:timers/promises";
import { type Credential, decideAccess } from "../../core/access.ts";
import { ERROR_TEXT, type ErrorCode, HTTP_STATUS } from "../../core/errors.ts";
import { isUuid, splitTags, uniqueKey } from "../../core/identity.ts";
import type { Instant } from "../../core/instant.ts";
import { TAGS_LISTED_MAX } from "../../core/limits.ts";
import type { RateVerdict } from "../../core/rate-limit.ts";
import { quickStatusAt, type ShownStatus, startedAt } from "../../core/state.ts";
import type { HttpHandler } from "../../lib/http/listener.ts";
import { sitePath } from "../../lib/http/request-target.ts";
import { type AsyncHandler, asyncHandler, type HttpResponse } from "../../lib/http/response.ts";
import type { Log } from "../../lib/log.ts";
import { sha1Hex } from "../../lib/secrets.ts";
import { findSilencedChecks } from "../../operations/silences.ts";
import type { KeyUse } from "../../operations/api-keys.ts";
import type { ApiKey } from "../../store/api-keys.ts";
import { listScrapedChecks, type ScrapedCheck } from "../../store/check-lists.ts";
import type { Db } from "../../store/db.ts";
import { countOpenIncidents, listChecksWithAlert } from "../../store/incidents.ts";
import { isDatabaseAway } from "../../store/errors.ts";
import { RETRY_AFTER_SECONDS } from "../api/auth.ts";

/** The key in the path, or null if it must be in a header. "closed": not available over HTTP. */
export type PrometheusAddress = { key: string | null } | "closed";

/** The reference server serves server metrics here; ours are on the admin port of each process. */
const INSTANCE_PATH = /^\/api\/v[123]\/metrics\/?$/;
/** The project in the path is ignored: the key determines the project. */
const PROJECT_PATH = /^\/projects\/(?<project>[^/]+)\/metrics(?:\/(?<key>[^/]*))?$/;
/** An older form of the same path. */
const CHECKS_PATH = /^\/checks\/metrics\/(?<key>[^/]+)$/;

/** The endpoint of a path below the site; null if it is not a metrics path. */
export function decodePrometheusPath(path: string): PrometheusAddress | null {
  if (INSTANCE_PATH.test(path)) return "closed";
  const named = PROJECT_PATH.exec(path)?.groups ?? CHECKS_PATH.exec(path)?.groups;
  if (named === undefined) return null;
  const { project, key = "" } = named;
  if (project !== undefined && !isUuid(project)) return null;
  return { key: key === "" ? null : key };
}

// Names and labels match the reference server, so that existing dashboards work. Rendered in pieces, so that other
// requests are served in between.

/** Lines rendered before other requests are served: about a millisecond. */
const PIECE = 500;
/** Checks processed before other requests are served; a check has up to 250 tags. */
const CHECKS_AT_ONCE = 50;

type Sampled = { id: number; labels: string; status: ShownStatus; isStarted: boolean };

type Family = { name: string; help: string; isOne: (check: Sampled) => boolean };

const CHECK_FAMILIES: readonly Family[] = [
  {
    name: "hc_check_up",
    help: "0 while the check is down, otherwise 1.",
    isOne: ({ status }) => status !== "down",
  },
  {
    name: "hc_check_started",
    help: "1 while a run of the check is in progress, otherwise 0.",
    isOne: ({ isStarted }) => isStarted,
  },
  {
    name: "hc_check_grace",
    help: "1 while the check is late but within its grace period, otherwise 0.",
    isOne: ({ status }) => status === "grace",
  },
  {
    name: "hc_check_paused",
    help: "1 while the check is paused, otherwise 0.",
    isOne: ({ status }) => status === "paused",
  },
];

/** What `?include=alerts` adds. */
export type ScrapedAlerts = {
  /** Ids of checks. */
  open: ReadonlySet<number>;
  silenced: ReadonlySet<number>;
  incidentCounts: Readonly<Record<"open" | "acknowledged", number>>;
};

/** The page, piece by piece. */
export async function* prometheusPage(
  checks: readonly ScrapedCheck[],
  { now, alerts }: { now: Instant; alerts: ScrapedAlerts | null },
): AsyncGenerator<string> {
  const sampled: Sampled[] = [];
  const isTagUp = new Map<string, boolean>();
  let downCount = 0;
  for (const [index, check] of checks.entries()) {
    if (index % CHECKS_AT_ONCE === CHECKS_AT_ONCE - 1) await setImmediate();
    const status = quickStatusAt(check, now);
    if (status === "down") downCount += 1;
    for (const tag of splitTags(check.tags)) {
      const isUp = isTagUp.get(tag);
      if (isUp === undefined && isTagUp.size >= TAGS_LISTED_MAX) continue;
      isTagUp.set(tag, (isUp ?? true) && status !== "down");
    }
    sampled.push({
      id: check.id,
      labels: labelsOf(check),
      status,
      isStarted: startedAt(check) !== null,
    });
  }
  for (const { name, help, isOne } of CHECK_FAMILIES) {
    yield headOf(name, help);
    yield* inPieces(sampled, (check) => `${name}${check.labels} ${isOne(check) ? 1 : 0}\n`);
  }
  yield headOf("hc_tag_up", "0 while a check with the tag is down, otherwise 1.");
  yield* inPieces([...isTagUp], ([tag, isUp]) => `hc_tag_up{tag="${escaped(tag)}"} ${isUp ? 1 : 0}\n`);
  yield `${headOf("hc_checks_total", "Number of checks.")}hc_checks_total ${checks.length}\n`;
  yield `${headOf("hc_checks_down_total", "Number of checks that are down.")}hc_checks_down_total ${downCount}\n`;
  if (alerts !== null) yield* alertFamilies(sampled, alerts);
}

async function* alertFamilies(
  checks: readonly Sampled[],
  { open, silenced, incidentCounts }: ScrapedAlerts,
): AsyncGenerator<string> {
  const bit = (of: ReadonlySet<number>, { id }: Sampled) => (of.has(id) ? 1 : 0);
  yield headOf("overdue_alert_open", "1 while the check has an open alert, notified or held, otherwise 0.");
  yield* inPieces(checks, (check) => `overdue_alert_open${check.labels} ${bit(open, check)}\n`);
  yield headOf("overdue_silenced", "1 while a silence is active for the check, otherwise 0.");
  yield* inPieces(checks, (check) => `overdue_silenced${check.labels} ${bit(silenced, check)}\n`);
  yield headOf("overdue_incidents_open", "Number of incidents that are not resolved, by state.");
  for (const [state, count] of Object.entries(incidentCounts)) {
    yield `overdue_incidents_open{state="${state}"} ${count}\n`;
  }
}

/** The identifying labels of a check: not its UUID, which can be used to send pings. */
function labelsOf({ name, tags, uuid }: ScrapedCheck): string {
  const key = uniqueKey(uuid, sha1Hex);
  return `{name="${escaped(name)}", tags="${escaped(tags)}", unique_key="${key}"}`;
}

function headOf(name: string, help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n`;
}

async function* inPieces<T>(items: readonly T[], line: (item: T) => string): AsyncGenerator<string> {
  for (let at = 0; at < items.length; at += PIECE) {
    await setImmediate();
    yield items
      .slice(at, at + PIECE)
      .map(line)
      .join("");
  }
}

const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", '"': '\\"', "\n": "\\n" };

function escaped(text: string): string {
  return text.replace(/[\\"\n]/g, (character) => ESCAPES[character] ?? "");
}

export type PrometheusHandlerOptions = {
  database: Db;
  siteUrl: URL;
  /**
   * Finds the owner of a key, and counts the request in the same buckets as the API. A credential of null: rate
   * limited, so the key was not looked up.
   */
  identify(request: IncomingMessage, key: string | undefined): Promise<Caller>;
  now(): Instant;
  /** Called for each use of a key. */
  keyUsed(use: KeyUse): void;
  log: Log;
};

export type Caller = {
  credential: Credential | null;
  found: ({ key: Pick<ApiKey, "id" | "projectId"> } & Pick<KeyUse, "renewal">) | null;
  rate: RateVerdict | null;
};

export type PrometheusHandler = HttpHandler & { answerCounts(): ReturnType<AsyncHandler["counts"]> };

/** Responses for large projects take megabytes; scrapers send few requests, one at a time. */
const AT_ONCE_MAX = 20;
const PORTION = 1_000;
const NOT_STORED = { "Cache-Control": "no-store" };

/** Handles requests to the metrics paths. */
export function prometheusHandler(options: PrometheusHandlerOptions): PrometheusHandler {
  const pathOf = sitePath(options.siteUrl);
  const answers = asyncHandler({
    atOnceMax: AT_ONCE_MAX,
    answer: (request) => answer(options, { request, path: pathOf(request.url ?? "") }),
    instead: (error) => failure(options.log, error),
  });
  return {
    handles: ({ url = "" }) => decodePrometheusPath(pathOf(url)) !== null,
    handle: (request, response) => answers.handle(request, response),
    answerCounts: () => answers.counts(),
  };
}

async function answer(
  options: PrometheusHandlerOptions,
  { request, path }: { request: IncomingMessage; path: string },
): Promise<HttpResponse> {
  const address = decodePrometheusPath(path);
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
  // Only valid keys have access.
  if (found === null) return refusal("internal", ERROR_TEXT.internal);
  const { key, renewal } = found;
  const now = options.now();
  options.keyUsed({ keyId: key.id, at: now, renewal: renewal ?? null });
  const checks = await listAll(options.database, key.projectId);
  const alerts = includesAlerts(request.url ?? "")
    ? await readAlerts(options.database, { projectId: key.projectId, checks, now })
    : null;
  const headers = { ...NOT_STORED, "Content-Type": "text/plain" };
  return { status: 200, headers, body: prometheusPage(checks, { now, alerts }) };
}

/** Existing dashboards expect the metrics of the reference server only. */
function includesAlerts(url: string): boolean {
  const query = url.indexOf("?");
  return query !== -1 && new URLSearchParams(url.slice(query)).get("include") === "alerts";
}

async function readAlerts(
  database: Db,
  of: { projectId: number; checks: readonly ScrapedCheck[]; now: Instant },
): Promise<ScrapedAlerts> {
  const [open, silenced, incidentCounts] = await Promise.all([
    listChecksWithAlert(database, of.projectId),
    findSilencedChecks(database, of),
    countOpenIncidents(database, of.projectId),
  ]);
  return { open, silenced, incidentCounts };
}

/** In batches, because reading thousands of rows at once would delay other requests. */
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

function refusal(code: ErrorCode, text: string, more: Record<string, string> = {}): HttpResponse {
  return {
    status: HTTP_STATUS[code],
    headers: { ...NOT_STORED, "Content-Type": "application/json", ...more },
    body: JSON.stringify({ error: text }),
  };
}

function failure(log: Log, error: unknown): HttpResponse {
  if (error !== null) log.error({ err: error }, "project metrics request failed");
  if (error !== null && !isDatabaseAway(error)) return refusal("internal", ERROR_TEXT.internal);
  return refusal("unavailable", ERROR_TEXT.unavailable, { "Retry-After": RETRY_AFTER_SECONDS });
}
