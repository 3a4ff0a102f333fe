// The page of a link that acknowledges an incident. Mail scanners open links and run scripts, so that only a form with a
// nonce from the page changes something, and the page has no script.
import type { IncomingMessage } from "node:http";
import { instantText, shownName } from "../../channels/message-text.ts";
import { channelName } from "../../contract/api/words.ts";
import { ACK_ACTIONS, type AckAction, ackNonce, isAckNonce } from "../../core/ack-link.ts";
import type { AlertCause } from "../../core/alert.ts";
import type { Signing } from "../../core/email.ts";
import { refusalOf } from "../../core/errors.ts";
import type { Instant } from "../../core/instant.ts";
import { ACK_REQUESTS_PER_MINUTE } from "../../core/limits.ts";
import { byteBudget, type ReadBody, readBody } from "../../lib/http/body.ts";
import { networkReader } from "../../lib/http/client-address.ts";
import type { HttpHandler } from "../../lib/http/listener.ts";
import { sitePath } from "../../lib/http/request-target.ts";
import { type AsyncHandler, asyncHandler, type HttpResponse } from "../../lib/http/response.ts";
import type { Log } from "../../lib/log.ts";
import { isUnreachable } from "../../lib/postgres-error.ts";
import { type FollowedLink, followAckLink, useAckLink } from "../../operations/incidents.ts";
import type { Database } from "../../store/db.ts";
import { RateLimiter, RETRY_AFTER_SECONDS } from "../api/auth.ts";
import { type Page, PAGE_HEADERS, renderPage } from "./plain-page.ts";

/** Longer than any valid token, so that an invalid one gets an error page. */
const PATH = /^\/ack\/(?<token>[A-Za-z0-9._-]{1,200})\/?$/;

/** The token of a path below the site; null if it is not such a page. */
export function decodeAckPath(path: string): string | null {
  return PATH.exec(path)?.groups?.["token"] ?? null;
}

export type AckHandlerOptions = {
  database: Database;
  site: { name: string; url: string };
  signing: Signing;
  trustedProxies: readonly string[];
  now(): Instant;
  /** Milliseconds on a clock that is never set. */
  monotonic(): number;
  log: Log;
};

export type AckHandler = HttpHandler & { answerCounts(): ReturnType<AsyncHandler["counts"]> };

const AT_ONCE_MAX = 50;
/** The form has two short fields. */
const FORM_BYTES_MAX = 4_096;
const FORMS_BYTES_MAX = 1024 * 1024;

/** Handles requests to these pages. */
export function ackHandler(options: AckHandlerOptions): AckHandler {
  const pathOf = sitePath(new URL(options.site.url));
  const budget = byteBudget(FORMS_BYTES_MAX);
  const networkOf = networkReader(options.trustedProxies);
  const limiter = new RateLimiter({
    perMinute: ACK_REQUESTS_PER_MINUTE,
    monotonic: () => options.monotonic(),
  });
  const answers = asyncHandler({
    atOnceMax: AT_ONCE_MAX,
    answer: (request) => {
      const { socket, headers, url = "" } = request;
      const network = networkOf({ peer: socket.remoteAddress, forwardedFor: headers["x-forwarded-for"] });
      const verdict = limiter.takeForKey(network);
      if (verdict?.isAllowed === false) return Promise.resolve(tooMany(options, verdict.retryAfterSeconds));
      return answer(options, { request, token: decodeAckPath(pathOf(url)) ?? "", budget });
    },
    instead: (error) => failure(options, error),
  });
  return {
    handles: ({ url = "" }) => decodeAckPath(pathOf(url)) !== null,
    handle: (request, response) => answers.handle(request, response),
    answerCounts: () => answers.counts(),
  };
}

type Asked = { request: IncomingMessage; token: string; budget: ReturnType<typeof byteBudget> };

async function answer(options: AckHandlerOptions, asked: Asked): Promise<HttpResponse> {
  const { request, token, budget } = asked;
  const { method } = request;
  if (method !== "GET" && method !== "HEAD" && method !== "POST") {
    const page = { title: "Method not allowed", sentences: ["Open the link in a browser."] };
    return withHeaders(shown(options, 405, page), { Allow: "GET, HEAD, POST" });
  }
  const { database, signing } = options;
  const now = options.now();
  const form = method === "POST" ? await readForm(request, budget) : null;
  if (form === "broken") return shown(options, 400, UNREADABLE);
  if (form === "overflow") return failure(options, null);
  const followed = await followAckLink(database, { token, signing, now });
  if (followed === null) return shown(options, 404, BAD_LINK);
  if (form === null) return shown(options, 200, incidentPage(options, { followed, now }));
  const { link } = followed;
  const { action, nonce } = form;
  if (action === null || !isAckNonce(nonce, { signing, form: { link, action }, now })) {
    const page = incidentPage(options, { followed, now });
    const sentences = ["This page has expired. Try again.", ...page.sentences];
    return shown(options, 403, { ...page, sentences });
  }
  await useAckLink(database, { followed, action, at: now });
  // So that reloading the page sends nothing.
  const see = shown(options, 303, { title: "Done", sentences: [] });
  return withHeaders(see, { Location: `${options.site.url}/ack/${token}` });
}

