// Pages behind emailed links: sign-in, first account, email change, invitation. A GET changes nothing, because email
// clients open every link; the button does.
import { EmptyForm, JoinForm, SetUpForm } from "../../contract/api/account.ts";
import { PASSWORD_LENGTH_MIN } from "../../core/sign-in.ts";
import { html } from "../../lib/http/html.ts";
import { acceptInvitation, readInvitation } from "../../operations/members.ts";
import { readEmailChange, useEmailChange } from "../../operations/profile.ts";
import { finishSetup, isSetupLink, readLink, useLink } from "../../operations/sign-in.ts";
import { listProjectsOfAccount } from "../../store/projects.ts";
import { openRoute, type WebAnswer, type WebRequest, type WebRoute } from "./route.ts";
import { demandOwnSignIn, orShowForm, signedIn, visitorOf } from "./session.ts";
import { emailField, field, form, formPage, siteHref } from "./sign-in-page.ts";

/** The token at the end of the link. */
function tokenOf({ params }: WebRequest): string {
  return params["token"] ?? "";
}

/** The page of an invalid link. */
function badLink(request: WebRequest, trouble?: string): Promise<WebAnswer> {
  return formPage(request, {
    title: "Invalid link",
    sentences: [
      trouble ?? "The link was already used, has expired, or is incomplete.",
      "If you copied it from an email, make sure you copied all of it.",
    ],
    parts: [html`<p><a href="${siteHref(request, "/accounts/login/")}">Sign in</a></p>\n`],
    status: 404,
  });
}

