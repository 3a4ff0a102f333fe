// The routes of an account: profile, ways to sign in, sessions, closing. Whoever asks changes only what is theirs.
import {
  CloseBody,
  EmailBody,
  IdentityBody,
  NewPasskeyBody,
  PasswordBody,
  ProfileBody,
  TotpCodeBody,
} from "../../../contract/web/account.ts";
import { EmptyForm } from "../../../contract/web/requests/sign-in.ts";
import { isUuid } from "../../../core/identity.ts";
import { askForEmailChange, changeProfile, closeAccount } from "../../../operations/accounts/profile.ts";
import { endOtherSessions, endSession } from "../../../operations/accounts/sessions.ts";
import {
  beginAuthenticator,
  finishAuthenticator,
  removeAuthenticator,
  renewRecoveryCodes,
} from "../../../operations/accounts/sign-in/authenticator.ts";
import {
  addPasskey,
  removePasskey,
  removePassword,
  setPassword,
} from "../../../operations/accounts/sign-in/credentials.ts";
import { unlinkIdentity } from "../../../operations/accounts/sign-in/identities.ts";
import type { Removal } from "../../../operations/accounts/sign-in/ways-in.ts";
import { type AccountAsk, accountRoute, type Asking, WebRefusal, type WebRoute } from "../route.ts";
import { pathNumber } from "../serving/path-number.ts";
import { demandOwnSignIn, deviceCookie, noCookies, visitorOf } from "../sign-in/entering.ts";
import { hasPasskeys, readRegistration, registrationOptions } from "../sign-in/webauthn.ts";
import { accountPage } from "./account-page.ts";

const PATH = "/web/api/account";
const account = { access: "account" } as const;
/** Whoever finds a browser that was left open must not be able to lock its owner out. */
const dangerous = { access: "account", reauth: true } as const;

type Ask = Asking & AccountAsk;

function personOf({ account: { id, email } }: Ask): { accountId: number; email: string } {
  return { accountId: id, email };
}

/** Who takes a way in away, and which there are here. */
function removalOf(ask: Ask): Removal {
  const { signIn } = ask.house;
  const offers = {
    proxy: signIn.proxyHeader !== null,
    mail: signIn.mail,
    passkeys: hasPasskeys(ask.house),
    issuer: signIn.oidc?.issuer ?? null,
  };
  return { person: personOf(ask), offers, now: ask.now };
}

async function page(ask: Ask) {
  return { json: await accountPage(ask) };
}

const show = accountRoute({ ...account, name: "account.show", method: "GET", path: PATH, answer: page });

const change = accountRoute({
  ...account,
  name: "account.change",
  method: "PATCH",
  path: PATH,
  body: ProfileBody,
  answer: async (ask) => {
    await changeProfile(ask.house.database, { account: ask.account, change: ask.body, now: ask.now });
    const { name, theme, density } = { ...ask.account, ...ask.body };
    return page({ ...ask, account: { ...ask.account, name: name.trim(), theme, density } });
  },
});

const password = accountRoute({
  ...dangerous,
  name: "account.setPassword",
  method: "PUT",
  path: `${PATH}/password`,
  body: PasswordBody,
  answer: async (ask) => {
    demandOwnSignIn(ask);
    const { house, session, now } = ask;
    const of = { person: personOf(ask), password: ask.body.password, sessionId: session.id, now };
    await setPassword(house.database, of);
    // The password makes strangers of all browsers; this one has just shown whose it is.
    return { ...(await page(ask)), cookies: [deviceCookie(ask, ask.account.id)] };
  },
});

const noPassword = accountRoute({
  ...dangerous,
  name: "account.removePassword",
  method: "DELETE",
  path: `${PATH}/password`,
  answer: async (ask) => {
    await removePassword(ask.house.database, removalOf(ask));
    return page(ask);
  },
});

const email = accountRoute({
  ...dangerous,
  name: "account.changeEmail",
  method: "POST",
  path: `${PATH}/email`,
  body: EmailBody,
  answer: async (ask) => {
    demandOwnSignIn(ask);
    const { house, now, body } = ask;
    if (!house.signIn.mail) throw new WebRefusal("invalid", "This server doesn't send email.", "email");
    const { signing } = house;
    await askForEmailChange(house.database, { account: ask.account, email: body.email, signing, now });
    return { json: { sent: true } };
  },
});

const passkeyOptions = accountRoute({
  ...dangerous,
  name: "account.passkeyOptions",
  method: "POST",
  path: `${PATH}/passkeys/options`,
  body: EmptyForm,
  answer: async (ask) => {
    demandOwnSignIn(ask);
    const { house } = ask;
    if (!hasPasskeys(house)) {
      throw new WebRefusal("invalid", "Passkeys require an HTTPS URL with a host name.");
    }
    const { id, uuid, email: address, name } = ask.account;
    const owner = { accountId: id, uuid, email: address, name };
    return { json: await registrationOptions(house, { owner, visitor: visitorOf(ask) }) };
  },
});