type Form = { action: AckAction | null; nonce: string };

async function readForm(
  request: IncomingMessage,
  budget: ReturnType<typeof byteBudget>,
): Promise<Form | "broken" | "overflow"> {
  const limits = { keepBytes: FORM_BYTES_MAX, readBytesMax: FORM_BYTES_MAX, budget };
  const read = await new Promise<ReadBody>((resolve) => readBody(request, limits, resolve));
  if (read.kind === "broken" || read.kind === "overflow") return read.kind;
  const fields = new URLSearchParams(new TextDecoder().decode(read.body ?? new Uint8Array()));
  const action = ACK_ACTIONS.find((one) => one === fields.get("action")) ?? null;
  return { action, nonce: fields.get("nonce") ?? "" };
}

const CAUSES: Readonly<Record<AlertCause, string>> = {
  failed: "reported a failure",
  missed: "no ping before the deadline",
  overrun: "a run took too long",
  tooFast: "a run was too short",
  tooOften: "a run started too soon",
};

/** What happened, who acknowledged it, and the button. Names only: the link is sent over channels of others. */
function incidentPage(
  { signing }: AckHandlerOptions,
  { followed, now }: { followed: FollowedLink; now: Instant },
): Page {
  const { link, incident, channel } = followed;
  const { number, projectName, projectZone, acknowledged, resolvedAt } = incident;
  const title = `Incident #${number}: ${namesText(followed)}`;
  const timeOf = (at: Instant) => instantText(at, projectZone);
  const cause = incident.cause === null ? "" : ` (${CAUSES[incident.cause]})`;
  const facts = [`Project: ${projectName}. Open since ${timeOf(incident.openedAt)}${cause}.`];
  const button = (action: AckAction, label: string) => ({
    button: label,
    fields: { action, nonce: ackNonce(signing, { link, action }, now) },
  });
  if (incident.state === "resolved") {
    const resolved = resolvedAt === null ? "Resolved." : `Resolved at ${timeOf(resolvedAt)}.`;
    return { title, sentences: [`Project: ${projectName}. ${resolved}`, "No action is needed."] };
  }
  if (incident.state === "acknowledged") {
    const at = acknowledged === null ? "" : ` at ${timeOf(acknowledged.at)}`;
    const isOwn = acknowledged?.by.channelId === channel.id;
    const by = isOwn ? ` with the link sent to ${channelName(channel)}` : "";
    return {
      title,
      sentences: [...facts, `Acknowledged${at}${by}. Notifications are not repeated.`],
      ...button("unacknowledge", "Undo acknowledgement"),
      isUndo: true,
    };
  }
  return {
    title,
    sentences: [
      ...facts,
      "Acknowledge the incident if you are working on it. This stops repeated notifications. Recovery notifications are still sent.",
    ],
    ...button("acknowledge", "Acknowledge"),
  };
}

/** "Nightly backup, DB dump, and 3 more". */
function namesText({ incident: { checks, checkCount } }: FollowedLink): string {
  const names = checks.map(({ name }) => shownName({ name }));
  if (names.length === 0) return checkCount === 1 ? "1 check" : `${checkCount} checks`;
  const more = checkCount - names.length;
  return more > 0 ? `${names.join(", ")}, and ${more} more` : names.join(", ");
}

const BAD_LINK: Page = {
  title: "Invalid link",
  sentences: [
    "The link may be incomplete, or the incident was resolved more than 7 days ago, or the channel was deleted. Open the incident in the dashboard instead.",
  ],
};

const UNREADABLE: Page = {
  title: "Incomplete request",
  sentences: ["The form was not received completely. Open the link again."],
};

function tooMany(options: AckHandlerOptions, seconds: number): HttpResponse {
  const page = { title: "Too many requests", sentences: ["Wait a minute, then open the link again."] };
  return withHeaders(shown(options, 429, page), { "Retry-After": String(seconds) });
}

function shown({ site }: AckHandlerOptions, status: number, page: Page): HttpResponse {
  return { status, headers: PAGE_HEADERS, body: renderPage(page, site) };
}

function withHeaders(response: HttpResponse, headers: Readonly<Record<string, string>>): HttpResponse {
  return { ...response, headers: { ...response.headers, ...headers } };
}

function failure(options: AckHandlerOptions, error: unknown): HttpResponse {
  const isBusy = error === null || isUnreachable(error) || refusalOf(error).code === "unavailable";
  if (!isBusy) options.log.error({ err: error }, "could not render page");
  const page = {
    title: "Something went wrong",
    sentences: ["Something went wrong on our side. Try again in a few minutes."],
  };
  const response = shown(options, isBusy ? 503 : 500, page);
  return isBusy ? withHeaders(response, { "Retry-After": RETRY_AFTER_SECONDS }) : response;
}
