// The page to sign in, and what its forms do: a mailed link, a password, the second step, and signing out.
import {
  CodeForm,
  ConfirmForm,
  EmptyForm,
  LinkForm,
  NextQuery,
  PasskeyAnswerBody,
  PasskeyOptionsBody,
  PasswordForm,
} from "../../contract/web/account.ts";
import { AppError } from "../../core/errors.ts";
import { isReauthenticatedByProvider } from "../../core/sign-in.ts";
import { html, type Html } from "../../lib/http/html.ts";
import { isSameText } from "../../lib/secrets.ts";
import { usePasskey } from "../../operations/credentials.ts";
import { endSession } from "../../operations/sessions.ts";
import {
  findPendingSignIn,
  isIdentityOf,
  mailConfirmCode,
  openProviderStep,
  passSecondFactor,
  markReauthenticated,
  reauthenticate,
  type ReauthMethods,
  reauthMethods,
  requestLink,
  signInWithIdentity,
  signInWithPasskey,
  signInWithPassword,
  takeProviderStep,
} from "../../operations/sign-in.ts";
import { hasAdmin } from "../../store/accounts.ts";
import type { OidcClient } from "./oidc.ts";
import { authenticationOptions, hasPasskeys, readAuthentication } from "./passkeys.ts";
import {
  type AccountRequest,
  accountRoute,
  openRoute,
  type WebAnswer,
  type WebContext,
  WebRefusal,
  type WebRequest,
  type WebRoute,
} from "./route.ts";
import {
  clearedCookies,
  demandOwnSignIn,
  deviceOf,
  nextOf,
  orShowForm,
  providerCookie,
  providerState,
  signedIn,
  stepToken,
  visitorOf,
} from "./session.ts";
import { invitationRoutes, linkRoutes } from "./sign-in-links.ts";
import {
  buttonLink,
  divider,
  emailField,
  field,
  form,
  formPage,
  PASSKEY_SCRIPT,
  passkeyButton,
  SCRIPT_PATH,
  SIGN_IN_STYLE,
  siteHref,
  STYLE_PATH,
} from "./sign-in-page.ts";

const NOBODY_YET = "No admin account yet. Open the link in the server log to create one.";

/** Where the cursor is put when the page is shown again. */
type Wrong = "email" | "password" | "link" | null;
type LoginState = { trouble?: string; status?: number; email?: string; next: string | null; wrong?: Wrong };

async function loginPage(ask: WebRequest, state: LoginState): Promise<WebAnswer> {
  const { trouble, status, email = "", next, wrong = null } = state;
  const { signIn, site } = ask.house;
  if (signIn.proxyHeader !== null) return proxyPage(ask, signIn.proxyHeader);
  return formPage(ask, {
    title: `Sign in to ${site.name}`,
    trouble: trouble ?? null,
    sentences: (await hasAdmin(ask.house.database)) ? [] : [NOBODY_YET],
    parts: loginParts(ask, { email, next, wrong }),
    hasScript: true,
    ...(status !== undefined && { status }),
  });
}

type LoginFields = Required<Pick<LoginState, "email" | "next" | "wrong">>;

function loginParts(ask: WebRequest, { email, next, wrong }: LoginFields): Html[] {
  const { signIn } = ask.house;
  const others: Html[] = [];
  if (hasPasskeys(ask.house)) {
    others.push(
      passkeyButton(ask, { api: "/web/api/sign-in/passkey", next, text: "Sign in with a passkey" }),
    );
  }
  if (signIn.oidc !== null) {
    const path = `/accounts/oidc/start/${next === null ? "" : `?next=${encodeURIComponent(next)}`}`;
    others.push(buttonLink(ask, { path, text: `Sign in with ${signIn.oidc.name}` }));
  }
  const noMail = html`<p class="sign-in-hint">This server doesn't send email. If you can't sign in, ask an admin for a link: <code>overdue admin login-link</code>.</p>\n`;
  return [
    passwordForm(ask, { email, next, wrong }),
    signIn.mail ? linkForm(ask, { email, next, wrong }) : noMail,
    ...(others.length > 0 ? [divider("or"), ...others] : []),
  ];
}

