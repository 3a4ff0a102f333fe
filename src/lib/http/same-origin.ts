// Cross-site request protection: a session cookie alone does not prove that a request comes from a page of this server.
// The error names the header that a proxy has removed.

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Why a request is refused, as a sentence; null: it comes from a page of this server. */
export function originProblem(headers: Headers, siteUrl: URL): string | null {
  const fetchSite = first(headers["sec-fetch-site"]);
  const origin = first(headers["origin"]);
  const host = first(headers["host"]);
  // Sent by proxies. A page of another site cannot make a browser send it.
  const forwardedHost = first(headers["x-forwarded-host"]);
  // The browser compares both ends itself, and no page can write this header.
  if (fetchSite === "same-origin") return null;
  if (fetchSite !== undefined && fetchSite !== "none") return "Cross-site request blocked.";
  if (origin === undefined || origin === "null") {
    return "The request has neither an Origin nor a Sec-Fetch-Site header. If you use a reverse proxy, configure it to forward both.";
  }
  if (origin === siteUrl.origin) return null;
  const asked = URL.parse(origin)?.host;
  if (asked !== undefined && (asked === host || asked === forwardedHost)) return null;
  return `This page was opened at ${origin}, but the public URL of this server is ${siteUrl.origin} and the Host header is ${host ?? "missing"}. Open the public URL, set OVERDUE_SITE_URL to the URL you use, or configure the proxy to forward the Host header.`;
}

function first(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
