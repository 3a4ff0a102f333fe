// The pages behind links: signing in, the first account, another address. Looking at one changes nothing,
// because mail programs look at every link; what changes something is the button.
import { EmptyForm, SetUpForm } from "../../../contract/web/requests/sign-in.ts";
import { PASSWORD_LENGTH_MIN } from "../../../core/accounts/password-rules.ts";
import { html } from "../../../lib/http/html.ts";
import { readEmailChange, useEmailChange } from "../../../operations/accounts/profile.ts";
import { finishSetUp, isSetUpLink } from "../../../operations/accounts/set-up.ts";
import { readLink, useLink } from "../../../operations/accounts/sign-in/by-address.ts";
import { type Asking, openRoute, type WebAnswer, type WebRoute } from "../route.ts";
import { demandOwnSignIn, entered, orAgain, visitorOf } from "./entering.ts";
import { emailField, field, form, formPage, siteHref } from "./form-page.ts";

/** What the link ends with. */
export function tokenOf({ params }: Asking): string {
  return params["token"] ?? "";
}

/** The page of a link that is not good. */
export function badLink(ask: Asking, trouble?: string): Promise<WebAnswer> {
  return formPage(ask, {
    title: "Invalid link",
    sentences: [
      trouble ?? "The link was already used, has expired, or is incomplete.",
      "If you copied it from an email, make sure you copied all of it.",
    ],
    parts: [html`<p><a href="${siteHref(ask, "/accounts/login/")}">Sign in</a></p>\n`],
    status: 404,
  });
}

const showLink = openRoute({
  name: "link.show",
  method: "GET",
  path: "/accounts/link/:token/",
  access: "anyone",
  answer: async (ask) => {
    demandOwnSignIn(ask);
    const read = await readLink(ask.house.database, { token: tokenOf(ask), visitor: visitorOf(ask) });
    if (read === null) return badLink(ask);
    return formPage(ask, {
      title: read.isNew ? "Create your account" : "Sign in",
      sentences: [`${read.isNew ? "For" : "As"} ${read.email}.`],
      parts: [
        form(ask, {
          action: `/accounts/link/${tokenOf(ask)}/`,
          parts: [],
          button: read.isNew ? "Create account" : "Sign in",
        }),
      ],
    });
  },
});

const followLink = openRoute({
  name: "link.follow",
  method: "POST",
  path: "/accounts/link/:token/",
  access: "anyone",
  body: EmptyForm,
  answer: async (ask) => {
    demandOwnSignIn(ask);
    return orAgain(
      async () =>
        entered(ask, await useLink(ask.house.database, { token: tokenOf(ask), visitor: visitorOf(ask) })),
      (trouble) => badLink(ask, trouble),
    );
  },
});

type SetUpState = { trouble?: string; status?: number; wrong?: string | null; email?: string; name?: string };

function setUpPage(ask: Asking, state: SetUpState): Promise<WebAnswer> {
  const { trouble, status, wrong = null, email = "", name = "" } = state;
  return formPage(ask, {
    title: "Create the admin account",
    trouble: trouble ?? null,
    sentences: ["This account is the server admin and owns the first project."],
    parts: [
      form(ask, {
        action: `/accounts/setup/${tokenOf(ask)}/`,
        parts: [
          emailField({
            value: email,
            autocomplete: "username",
            isFirst: wrong !== "password",
            isWrong: wrong === "email",
          }),
          field({
            name: "name",
            label: "Name",
            value: name,
            autocomplete: "name",
            isRequired: false,
            hint: "Optional.",
          }),
          field({
            name: "password",
            label: "Password",
            type: "password",
            autocomplete: "new-password",
            hint: `At least ${PASSWORD_LENGTH_MIN} characters.`,
            isFirst: wrong === "password",
            isWrong: wrong === "password",
          }),
        ],
        button: "Create account",
      }),
    ],
    ...(status !== undefined && { status }),
  });
}

const showSetUp = openRoute({
  name: "setUpLink.show",
  method: "GET",
  path: "/accounts/setup/:token/",
  access: "anyone",
  answer: async (ask) => {
    const isGood = await isSetUpLink(ask.house.database, { token: tokenOf(ask), now: ask.now });
    return isGood
      ? setUpPage(ask, {})
      : badLink(ask, "The link was already used, or the server printed a newer one.");
  },
});

const finish = openRoute({
  name: "setUpLink.finish",
  method: "POST",
  path: "/accounts/setup/:token/",
  access: "anyone",
  // The link is the proof, and the public address may not be set yet.
  fromAnywhere: true,
  body: SetUpForm,
  answer: async (ask) => {
    const { email = "", name = "", password = "" } = ask.body;
    const request = { token: tokenOf(ask), email, name, password, visitor: visitorOf(ask) };
    return orAgain(
      async () => entered(ask, await finishSetUp(ask.house.database, request)),
      (trouble, status, wrong) =>
        status === 404 ? badLink(ask, trouble) : setUpPage(ask, { trouble, status, wrong, email, name }),
    );
  },
});

const showEmailChange = openRoute({
  name: "emailLink.show",
  method: "GET",
  path: "/accounts/change_email/:token/",
  access: "anyone",
  answer: async (ask) => {
    const email = await readEmailChange(ask.house.database, { token: tokenOf(ask), now: ask.now });
    if (email === null) return badLink(ask);
    return formPage(ask, {
      title: "Change email address?",
      sentences: [
        `Your account's email address changes to ${email}. Sign-in links and reports will go there.`,
      ],
      parts: [
        form(ask, {
          action: `/accounts/change_email/${tokenOf(ask)}/`,
          parts: [],
          button: "Change email address",
        }),
      ],
    });
  },
});

const followEmailChange = openRoute({
  name: "emailLink.follow",
  method: "POST",
  path: "/accounts/change_email/:token/",
  access: "anyone",
  body: EmptyForm,
  answer: async (ask) =>
    orAgain(
      async () => {
        const email = await useEmailChange(ask.house.database, { token: tokenOf(ask), now: ask.now });
        return formPage(ask, {
          title: "Email address changed",
          sentences: [`Your email address is now ${email}. We've notified the old address.`],
          parts: [html`<p><a href="${siteHref(ask, "/")}">Continue</a></p>\n`],
        });
      },
      (trouble) => badLink(ask, trouble),
    ),
});

export const linkRoutes: readonly WebRoute[] = [
  showLink,
  followLink,
  showSetUp,
  finish,
  showEmailChange,
  followEmailChange,
];
