// All documents of a status page, ready to be sent.
import type { Instant } from "../../core/instant.ts";
import { STATUS_CACHE_SECONDS } from "../../core/limits.ts";
import type { StatusView } from "../../core/status-page.ts";
import { DATA_POLICY } from "../../lib/http/response.ts";
import type { Documents, Freshness } from "./board.ts";
import { atomFeed, rssFeed, statusJson } from "./feeds.ts";
import { renderStatusPage } from "./page.ts";
import { prepare } from "./prepared.ts";

export type DocumentOptions = Freshness & {
  now: Instant;
  isProtected: boolean;
  site: { name: string; url: string };
  fontName: string | null;
  hasEmail: boolean;
};

/** Caches may show an older page while the server is unavailable: the last known state is better than none. */
const SHARED = `public, max-age=${STATUS_CACHE_SECONDS}, s-maxage=${STATUS_CACHE_SECONDS}, stale-while-revalidate=60, stale-if-error=86400`;
const PRIVATE = "private, no-store";

/** The public address of a page. */
function pageUrl({ slug, domain }: Pick<StatusView, "slug" | "domain">, site: { url: string }): string {
  return domain === null ? `${site.url.replace(/(?<!\/)\/+$/, "")}/status/${slug}/` : `https://${domain}/`;
}

export async function renderDocuments(view: StatusView, options: DocumentOptions): Promise<Documents> {
  const { isProtected, site, fontName, hasEmail } = options;
  const page = renderStatusPage(view, {
    ...options,
    siteName: site.name,
    fontName,
    hasEmail,
    // A reader of feeds has no cookie.
    hasFeeds: !isProtected,
  });
  const common = {
    "Cache-Control": isProtected ? PRIVATE : SHARED,
    ...(isProtected && { "X-Robots-Tag": "noindex" }),
  };
  const data = {
    ...common,
    "Content-Security-Policy": DATA_POLICY,
    ...(!isProtected && { "Access-Control-Allow-Origin": "*" }),
  };
  const feed = { ...options, url: pageUrl(view, site) };
  const prepared = (type: string, text: string, headers: Readonly<Record<string, string>>) =>
    prepare({ type: `${type}; charset=utf-8`, body: Buffer.from(text), headers });
  const [pageFile, atom, rss, json] = await Promise.all([
    prepared("text/html", page.text, { ...common, "Content-Security-Policy": page.policy }),
    prepared("application/atom+xml", atomFeed(view, feed), data),
    prepared("application/rss+xml", rssFeed(view, feed), data),
    prepared("application/json", statusJson(view, feed), data),
  ]);
  return { page: pageFile, atom, rss, json };
}
