// Whether a request that changes something was made by a page of ours. The session's cookie alone does not tell: a
// browser may send it along with what another site makes it do. A refusal says which header a proxy has lost.

export type OriginHeaders = {
  origin: string | undefined;
  host: string | undefined;
  /** What a proxy says the browser asked for; no page of another site can make a browser send it. */
  forwardedHost: string | undefined;
  fetchSite: string | undefined;
};

/** The sentence to refuse with; null: the request is ours. */
export function originTrouble(given: OriginHeaders, siteUrl: URL): string | null {
  const { fetchSite, origin } = given;
  // The browser compares both ends itself, and no page can write this header.
  if (fetchSite === "same-origin") return null;
  if (fetchSite !== undefined && fetchSite !== "none") return "Cross-site request blocked.";
  if (origin === undefined || origin === "null") {
    return "The request has neither an Origin nor a Sec-Fetch-Site header. If you use a reverse proxy, configure it to forward both.";
  }
  if (origin === siteUrl.origin) return null;
  const asked = URL.parse(origin)?.host;
  if (asked !== undefined && (asked === given.host || asked === given.forwardedHost)) return null;
  return `This page was opened at ${origin}, but the public URL of this server is ${siteUrl.origin} and the Host header is ${given.host ?? "missing"}. Open the public URL, set OVERDUE_SITE_URL to the URL you use, or configure the proxy to forward the Host header.`;
}
