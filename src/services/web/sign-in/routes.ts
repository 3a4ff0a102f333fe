// The routes of signing in, joined; with those of passkeys, of the identity provider, and the files that pages load.
import { NextQuery, PasskeyAnswerBody, PasskeyOptionsBody } from "../../../contract/web/requests/sign-in.ts";
import { isProvenAnew } from "../../../core/accounts/session-rules.ts";
import { AppError } from "../../../core/errors.ts";
import { isSameText } from "../../../lib/secrets/hashes.ts";
import { signInWithPasskey } from "../../../operations/accounts/sign-in/credentials.ts";
import { prove } from "../../../operations/accounts/sign-in/confirm.ts";
import {
  isIdentityOf,
  openProviderStep,
  signInVouched,
  takeProviderStep,
} from "../../../operations/accounts/sign-in/vouched.ts";
import { accountRoute, type Asking, openRoute, type WebAnswer, WebRefusal, type WebRoute } from "../route.ts";
import { confirmRoutes } from "./confirm.ts";
import {
  demandOwnSignIn,
  entered,
  nextOf,
  orAgain,
  providerCookie,
  providerState,
  visitorOf,
} from "./entering.ts";
import { formPage, SCRIPT_PATH, siteHref, STYLE_PATH } from "./form-page.ts";
import { invitationRoutes } from "./invitation.ts";
import { linkRoutes } from "./links.ts";
import { loginRoutes } from "./login.ts";
import type { OidcClient } from "./oidc.ts";
import { PASSKEY_SCRIPT, SIGN_IN_STYLE } from "./sign-in-assets.ts";
import { authenticationOptions, readAuthentication } from "./webauthn.ts";

const passkeyOptions = openRoute({
  name: "signIn.passkeyOptions",
  method: "POST",
  path: "/web/api/sign-in/passkey/options",
  access: "anyone",
  body: PasskeyOptionsBody,
  answer: async (ask) => {
    demandOwnSignIn(ask);
    return { json: await authenticationOptions(ask.house, { accountId: null, visitor: visitorOf(ask) }) };
  },
});

const byPasskey = openRoute({
  name: "signIn.passkey",
  method: "POST",
  path: "/web/api/sign-in/passkey",
  access: "anyone",
  body: PasskeyAnswerBody,
  answer: async (ask) => {
    demandOwnSignIn(ask);
    const { house, body } = ask;
    const visitor = visitorOf(ask);
    const used = await readAuthentication(house, { accountId: null, response: body.response, visitor });
    const admitted = await signInWithPasskey(house.database, { ...used, visitor, nextPath: nextOf(body) });
    const { redirect, cookies = [] } = entered(ask, admitted);
    return { json: { next: siteHref(ask, redirect) }, cookies };
  },
});

function providerOf(ask: Asking): OidcClient {
  demandOwnSignIn(ask);
  const { oidc } = ask.house.signIn;
  if (oidc === null) throw new WebRefusal("not_found", "No identity provider is configured.");
  return oidc;
}

async function sendToProvider(
  ask: Asking,
  { next, sessionId }: { next: string | null; sessionId: number | null },
): Promise<WebAnswer> {
  const oidc = providerOf(ask);
  return orAgain(
    async () => {
      const begun = await oidc.begin({ again: sessionId !== null }).catch((error: unknown) => {
        ask.house.log.warn({ err: error }, "identity provider request failed");
        throw new AppError(
          "unavailable",
          "The identity provider can't be reached. Try again in a few minutes.",
        );
      });
      const { url, state, codeVerifier, nonce } = begun;
      const step = { codeVerifier, nonce, nextPath: next, sessionId };
      await openProviderStep(ask.house.database, { state, step, visitor: visitorOf(ask) });
      return { redirect: url, cookies: [providerCookie(ask.house, state)] };
    },
    (trouble, status) => formPage(ask, { title: "Sign-in failed", trouble, status }),
  );
}

