// Which requests are for the Management API, and what of their URL is left: everything under /api/ on the site,
// and under the address that the operator publishes for version 3. Pure.
import { basePath, hostMatcher, requestTarget } from "../../lib/http/request-target.ts";

/** The path from the version on, with its query; null for a request that is not for the API. */
export type LocateApi = (url: string, host: string | undefined) => string | null;

const API_PATH = "/api";
/** The only version that has a host of its own. */
const HOST_VERSION = /^\/v3(?=[/?]|$)/;
/** Where nothing is: a request for the API that no version can answer. */
const NOWHERE = "/";

/** A locator for these addresses. A path in the site's address is honoured, whether or not a proxy removes it. */
export function apiLocator({ siteUrl, apiUrl }: { siteUrl: URL; apiUrl: URL | null }): LocateApi {
  const sitePath = basePath(siteUrl);
  const bases = sitePath === "" ? [API_PATH] : [API_PATH, sitePath + API_PATH];
  const isOnHost = apiUrl === null ? () => false : onHost(apiUrl, siteUrl);
  const hostBase = apiUrl === null ? "" : basePath(apiUrl);
  const isShared = apiUrl !== null && apiUrl.host === siteUrl.host;
  return (url, host) => {
    const target = requestTarget(url, host);
    if (target === null) return null;
    for (const base of bases) {
      const rest = below(base, target.path);
      if (rest !== null) return rest;
    }
    if (!isOnHost(target.host)) return null;
    const rest = below(hostBase, target.path);
    if (rest !== null && HOST_VERSION.test(rest)) return rest;
    // On a host that is shared with the site, whatever else is asked for belongs to others.
    return isShared ? null : NOWHERE;
  };
}

function onHost(apiUrl: URL, siteUrl: URL): (host: string | undefined) => boolean {
  return apiUrl.host === siteUrl.host ? () => true : hostMatcher(apiUrl, siteUrl);
}

/** What follows a base; the base alone is its root. */
function below(base: string, path: string): string | null {
  if (!path.startsWith(base)) return null;
  const rest = path.slice(base.length);
  if (rest === "" || rest.startsWith("?")) return `${NOWHERE}${rest}`;
  return rest.startsWith("/") ? rest : null;
}