function passwordForm(ask: WebRequest, { email, next, wrong }: LoginFields): Html {
  return form(ask, {
    action: "/accounts/login/password/",
    hidden: { next },
    parts: [
      emailField({ value: email, autocomplete: "username", ...markOf(wrong === "email") }),
      field({
        name: "password",
        label: "Password",
        type: "password",
        autocomplete: "current-password",
        ...markOf(wrong === "password"),
      }),
    ],
    button: "Sign in",
  });
}

function linkForm(ask: WebRequest, { email, next, wrong }: LoginFields): Html {
  const { registrationOpen } = ask.house.signIn;
  const byMail = form(ask, {
    action: "/accounts/login/link/",
    hidden: { next },
    parts: [
      emailField({ id: "link-email", value: email, autocomplete: "email", ...markOf(wrong === "link") }),
    ],
    button: "Email me a link",
    isQuiet: true,
  });
  return html`${divider(registrationOpen ? "or use a link to sign in or create an account" : "or sign in without a password")}${byMail}`;
}

function markOf(isWrong: boolean) {
  return { isFirst: isWrong, isWrong };
}

function proxyPage(ask: WebRequest, header: string): Promise<WebAnswer> {
  return formPage(ask, {
    title: "You are not signed in",
    sentences: [
      "Sign-in is handled by a proxy in front of this server.",
      `The ${header} header is missing, empty, or comes from an untrusted address.`,
    ],
    status: 401,
  });
}

const showLogin = openRoute({
  name: "signIn.show",
  method: "GET",
  path: "/accounts/login/",
  access: "anyone",
  query: NextQuery,
  answer: async (ask) => {
    const next = nextOf(ask.query);
    if (ask.session !== null) return { redirect: next ?? "/" };
    return loginPage(ask, { next });
  },
});

const byPassword = openRoute({
  name: "signIn.password",
  method: "POST",
  path: "/accounts/login/password/",
  access: "anyone",
  body: PasswordForm,
  answer: async (ask) => {
    demandOwnSignIn(ask);
    const { email = "", password = "" } = ask.body;
    const next = nextOf(ask.body);
    const { signing } = ask.house;
    const visitor = visitorOf(ask);
    const request = { email, password, nextPath: next, device: deviceOf(ask), signing, visitor };
    return orShowForm(
      async () => signedIn(ask, await signInWithPassword(ask.house.database, request)),
      (trouble, status) =>
        loginPage(ask, { trouble, status, email, next, wrong: email === "" ? "email" : "password" }),
    );
  },
});

const byLink = openRoute({
  name: "signIn.link",
  method: "POST",
  path: "/accounts/login/link/",
  access: "anyone",
  body: LinkForm,
  answer: async (ask) => {
    demandOwnSignIn(ask);
    const { house } = ask;
    const { email = "" } = ask.body;
    const next = nextOf(ask.body);
    const { registrationOpen, mail } = house.signIn;
    if (!mail)
      return loginPage(ask, { trouble: "This server doesn't send email.", status: 400, email, next });
    const visitor = visitorOf(ask);
    const known = { device: deviceOf(ask), signing: house.signing };
    const request = { email, nextPath: next, registrationOpen, visitor, ...known };
    return orShowForm(
      async () => {
        await requestLink(house.database, request);
        return { redirect: "/accounts/login_link_sent/" };
      },
      (trouble, status) => loginPage(ask, { trouble, status, email, next, wrong: "link" }),
    );
  },
});

