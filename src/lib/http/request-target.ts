// The target of a request: host and path in any form, and whether the host is a published one.

export type RequestTarget = {
  /** The path with its query, from its first slash on. */
  path: string;
  host: string | undefined;
};

const ABSOLUTE = /^https?:\/\/(?<host>[^/?#]*)(?<path>.*)$/i;

/** The target of a request, from its URL and its Host header; null if it has no path. */
export function requestTarget(url: string, host: string | undefined): RequestTarget | null {
  if (url.startsWith("/")) return { path: url, host };
  // Clients of a proxy send the whole URL; servers must accept it, too.
  const absolute = ABSOLUTE.exec(url)?.groups;
  return absolute === undefined ? null : { path: absolute["path"] ?? "", host: absolute["host"] };
}

/** The path of a published URL, without trailing slashes. */
export function basePath(url: URL): string {
  return url.pathname.replace(/(?<!\/)\/+$/, "");
}

/**
 * Returns whether a Host header names `own` and not `site`: by name alone, because a proxy may listen on another
 * port; by port, too, if only the ports differ.
 */
export function hostMatcher(own: URL, site: URL): (host: string | undefined) => boolean {
  const isByName = own.hostname !== site.hostname;
  // Nearly every request has the same host; parsing it each time would cost more than the rest.
  let lastMatch: string | undefined;
  let lastOther: string | undefined;
  return (host) => {
    if (host === undefined || host === lastOther) return false;
    if (host === lastMatch) return true;
    const given = URL.parse(`${own.protocol}//${host}`);
    const isMatch =
      given !== null &&
      (isByName ? withoutDot(given.hostname) === withoutDot(own.hostname) : given.host === own.host);
    if (isMatch) lastMatch = host;
    else lastOther = host;
    return isMatch;
  };
}

function withoutDot(hostname: string): string {
  return hostname.endsWith(".") ? hostname.slice(0, -1) : hostname;
}

/**
 * Finds the path of a request below the site, without its query: "/b/x" for "/b/x?y" and, if the site has a path,
 * also for "/site/b/x", because a proxy may or may not remove that. Not decoded.
 */
export function sitePath(siteUrl: URL): (url: string) => string {
  const base = basePath(siteUrl);
  const prefix = `${base}/`;
  return (url) => {
    const target = requestTarget(url, undefined)?.path ?? "";
    const end = target.search(/[?#]/);
    const path = end === -1 ? target : target.slice(0, end);
    return path.startsWith(prefix) ? path.slice(base.length) : path;
  };
}
