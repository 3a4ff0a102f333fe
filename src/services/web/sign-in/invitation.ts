// The page behind an invitation. Looking at it changes nothing; the button joins. Where no mail is sent, whoever gets an
// account chooses a password there, because no link could let them in again.
import { JoinForm } from "../../../contract/web/requests/sign-in.ts";
import { PASSWORD_LENGTH_MIN } from "../../../core/accounts/password-rules.ts";
import { html } from "../../../lib/http/html.ts";
import { acceptInvitation, readInvitation } from "../../../operations/accounts/joining.ts";
import { listProjectsOfAccount } from "../../../store/accounts/projects.ts";
import { type Asking, openRoute, type WebAnswer, type WebRoute } from "../route.ts";
import { entered, orAgain, visitorOf } from "./entering.ts";
import { field, form, formPage, siteHref } from "./form-page.ts";
import { badLink, tokenOf } from "./links.ts";

/** Whether a new account needs a password: nobody else says who people are, and no mail brings them a link. */
function needsPassword({ house, account }: Asking): boolean {
  const { mail, oidc, proxyHeader } = house.signIn;
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

async function invitationPage(ask: Asking, { trouble, status }: State): Promise<WebAnswer> {
  const token = tokenOf(ask);
  const read = await readInvitation(ask.house.database, { token, now: ask.now });
  if (read === null) return badLink(ask, "The invitation was withdrawn, already used, or has expired.");
  const { projectName, invitedBy, email } = read.invitation;
  const into = projectName === null ? ask.house.site.name : `the project ${projectName}`;
  const action = `/accounts/invitation/${token}/`;
  const mustSignIn = ask.account === null && read.hasAccount;
  const next = encodeURIComponent(action);
  const parts = needsPassword(ask) ? [passwordField(trouble !== undefined)] : [];
  return formPage(ask, {
    title: `Join ${into}?`,
    trouble: trouble ?? null,
    sentences: [
      `${invitedBy ?? "An admin of this server"} invited you.`,
      ask.account !== null
        ? `You'll join as ${ask.account.email}.`
        : read.hasAccount
          ? `You already have an account for ${email}. Sign in first.`
          : `This creates an account for ${email}.`,
    ],
    parts: mustSignIn
      ? [
          html`<p><a class="sign-in-button" href="${siteHref(ask, `/accounts/login/?next=${next}`)}">Sign in</a></p>\n`,
        ]
      : [form(ask, { action, parts, button: "Join" })],
    ...(status !== undefined && { status }),
  });
}

const showInvitation = openRoute({
  name: "invitation.show",
  method: "GET",
  path: "/accounts/invitation/:token/",
  access: "anyone",
  answer: (ask) => invitationPage(ask, {}),
});

const accept = openRoute({
  name: "invitation.accept",
  method: "POST",
  path: "/accounts/invitation/:token/",
  access: "anyone",
  body: JoinForm,
  answer: async (ask) => {
    const token = tokenOf(ask);
    const { database } = ask.house;
    return orAgain(
      async () => {
        const read = await readInvitation(database, { token, now: ask.now });
        const accepted = await acceptInvitation(database, {
          token,
          account: ask.account,
          visitor: visitorOf(ask),
          password: needsPassword(ask) ? (ask.body.password ?? "") : null,
        });
        const accountId = accepted?.kind === "signedIn" ? accepted.accountId : (ask.account?.id ?? 0);
        const projects = await listProjectsOfAccount(database, accountId);
        const joined = projects.find(({ id }) => id === read?.invitation.projectId);
        const redirect = joined === undefined ? "/" : `/projects/${joined.uuid}/checks/`;
        return accepted === null ? { redirect } : { ...entered(ask, accepted), redirect };
      },
      async (trouble, status, wrong) => {
        if (status === 401)
          return {
            redirect: `/accounts/login/?next=${encodeURIComponent(`/accounts/invitation/${token}/`)}`,
          };
        return wrong === "password" ? invitationPage(ask, { trouble, status }) : badLink(ask, trouble);
      },
    );
  },
});

export const invitationRoutes: readonly WebRoute[] = [showInvitation, accept];
