// Which requests are pings, and what of their URL is left to decode: everything under /ping/ on any host, and
// whatever lies under the address that the operator publishes for pings. Pure.
import { isUuid } from "../../core/identity.ts";
import { basePath, hostMatcher, requestTarget } from "../../lib/http/request-target.ts";

export type PublishedAddresses = {
  siteUrl: URL;
  /** The address in front of every UUID, when it is not the site's /ping/. */
  pingUrl: URL | null;
};

/** What follows the ping address, from its slash on; null for a request that is no ping. */
export type LocatePing = (url: string, host: string | undefined) => string | null;

const PING_PATH = "/ping";
const UUID_LENGTH = 36;

/** A locator for these addresses. A path in the site's address is honoured, whether or not a proxy removes it. */
export function pingLocator({ siteUrl, pingUrl }: PublishedAddresses): LocatePing {
  const sitePath = basePath(siteUrl);
  const locators: LocatePing[] = [under(PING_PATH)];
  if (sitePath !== "") locators.push(under(sitePath + PING_PATH));
  if (pingUrl !== null) locators.push(published(pingUrl, siteUrl));
  const locate: LocatePing = (path, host) => {
    for (const locator of locators) {
      const rest = locator(path, host);
      if (rest !== null) return rest;
    }
    return null;
  };
  return (url, host) => {
    // The hot path: nearly every request has the short form.
    if (url.startsWith("/")) return locate(url, host);
    const target = requestTarget(url, host);
    return target === null ? null : locate(target.path, target.host);
  };
}

/** On any host, below a path. */
function under(base: string): LocatePing {
  const prefix = `${base}/`;
  return (path) => (path.startsWith(prefix) ? path.slice(base.length) : null);
}

function published(pingUrl: URL, siteUrl: URL): LocatePing {
  const base = basePath(pingUrl);
  if (pingUrl.host !== siteUrl.host) {
    const isOurs = hostMatcher(pingUrl, siteUrl);
    const locate = under(base);
    return (path, host) => (isOurs(host) ? locate(path, host) : null);
  }
  // On the site itself the root belongs to everyone, so only what cannot be anything else is taken.
  return base === "" ? startsWithUuid : under(base);
}

function startsWithUuid(path: string): string | null {
  const end = path[1 + UUID_LENGTH];
  const isEnd = end === undefined || end === "/" || end === "?";
  return isEnd && isUuid(path.slice(1, 1 + UUID_LENGTH)) ? path : null;
}
