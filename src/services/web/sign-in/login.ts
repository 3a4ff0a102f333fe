// The page to sign in, and what its forms do: a mailed link, a password, the second step, and signing out.
import {
  CodeForm,
  EmptyForm,
  LinkForm,
  NextQuery,
  PasswordForm,
} from "../../../contract/web/requests/sign-in.ts";
import { AppError } from "../../../core/errors.ts";
import { html, type Html } from "../../../lib/http/html.ts";
import { findWaiting, passSecondFactor } from "../../../operations/accounts/sign-in/admit.ts";
import { askForLink, signInWithPassword } from "../../../operations/accounts/sign-in/by-address.ts";
import { endSession } from "../../../operations/accounts/sessions.ts";
import { hasOperator } from "../../../store/accounts/accounts.ts";
import type { WebHouse } from "../house.ts";
import { type Asking, openRoute, type WebAnswer, WebRefusal, type WebRoute } from "../route.ts";
import {
  demandOwnSignIn,
  deviceOf,
  entered,
  nextOf,
  noCookies,
  orAgain,
  stepToken,
  visitorOf,
} from "./entering.ts";
import {
  buttonLink,
  divider,
  emailField,
  field,
  form,
  formPage,
  passkeyButton,
  siteHref,
} from "./form-page.ts";
import { hasPasskeys } from "./webauthn.ts";

const NOBODY_YET = "No admin account yet. Open the link in the server log to create one.";

/** Where the cursor is put when the page is shown again. */
type Wrong = "email" | "password" | "link" | null;
type LoginState = { trouble?: string; status?: number; email?: string; next: string | null; wrong?: Wrong };

async function loginPage(ask: Asking, state: LoginState): Promise<WebAnswer> {
  const { trouble, status, email = "", next, wrong = null } = state;
  const { signIn, site } = ask.house;
  if (signIn.proxyHeader !== null) return proxyPage(ask, signIn.proxyHeader);
  return formPage(ask, {
    title: `Sign in to ${site.name}`,
    trouble: trouble ?? null,
    sentences: (await hasOperator(ask.house.database)) ? [] : [NOBODY_YET],
    parts: loginParts(ask, { email, next, wrong }),
    hasScript: true,
    ...(status !== undefined && { status }),
  });
}

type LoginFields = Required<Pick<LoginState, "email" | "next" | "wrong">>;

function loginParts(ask: Asking, { email, next, wrong }: LoginFields): Html[] {
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

function passwordForm(ask: Asking, { email, next, wrong }: LoginFields): Html {
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

function linkForm(ask: Asking, { email, next, wrong }: LoginFields): Html {
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

function proxyPage(ask: Asking, header: string): Promise<WebAnswer> {
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
    return orAgain(
      async () => entered(ask, await signInWithPassword(ask.house.database, request)),
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
    return orAgain(
      async () => {
        await askForLink(house.database, request);
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
  ask: Asking,
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
    const waiting = await findWaiting(ask.house.database, { token: stepToken(ask), now: ask.now });
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
    return orAgain(
      async () => entered(ask, await passSecondFactor(database, request)),
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
    return { redirect: "/accounts/login/", cookies: noCookies(house) };
  },
});

/** The cookie is kept, so that signing out can be repeated: a copy of it would let its holder in until then. */
function stayedSignedIn({ log }: WebHouse, error: unknown): void {
  if (error instanceof AppError && error.code === "not_found") return;
  log.warn({ err: error }, "could not end session");
  throw new WebRefusal(
    "unavailable",
    "You're still signed in because the server couldn't end the session. Try again in a minute.",
  );
}

export const loginRoutes: readonly WebRoute[] = [
  showLogin,
  byPassword,
  byLink,
  linkSent,
  showSecondFactor,
  secondFactor,
  signOut,
];
