// Cookies: read from the header of a request, and written with what keeps them ours.

/** More than a browser of ours ever has to send. */
const COOKIES_READ_MAX = 50;

/** The cookies of a request, the first of each name. */
export function readCookies(header: string | undefined): Record<string, string> {
  // Without a prototype: a cookie may be called `__proto__`.
  const cookies = Object.create(null) as Record<string, string>;
  for (const pair of (header ?? "").split(";").slice(0, COOKIES_READ_MAX)) {
    const at = pair.indexOf("=");
    if (at === -1) continue;
    const name = pair.slice(0, at).trim();
    if (name !== "" && !Object.hasOwn(cookies, name)) cookies[name] = pair.slice(at + 1).trim();
  }
  return cookies;
}

/**
 * The name that a cookie of ours really has. Where the public address is https and has no path, the prefix makes
 * browsers refuse one that another host of the domain has planted.
 */
export function guardedName(name: string, siteUrl: URL): string {
  const isPlain = siteUrl.protocol !== "https:" || siteUrl.pathname !== "/";
  return isPlain ? name : `__Host-${name}`;
}

/** The name of the session's cookie. */
export function sessionCookieName(siteUrl: URL): string {
  return guardedName("overdue_session", siteUrl);
}

/** A value of Set-Cookie that no script can read; without an age it goes with the browser, with 0 at once. */
export function setCookie(
  { name, value, maxAgeSeconds }: { name: string; value: string; maxAgeSeconds?: number },
  siteUrl: URL,
): string {
  return [
    `${name}=${value}`,
    `Path=${siteUrl.pathname.replace(/(?<!\/)\/+$/, "") || "/"}`,
    "HttpOnly",
    "SameSite=Lax",
    ...(siteUrl.protocol === "https:" ? ["Secure"] : []),
    ...(maxAgeSeconds === undefined ? [] : [`Max-Age=${maxAgeSeconds}`]),
  ].join("; ");
}