const linkSent = openRoute({
  name: "signIn.linkSent",
  method: "GET",
  path: "/accounts/login_link_sent/",
  access: "anyone",
  answer: async (ask) =>
    formPage(ask, {
      title: "Check your email",
      sentences: [
        ask.house.signIn.registrationOpen
          ? "We sent you a link. It works once and expires in 1 hour."
          : "If an account exists for this email address, we sent a link to it. The link works once and expires in 1 hour.",
        "Didn't get it after a few minutes? Check your spam folder.",
      ],
      parts: [html`<p><a href="${siteHref(ask, "/accounts/login/")}">Back to sign-in</a></p>\n`],
    }),
});

function secondFactorPage(
  ask: WebRequest,
  state: { trouble?: string; status?: number } = {},
): Promise<WebAnswer> {
  return formPage(ask, {
    title: "Two-factor authentication",
    trouble: state.trouble ?? null,
    sentences: ["Enter the code from your authenticator app, or a recovery code."],
    parts: [
      form(ask, {
        action: "/accounts/login/two_factor/",
        parts: [field({ name: "code", label: "Code", autocomplete: "one-time-code", isFirst: true })],
        button: "Sign in",
      }),
    ],
    ...(state.status !== undefined && { status: state.status }),
  });
}

const showSecondFactor = openRoute({
  name: "signIn.showSecondFactor",
  method: "GET",
  path: "/accounts/login/two_factor/",
  access: "anyone",
  answer: async (ask) => {
    const waiting = await findPendingSignIn(ask.house.database, { token: stepToken(ask), now: ask.now });
    return waiting === null ? { redirect: "/accounts/login/" } : secondFactorPage(ask);
  },
});

const secondFactor = openRoute({
  name: "signIn.secondFactor",
  method: "POST",
  path: "/accounts/login/two_factor/",
  access: "anyone",
  body: CodeForm,
  answer: async (ask) => {
    demandOwnSignIn(ask);
    const { database, secretKey, signing } = ask.house;
    const known = { device: deviceOf(ask), signing };
    const { code = "" } = ask.body;
    const request = { token: stepToken(ask), code, visitor: visitorOf(ask), secretKey, ...known };
    return orShowForm(
      async () => signedIn(ask, await passSecondFactor(database, request)),
      (trouble, status) =>
        status === 401
          ? loginPage(ask, { trouble, status, next: null })
          : secondFactorPage(ask, { trouble, status }),
    );
  },
});

const signOut = openRoute({
  name: "signIn.signOut",
  method: "POST",
  path: "/accounts/logout/",
  access: "anyone",
  body: EmptyForm,
  answer: async (ask) => {
    const { session, house } = ask;
    if (session !== null) {
      const of = { accountId: session.account.id, sessionId: session.id };
      await endSession(house.database, of).catch((error: unknown) => stayedSignedIn(house, error));
    }
    return { redirect: "/accounts/login/", cookies: clearedCookies(house) };
  },
});

/** The cookie is kept, so that signing out can be repeated: a copy of it would let its holder in until then. */
function stayedSignedIn({ log }: WebContext, error: unknown): void {
  if (error instanceof AppError && error.code === "not_found") return;
  log.warn({ err: error }, "could not end session");
  throw new WebRefusal(
    "unavailable",
    "You're still signed in because the server couldn't end the session. Try again in a minute.",
  );
}

const loginRoutes: readonly WebRoute[] = [
  showLogin,
  byPassword,
  byLink,
  linkSent,
  showSecondFactor,
  secondFactor,
  signOut,
];

// The page on which somebody who is signed in proves once more who it is, before something dangerous.

type ConfirmState = { trouble?: string; status?: number; isMailed?: boolean; next: string | null };

const HOME = "/accounts/profile/";

