import type { IncomingMessage } from "node:http";
import type { Signing } from "../../core/email.ts";
import { refusalOf } from "../../core/errors.ts";
import type { Instant } from "../../core/instant.ts";
import { EMAIL_BYTES_MAX } from "../../core/limits.ts";
import { byteBudget, type ReadBody, readBody } from "../../lib/http/body.ts";
import type { HttpHandler } from "../../lib/http/listener.ts";
import { sitePath } from "../../lib/http/request-target.ts";
import { type AsyncHandler, asyncHandler, type HttpResponse } from "../../lib/http/response.ts";
import type { Log } from "../../lib/log.ts";
import { readDeliveryStatus } from "../../lib/mail-reader.ts";
import { isUnreachable } from "../../lib/postgres-error.ts";
import {
  findLinkedChannel,
  isVerified,
  unsubscribeChannel,
  verifyChannel,
} from "../../operations/channels.ts";
import {
  type BounceOutcome,
  findLinkedAccount,
  takeBounce,
  unsubscribeReports,
} from "../../operations/emails.ts";
import type { Database } from "../../store/db.ts";
import { type Page, PAGE_HEADERS, renderPage } from "./plain-page.ts";

export type WebAddress =
  | { page: "verify" | "unsubscribe"; channelUuid: string; token: string }
  | { page: "unsubscribeReports"; token: string }
  | { page: "bounces" };

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
/** Longer than any valid token, so that an invalid one gets an error page. */
const TOKEN = "[A-Za-z0-9._:-]{1,200}";
const OF_CHANNEL = new RegExp(`^/integrations/(?<uuid>${UUID})/(?<verb>verify|unsub)/(?<token>${TOKEN})/?$`);
const OF_REPORTS = new RegExp(`^/accounts/unsubscribe_reports/(?<token>${TOKEN})/?$`);
const BOUNCES = /^\/api\/v[123]\/bounces\/?$/;

/** The page of a path below the site; null if it is none of these pages. */
export function decodeWebPath(path: string): WebAddress | null {
  const { uuid, verb, token } = OF_CHANNEL.exec(path)?.groups ?? {};
  if (uuid !== undefined && token !== undefined) {
    return { page: verb === "verify" ? "verify" : "unsubscribe", channelUuid: uuid, token };
  }
  const reports = OF_REPORTS.exec(path)?.groups?.["token"];
  if (reports !== undefined) return { page: "unsubscribeReports", token: reports };
  return BOUNCES.test(path) ? { page: "bounces" } : null;
}

// A GET changes nothing, because email clients and scanners open every link; changes need a POST.

export type MailPagesOptions = {
  database: Database;
  site: { name: string; url: string };
  signing: Signing;
  /** By the database's clock, or close to it. */
  now(): Instant;
  log: Log;
};

export type MailPagesHandler = HttpHandler & { answerCounts(): ReturnType<AsyncHandler["counts"]> };

const AT_ONCE_MAX = 50;
const RETRY_AFTER_SECONDS = "5";
/** How much of a report is read: its fields precede the email that it quotes. */
const REPORT_BYTES_KEPT = 512 * 1024;
const REPORTS_BYTES_MAX = 16 * 1024 * 1024;

/** Handles requests to these pages. */
export function mailPagesHandler(options: MailPagesOptions): MailPagesHandler {
  const pathOf = sitePath(new URL(options.site.url));
  const budget = byteBudget(REPORTS_BYTES_MAX);
  const answers = asyncHandler({
    atOnceMax: AT_ONCE_MAX,
    answer: (request) => {
      const address = decodeWebPath(pathOf(request.url ?? ""));
      if (address === null) return Promise.resolve(shown(options, 404, BAD_LINK));
      if (address.page === "bounces") return takeReport(options, { request, budget });
      return answerPage(options, { address, method: request.method ?? "" });
    },
    instead: (error) => failure(options, error),
  });
  return {
    handles: ({ url = "" }) => decodeWebPath(pathOf(url)) !== null,
    handle: (request, response) => answers.handle(request, response),
    answerCounts: () => answers.counts(),
  };
}

type PageAddress = Exclude<WebAddress, { page: "bounces" }>;

async function answerPage(
  options: MailPagesOptions,
  { address, method }: { address: PageAddress; method: string },
): Promise<HttpResponse> {
  if (method !== "GET" && method !== "HEAD" && method !== "POST") {
    const page = { title: "Method not allowed", sentences: ["Open the link in a browser."] };
    return { ...shown(options, 405, page), headers: { ...PAGE_HEADERS, Allow: "GET, HEAD, POST" } };
  }
  const page = await (method === "POST" ? done(options, address) : asked(options, address));
  return page === null ? shown(options, 404, BAD_LINK) : shown(options, 200, page);
}

const BAD_LINK: Page = {
  title: "Invalid link",
  sentences: [
    "The link may be incomplete, or its channel was changed or deleted. If you copied the link from an email, make sure you copied all of it.",
  ],
};

