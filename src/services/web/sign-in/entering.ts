// What the routes of signing in share: who comes, what is answered when somebody is in, and how a form is shown again
// when something was wrong with it.
import { DEVICE_DAYS_MAX, deviceToken, readDevice } from "../../../core/accounts/device-rules.ts";
import { SESSION_DAYS_MAX } from "../../../core/accounts/session-rules.ts";
import { safeNext, SECOND_FACTOR_MS, STEP_MS } from "../../../core/accounts/token-rules.ts";
import { AppError, HTTP_STATUS } from "../../../core/errors.ts";
import { DAY_MS, SECOND_MS } from "../../../core/instant.ts";
import { newToken } from "../../../lib/secrets/secret-token.ts";
import type { Admitted, Visitor } from "../../../operations/accounts/sign-in/admit.ts";
import type { WebHouse } from "../house.ts";
import { type Asking, type WebAnswer, WebRefusal } from "../route.ts";
import { guardedName, sessionCookieName, setCookie } from "../serving/cookies.ts";

/** The cookie of whoever stands between the first and the second step. */
const STEP_COOKIE = "overdue_step";

/** The cookie by which a browser is known again after its session has ended. */
const DEVICE_COOKIE = "overdue_device";

/** What this browser keeps of having been signed in; empty: nothing. */
export function deviceOf({ cookies, house }: Asking): string {
  return cookies[guardedName(DEVICE_COOKIE, siteUrlOf(house))] ?? "";
}

/** Makes a browser known. One that the account knew before keeps its tries: signing in again gives it no others. */
export function deviceCookie(ask: Asking, accountId: number): string {
  const { house, now } = ask;
  const { signing } = house;
  const url = siteUrlOf(house);
  const before = readDevice(deviceOf(ask), { signing, accountId, knownFromAt: null, now });
  const value = deviceToken(signing, { accountId, id: before ?? newToken(), at: now });
  const maxAgeSeconds = (DEVICE_DAYS_MAX * DAY_MS) / SECOND_MS;
  return setCookie({ name: guardedName(DEVICE_COOKIE, url), value, maxAgeSeconds }, url);
}

/** The cookie of whoever was sent to the identity provider. */
const PROVIDER_COOKIE = "overdue_provider";

/** It holds what the provider sends back, so that only this browser can come back with it. */
export function providerCookie(house: WebHouse, state: string): string {
  const maxAgeSeconds = STEP_MS / SECOND_MS;
  const url = siteUrlOf(house);
  return setCookie({ name: guardedName(PROVIDER_COOKIE, url), value: state, maxAgeSeconds }, url);
}

/** What this browser was sent to the provider with; empty: it was not. */
export function providerState({ cookies, house }: Asking): string {
  return cookies[guardedName(PROVIDER_COOKIE, siteUrlOf(house))] ?? "";
}

/** The browser that a request came from. */
export function visitorOf({ ua, remoteAddr, network, now }: Asking): Visitor {
  return { ua, remoteAddr: remoteAddr === "" ? null : remoteAddr, network, now };
}

function siteUrlOf({ site }: WebHouse): URL {
  return new URL(site.url);
}

/** The cookie that a signed-in browser gets. */
function sessionCookie(house: WebHouse, token: string): string {
  const url = siteUrlOf(house);
  const maxAgeSeconds = (SESSION_DAYS_MAX * DAY_MS) / SECOND_MS;
  return setCookie({ name: sessionCookieName(url), value: token, maxAgeSeconds }, url);
}

/** The cookies of whoever leaves. */
export function noCookies(house: WebHouse): string[] {
  const url = siteUrlOf(house);
  return [sessionCookieName(url), guardedName(STEP_COOKIE, url)].map((name) =>
    setCookie({ name, value: "", maxAgeSeconds: 0 }, url),
  );
}

/** What somebody gets who has proven one thing, or all. */
export function entered(ask: Asking, admitted: Admitted): WebAnswer & { redirect: string } {
  const { house } = ask;
  const url = siteUrlOf(house);
  const name = guardedName(STEP_COOKIE, url);
  if (admitted.kind === "secondFactor") {
    const maxAgeSeconds = SECOND_FACTOR_MS / SECOND_MS;
    const cookies = [setCookie({ name, value: admitted.token, maxAgeSeconds }, url)];
    return { redirect: "/accounts/login/two_factor/", cookies };
  }
  const over = setCookie({ name, value: "", maxAgeSeconds: 0 }, url);
  const cookies = [sessionCookie(house, admitted.token), over, deviceCookie(ask, admitted.accountId)];
  return { redirect: admitted.nextPath ?? "/", cookies };
}

/** The token of the second step that a browser brings. */
export function stepToken({ cookies, house }: Asking): string {
  return cookies[guardedName(STEP_COOKIE, siteUrlOf(house))] ?? "";
}

/** Where a form leads on to. */
export function nextOf(given: { next?: string | undefined }): string | null {
  return safeNext(given.next === "" ? null : given.next);
}

/** Does something, and shows a page with the reason when it is refused. */
export async function orAgain(
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

/** Refuses where a proxy says who people are: no other way in exists then. */
export function demandOwnSignIn({ house }: Pick<Asking, "house">): void {
  if (house.signIn.proxyHeader === null) return;
  throw new WebRefusal("not_found", "Sign-in is handled by a proxy in front of this server.");
}