async function confirmPage(ask: WebRequest & AccountRequest, state: ConfirmState): Promise<WebAnswer> {
  const { house, account } = ask;
  const ways = await reauthMethods(house.database, account.id);
  const { next, isMailed = false } = state;
  const parts = typedForm(ask, ways, { next, isMailed });
  const others = otherWays(ask, ways, { next, isMailed });
  if (parts.length > 0 && others.length > 0) parts.push(divider("or"));
  parts.push(...others);
  if (parts.length === 0) {
    parts.push(
      html`<p>You have no sign-in method to re-authenticate with. Sign out and sign in again, or ask an admin for a link.</p>\n`,
    );
  }
  const asksForBoth = ways.app && (isMailed || ways.password);
  return formPage(ask, {
    title: "Re-authenticate",
    trouble: state.trouble ?? null,
    sentences: [
      isMailed
        ? `We sent a 6-digit code to ${account.email}. It expires in 15 minutes.`
        : `You're signed in as ${account.email}. Confirm your identity to continue.`,
      ...(asksForBoth ? ["You also need a code from your authenticator app."] : []),
    ],
    parts: [...parts, html`<p class="sign-in-or"><a href="${siteHref(ask, next ?? HOME)}">Back</a></p>\n`],
    hasScript: true,
    ...(state.status !== undefined && { status: state.status }),
  });
}

type Shown = { next: string | null; isMailed: boolean };

/** What can be typed: the password, or the code from a mail, and the code of the app where there is one. */
function typedForm(ask: WebRequest, ways: ReauthMethods, { next, isMailed }: Shown): Html[] {
  const fields: Html[] = [];
  if (isMailed) {
    const label = "Code from the email";
    fields.push(
      field({ name: "mailed", label, autocomplete: ways.app ? "off" : "one-time-code", isFirst: true }),
    );
  } else if (ways.password) {
    const of = { type: "password", autocomplete: "current-password", isFirst: true } as const;
    fields.push(field({ name: "password", label: "Password", ...of }));
  }
  if (ways.app) {
    const label = "Authenticator code or recovery code";
    fields.push(field({ name: "code", label, autocomplete: "one-time-code", isFirst: fields.length === 0 }));
  }
  if (fields.length === 0) return [];
  return [form(ask, way(isMailed ? "mailed" : ways.password ? "password" : "code", next, fields, "Confirm"))];
}

function otherWays(ask: WebRequest, ways: ReauthMethods, { next, isMailed }: Shown): Html[] {
  const { house } = ask;
  const { mail, oidc } = house.signIn;
  const others: Html[] = [];
  if (ways.passkey && hasPasskeys(house)) {
    others.push(
      passkeyButton(ask, { api: "/web/api/confirm/passkey", next: next ?? HOME, text: "Use a passkey" }),
    );
  }
  if (ways.provider && oidc !== null) {
    const path = `/accounts/oidc/confirm/?next=${encodeURIComponent(next ?? HOME)}`;
    others.push(buttonLink(ask, { path, text: `Use ${oidc.name}` }));
  }
  // If the app's code is enough, an email code is not needed.
  if (mail && (ways.password || !ways.app)) {
    const text = isMailed ? "Email another code" : ways.app ? MAIL_INSTEAD : "Email me a code";
    others.push(form(ask, { ...way("mail", next, [], text), isQuiet: true }));
  }
  return others;
}

const MAIL_INSTEAD = "Email me a code instead of using my password";

function way(name: string, next: string | null, parts: readonly Html[], button: string) {
  return { action: "/accounts/confirm/", hidden: { next, way: name }, parts, button };
}

const show = accountRoute({
  name: "confirm.show",
  method: "GET",
  path: "/accounts/confirm/",
  access: "account",
  query: NextQuery,
  answer: async (ask) => {
    const next = nextOf(ask.query);
    return ask.session.isProven ? { redirect: next ?? HOME } : confirmPage(ask, { next });
  },
});

