// The part of the account that needs a browser: sign-in methods, sessions, closing the account.
import {
  type AccountPage,
  CloseBody,
  EmailBody,
  EmptyForm,
  IdentityBody,
  NewPasskeyBody,
  PasswordBody,
  type SessionRow,
  TotpCodeBody,
} from "../../contract/api/account.ts";
import { isUuid } from "../../core/identity.ts";
import { REAUTHENTICATE_AFTER_MS, SIGN_INS_PER_ACCOUNT_MAX } from "../../core/sign-in.ts";
import {
  addPasskey,
  beginAuthenticator,
  type CredentialRemoval,
  finishAuthenticator,
  removeAuthenticator,
  removePasskey,
  removePassword,
  renewRecoveryCodes,
  setPassword,
  unlinkIdentity,
} from "../../operations/credentials.ts";
import { askForEmailChange, closeAccount } from "../../operations/profile.ts";
import { endOtherSessions, endSession, listSessions } from "../../operations/sessions.ts";
import {
  countRecoveryCodes,
  findAuthenticator,
  findPassword,
  listIdentities,
  listPasskeys,
} from "../../store/credentials.ts";
import type { Db } from "../../store/db.ts";
import { listProjectsOfAccount } from "../../store/projects.ts";
import type { Session } from "../../store/sessions.ts";
import { findSignInFailures, listSignIns } from "../../store/sign-in.ts";
import { shownAccount } from "../api/account.ts";
import { hasPasskeys, readRegistration, registrationOptions } from "./passkeys.ts";
import {
  type AccountRequest,
  accountRoute,
  pathNumber,
  WebRefusal,
  type WebRequest,
  type WebRoute,
} from "./route.ts";
import { clearedCookies, demandOwnSignIn, deviceCookie, visitorOf } from "./session.ts";

/** The account page of the signed-in user. */
async function accountPage({ context, account, session, now }: AccountRequest): Promise<AccountPage> {
  const { database: db, signIn } = context;
  const accountId = account.id;
  const [shown, password, app, codesLeft, passkeys, identities, sessions, signIns, projects] =
    await Promise.all([
      shownAccount(db, account),
      findPassword(db, accountId),
      findAuthenticator(db, accountId),
      countRecoveryCodes(db, accountId),
      listPasskeys(db, accountId),
      listIdentities(db, accountId),
      listSessions(db, { accountId, now }),
      recentSignIns(db, accountId),
      listProjectsOfAccount(db, accountId),
    ]);
  const isOwn = signIn.proxyHeader === null;
  return {
    ...shown,
    hasPassword: password !== null,
    totp: app === null || app.confirmedAt === null ? null : { since: app.confirmedAt, codesLeft },
    passkeys: passkeys.map((passkey) => ({
      id: passkey.uuid,
      name: passkey.name,
      createdAt: passkey.createdAt,
      lastUsedAt: passkey.lastUsedAt,
    })),
    identities: identities.map(({ issuer, subject, createdAt: since, lastUsedAt }) => ({
      issuer,
      subject,
      since,
      lastUsedAt,
    })),
    ...signIns,
    sessions: sessions.map((one) => shownSession(one, session.id)),
    offers: {
      passwords: isOwn,
      passkeys: isOwn && hasPasskeys(context),
      mail: signIn.mail,
      changeEmail: isOwn && signIn.mail,
    },
    reauthenticatedUntil: session.isProven ? session.authenticatedAt + REAUTHENTICATE_AFTER_MS : null,
    projects: projects.map(({ uuid: id, name, role }) => ({ id, name, role })),
  };
}

/** Recent sign-ins, and failed attempts since. */
async function recentSignIns(
  db: Db,
  accountId: number,
): Promise<Pick<AccountPage, "signIns" | "failedSignIns">> {
  return {
    signIns: await listSignIns(db, { accountId, limit: SIGN_INS_PER_ACCOUNT_MAX }),
    failedSignIns: await findSignInFailures(db, accountId),
  };
}

function shownSession(session: Session, currentId: number): SessionRow {
  const { id, method, createdAt, seenAt, ua, remoteAddr } = session;
  return { id, method, createdAt, seenAt, ua, remoteAddr, isCurrent: id === currentId };
}

const PATH = "/web/account";
const account = { access: "account" } as const;
/** Someone at an unattended browser must not be able to lock out the account's owner. */
const dangerous = { access: "account", reauth: true } as const;

type ProfileRequest = WebRequest & AccountRequest;

function personOf({ account: { id, email } }: ProfileRequest): { accountId: number; email: string } {
  return { accountId: id, email };
}

/** The user who removes a sign-in method, and the methods available on this server. */
function removalOf(request: ProfileRequest): CredentialRemoval {
  const { signIn } = request.context;
  const offers = {
    proxy: signIn.proxyHeader !== null,
    mail: signIn.mail,
    passkeys: hasPasskeys(request.context),
    issuer: signIn.oidc?.issuer ?? null,
  };
  return { person: personOf(request), offers, now: request.now };
}

async function page(request: ProfileRequest) {
  return { json: await accountPage(request) };
}

const show = accountRoute({ ...account, name: "account.show", method: "GET", path: PATH, answer: page });

const password = accountRoute({
  ...dangerous,
  name: "account.setPassword",
  method: "PUT",
  path: `${PATH}/password`,
  body: PasswordBody,
  answer: async (request) => {
    demandOwnSignIn(request);
    const { context, session, now } = request;
    const of = { person: personOf(request), password: request.body.password, sessionId: session.id, now };
    await setPassword(context.database, of);
    // A new password makes all browsers unknown devices, except for this one.
    return { ...(await page(request)), cookies: [deviceCookie(request, request.account.id)] };
  },
});

