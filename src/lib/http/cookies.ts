/** Further cookies of a request are ignored. */
const COOKIES_READ_MAX = 50;

/** The cookies of a request; of several with the same name, the first. */
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
