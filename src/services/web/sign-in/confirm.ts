// The page on which somebody who is signed in proves once more who it is, before something dangerous.
import {
  ConfirmForm,
  NextQuery,
  PasskeyAnswerBody,
  PasskeyOptionsBody,
} from "../../../contract/web/requests/sign-in.ts";
import type { Html } from "../../../lib/http/html.ts";
import { html } from "../../../lib/http/html.ts";
import {
  confirmByTyping,
  type ConfirmWays,
  confirmWays,
  mailConfirmCode,
  prove,
} from "../../../operations/accounts/sign-in/confirm.ts";
import { usePasskey } from "../../../operations/accounts/sign-in/credentials.ts";
import { type AccountAsk, accountRoute, type Asking, type WebAnswer, type WebRoute } from "../route.ts";
import { nextOf, orAgain, visitorOf } from "./entering.ts";
import { buttonLink, divider, field, form, formPage, passkeyButton, siteHref } from "./form-page.ts";
import { authenticationOptions, hasPasskeys, readAuthentication } from "./webauthn.ts";

type ConfirmState = { trouble?: string; status?: number; isMailed?: boolean; next: string | null };

const HOME = "/accounts/profile/";

async function confirmPage(ask: Asking & AccountAsk, state: ConfirmState): Promise<WebAnswer> {
  const { house, account } = ask;
  const ways = await confirmWays(house.database, account.id);
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
function typedForm(ask: Asking, ways: ConfirmWays, { next, isMailed }: Shown): Html[] {
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

function otherWays(ask: Asking, ways: ConfirmWays, { next, isMailed }: Shown): Html[] {
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
    return orAgain(
      async () => {
        if (body.way === "mail") {
          if (house.signIn.mail) await mailConfirmCode(database, { accountId: account.id, now, signing });
          return confirmPage(ask, { next, isMailed: house.signIn.mail });
        }
        const { password = "", mailed = "", code = "" } = body;
        await confirmByTyping(database, { ...proving, password, mailed, code, signing, secretKey });
        return done;
      },
      (trouble, status) => confirmPage(ask, { trouble, status, next, isMailed: body.way === "mailed" }),
    );
  },
});

const passkeyOptions = accountRoute({
  name: "confirm.passkeyOptions",
  method: "POST",
  path: "/web/api/confirm/passkey/options",
  access: "account",
  body: PasskeyOptionsBody,
  answer: async (ask) => ({
    json: await authenticationOptions(ask.house, { accountId: ask.account.id, visitor: visitorOf(ask) }),
  }),
});

const byPasskey = accountRoute({
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
    await prove(house.database, { sessionId: session.id, now });
    return { json: { next: siteHref(ask, nextOf(body) ?? HOME) } };
  },
});

export const confirmRoutes: readonly WebRoute[] = [show, confirm, passkeyOptions, byPasskey];
