// The sign-in page and its forms: emailed link, password, second factor, passkeys, identity provider, signing out, and
// re-authentication.
import {
  CodeForm,
  ConfirmForm,
  EmptyForm,
  LinkForm,
  NextQuery,
  PasskeyAnswerBody,
  PasskeyOptionsBody,
  PasswordForm,
} from "../../contract/api/account.ts";
import { DOCS } from "../../contract/api/docs.ts";
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

const NO_ADMIN_YET = "No admin account yet. Open the link in the server log to create one.";

/** The field that gets the focus when the page is shown again. */
type Wrong = "email" | "password" | "link" | null;
type LoginState = { trouble?: string; status?: number; email?: string; next: string | null; wrong?: Wrong };

async function loginPage(request: WebRequest, state: LoginState): Promise<WebAnswer> {
  const { trouble, status, email = "", next, wrong = null } = state;
  const { signIn, site } = request.context;
  if (signIn.proxyHeader !== null) return proxyPage(request, signIn.proxyHeader);
  return formPage(request, {
    title: `Sign in to ${site.name}`,
    trouble: trouble ?? null,
    sentences: (await hasAdmin(request.context.database)) ? [] : [NO_ADMIN_YET],
    parts: loginParts(request, { email, next, wrong }),
    hasScript: true,
    ...(status !== undefined && { status }),
  });
}

type LoginFields = Required<Pick<LoginState, "email" | "next" | "wrong">>;

function loginParts(request: WebRequest, { email, next, wrong }: LoginFields): Html[] {
  const { signIn } = request.context;
  const others: Html[] = [];
  if (hasPasskeys(request.context)) {
    others.push(
      passkeyButton(request, { api: "/web/sign-in/passkey", next, text: "Sign in with a passkey" }),
    );
  }
  if (signIn.oidc !== null) {
    const path = `/accounts/oidc/start/${next === null ? "" : `?next=${encodeURIComponent(next)}`}`;
    others.push(buttonLink(request, { path, text: `Sign in with ${signIn.oidc.name}` }));
  }
  const noMail = html`<p class="sign-in-hint">This server doesn't send email. If you can't sign in, ask an admin for a link: <code>overdue admin account login-link</code>. <a href="${siteHref(request, DOCS.lockedOut)}" target="_blank" rel="noopener">Learn more</a></p>\n`;
  return [
    passwordForm(request, { email, next, wrong }),
    signIn.mail ? linkForm(request, { email, next, wrong }) : noMail,
    ...(others.length > 0 ? [divider("or"), ...others] : []),
  ];
}

function passwordForm(request: WebRequest, { email, next, wrong }: LoginFields): Html {
  return form(request, {
    action: "/accounts/login/password/",
    hidden: { next },
    parts: [
      emailField({ value: email, autocomplete: "username", ...errorMark(wrong === "email") }),
      field({
        name: "password",
        label: "Password",
        type: "password",
        autocomplete: "current-password",
        ...errorMark(wrong === "password"),
      }),
    ],
    button: "Sign in",
  });
}

function linkForm(request: WebRequest, { email, next, wrong }: LoginFields): Html {
  const { registrationOpen } = request.context.signIn;
  const byMail = form(request, {
    action: "/accounts/login/link/",
    hidden: { next },
    parts: [
      emailField({ id: "link-email", value: email, autocomplete: "email", ...errorMark(wrong === "link") }),
    ],
    button: "Email me a link",
    isQuiet: true,
  });
  return html`${divider(registrationOpen ? "or use a link to sign in or create an account" : "or sign in without a password")}${byMail}`;
}

function errorMark(isWrong: boolean) {
  return { isFirst: isWrong, isWrong };
}