/** The page before anything is changed; null: the link is invalid. */
async function asked({ database, signing }: MailPagesOptions, address: PageAddress): Promise<Page | null> {
  if (address.page === "unsubscribeReports") {
    const account = await findLinkedAccount(database, { token: address.token, signing });
    if (account === null) return null;
    return {
      title: "Unsubscribe from reports and reminders?",
      sentences: [`You'll no longer get reports and reminders at ${account.email}. Alerts are not affected.`],
      button: "Unsubscribe",
    };
  }
  const { page: purpose, channelUuid, token } = address;
  const linked = await findLinkedChannel(database, { channelUuid, token, purpose, signing });
  if (linked === null) return null;
  const { channel, address: to, projectName } = linked;
  if (purpose === "unsubscribe") {
    if (channel.disabledAt !== null) return unsubscribed(to);
    return {
      title: "Unsubscribe from these alerts?",
      sentences: [`You'll no longer get alerts for the project ${projectName} at ${to}.`],
      button: "Unsubscribe",
    };
  }
  if (isVerified(channel)) return verified(linked);
  return {
    title: "Confirm alert emails",
    sentences: [`Do you want to get alerts for the project ${projectName} at ${to}?`],
    button: "Yes, send me alerts",
  };
}

/** Performs the action of the link; null: the link is invalid. */
async function done(options: MailPagesOptions, address: PageAddress): Promise<Page | null> {
  const { database, signing } = options;
  const { token } = address;
  if (address.page === "unsubscribeReports") {
    const account = await unsubscribeReports(database, { token, signing });
    if (account === null) return null;
    return {
      title: "You've been unsubscribed",
      sentences: [`You'll no longer get reports and reminders at ${account.email}. Alerts are not affected.`],
    };
  }
  const { channelUuid } = address;
  if (address.page === "verify") {
    const linked = await verifyChannel(database, { channelUuid, token, signing });
    return linked === null ? null : verified(linked);
  }
  const linked = await unsubscribeChannel(database, { channelUuid, token, signing, at: options.now() });
  return linked === null ? null : unsubscribed(linked.address);
}

function verified({ address, projectName }: { address: string; projectName: string }): Page {
  return {
    title: "Email address confirmed",
    sentences: [
      `You'll get alerts for the project ${projectName} at ${address}.`,
      "Each email has an unsubscribe link.",
    ],
  };
}

function unsubscribed(address: string): Page {
  return {
    title: "You've been unsubscribed",
    sentences: [
      `You'll no longer get alerts from this channel at ${address}.`,
      "The channel's owner has been notified.",
    ],
  };
}

function shown({ site }: MailPagesOptions, status: number, page: Page): HttpResponse {
  return { status, headers: PAGE_HEADERS, body: renderPage(page, site) };
}

/** The sender of a report gets its result, and is never asked to retry because of its content. */
const REPORT_ANSWERS: Readonly<Record<BounceOutcome, string>> = {
  done: "OK",
  badSignature: "OK (bad signature)",
  ignored: "OK (ignored)",
  channelNotFound: "OK (notification not found)",
  accountNotFound: "OK (user not found)",
};

async function takeReport(
  options: MailPagesOptions,
  { request, budget }: { request: IncomingMessage; budget: ReturnType<typeof byteBudget> },
): Promise<HttpResponse> {
  if (request.method !== "POST")
    return { ...plain(405, "method not allowed"), headers: { ...PLAIN, Allow: "POST" } };
  const read = await bodyOf(request, budget);
  if (read.kind === "overflow")
    return { ...plain(503, "busy"), headers: { ...PLAIN, "Retry-After": RETRY_AFTER_SECONDS } };
  if (read.kind === "broken") return plain(400, "incomplete");
  const report = await readDeliveryStatus(read.body ?? new Uint8Array());
  if (report === null) return plain(200, REPORT_ANSWERS.ignored);
  return plain(
    200,
    REPORT_ANSWERS[
      await takeBounce(options.database, report, { signing: options.signing, now: options.now() })
    ],
  );
}

function bodyOf(request: IncomingMessage, budget: ReturnType<typeof byteBudget>): Promise<ReadBody> {
  const limits = { keepBytes: REPORT_BYTES_KEPT, readBytesMax: EMAIL_BYTES_MAX, budget };
  return new Promise((resolve) => readBody(request, limits, resolve));
}

const PLAIN = { "Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store" };

function plain(status: number, body: string): HttpResponse {
  return { status, headers: PLAIN, body };
}

function failure(options: MailPagesOptions, error: unknown): HttpResponse {
  const isBusy = error === null || isUnreachable(error) || refusalOf(error).code === "unavailable";
  if (!isBusy) options.log.error({ err: error }, "could not render page");
  const page = {
    title: "Something went wrong",
    sentences: ["Something went wrong on our side. Try again in a few minutes."],
  };
  const answer = shown(options, isBusy ? 503 : 500, page);
  return { ...answer, headers: { ...PAGE_HEADERS, ...(isBusy && { "Retry-After": RETRY_AFTER_SECONDS }) } };
}