const confirm = accountRoute({
  name: "confirm.confirm",
  method: "POST",
  path: "/accounts/confirm/",
  access: "account",
  body: ConfirmForm,
  answer: async (ask) => {
    const { house, session, account, now, body } = ask;
    const { database, signing, secretKey } = house;
    const next = nextOf(body);
    const proving = { accountId: account.id, sessionId: session.id, now };
    const done = { redirect: next ?? HOME };
    return orShowForm(
      async () => {
        if (body.way === "mail") {
          if (house.signIn.mail) await mailConfirmCode(database, { accountId: account.id, now, signing });
          return confirmPage(ask, { next, isMailed: house.signIn.mail });
        }
        const { password = "", mailed = "", code = "" } = body;
        await reauthenticate(database, { ...proving, password, mailed, code, signing, secretKey });
        return done;
      },
      (trouble, status) => confirmPage(ask, { trouble, status, next, isMailed: body.way === "mailed" }),
    );
  },
});

const confirmPasskeyOptions = accountRoute({
  name: "confirm.passkeyOptions",
  method: "POST",
  path: "/web/api/confirm/passkey/options",
  access: "account",
  body: PasskeyOptionsBody,
  answer: async (ask) => ({
    json: await authenticationOptions(ask.house, { accountId: ask.account.id, visitor: visitorOf(ask) }),
  }),
});

const confirmByPasskey = accountRoute({
  name: "confirm.passkey",
  method: "POST",
  path: "/web/api/confirm/passkey",
  access: "account",
  body: PasskeyAnswerBody,
  answer: async (ask) => {
    const { house, account, session, body, now } = ask;
    const visitor = visitorOf(ask);
    const used = await readAuthentication(house, { accountId: account.id, response: body.response, visitor });
    await usePasskey(house.database, { ...used, now });
    await markReauthenticated(house.database, { sessionId: session.id, now });
    return { json: { next: siteHref(ask, nextOf(body) ?? HOME) } };
  },
});

const confirmRoutes: readonly WebRoute[] = [show, confirm, confirmPasskeyOptions, confirmByPasskey];

// The routes of signing in, joined; with those of passkeys, of the identity provider, and the files that pages load.

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
    const { redirect, cookies = [] } = signedIn(ask, admitted);
    return { json: { next: siteHref(ask, redirect) }, cookies };
  },
});

function providerOf(ask: WebRequest): OidcClient {
  demandOwnSignIn(ask);
  const { oidc } = ask.house.signIn;
  if (oidc === null) throw new WebRefusal("not_found", "No identity provider is configured.");
  return oidc;
}

async function sendToProvider(
  ask: WebRequest,
  { next, sessionId }: { next: string | null; sessionId: number | null },
): Promise<WebAnswer> {
  const oidc = providerOf(ask);
  return orShowForm(
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
    return orShowForm(
      () => finishOidc(ask, oidc),
      (trouble, status) => formPage(ask, { title: "You are not signed in", trouble, status }),
    );
  },
});

async function finishOidc(ask: WebRequest, oidc: OidcClient): Promise<WebAnswer> {
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
    return signedIn(ask, await signInWithIdentity(house.database, request));
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
  if (!isReauthenticatedByProvider(identified.authenticatedAt, { begunAt: step.begunAt, now })) {
    throw new AppError("forbidden", NOT_ANEW);
  }
  await markReauthenticated(house.database, { sessionId, now });
  return { redirect: nextPath ?? "/accounts/profile/" };
}

const NOT_ANEW = "The identity provider didn't confirm a recent sign-in. Try again, or use another method.";

/** They change with the program only; browsers ask once an hour. */
const CACHE_ONE_HOUR = { "Cache-Control": "public, max-age=3600" };

const style = openRoute({
  name: "signIn.style",
  method: "GET",
  path: STYLE_PATH,
  access: "anyone",
  answer: async () => ({ content: SIGN_IN_STYLE, type: "text/css; charset=utf-8", headers: CACHE_ONE_HOUR }),
});

const script = openRoute({
  name: "signIn.script",
  method: "GET",
  path: SCRIPT_PATH,
  access: "anyone",
  answer: async () => ({
    content: PASSKEY_SCRIPT,
    type: "text/javascript; charset=utf-8",
    headers: CACHE_ONE_HOUR,
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