function proxyPage(request: WebRequest, header: string): Promise<WebAnswer> {
  return formPage(request, {
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
  answer: async (request) => {
    const next = nextOf(request.query);
    if (request.session !== null) return { redirect: next ?? "/" };
    return loginPage(request, { next });
  },
});

const byPassword = openRoute({
  name: "signIn.password",
  method: "POST",
  path: "/accounts/login/password/",
  access: "anyone",
  body: PasswordForm,
  answer: async (request) => {
    demandOwnSignIn(request);
    const { email = "", password = "" } = request.body;
    const next = nextOf(request.body);
    const { signing } = request.context;
    const visitor = visitorOf(request);
    const input = { email, password, nextPath: next, device: deviceOf(request), signing, visitor };
    return orShowForm(
      async () => signedIn(request, await signInWithPassword(request.context.database, input)),
      (trouble, status) =>
        loginPage(request, { trouble, status, email, next, wrong: email === "" ? "email" : "password" }),
    );
  },
});

const byLink = openRoute({
  name: "signIn.link",
  method: "POST",
  path: "/accounts/login/link/",
  access: "anyone",
  body: LinkForm,
  answer: async (request) => {
    demandOwnSignIn(request);
    const { context } = request;
    const { email = "" } = request.body;
    const next = nextOf(request.body);
    const { registrationOpen, mail } = context.signIn;
    if (!mail)
      return loginPage(request, { trouble: "This server doesn't send email.", status: 400, email, next });
    const visitor = visitorOf(request);
    const known = { device: deviceOf(request), signing: context.signing };
    const input = { email, nextPath: next, registrationOpen, visitor, ...known };
    return orShowForm(
      async () => {
        await requestLink(context.database, input);
        return { redirect: "/accounts/login_link_sent/" };
      },
      (trouble, status) => loginPage(request, { trouble, status, email, next, wrong: "link" }),
    );
  },
});

const linkSent = openRoute({
  name: "signIn.linkSent",
  method: "GET",
  path: "/accounts/login_link_sent/",
  access: "anyone",
  answer: async (request) =>
    formPage(request, {
      title: "Check your email",
      sentences: [
        request.context.signIn.registrationOpen
          ? "We sent you a link. It works once and expires in 1 hour."
          : "If an account exists for this email address, we sent a link to it. The link works once and expires in 1 hour.",
        "Didn't get it after a few minutes? Check your spam folder.",
      ],
      parts: [html`<p><a href="${siteHref(request, "/accounts/login/")}">Back to sign-in</a></p>\n`],
    }),
});

function secondFactorPage(
  request: WebRequest,
  state: { trouble?: string; status?: number } = {},
): Promise<WebAnswer> {
  return formPage(request, {
    title: "Two-factor authentication",
    trouble: state.trouble ?? null,
    sentences: ["Enter the code from your authenticator app, or a recovery code."],
    parts: [
      form(request, {
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
  answer: async (request) => {
    const waiting = await findPendingSignIn(request.context.database, {
      token: stepToken(request),
      now: request.now,
    });
    return waiting === null ? { redirect: "/accounts/login/" } : secondFactorPage(request);
  },
});

const secondFactor = openRoute({
  name: "signIn.secondFactor",
  method: "POST",
  path: "/accounts/login/two_factor/",
  access: "anyone",
  body: CodeForm,
  answer: async (request) => {
    demandOwnSignIn(request);
    const { database, secrets, signing } = request.context;
    const known = { device: deviceOf(request), signing };
    const { code = "" } = request.body;
    const input = { token: stepToken(request), code, visitor: visitorOf(request), secrets, ...known };
    return orShowForm(
      async () => signedIn(request, await passSecondFactor(database, input)),
      (trouble, status) =>
        status === 401
          ? loginPage(request, { trouble, status, next: null })
          : secondFactorPage(request, { trouble, status }),
    );
  },
});

const signOut = openRoute({
  name: "signIn.signOut",
  method: "POST",
  path: "/accounts/logout/",
  access: "anyone",
  body: EmptyForm,
  answer: async (request) => {
    const { session, context } = request;
    if (session !== null) {
      const of = { accountId: session.account.id, sessionId: session.id };
      await endSession(context.database, of).catch((error: unknown) => stayedSignedIn(context, error));
    }
    return { redirect: "/accounts/login/", cookies: clearedCookies(context) };
  },
});

/** The cookie is kept, so that signing out can be repeated: a copy of it would grant access until then. */
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

// Re-authentication before sensitive changes.

type ConfirmState = { trouble?: string; status?: number; isMailed?: boolean; next: string | null };

const HOME = "/accounts/profile/";

async function confirmPage(request: WebRequest & AccountRequest, state: ConfirmState): Promise<WebAnswer> {
  const { context, account } = request;
  const methods = await reauthMethods(context.database, account.id);
  const { next, isMailed = false } = state;
  const parts = typedForm(request, methods, { next, isMailed });
  const others = otherMethods(request, methods, { next, isMailed });
  if (parts.length > 0 && others.length > 0) parts.push(divider("or"));
  parts.push(...others);
  if (parts.length === 0) {
    parts.push(
      html`<p>You have no sign-in method to re-authenticate with. Sign out and sign in again, or ask an admin for a link.</p>\n`,
    );
  }
  const requiresBoth = methods.app && (isMailed || methods.password);
  return formPage(request, {
    title: "Re-authenticate",
    trouble: state.trouble ?? null,
    sentences: [
      isMailed
        ? `We sent a 6-digit code to ${account.email}. It expires in 15 minutes.`
        : `You're signed in as ${account.email}. Confirm your identity to continue.`,
      ...(requiresBoth ? ["You also need a code from your authenticator app."] : []),
    ],
    parts: [
      ...parts,
      html`<p class="sign-in-or"><a href="${siteHref(request, next ?? HOME)}">Back</a></p>\n`,
    ],
    hasScript: true,
    ...(state.status !== undefined && { status: state.status }),
  });
}

type Shown = { next: string | null; isMailed: boolean };

/** The form fields: the password, or the code from an email, and the code of the app if there is one. */
function typedForm(request: WebRequest, methods: ReauthMethods, { next, isMailed }: Shown): Html[] {
  const fields: Html[] = [];
  if (isMailed) {
    const label = "Code from the email";
    fields.push(
      field({ name: "mailed", label, autocomplete: methods.app ? "off" : "one-time-code", isFirst: true }),
    );
  } else if (methods.password) {
    const of = { type: "password", autocomplete: "current-password", isFirst: true } as const;
    fields.push(field({ name: "password", label: "Password", ...of }));
  }
  if (methods.app) {
    const label = "Authenticator code or recovery code";
    fields.push(field({ name: "code", label, autocomplete: "one-time-code", isFirst: fields.length === 0 }));
  }
  if (fields.length === 0) return [];
  return [
    form(request, way(isMailed ? "mailed" : methods.password ? "password" : "code", next, fields, "Confirm")),
  ];
}

function otherMethods(request: WebRequest, methods: ReauthMethods, { next, isMailed }: Shown): Html[] {
  const { context } = request;
  const { mail, oidc } = context.signIn;
  const others: Html[] = [];
  if (methods.passkey && hasPasskeys(context)) {
    others.push(
      passkeyButton(request, { api: "/web/confirm/passkey", next: next ?? HOME, text: "Use a passkey" }),
    );
  }
  if (methods.provider && oidc !== null) {
    const path = `/accounts/oidc/confirm/?next=${encodeURIComponent(next ?? HOME)}`;
    others.push(buttonLink(request, { path, text: `Use ${oidc.name}` }));
  }
  // If the app's code is enough, an email code is not needed.
  if (mail && (methods.password || !methods.app)) {
    const text = isMailed ? "Email another code" : methods.app ? MAIL_INSTEAD : "Email me a code";
    others.push(form(request, { ...way("mail", next, [], text), isQuiet: true }));
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
  answer: async (request) => {
    const next = nextOf(request.query);
    return request.session.isProven ? { redirect: next ?? HOME } : confirmPage(request, { next });
  },
});

const confirm = accountRoute({
  name: "confirm.confirm",
  method: "POST",
  path: "/accounts/confirm/",
  access: "account",
  body: ConfirmForm,
  answer: async (request) => {
    const { context, session, account, now, body } = request;
    const { database, signing, secrets } = context;
    const next = nextOf(body);
    const proving = { accountId: account.id, sessionId: session.id, now };
    const done = { redirect: next ?? HOME };
    return orShowForm(
      async () => {
        if (body.way === "mail") {
          if (context.signIn.mail) await mailConfirmCode(database, { accountId: account.id, now, signing });
          return confirmPage(request, { next, isMailed: context.signIn.mail });
        }
        const { password = "", mailed = "", code = "" } = body;
        await reauthenticate(database, { ...proving, password, mailed, code, signing, secrets });
        return done;
      },
      (trouble, status) => confirmPage(request, { trouble, status, next, isMailed: body.way === "mailed" }),
    );
  },
});

const confirmPasskeyOptions = accountRoute({
  name: "confirm.passkeyOptions",
  method: "POST",
  path: "/web/confirm/passkey/options",
  access: "account",
  body: PasskeyOptionsBody,
  answer: async (request) => ({
    json: await authenticationOptions(request.context, {
      accountId: request.account.id,
      visitor: visitorOf(request),
    }),
  }),
});

const confirmByPasskey = accountRoute({
  name: "confirm.passkey",
  method: "POST",
  path: "/web/confirm/passkey",
  access: "account",
  body: PasskeyAnswerBody,
  answer: async (request) => {
    const { context, account, session, body, now } = request;
    const visitor = visitorOf(request);
    const used = await readAuthentication(context, {
      accountId: account.id,
      response: body.response,
      visitor,
    });
    await usePasskey(context.database, { ...used, now });
    await markReauthenticated(context.database, { sessionId: session.id, now });
    return { json: { next: siteHref(request, nextOf(body) ?? HOME) } };
  },
});

const confirmRoutes: readonly WebRoute[] = [show, confirm, confirmPasskeyOptions, confirmByPasskey];

const passkeyOptions = openRoute({
  name: "signIn.passkeyOptions",
  method: "POST",
  path: "/web/sign-in/passkey/options",
  access: "anyone",
  body: PasskeyOptionsBody,
  answer: async (request) => {
    demandOwnSignIn(request);
    return {
      json: await authenticationOptions(request.context, { accountId: null, visitor: visitorOf(request) }),
    };
  },
});

const byPasskey = openRoute({
  name: "signIn.passkey",
  method: "POST",
  path: "/web/sign-in/passkey",
  access: "anyone",
  body: PasskeyAnswerBody,
  answer: async (request) => {
    demandOwnSignIn(request);
    const { context, body } = request;
    const visitor = visitorOf(request);
    const used = await readAuthentication(context, { accountId: null, response: body.response, visitor });
    const admitted = await signInWithPasskey(context.database, { ...used, visitor, nextPath: nextOf(body) });
    const { redirect, cookies = [] } = signedIn(request, admitted);
    return { json: { next: siteHref(request, redirect) }, cookies };
  },
});

function providerOf(request: WebRequest): OidcClient {
  demandOwnSignIn(request);
  const { oidc } = request.context.signIn;
  if (oidc === null) throw new WebRefusal("not_found", "No identity provider is configured.");
  return oidc;
}

async function sendToProvider(
  request: WebRequest,
  { next, sessionId }: { next: string | null; sessionId: number | null },
): Promise<WebAnswer> {
  const oidc = providerOf(request);
  return orShowForm(
    async () => {
      const begun = await oidc.begin({ again: sessionId !== null }).catch((error: unknown) => {
        request.context.log.warn({ err: error }, "identity provider request failed");
        throw new AppError(
          "unavailable",
          "The identity provider can't be reached. Try again in a few minutes.",
        );
      });
      const { url, state, codeVerifier, nonce } = begun;
      const step = { codeVerifier, nonce, nextPath: next, sessionId };
      await openProviderStep(request.context.database, { state, step, visitor: visitorOf(request) });
      return { redirect: url, cookies: [providerCookie(request.context, state)] };
    },
    (trouble, status) => formPage(request, { title: "Sign-in failed", trouble, status }),
  );
}

const beginOidc = openRoute({
  name: "oidc.begin",
  method: "GET",
  path: "/accounts/oidc/start/",
  access: "anyone",
  query: NextQuery,
  answer: async (request) => sendToProvider(request, { next: nextOf(request.query), sessionId: null }),
});

const confirmByOidc = accountRoute({
  name: "oidc.confirm",
  method: "GET",
  path: "/accounts/oidc/confirm/",
  access: "account",
  query: NextQuery,
  answer: async (request) =>
    sendToProvider(request, { next: nextOf(request.query), sessionId: request.session.id }),
});

const backFromOidc = openRoute({
  name: "oidc.back",
  method: "GET",
  path: "/accounts/oidc/",
  access: "anyone",
  answer: async (request) => {
    const oidc = providerOf(request);
    return orShowForm(
      () => finishOidc(request, oidc),
      (trouble, status) => formPage(request, { title: "You are not signed in", trouble, status }),
    );
  },
});

async function finishOidc(request: WebRequest, oidc: OidcClient): Promise<WebAnswer> {
  const { context, now } = request;
  const query = request.url.split("?", 2)[1] ?? "";
  const state = new URLSearchParams(query).get("state") ?? "";
  // The flow must end in the browser that started it: otherwise a link could sign a user in to another account.
  const isMine = state !== "" && isSameText(state, providerState(request));
  const step = isMine ? await takeProviderStep(context.database, { state, now }) : null;
  if (step === null)
    throw new AppError("invalid", "The sign-in timed out or was started in another browser. Try again.");
  const identified = await oidc.finish({ query, state, ...step }).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    context.log.warn({ reason }, "identity provider response rejected");
    throw new AppError("forbidden", "Sign-in with the identity provider failed.");
  });
  const { nextPath, sessionId } = step;
  if (sessionId === null) {
    const visitor = visitorOf(request);
    const { createsAccounts: ofProvider } = oidc;
    const createsAccounts = ofProvider || context.signIn.registrationOpen;
    const input = { identified, createsAccounts, visitor, nextPath };
    return signedIn(request, await signInWithIdentity(context.database, input));
  }
  const { session } = request;
  const isSame =
    session?.id === sessionId &&
    (await isIdentityOf(context.database, { identified, accountId: session.account.id, now }));
  if (!isSame)
    throw new AppError(
      "forbidden",
      "The identity provider signed in a different account than the one you use here.",
    );
  if (!isReauthenticatedByProvider(identified.authenticatedAt, { begunAt: step.begunAt, now })) {
    throw new AppError("forbidden", NOT_ANEW);
  }
  await markReauthenticated(context.database, { sessionId, now });
  return { redirect: nextPath ?? "/accounts/profile/" };
}

const NOT_ANEW = "The identity provider didn't confirm a recent sign-in. Try again, or use another method.";

/** They change only with a release; browsers revalidate once an hour. */
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
