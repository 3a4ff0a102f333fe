// Badges: the list of badge URLs in the Management API, and the badges themselves.
import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type BadgeContext, badgeTags, badgeUrls } from "../../contract/badges.ts";
import {
  BADGE_LOOK,
  badgeLabel,
  badgeSignature,
  type BadgeStates,
  type BadgeSubject,
  type BadgeSummary,
  OVERALL_TAG,
  parseSignatureSegment,
  rollUp,
  type ShownStatus,
  statesOfNumber,
  tagsOfSegment,
} from "../../core/badge.ts";
import { ERROR_TEXT, type ErrorCode, HTTP_STATUS } from "../../core/errors.ts";
import { isUuid } from "../../core/identity.ts";
import type { Instant } from "../../core/instant.ts";
import { TAGS_LENGTH_MAX, TAGS_LISTED_MAX } from "../../core/limits.ts";
import { acceptedSecrets, type Secrets } from "../../core/secrets.ts";
import { statusAt } from "../../core/state.ts";
import type { HttpHandler } from "../../lib/http/listener.ts";
import { sitePath } from "../../lib/http/request-target.ts";
import { type AsyncHandler, asyncHandler, type HttpResponse } from "../../lib/http/response.ts";
import type { Log } from "../../lib/log.ts";
import { hmacSha1, sha1 } from "../../lib/secrets.ts";
import { findWatchedChecks, tallyStatuses } from "../../store/check-lists.ts";
import { findCheckByBadgeUuid, listTags } from "../../store/checks.ts";
import type { Db } from "../../store/db.ts";
import { isDatabaseAway } from "../../store/errors.ts";
import { RETRY_AFTER_SECONDS } from "../api/auth.ts";
import { drawBadge } from "./badge-svg.ts";
import type { Handler } from "./exchange.ts";

/** Tags that are presented without yielding. */
const PRESENTED_AT_ONCE = 100;

/** Six URLs for each tag of the project's checks, and six for all its checks. */
export const listBadges: Handler = async ({ project }, { database, urls, secrets }) => {
  const { badgeKey } = project;
  const tags = badgeTags(await listTags(database, { projectId: project.id, limit: TAGS_LISTED_MAX }));
  const sign = (tag: string) =>
    badgeSignature({ badgeKey, tag, secret: secrets.current }, { sha1, hmacSha1 });
  return { status: 200, pieces: badgePieces(tags, { urls, badgeKey, sign }) };
};

async function* badgePieces(tags: readonly string[], context: BadgeContext): AsyncGenerator<string> {
  let before = '{"badges":{';
  for (let from = 0; from < tags.length; from += PRESENTED_AT_ONCE) {
    if (from > 0) await nextTurn();
    const entries = tags
      .slice(from, from + PRESENTED_AT_ONCE)
      .map((tag) => `${JSON.stringify(tag)}:${JSON.stringify(badgeUrls(tag, context))}`);
    yield before + entries.join(",");
    before = ",";
  }
  yield "}}";
}

export type BadgeFormat = "svg" | "json" | "shields";

/** One check, or the tags that the URL can mean; the signature determines the right one. */
export type BadgeAddress = { format: BadgeFormat; states: BadgeStates } & (
  | { of: "check"; badgeUuid: string }
  | { of: "tags"; badgeKey: string; signature: string; tags: readonly string[] }
);

const FORMATS: readonly BadgeFormat[] = ["svg", "json", "shields"];
/** Longer keys belong to no project. */
const BADGE_KEY = /^[\w-]{1,100}$/;
const SIGNATURE_SEGMENT = /^[\w-]{8,100}$/;
const STATES = /^\d{1,9}$/;
/** A tag of maximum length, each character four bytes, each byte encoded twice. */
const TAG_SEGMENT_LENGTH_MAX = TAGS_LENGTH_MAX * 4 * "%25FF".length;

/** Whether a path below the site belongs to badges, even if no badge exists there. */
export function isBadgePath(path: string): boolean {
  return path.startsWith("/badge/") || path.startsWith("/b/");
}

