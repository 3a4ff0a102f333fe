import { AppError, HTTP_STATUS } from "../../core/errors.ts";
import { DAY_MS, SECOND_MS } from "../../core/instant.ts";
import {
  deviceToken,
  readDevice,
  safeNext,
  SECOND_FACTOR_MS,
  SESSION_DAYS_MAX,
  STEP_MS,
} from "../../core/sign-in.ts";
import { newToken } from "../../lib/secrets.ts";
import type { Visitor } from "../../operations/attempts.ts";
import { findSession } from "../../operations/sessions.ts";
import { findProxySession, type SignInResult } from "../../operations/sign-in.ts";
import type { Database } from "../../store/db.ts";
import {
  type RequestSource,
  type Session,
  type WebAnswer,
  type WebContext,
  WebRefusal,
  type WebRequest,
} from "./route.ts";

/**
 * The actual name of a cookie. If the public URL is https and has no path, the prefix makes browsers reject a cookie
 * that another host of the domain has set.
 */
export function guardedName(name: string, siteUrl: URL): string {
  const isPlain = siteUrl.protocol !== "https:" || siteUrl.pathname !== "/";
  return isPlain ? name : `__Host-${name}`;
}

/** The name of the session cookie. */
export function sessionCookieName(siteUrl: URL): string {
  return guardedName("overdue_session", siteUrl);
}

/** A Set-Cookie value that scripts cannot read. Without an age it expires with the browser, with 0 immediately. */
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

// Identifies the user by the session cookie, or by the header of an authenticating proxy.

export type ResolveOptions = {
  database: Database;
  siteUrl: URL;
  secretKey: string;
  proxyHeader: string | null;
  /** Whether the other end of a connection is a trusted proxy. */
  isTrusted: (peer: string) => boolean;
};

/** Identifies the user of a request. */
export function sessionResolver(
  options: ResolveOptions,
): (of: RequestSource) => Promise<{ session: Session | null; setCookies: readonly string[] }> {
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
    // A header that appears twice is not trusted.
    const isSaid = typeof named === "string" && named.trim() !== "" && peer !== undefined && isTrusted(peer);
    if (!isSaid) return { session: null, setCookies: [] };
    const visitor = { ua, remoteAddr, network, now };
    return { session: await findProxySession(database, { named, secretKey, visitor }), setCookies: [] };
  };
}

/** The cookie between the first and the second step of signing in. */
const STEP_COOKIE = "overdue_step";

/** The cookie that identifies a known browser after its session has ended. */
const DEVICE_COOKIE = "overdue_device";

/** The device token of this browser; empty: none. */
export function deviceOf({ cookies, context }: WebRequest): string {
  return cookies[guardedName(DEVICE_COOKIE, siteUrlOf(context))] ?? "";
}

/**
 * Makes a browser known. A browser that is already known keeps its attempt count: signing in again does not reset it.
 */
export function deviceCookie(request: WebRequest, accountId: number): string {
  const { context, now } = request;
  const { signing } = context;
  const url = siteUrlOf(context);
  const before = readDevice(deviceOf(request), { signing, accountId, knownFromAt: null, now });
  const value = deviceToken(signing, { accountId, id: before ?? newToken(), at: now });
  const maxAgeSeconds = (SESSION_DAYS_MAX * DAY_MS) / SECOND_MS;
  return setCookie({ name: guardedName(DEVICE_COOKIE, url), value, maxAgeSeconds }, url);
}

/** The cookie during sign-in with the identity provider. */
const PROVIDER_COOKIE = "overdue_provider";

/** It contains the state of the flow, so that only this browser can complete it. */
export function providerCookie(context: WebContext, state: string): string {
  const maxAgeSeconds = STEP_MS / SECOND_MS;
  const url = siteUrlOf(context);
  return setCookie({ name: guardedName(PROVIDER_COOKIE, url), value: state, maxAgeSeconds }, url);
}

/** The state with which this browser was sent to the provider; empty: none. */
export function providerState({ cookies, context }: WebRequest): string {
  return cookies[guardedName(PROVIDER_COOKIE, siteUrlOf(context))] ?? "";
}

/** The browser that a request came from. */
export function visitorOf({ ua, remoteAddr, network, now }: WebRequest): Visitor {
  return { ua, remoteAddr: remoteAddr === "" ? null : remoteAddr, network, now };
}

function siteUrlOf({ site }: WebContext): URL {
  return new URL(site.url);
}

/** The cookie that a signed-in browser gets. */
function sessionCookie(context: WebContext, token: string): string {
  const url = siteUrlOf(context);
  const maxAgeSeconds = (SESSION_DAYS_MAX * DAY_MS) / SECOND_MS;
  return setCookie({ name: sessionCookieName(url), value: token, maxAgeSeconds }, url);
}

/** The cookies that sign a user out. */
export function clearedCookies(context: WebContext): string[] {
  const url = siteUrlOf(context);
  return [sessionCookieName(url), guardedName(STEP_COOKIE, url)].map((name) =>
    setCookie({ name, value: "", maxAgeSeconds: 0 }, url),
  );
}

/** The response after the first factor, or after all factors. */
export function signedIn(request: WebRequest, admitted: SignInResult): WebAnswer & { redirect: string } {
  const { context } = request;
  const url = siteUrlOf(context);
  const name = guardedName(STEP_COOKIE, url);
  if (admitted.kind === "secondFactor") {
    const maxAgeSeconds = SECOND_FACTOR_MS / SECOND_MS;
    const cookies = [setCookie({ name, value: admitted.token, maxAgeSeconds }, url)];
    return { redirect: "/accounts/login/two_factor/", cookies };
  }
  const over = setCookie({ name, value: "", maxAgeSeconds: 0 }, url);
  const cookies = [sessionCookie(context, admitted.token), over, deviceCookie(request, admitted.accountId)];
  return { redirect: admitted.nextPath ?? "/", cookies };
}

/** The token of the second step in a request. */
export function stepToken({ cookies, context }: WebRequest): string {
  return cookies[guardedName(STEP_COOKIE, siteUrlOf(context))] ?? "";
}

/** Where a form redirects to. */
export function nextOf(given: { next?: string | undefined }): string | null {
  return safeNext(given.next === "" ? null : given.next);
}

/** Runs an action, and shows a page with the reason if it is rejected. */
export async function orShowForm(
  work: () => Promise<WebAnswer>,
  again: (trouble: string, status: number, field: string | null) => Promise<WebAnswer>,
): Promise<WebAnswer> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) && !(error instanceof WebRefusal)) throw error;
    return again(error.message, HTTP_STATUS[error.code], error.field);
  }
}

/** Rejects if an authenticating proxy is used: there is no other sign-in method then. */
export function demandOwnSignIn({ context }: Pick<WebRequest, "context">): void {
  if (context.signIn.proxyHeader === null) return;
  throw new WebRefusal("not_found", "Sign-in is handled by a proxy in front of this server.");
}
