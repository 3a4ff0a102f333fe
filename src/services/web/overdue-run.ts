// Serves overdue-run, the job wrapper for hosts without Node, with the ping URL of this server as its default.
import type { IncomingMessage } from "node:http";
import { entityTag, matchesTag } from "../../lib/http/entity-tag.ts";
import type { HttpHandler } from "../../lib/http/listener.ts";
import { sitePath } from "../../lib/http/request-target.ts";
import { asyncHandler, DATA_POLICY, type HttpResponse } from "../../lib/http/response.ts";

export type OverdueRunOptions = {
  siteUrl: URL;
  /** The part of a ping URL before the UUID. */
  pingUrl: string;
  /** The file as it is packaged. */
  script: string;
};

const PATH = "/overdue-run";
const METHODS = "GET, HEAD";
const AT_ONCE_MAX = 200;
/** Characters without a meaning between single quotes. */
const QUOTABLE = /^[^'\\\s]+$/;

/** The script with a default for HC_API_URL. */
export function withPingUrl(script: string, pingUrl: string): string {
  return QUOTABLE.test(pingUrl) ? script.replace(/^od_default=''/m, () => `od_default='${pingUrl}'`) : script;
}

/** Handles requests to the file. */
export function overdueRunHandler({ siteUrl, pingUrl, script }: OverdueRunOptions): HttpHandler {
  const pathOf = sitePath(siteUrl);
  const body = withPingUrl(script, pingUrl);
  const tag = entityTag(body);
  // It changes only with a new release, but must then be updated immediately.
  const shared = { "Cache-Control": "no-cache", "Content-Security-Policy": DATA_POLICY };
  const answer = ({ method, headers }: IncomingMessage): HttpResponse => {
    if (method !== "GET" && method !== "HEAD") {
      return { status: 405, headers: { ...shared, Allow: METHODS }, body: "" };
    }
    const tagged = { ...shared, ETag: tag };
    if (matchesTag(headers["if-none-match"], tag)) return { status: 304, headers: tagged, body: "" };
    return { status: 200, headers: { ...tagged, "Content-Type": "text/plain; charset=utf-8" }, body };
  };
  const answers = asyncHandler({
    atOnceMax: AT_ONCE_MAX,
    answer: async (request) => answer(request),
    instead: () => ({ status: 503, headers: shared, body: "" }),
  });
  return {
    handles: ({ url = "" }) => pathOf(url) === PATH,
    handle: (request, response) => answers.handle(request, response),
  };
}