/** The badge that a path names; null if none can exist there. */
export function decodeBadgePath(path: string): BadgeAddress | null {
  const [, kind, first = "", ...rest] = path.split("/");
  const file = splitFormat(rest.pop());
  if (file === null) return null;
  const { stem, format } = file;
  if (kind === "b") {
    if (rest.length > 0 || !STATES.test(first) || !isUuid(stem)) return null;
    return { of: "check", format, states: statesOfNumber(Number(first)), badgeUuid: stem };
  }
  const [segment = stem, ...more] = rest;
  if (kind !== "badge" || more.length > 0 || !BADGE_KEY.test(first) || !SIGNATURE_SEGMENT.test(segment))
    return null;
  const tags = rest.length === 0 ? [OVERALL_TAG] : tagsOfSegment(stem);
  return { of: "tags", format, badgeKey: first, tags, ...parseSignatureSegment(segment) };
}

/** Tags may contain dots, so the format begins after the last one. */
function splitFormat(file: string | undefined): { stem: string; format: BadgeFormat } | null {
  if (file === undefined || file.length > TAG_SEGMENT_LENGTH_MAX) return null;
  const dot = file.lastIndexOf(".");
  const format = FORMATS.find((one) => one === file.slice(dot + 1));
  return dot === -1 || format === undefined ? null : { stem: file.slice(0, dot), format };
}

export type BadgeDocument = { type: string; body: string };

const JSON_TYPE = "application/json";

/** The document of a badge. The JSON format has no label, because the URL already names it. */
export function badgeDocument(
  format: BadgeFormat,
  { label, summary }: { label: string; summary: BadgeSummary },
): BadgeDocument {
  const { status, total, grace, down } = summary;
  const { fill, shieldsColor } = BADGE_LOOK[status];
  switch (format) {
    case "svg":
      return { type: "image/svg+xml", body: drawBadge({ label, value: status, valueFill: fill }) };
    case "json":
      return { type: JSON_TYPE, body: JSON.stringify({ status, total, grace, down }) };
    case "shields": {
      const shown = { schemaVersion: 1, label, message: status, color: shieldsColor };
      return { type: JSON_TYPE, body: JSON.stringify(shown) };
    }
  }
}

// Badges are public, signed, and never cached. A request without a valid signature never reaches the database.

export type BadgeHandlerOptions = {
  database: Db;
  siteUrl: URL;
  /** The label of a project's overall badge. */
  siteName: string;
  /** Sign the URLs. */
  secrets: Secrets;
  now(): Instant;
  log: Log;
};

export type BadgeHandler = HttpHandler & { answerCounts(): ReturnType<AsyncHandler["counts"]> };

/** Maximum concurrent badge requests. */
const AT_ONCE_MAX = 200;
const METHODS = "GET, OPTIONS";
const HEADERS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Headers": "X-Api-Key",
  "Access-Control-Allow-Methods": METHODS,
  "Access-Control-Max-Age": "600",
  /** Sites that embed images cache them; a cached badge would show an old status. */
  "Cache-Control": "max-age=0, no-cache, no-store, must-revalidate, private",
};

/** Handles requests to badge URLs. */
export function badgeHandler(options: BadgeHandlerOptions): BadgeHandler {
  const pathOf = sitePath(options.siteUrl);
  const answers = asyncHandler({
    atOnceMax: AT_ONCE_MAX,
    answer: (request) => answer(options, { request, path: pathOf(request.url ?? "") }),
    instead: (error) => failure(options.log, error),
  });
  return {
    handles: ({ url = "" }) => isBadgePath(pathOf(url)),
    handle: (request, response) => answers.handle(request, response),
    answerCounts: () => answers.counts(),
  };
}