const noPassword = accountRoute({
  ...dangerous,
  name: "account.removePassword",
  method: "DELETE",
  path: `${PATH}/password`,
  answer: async (request) => {
    await removePassword(request.context.database, removalOf(request));
    return page(request);
  },
});

const email = accountRoute({
  ...dangerous,
  name: "account.changeEmail",
  method: "POST",
  path: `${PATH}/email`,
  body: EmailBody,
  answer: async (request) => {
    demandOwnSignIn(request);
    const { context, now, body } = request;
    if (!context.signIn.mail) throw new WebRefusal("invalid", "This server doesn't send email.", "email");
    const { signing } = context;
    await askForEmailChange(context.database, { account: request.account, email: body.email, signing, now });
    return { json: { sent: true } };
  },
});

const passkeyOptions = accountRoute({
  ...dangerous,
  name: "account.passkeyOptions",
  method: "POST",
  path: `${PATH}/passkeys/options`,
  body: EmptyForm,
  answer: async (request) => {
    demandOwnSignIn(request);
    const { context } = request;
    if (!hasPasskeys(context)) {
      throw new WebRefusal("invalid", "Passkeys require an HTTPS URL with a host name.");
    }
    const { id, uuid, email: address, name } = request.account;
    const owner = { accountId: id, uuid, email: address, name };
    return { json: await registrationOptions(context, { owner, visitor: visitorOf(request) }) };
  },
});

const newPasskey = accountRoute({
  ...dangerous,
  name: "account.addPasskey",
  method: "POST",
  path: `${PATH}/passkeys`,
  body: NewPasskeyBody,
  answer: async (request) => {
    demandOwnSignIn(request);
    const { context, now, body } = request;
    const of = { accountId: request.account.id, ...body, visitor: visitorOf(request) };
    const passkey = await readRegistration(context, of);
    await addPasskey(context.database, { person: personOf(request), passkey, now });
    return page(request);
  },
});

const noPasskey = accountRoute({
  ...dangerous,
  name: "account.removePasskey",
  method: "DELETE",
  path: `${PATH}/passkeys/:id`,
  answer: async (request) => {
    const uuid = request.params["id"] ?? "";
    if (!isUuid(uuid)) throw new WebRefusal("not_found", "Passkey not found.");
    await removePasskey(request.context.database, { ...removalOf(request), uuid });
    return page(request);
  },
});

const noIdentity = accountRoute({
  ...dangerous,
  name: "account.removeIdentity",
  method: "POST",
  path: `${PATH}/identities/remove`,
  body: IdentityBody,
  answer: async (request) => {
    await unlinkIdentity(request.context.database, { ...removalOf(request), identity: request.body });
    return page(request);
  },
});

const totp = accountRoute({
  ...dangerous,
  name: "account.beginTotp",
  method: "POST",
  path: `${PATH}/totp`,
  body: EmptyForm,
  answer: async (request) => {
    demandOwnSignIn(request);
    const { database, secrets, site } = request.context;
    const secretKey = secrets.current;
    const of = { person: personOf(request), secretKey, siteName: site.name, now: request.now };
    return { json: await beginAuthenticator(database, of) };
  },
});

const confirmTotp = accountRoute({
  ...dangerous,
  name: "account.confirmTotp",
  method: "POST",
  path: `${PATH}/totp/confirm`,
  body: TotpCodeBody,
  answer: async (request) => {
    const { database, secrets } = request.context;
    const of = { person: personOf(request), code: request.body.code, secrets, now: request.now };
    return { json: { codes: await finishAuthenticator(database, of) } };
  },
});

const newCodes = accountRoute({
  ...dangerous,
  name: "account.renewCodes",
  method: "POST",
  path: `${PATH}/totp/codes`,
  body: EmptyForm,
  answer: async (request) => {
    const { database, secrets } = request.context;
    const of = { person: personOf(request), secretKey: secrets.current, now: request.now };
    return { json: { codes: await renewRecoveryCodes(database, of) } };
  },
});

const noTotp = accountRoute({
  ...dangerous,
  name: "account.removeTotp",
  method: "DELETE",
  path: `${PATH}/totp`,
  answer: async (request) => {
    const of = { person: personOf(request), actorId: request.account.id, now: request.now };
    await removeAuthenticator(request.context.database, of);
    return page(request);
  },
});

const endOneRoute = accountRoute({
  ...account,
  name: "account.endSession",
  method: "DELETE",
  path: `${PATH}/sessions/:id`,
  answer: async (request) => {
    const sessionId = pathNumber(request.params["id"]);
    await endSession(request.context.database, { accountId: request.account.id, sessionId });
    return page(request);
  },
});

const endOthersRoute = accountRoute({
  ...account,
  name: "account.endOtherSessions",
  method: "POST",
  path: `${PATH}/sessions/end-others`,
  body: EmptyForm,
  answer: async (request) => {
    const { context, account: me, session, now } = request;
    await endOtherSessions(context.database, { accountId: me.id, keepId: session.id, now });
    // This makes all browsers unknown devices, except for this one.
    return { ...(await page(request)), cookies: [deviceCookie(request, me.id)] };
  },
});

const close = accountRoute({
  ...dangerous,
  name: "account.close",
  method: "POST",
  path: `${PATH}/close`,
  body: CloseBody,
  answer: async (request) => {
    const { context, now } = request;
    if (request.body.email.trim().toLowerCase() !== request.account.email) {
      throw new WebRefusal("invalid", "Type your email address to close your account.", "email");
    }
    await closeAccount(context.database, { account: request.account, now });
    return { json: { closed: true }, cookies: clearedCookies(context) };
  },
});

export const accountRoutes: readonly WebRoute[] = [
  show,
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
  endOneRoute,
  endOthersRoute,
  close,
];