const beginOidc = openRoute({
  name: "oidc.begin",
  method: "GET",
  path: "/accounts/oidc/start/",
  access: "anyone",
  query: NextQuery,
  answer: async (ask) => sendToProvider(ask, { next: nextOf(ask.query), sessionId: null }),
});

const confirmByOidc = accountRoute({
  name: "oidc.confirm",
  method: "GET",
  path: "/accounts/oidc/confirm/",
  access: "account",
  query: NextQuery,
  answer: async (ask) => sendToProvider(ask, { next: nextOf(ask.query), sessionId: ask.session.id }),
});

const backFromOidc = openRoute({
  name: "oidc.back",
  method: "GET",
  path: "/accounts/oidc/",
  access: "anyone",
  answer: async (ask) => {
    const oidc = providerOf(ask);
    return orAgain(
      () => comeBack(ask, oidc),
      (trouble, status) => formPage(ask, { title: "You are not signed in", trouble, status }),
    );
  },
});

async function comeBack(ask: Asking, oidc: OidcClient): Promise<WebAnswer> {
  const { house, now } = ask;
  const query = ask.url.split("?", 2)[1] ?? "";
  const state = new URLSearchParams(query).get("state") ?? "";
  // Whoever began must come back in the same browser: otherwise a link could sign people in as somebody else.
  const isMine = state !== "" && isSameText(state, providerState(ask));
  const step = isMine ? await takeProviderStep(house.database, { state, now }) : null;
  if (step === null)
    throw new AppError("invalid", "The sign-in timed out or was started in another browser. Try again.");
  const identified = await oidc.finish({ query, state, ...step }).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    house.log.warn({ reason }, "identity provider response rejected");
    throw new AppError("forbidden", "Sign-in with the identity provider failed.");
  });
  const { nextPath, sessionId } = step;
  if (sessionId === null) {
    const visitor = visitorOf(ask);
    const { createsAccounts: ofProvider } = oidc;
    const createsAccounts = ofProvider || house.signIn.registrationOpen;
    const request = { identified, createsAccounts, visitor, nextPath };
    return entered(ask, await signInVouched(house.database, request));
  }
  const { session } = ask;
  const isSame =
    session?.id === sessionId &&
    (await isIdentityOf(house.database, { identified, accountId: session.account.id, now }));
  if (!isSame)
    throw new AppError(
      "forbidden",
      "The identity provider signed in a different account than the one you use here.",
    );
  if (!isProvenAnew(identified.authenticatedAt, { begunAt: step.begunAt, now })) {
    throw new AppError("forbidden", NOT_ANEW);
  }
  await prove(house.database, { sessionId, now });
  return { redirect: nextPath ?? "/accounts/profile/" };
}

const NOT_ANEW = "The identity provider didn't confirm a recent sign-in. Try again, or use another method.";

/** They change with the program only; browsers ask once an hour. */
const FOR_AN_HOUR = { "Cache-Control": "public, max-age=3600" };

const style = openRoute({
  name: "signIn.style",
  method: "GET",
  path: STYLE_PATH,
  access: "anyone",
  answer: async () => ({ content: SIGN_IN_STYLE, type: "text/css; charset=utf-8", headers: FOR_AN_HOUR }),
});

const script = openRoute({
  name: "signIn.script",
  method: "GET",
  path: SCRIPT_PATH,
  access: "anyone",
  answer: async () => ({
    content: PASSKEY_SCRIPT,
    type: "text/javascript; charset=utf-8",
    headers: FOR_AN_HOUR,
  }),
});

export const signInRoutes: readonly WebRoute[] = [
  ...loginRoutes,
  ...linkRoutes,
  ...invitationRoutes,
  ...confirmRoutes,
  passkeyOptions,
  byPasskey,
  beginOidc,
  confirmByOidc,
  backFromOidc,
  style,
  script,
];
