// Badges by HTTP: public, signed, never cached. A request that is not signed never reaches the database.
import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import {
  type BadgeStates,
  type BadgeSubject,
  type BadgeSummary,
  badgeLabel,
  badgeSignature,
  OVERALL_TAG,
  rollUp,
  type ShownStatus,
} from "../../core/badge.ts";
import { ERROR_TEXT, type ErrorCode, HTTP_STATUS } from "../../core/errors.ts";
import type { Instant } from "../../core/instant.ts";
import { statusAt } from "../../core/machine/status.ts";
import { hmacSha1, sha1 } from "../../lib/secrets/hashes.ts";
import { type Answering, answering, type HttpAnswer } from "../../lib/http/answering.ts";
import { sitePath } from "../../lib/http/request-target.ts";
import type { HttpHandler } from "../../lib/http/listener.ts";
import type { Log } from "../../lib/log.ts";
import { findWatchedChecks, tallyStatuses } from "../../store/checks/check-statuses.ts";
import { findCheckByBadgeUuid } from "../../store/checks/checks.ts";
import type { Db } from "../../store/db.ts";
import { isDatabaseAway } from "../../store/errors.ts";
import { type BadgeAddress, decodeBadgePath, isBadgePath } from "./address.ts";
import { badgeDocument } from "./document.ts";

export type BadgeHandlerOptions = {
  database: Db;
  siteUrl: URL;
  /** The label of a project's overall badge. */
  siteName: string;
  /** The instance's secret, with which the addresses are signed. */
  secret: string;
  now(): Instant;
  log: Log;
};

export type BadgeHandler = HttpHandler & { answerCounts(): ReturnType<Answering["counts"]> };

/** So many badges are worked on at once. */
const AT_ONCE_MAX = 200;
const RETRY_AFTER_SECONDS = "5";
const METHODS = "GET, OPTIONS";
const HEADERS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Headers": "X-Api-Key",
  "Access-Control-Allow-Methods": METHODS,
  "Access-Control-Max-Age": "600",
  /** Pages that show pictures of others keep copies; an old badge would tell an old story. */
  "Cache-Control": "max-age=0, no-cache, no-store, must-revalidate, private",
};

/** Handles what comes to the badge addresses. */
export function badgeHandler(options: BadgeHandlerOptions): BadgeHandler {
  const pathOf = sitePath(options.siteUrl);
  const answers = answering({
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
): Promise<HttpAnswer> {
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

/** Null: there is no such badge, or the signature is not that of one. */
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
  // To a badge, those that are neither down nor late are all the same.
  return [...repeated("down", down), ...repeated("up", total - down - uncertain.length), ...judged];
}

function repeated(status: ShownStatus, count: number): ShownStatus[] {
  return Array.from({ length: count }, () => status);
}

/** Takes the same time wherever the signatures differ, so that none can be found character by character. */
function isSigned(
  { secret }: BadgeHandlerOptions,
  { badgeKey, tag, signature }: { badgeKey: string; tag: string; signature: string },
): boolean {
  const right = badgeSignature({ badgeKey, tag, secret }, { sha1, hmacSha1 });
  return signature.length === right.length && timingSafeEqual(Buffer.from(signature), Buffer.from(right));
}

function refusal(code: ErrorCode, text: string, more: Record<string, string> = {}): HttpAnswer {
  return {
    status: HTTP_STATUS[code],
    headers: { ...HEADERS, "Content-Type": "application/json", ...more },
    body: JSON.stringify({ error: text }),
  };
}

function failure(log: Log, error: unknown): HttpAnswer {
  if (error !== null) log.error({ err: error }, "badge request failed");
  if (error !== null && !isDatabaseAway(error)) return refusal("internal", ERROR_TEXT.internal);
  return refusal("unavailable", ERROR_TEXT.unavailable, { "Retry-After": RETRY_AFTER_SECONDS });
}
