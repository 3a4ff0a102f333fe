// Which requests are pings, and what of their URL is left to decode: everything under /ping/ on any host, and
// whatever lies under the address that the operator publishes for pings. Pure.
import { isUuid } from "../../core/identity.ts";

export type PublishedAddresses = {
  siteUrl: URL;
  /** The address in front of every UUID, when it is not the site's /ping/. */
  pingUrl: URL | null;
};

/** What follows the ping address, from its slash on; null for a request that is no ping. */
export type LocatePing = (url: string, host: string | undefined) => string | null;

const PING_PATH = "/ping";
const ABSOLUTE = /^https?:\/\/(?<host>[^/?#]*)(?<path>.*)$/i;
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
    if (url.startsWith("/")) return locate(url, host);
    // The whole URL is what a proxy is asked for; servers have to understand it too.
    const absolute = ABSOLUTE.exec(url)?.groups;
    return absolute === undefined ? null : locate(absolute["path"] ?? "", absolute["host"]);
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

/** By name alone, since a proxy may listen on another port; by port too where only the ports differ. */
function hostMatcher(pingUrl: URL, siteUrl: URL): (host: string | undefined) => boolean {
  const isByName = pingUrl.hostname !== siteUrl.hostname;
  // Nearly every request names the host in the same way; reading it anew would cost more than all the rest.
  let lastMatch: string | undefined;
  return (host) => {
    if (host === undefined) return false;
    if (host === lastMatch) return true;
    const given = URL.parse(`${pingUrl.protocol}//${host}`);
    const isMatch =
      given !== null &&
      (isByName ? withoutDot(given.hostname) === withoutDot(pingUrl.hostname) : given.host === pingUrl.host);
    if (isMatch) lastMatch = host;
    return isMatch;
  };
}

function withoutDot(hostname: string): string {
  return hostname.endsWith(".") ? hostname.slice(0, -1) : hostname;
}

function basePath(url: URL): string {
  return url.pathname.replace(/\/+$/, "");
}
