// Who asks: by the cookie of the session, or as a proxy in front says with every request.
import { findProxySession } from "../../../operations/accounts/sign-in/vouched.ts";
import { findSession } from "../../../operations/accounts/sessions.ts";
import type { Database } from "../../../store/db.ts";
import type { Arrival, Session } from "../house.ts";
import { sessionCookieName } from "../serving/cookies.ts";

export type ResolveOptions = {
  database: Database;
  siteUrl: URL;
  secretKey: string;
  proxyHeader: string | null;
  /** Whether the other end of a connection is a proxy that is believed. */
  isTrusted: (peer: string) => boolean;
};

/** Finds out who asks. */
export function sessionResolver(
  options: ResolveOptions,
): (of: Arrival) => Promise<{ session: Session | null; setCookies: readonly string[] }> {
  const { database, siteUrl, secretKey, proxyHeader, isTrusted } = options;
  const cookieName = sessionCookieName(siteUrl);
  return async (arrival) => {
    const { cookies, headers, peer, remoteAddr, network, ua, now } = arrival;
    if (proxyHeader === null) {
      const token = cookies[cookieName];
      const session = token === undefined ? null : await findSession(database, { token, now, remoteAddr });
      return { session, setCookies: [] };
    }
    const named = headers[proxyHeader];
    // A header that came twice is nobody's word.
    const isSaid = typeof named === "string" && named.trim() !== "" && peer !== undefined && isTrusted(peer);
    if (!isSaid) return { session: null, setCookies: [] };
    const visitor = { ua, remoteAddr, network, now };
    return { session: await findProxySession(database, { named, secretKey, visitor }), setCookies: [] };
  };
}