const newPasskey = accountRoute({
  ...dangerous,
  name: "account.addPasskey",
  method: "POST",
  path: `${PATH}/passkeys`,
  body: NewPasskeyBody,
  answer: async (ask) => {
    demandOwnSignIn(ask);
    const { house, now, body } = ask;
    const of = { accountId: ask.account.id, ...body, visitor: visitorOf(ask) };
    const passkey = await readRegistration(house, of);
    await addPasskey(house.database, { person: personOf(ask), passkey, now });
    return page(ask);
  },
});

const noPasskey = accountRoute({
  ...dangerous,
  name: "account.removePasskey",
  method: "DELETE",
  path: `${PATH}/passkeys/:uuid`,
  answer: async (ask) => {
    const uuid = ask.params["uuid"] ?? "";
    if (!isUuid(uuid)) throw new WebRefusal("not_found", "Passkey not found.");
    await removePasskey(ask.house.database, { ...removalOf(ask), uuid });
    return page(ask);
  },
});

const noIdentity = accountRoute({
  ...dangerous,
  name: "account.removeIdentity",
  method: "POST",
  path: `${PATH}/identities/remove`,
  body: IdentityBody,
  answer: async (ask) => {
    await unlinkIdentity(ask.house.database, { ...removalOf(ask), identity: ask.body });
    return page(ask);
  },
});

const totp = accountRoute({
  ...dangerous,
  name: "account.beginTotp",
  method: "POST",
  path: `${PATH}/totp`,
  body: EmptyForm,
  answer: async (ask) => {
    demandOwnSignIn(ask);
    const { database, secretKey, site } = ask.house;
    const of = { person: personOf(ask), secretKey, siteName: site.name, now: ask.now };
    return { json: await beginAuthenticator(database, of) };
  },
});

const confirmTotp = accountRoute({
  ...dangerous,
  name: "account.confirmTotp",
  method: "POST",
  path: `${PATH}/totp/confirm`,
  body: TotpCodeBody,
  answer: async (ask) => {
    const { database, secretKey } = ask.house;
    const of = { person: personOf(ask), code: ask.body.code, secretKey, now: ask.now };
    return { json: { codes: await finishAuthenticator(database, of) } };
  },
});

const newCodes = accountRoute({
  ...dangerous,
  name: "account.renewCodes",
  method: "POST",
  path: `${PATH}/totp/codes`,
  body: EmptyForm,
  answer: async (ask) => {
    const { database, secretKey } = ask.house;
    const of = { person: personOf(ask), secretKey, now: ask.now };
    return { json: { codes: await renewRecoveryCodes(database, of) } };
  },
});

const noTotp = accountRoute({
  ...dangerous,
  name: "account.removeTotp",
  method: "DELETE",
  path: `${PATH}/totp`,
  answer: async (ask) => {
    const of = { person: personOf(ask), actorId: ask.account.id, now: ask.now };
    await removeAuthenticator(ask.house.database, of);
    return page(ask);
  },
});

const endOne = accountRoute({
  ...account,
  name: "account.endSession",
  method: "DELETE",
  path: `${PATH}/sessions/:id`,
  answer: async (ask) => {
    const sessionId = pathNumber(ask.params["id"]);
    await endSession(ask.house.database, { accountId: ask.account.id, sessionId });
    return page(ask);
  },
});

const endOthers = accountRoute({
  ...account,
  name: "account.endOtherSessions",
  method: "POST",
  path: `${PATH}/sessions/end-others`,
  body: EmptyForm,
  answer: async (ask) => {
    const { house, account: me, session, now } = ask;
    await endOtherSessions(house.database, { accountId: me.id, keepId: session.id, now });
    // That makes strangers of all browsers; this one stays known.
    return { ...(await page(ask)), cookies: [deviceCookie(ask, me.id)] };
  },
});

const close = accountRoute({
  ...dangerous,
  name: "account.close",
  method: "POST",
  path: `${PATH}/close`,
  body: CloseBody,
  answer: async (ask) => {
    const { house, now } = ask;
    if (ask.body.email.trim().toLowerCase() !== ask.account.email) {
      throw new WebRefusal("invalid", "Type your email address to close your account.", "email");
    }
    await closeAccount(house.database, { account: ask.account, now });
    return { json: { closed: true }, cookies: noCookies(house) };
  },
});

export const accountRoutes: readonly WebRoute[] = [
  show,
  change,
  password,
  noPassword,
  email,
  passkeyOptions,
  newPasskey,
  noPasskey,
  noIdentity,
  totp,
  confirmTotp,
  newCodes,
  noTotp,
  endOne,
  endOthers,
  close,
];