const showLink = openRoute({
  name: "link.show",
  method: "GET",
  path: "/accounts/link/:token/",
  access: "anyone",
  answer: async (request) => {
    demandOwnSignIn(request);
    const read = await readLink(request.context.database, {
      token: tokenOf(request),
      visitor: visitorOf(request),
    });
    if (read === null) return badLink(request);
    return formPage(request, {
      title: read.isNew ? "Create your account" : "Sign in",
      sentences: [`${read.isNew ? "For" : "As"} ${read.email}.`],
      parts: [
        form(request, {
          action: `/accounts/link/${tokenOf(request)}/`,
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
  answer: async (request) => {
    demandOwnSignIn(request);
    return orShowForm(
      async () =>
        signedIn(
          request,
          await useLink(request.context.database, { token: tokenOf(request), visitor: visitorOf(request) }),
        ),
      (trouble) => badLink(request, trouble),
    );
  },
});

type SetUpState = { trouble?: string; status?: number; wrong?: string | null; email?: string; name?: string };

function setUpPage(request: WebRequest, state: SetUpState): Promise<WebAnswer> {
  const { trouble, status, wrong = null, email = "", name = "" } = state;
  return formPage(request, {
    title: "Create the admin account",
    trouble: trouble ?? null,
    sentences: ["This account is the server admin and owns the first project."],
    parts: [
      form(request, {
        action: `/accounts/setup/${tokenOf(request)}/`,
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
  answer: async (request) => {
    const isGood = await isSetupLink(request.context.database, { token: tokenOf(request), now: request.now });
    return isGood
      ? setUpPage(request, {})
      : badLink(request, "The link was already used, or the server printed a newer one.");
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
  answer: async (request) => {
    const { email = "", name = "", password = "" } = request.body;
    const input = { token: tokenOf(request), email, name, password, visitor: visitorOf(request) };
    return orShowForm(
      async () => signedIn(request, await finishSetup(request.context.database, input)),
      (trouble, status, wrong) =>
        status === 404
          ? badLink(request, trouble)
          : setUpPage(request, { trouble, status, wrong, email, name }),
    );
  },
});

const showEmailChange = openRoute({
  name: "emailLink.show",
  method: "GET",
  path: "/accounts/change_email/:token/",
  access: "anyone",
  answer: async (request) => {
    const email = await readEmailChange(request.context.database, {
      token: tokenOf(request),
      now: request.now,
    });
    if (email === null) return badLink(request);
    return formPage(request, {
      title: "Change email address?",
      sentences: [
        `Your account's email address changes to ${email}. Sign-in links and reports will go there.`,
      ],
      parts: [
        form(request, {
          action: `/accounts/change_email/${tokenOf(request)}/`,
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
  answer: async (request) =>
    orShowForm(
      async () => {
        const email = await useEmailChange(request.context.database, {
          token: tokenOf(request),
          now: request.now,
        });
        return formPage(request, {
          title: "Email address changed",
          sentences: [`Your email address is now ${email}. We've notified the old address.`],
          parts: [html`<p><a href="${siteHref(request, "/")}">Continue</a></p>\n`],
        });
      },
      (trouble) => badLink(request, trouble),
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

// On a server without email, an invited user chooses a password here, because no link could sign them in again.

/** Whether a new account needs a password: there is neither an identity provider nor a proxy, and no email is sent. */
function needsPassword({ context, account }: WebRequest): boolean {
  const { mail, oidc, proxyHeader } = context.signIn;
  return account === null && !mail && oidc === null && proxyHeader === null;
}

const passwordField = (isWrong: boolean) =>
  field({
    name: "password",
    label: "Choose a password",
    type: "password",
    autocomplete: "new-password",
    hint: `At least ${PASSWORD_LENGTH_MIN} characters. You'll use it to sign in.`,
    isFirst: true,
    isWrong,
  });

type State = { trouble?: string; status?: number };

async function invitationPage(request: WebRequest, { trouble, status }: State): Promise<WebAnswer> {
  const token = tokenOf(request);
  const read = await readInvitation(request.context.database, { token, now: request.now });
  if (read === null) return badLink(request, "The invitation was withdrawn, already used, or has expired.");
  const { projectName, invitedBy, email } = read.invitation;
  const into = projectName === null ? request.context.site.name : `the project ${projectName}`;
  const action = `/accounts/invitation/${token}/`;
  const mustSignIn = request.account === null && read.hasAccount;
  const next = encodeURIComponent(action);
  const parts = needsPassword(request) ? [passwordField(trouble !== undefined)] : [];
  return formPage(request, {
    title: `Join ${into}?`,
    trouble: trouble ?? null,
    sentences: [
      `${invitedBy ?? "An admin of this server"} invited you.`,
      request.account !== null
        ? `You'll join as ${request.account.email}.`
        : read.hasAccount
          ? `You already have an account for ${email}. Sign in first.`
          : `This creates an account for ${email}.`,
    ],
    parts: mustSignIn
      ? [
          html`<p><a class="sign-in-button" href="${siteHref(request, `/accounts/login/?next=${next}`)}">Sign in</a></p>\n`,
        ]
      : [form(request, { action, parts, button: "Join" })],
    ...(status !== undefined && { status }),
  });
}

const showInvitation = openRoute({
  name: "invitation.show",
  method: "GET",
  path: "/accounts/invitation/:token/",
  access: "anyone",
  answer: (request) => invitationPage(request, {}),
});

const accept = openRoute({
  name: "invitation.accept",
  method: "POST",
  path: "/accounts/invitation/:token/",
  access: "anyone",
  body: JoinForm,
  answer: async (request) => {
    const token = tokenOf(request);
    const { database } = request.context;
    return orShowForm(
      async () => {
        const read = await readInvitation(database, { token, now: request.now });
        const accepted = await acceptInvitation(database, {
          token,
          account: request.account,
          visitor: visitorOf(request),
          password: needsPassword(request) ? (request.body.password ?? "") : null,
        });
        const accountId = accepted?.kind === "signedIn" ? accepted.accountId : (request.account?.id ?? 0);
        const projects = await listProjectsOfAccount(database, accountId);
        const joined = projects.find(({ id }) => id === read?.invitation.projectId);
        const redirect = joined === undefined ? "/" : `/projects/${joined.uuid}/checks/`;
        return accepted === null ? { redirect } : { ...signedIn(request, accepted), redirect };
      },
      async (trouble, status, wrong) => {
        if (status === 401)
          return {
            redirect: `/accounts/login/?next=${encodeURIComponent(`/accounts/invitation/${token}/`)}`,
          };
        return wrong === "password"
          ? invitationPage(request, { trouble, status })
          : badLink(request, trouble);
      },
    );
  },
});

export const invitationRoutes: readonly WebRoute[] = [showInvitation, accept];