async function answer(
  options: BadgeHandlerOptions,
  { request: { method }, path }: { request: IncomingMessage; path: string },
): Promise<HttpResponse> {
  const address = decodeBadgePath(path);
  if (address === null) return refusal("not_found", ERROR_TEXT.notFound);
  if (method === "OPTIONS") return { status: 204, headers: HEADERS, body: "" };
  if (method !== "GET" && method !== "HEAD") {
    return refusal("method_not_allowed", ERROR_TEXT.methodNotAllowed, { Allow: "GET, HEAD, OPTIONS" });
  }
  const shown = await lookUp(options, address);
  if (shown === null) return refusal("not_found", ERROR_TEXT.notFound);
  const { type, body } = badgeDocument(address.format, shown);
  const headers = { ...HEADERS, Expires: new Date().toUTCString(), "Content-Type": type };
  return { status: 200, headers, body };
}

type Shown = { label: string; summary: BadgeSummary };

/** Null: there is no such badge, or the signature is invalid. */
async function lookUp(options: BadgeHandlerOptions, address: BadgeAddress): Promise<Shown | null> {
  const { database, siteName } = options;
  const now = options.now();
  if (address.of === "check") {
    const check = await findCheckByBadgeUuid(database, address.badgeUuid);
    if (check === null) return null;
    const { settings, state } = check;
    const statuses = [statusAt({ timing: settings, state }, now)];
    return shownOf({ of: "check", name: settings.name }, { statuses, states: address.states });
  }
  const signed = address.tags.find((tag) => isSigned(options, { ...address, tag }));
  if (signed === undefined) return null;
  const tag = signed === OVERALL_TAG ? null : signed;
  const statuses = await lookUpStatuses(database, { badgeKey: address.badgeKey, tag, now });
  if (statuses === null) return null;
  const subject: BadgeSubject = tag === null ? { of: "project", siteLabel: siteName } : { of: "tag", tag };
  return shownOf(subject, { statuses, states: address.states });
}

function shownOf(
  subject: BadgeSubject,
  { statuses, states }: { statuses: Iterable<ShownStatus>; states: BadgeStates },
): Shown {
  return { label: badgeLabel(subject), summary: rollUp(statuses, states) };
}

/** Null: no project has this badge key. */
async function lookUpStatuses(
  database: Db,
  { badgeKey, tag, now }: { badgeKey: string; tag: string | null; now: Instant },
): Promise<Iterable<ShownStatus> | null> {
  const tally = await tallyStatuses(database, { badgeKey, tag, now });
  if (tally === null) return null;
  const { total, down, uncertain } = tally;
  const watched = uncertain.length === 0 ? [] : await findWatchedChecks(database, uncertain);
  const judged = watched.map((check) => statusAt(check, now));
  // For a badge, all checks that are neither down nor late have the same status.
  return [...repeated("down", down), ...repeated("up", total - down - uncertain.length), ...judged];
}

function repeated(status: ShownStatus, count: number): ShownStatus[] {
  return Array.from({ length: count }, () => status);
}

/**
 * Compares in constant time, so that a signature cannot be guessed character by character. URLs that were published
 * with the previous secret stay valid.
 */
function isSigned(
  { secrets }: BadgeHandlerOptions,
  { badgeKey, tag, signature }: { badgeKey: string; tag: string; signature: string },
): boolean {
  const given = Buffer.from(signature);
  const matches = acceptedSecrets(secrets).map((secret) => {
    const right = Buffer.from(badgeSignature({ badgeKey, tag, secret }, { sha1, hmacSha1 }));
    return given.length === right.length && timingSafeEqual(given, right);
  });
  return matches.includes(true);
}

function refusal(code: ErrorCode, text: string, more: Record<string, string> = {}): HttpResponse {
  return {
    status: HTTP_STATUS[code],
    headers: { ...HEADERS, "Content-Type": "application/json", ...more },
    body: JSON.stringify({ error: text }),
  };
}

function failure(log: Log, error: unknown): HttpResponse {
  if (error !== null) log.error({ err: error }, "badge request failed");
  if (error !== null && !isDatabaseAway(error)) return refusal("internal", ERROR_TEXT.internal);
  return refusal("unavailable", ERROR_TEXT.unavailable, { "Retry-After": RETRY_AFTER_SECONDS });
}
