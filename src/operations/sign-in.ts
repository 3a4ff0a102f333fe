// The last step of every way in: a session, or first the second factor. Every way in ends here, so that none of them
// forgets it.
import { randomUUID } from "node:crypto";
import type { Signing } from "../core/email.ts";
import { AppError } from "../core/errors.ts";
import type { Instant } from "../core/instant.ts";
import { OIDC_ISSUER_LENGTH_MAX, OIDC_SUBJECT_LENGTH_MAX, USER_AGENT_LENGTH_MAX } from "../core/limits.ts";
import {
  authenticatedByProvider,
  codeAttempts,
  confirmCode,
  isReauthenticationComplete,
  isTokenValid,
  linkAttempts,
  linkToken,
  passwordAttempts,
  passwordProblem,
  readTypedCode,
  safeNext,
  SECOND_FACTOR_MS,
  type SignInMethod,
  STEP_MS,
  TOKEN_MS,
  type TokenPurpose,
} from "../core/sign-in.ts";
import { digestOfToken, hmacSha256Hex, newToken } from "../lib/secrets.ts";
import { findAccountByEmail, findAccountById, hasAdmin, writeAdmin } from "../store/accounts.ts";
import {
  findAuthenticator,
  findPassword,
  type IdentityName,
  insertIdentity,
  listIdentities,
  listPasskeys,
  type Passkey,
  useIdentity,
  writePassword,
} from "../store/credentials.ts";
import type { Database, Db } from "../store/db.ts";
import { postgresErrorName } from "../store/errors.ts";
import { deleteSessionByDigest, insertSession, markSessionReauthenticated } from "../store/sessions.ts";
import {
  findNewestToken,
  findStep,
  findToken,
  insertStep,
  insertToken,
  takeStep,
  type Token,
  useToken,
  voidTokens,
} from "../store/sign-in.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { queueTokenEmail } from "./account-emails.ts";
import { addAccount, addFirstProject, findOrAddAccount, normalEmail } from "./accounts.ts";
import { countAttempts, countFailure, deviceOf, type Known, type Visitor } from "./attempts.ts";
import { checkPassword, countUse, createPasswordHash, linkIdentity, useTypedCode } from "./credentials.ts";
import { inRetriedTransaction, retryOnUniqueViolation } from "./retry.ts";
import { findSession, type FoundSession, noteSignIn, openSession } from "./sessions.ts";

export type SignInResult =
  | { kind: "signedIn"; token: string; sessionId: number; accountId: number; nextPath: string | null }
  /** Something else has to be proven first; the token belongs into a cookie for a few minutes. */
  | { kind: "secondFactor"; token: string };

/** Ways in that prove one thing only. The others are vouched for by a device, a provider, or whoever owns the server. */
const NEEDS_SECOND: readonly SignInMethod[] = ["password", "link"];

export type VerifiedSignIn = {
  accountId: number;
  method: SignInMethod;
  /** When they have proven it; not given: now. */
  provenAt?: Instant;
  visitor: Visitor;
  nextPath: string | null;
  /**
   * Somebody of the provider who comes for the first time, and is this account from then on. So far only an address
   * speaks for them, as in a mailed link: it must not be a way around the app.
   */
  newIdentity?: IdentityName;
};

/** Lets somebody in who has proven to be the owner of an account by one way. */
export async function completeSignIn(tx: Tx, admission: VerifiedSignIn): Promise<SignInResult> {
  const { accountId, method, visitor, nextPath } = admission;
  const { now, ua, remoteAddr } = visitor;
  const { provenAt = now, newIdentity = null } = admission;
  const needsSecond = NEEDS_SECOND.includes(method) || newIdentity !== null;
  const app = needsSecond ? await findAuthenticator(tx, accountId) : null;
  if (app !== null && app.confirmedAt !== null) {
    const token = newToken();
    await insertStep(tx, {
      digest: digestOfToken(token),
      kind: "secondFactor",
      accountId,
      about: { method, nextPath, newIdentity },
      createdAt: now,
      expiresAt: now + SECOND_FACTOR_MS,
    });
    return { kind: "secondFactor", token };
  }
  if (newIdentity !== null) await linkIdentity(tx, { identity: newIdentity, accountId, now });
  const session = await openSession(tx, { accountId, method, provenAt, now, ua, remoteAddr });
  return { kind: "signedIn", token: session.token, sessionId: session.id, accountId, nextPath };
}

type PendingSignIn = {
  accountId: number;
  method: SignInMethod;
  nextPath: string | null;
  newIdentity: IdentityName | null;
};

type About = Pick<PendingSignIn, "method" | "nextPath"> & Partial<Pick<PendingSignIn, "newIdentity">>;

/** Who waits at the second step; null: nobody, or the time is over. */
export async function findPendingSignIn(
  database: Database,
  { token, now }: { token: string; now: Instant },
): Promise<PendingSignIn | null> {
  const step = await findStep(database, { digest: digestOfToken(token), kind: "secondFactor" });
  if (step === null || step.accountId === null || now >= step.expiresAt) return null;
  // Written above, in this shape, or by the release before, which knew no identities there.
  const { method, nextPath, newIdentity = null } = step.about as About;
  return { accountId: step.accountId, method, nextPath, newIdentity };
}

export type SecondFactorRequest = Known & {
  token: string;
  code: string;
  visitor: Visitor;
  secretKey: string;
};

/** Takes the code of an app, or a recovery code. AppError `invalid` for a wrong one, `unauthenticated` when it is late. */
export async function passSecondFactor(
  database: Database,
  request: SecondFactorRequest,
): Promise<SignInResult> {
  const { token, code, visitor, secretKey } = request;
  const { now, ua, remoteAddr } = visitor;
  const waiting = await findPendingSignIn(database, { token, now });
  if (waiting === null) throw new AppError("unauthenticated", "Your sign-in attempt expired. Sign in again.");
  const { accountId, method, nextPath, newIdentity } = waiting;
  const deviceId = await deviceOf(database, request, { accountId, now });
  await countAttempts(database, codeAttempts({ accountId, deviceId }), { now });
  const typed = readTypedCode(code);
  const admitted = await inRetriedTransaction(database, async (tx): Promise<SignInResult | null> => {
    const isRight = typed !== null && (await useTypedCode(tx, { accountId, typed, now, secretKey }));
    if (!isRight) return null;
    const taken = await takeStep(tx, { digest: digestOfToken(token), kind: "secondFactor" });
    if (taken === null) throw new AppError("unauthenticated", "Your sign-in attempt expired. Sign in again.");
    if (newIdentity !== null) await linkIdentity(tx, { identity: newIdentity, accountId, now });
    const session = await openSession(tx, { accountId, method, now, ua, remoteAddr });
    return { kind: "signedIn", token: session.token, sessionId: session.id, accountId, nextPath };
  });
  if (admitted !== null) return admitted;
  await countFailure(database, { accountId, at: now });
  throw new AppError("invalid", "The code is incorrect or was already used.");
}

// The ways in that an address begins: a mailed link, and a password. Whoever tries learns nothing about whether an
// address has an account: answers are the same, and so is the work.

export type LinkRequest = Known & {
  email: string;
  nextPath: string | null;
  registrationOpen: boolean;
  visitor: Visitor;
};

/** No account has this id: whoever is not there has no browser either. */
const NO_ACCOUNT = 0;

/**
 * Mails a link to whoever has an account, or may make one. Answers the same for everybody; AppError `invalid` for what
 * is no address, `rate_limited` for too many.
 */
export async function requestLink(database: Database, request: LinkRequest): Promise<void> {
  const { registrationOpen, signing, visitor } = request;
  const { now, network } = visitor;
  const email = normalEmail(request.email);
  const known = await findAccountByEmail(database, email);
  const deviceId = await deviceOf(database, request, { accountId: known?.id ?? NO_ACCOUNT, now });
  await countAttempts(database, linkAttempts({ email, network, deviceId }), { now });
  const nextPath = safeNext(request.nextPath);
  await inRetriedTransaction(database, async (tx) => {
    const account = await findAccountByEmail(tx, email);
    const of =
      account === null
        ? ({ purpose: "register", accountId: null, email } as const)
        : ({ purpose: "signIn", accountId: account.id, email: null } as const);
    const tokenUuid = await createSignedToken(tx, signing, { ...of, nextPath, now });
    // Nothing is kept for nobody. It is written and taken back, so that it takes as long: the commit is what takes time.
    if (account === null && !registrationOpen) await voidTokens(tx, of);
    else await queueTokenEmail(tx, { kind: "signIn", tokenUuid, at: now });
  });
}

/** What a mailed link is for, before it is used: whose it is. Null when it is not good. */
export async function readLink(
  database: Database,
  { token, visitor }: { token: string; visitor: Visitor },
): Promise<{ email: string; isNew: boolean } | null> {
  const { now, network } = visitor;
  await countAttempts(database, [{ kind: "tokenByNetwork", subject: network }], { now });
  const found = await readToken(database, { token, purposes: ["signIn", "register"], now });
  if (found === null) return null;
  const account = found.accountId === null ? null : await findAccountById(database, found.accountId);
  const email = found.email ?? account?.email;
  return email === undefined ? null : { email, isNew: found.purpose === "register" };
}

/** Lets somebody in by a link, and makes the account first where that is what it is for. */
export async function useLink(
  database: Database,
  { token, visitor }: { token: string; visitor: Visitor },
): Promise<SignInResult> {
  const { now } = visitor;
  return inRetriedTransaction(database, async (tx) => {
    const used = await takeToken(tx, { token, purposes: ["signIn", "register"], now });
    const accountId = used.accountId ?? (await register(used));
    return completeSignIn(tx, { accountId, method: "link", visitor, nextPath: used.nextPath });
    async function register({ email }: Token): Promise<number> {
      const account = await findOrAddAccount(tx, { email: email ?? "", name: "", now });
      await addFirstProject(tx, { accountId: account.id, now });
      return account.id;
    }
  });
}

/** A link for somebody who cannot get mail; whoever runs the installation passes it on. AppError `not_found`. */
export async function createLoginLink(
  database: Database,
  { email, now }: { email: string; now: Instant },
): Promise<{ token: string; email: string }> {
  return inTransaction(database, async (tx) => {
    const account = await findAccountByEmail(tx, normalEmail(email));
    if (account === null) throw new AppError("not_found", `No account found for ${email}.`);
    const accountId = account.id;
    const token = await createRandomToken(tx, {
      purpose: "signIn",
      accountId,
      email: null,
      nextPath: null,
      now,
    });
    return { token, email: account.email };
  });
}

export type PasswordRequest = Known & {
  email: string;
  password: string;
  nextPath: string | null;
  visitor: Visitor;
};

/** Lets somebody in by a password. AppError `invalid` says nothing of what was wrong. */
export async function signInWithPassword(
  database: Database,
  request: PasswordRequest,
): Promise<SignInResult> {
  const { visitor } = request;
  const { now, network } = visitor;
  const email = request.email.trim().toLowerCase();
  const account = await findAccountByEmail(database, email);
  const accountId = account?.id ?? NO_ACCOUNT;
  const deviceId = await deviceOf(database, request, { accountId, now });
  await countAttempts(database, passwordAttempts({ email, network, deviceId }), { now });
  const isRight = await checkPassword(request.password, await findPassword(database, accountId));
  if (account === null || !isRight) {
    await countFailure(database, { accountId: account?.id ?? null, at: now });
    throw new AppError("invalid", "Incorrect email address or password.");
  }
  return inRetriedTransaction(database, (tx) =>
    completeSignIn(tx, {
      accountId: account.id,
      method: "password",
      visitor,
      nextPath: safeNext(request.nextPath),
    }),
  );
}

/** Lets somebody in whose passkey was found to be right. AppError `invalid`, likewise. */
export async function signInWithPasskey(
  database: Database,
  request: { passkey: Passkey; useCount: number; visitor: Visitor; nextPath: string | null },
): Promise<SignInResult> {
  const { passkey, useCount, visitor, nextPath } = request;
  return inRetriedTransaction(database, async (tx) => {
    await countUse(tx, { passkeyId: passkey.id, useCount, at: visitor.now });
    return completeSignIn(tx, { accountId: passkey.accountId, method: "passkey", visitor, nextPath });
  });
}

// People whom somebody else vouches for: an identity provider, or a proxy in front of us.

/** What has to be remembered until the provider sends somebody back. */
export type ProviderStep = {
  codeVerifier: string;
  nonce: string;
  nextPath: string | null;
  /** Set when a session is to be proven, and nobody signed in. */
  sessionId: number | null;
};

/** Remembers that somebody was sent to the provider, under the state that comes back. AppError `rate_limited`. */
export async function openProviderStep(
  database: Database,
  { state, step, visitor }: { state: string; step: ProviderStep; visitor: Visitor },
): Promise<void> {
  const { now, network } = visitor;
  await countAttempts(database, [{ kind: "beginByNetwork", subject: network }], { now });
  await inTransaction(database, (tx) =>
    insertStep(tx, {
      digest: digestOfToken(state),
      kind: "oidc",
      accountId: null,
      about: step,
      createdAt: now,
      expiresAt: now + STEP_MS,
    }),
  );
}

/** What was remembered under a state; null when it is not ours, was used, or is too old. */
export async function takeProviderStep(
  database: Database,
  { state, now }: { state: string; now: Instant },
): Promise<(ProviderStep & { begunAt: Instant }) | null> {
  const step = await inTransaction(database, (tx) =>
    takeStep(tx, { digest: digestOfToken(state), kind: "oidc" }),
  );
  if (step === null || now >= step.expiresAt) return null;
  // Written above, in this shape.
  return { ...(step.about as ProviderStep), begunAt: step.createdAt };
}

/** Somebody as the provider describes them. */
export type Identified = {
  issuer: string;
  subject: string;
  email: string | null;
  isEmailVerified: boolean;
  name: string;
  /** When they have last proven there who they are; null: the provider does not say. */
  authenticatedAt: Instant | null;
};

export type IdentitySignInRequest = {
  identified: Identified;
  /** Whether somebody whom nobody knows gets an account. */
  createsAccounts: boolean;
  visitor: Visitor;
  nextPath: string | null;
};

/**
 * Lets somebody in for whom the provider vouches: known by who they are there, or the first time by an address that the
 * provider has verified. AppError `forbidden` for everybody else, `invalid` for an identifier that is too long.
 */
export function signInWithIdentity(
  database: Database,
  request: IdentitySignInRequest,
): Promise<SignInResult> {
  const { issuer, subject } = request.identified;
  if (issuer.length > OIDC_ISSUER_LENGTH_MAX || subject.length > OIDC_SUBJECT_LENGTH_MAX) {
    throw new AppError("invalid", "The identity provider sent an identifier that is too long.");
  }
  // Two windows of a new person may come back at once: one makes the account, and it is known to the other.
  return retryOnUniqueViolation(() => signInIdentity(database, request));
}

async function signInIdentity(database: Database, request: IdentitySignInRequest): Promise<SignInResult> {
  const { identified, createsAccounts, visitor, nextPath } = request;
  const { issuer, subject } = identified;
  const { now } = visitor;
  const provenAt = authenticatedByProvider(identified.authenticatedAt, now);
  const how = { method: "oidc", provenAt, visitor, nextPath } as const;
  return inRetriedTransaction(database, async (tx) => {
    const knownId = await useIdentity(tx, { issuer, subject, at: now });
    if (knownId !== null) return completeSignIn(tx, { ...how, accountId: knownId });
    const email = verifiedEmail(identified);
    const account = await findAccountByEmail(tx, email);
    if (account !== null)
      return completeSignIn(tx, { ...how, accountId: account.id, newIdentity: { issuer, subject } });
    if (!createsAccounts) {
      throw new AppError("forbidden", `No account found for ${email}. Ask an admin to invite you.`);
    }
    const { id: accountId } = await addAccount(tx, { email, name: identified.name, now });
    await insertIdentity(tx, { issuer, subject, accountId, at: now });
    await addFirstProject(tx, { accountId, now });
    return completeSignIn(tx, { ...how, accountId });
  });
}

/** An address that anybody could have typed there would open somebody else's account here. */
function verifiedEmail({ email, isEmailVerified }: Identified): string {
  if (email !== null && isEmailVerified) return normalEmail(email);
  throw new AppError(
    "forbidden",
    "The identity provider did not confirm that your email address is verified, so it cannot be matched to an account.",
  );
}

/** Whether the provider says that this is whom an account belongs to. */
export async function isIdentityOf(
  database: Database,
  { identified, accountId, now }: { identified: Identified; accountId: number; now: Instant },
): Promise<boolean> {
  const { issuer, subject } = identified;
  return (await inTransaction(database, (tx) => useIdentity(tx, { issuer, subject, at: now }))) === accountId;
}

/**
 * The session of somebody whom the proxy names, made the first time, like the account. There is one for each person,
 * and no cookie: the proxy says with every request who it is. Null for what is no address.
 */
export async function findProxySession(
  database: Database,
  { named, secretKey, visitor }: { named: string; secretKey: string; visitor: Visitor },
): Promise<FoundSession | null> {
  const { now, ua, remoteAddr } = visitor;
  let email: string;
  try {
    email = normalEmail(named);
  } catch {
    return null;
  }
  const token = hmacSha256Hex({ key: secretKey, message: `proxy\n${email}` });
  const found = await findSession(database, { token, now, remoteAddr });
  if (found !== null && found.account.email === email) return found;
  try {
    await inRetriedTransaction(database, async (tx) => {
      const account = await findOrAddAccount(tx, { email, name: "", now });
      await addFirstProject(tx, { accountId: account.id, now });
      const digest = digestOfToken(token);
      await deleteSessionByDigest(tx, digest);
      const accountId = account.id;
      const browser = { method: "proxy", ua: ua.slice(0, USER_AGENT_LENGTH_MAX), remoteAddr } as const;
      await insertSession(tx, { digest, accountId, ...browser, createdAt: now, provenAt: now });
      await noteSignIn(tx, { accountId, ...browser, at: now });
    });
  } catch (error) {
    // Two requests of a new person at once: the other one has made it.
    if (postgresErrorName(error) !== "unique_violation") throw error;
  }
  return findSession(database, { token, now, remoteAddr });
}

// Proving once more who sits in front of a browser that is signed in: by the password or a code that is mailed, with the
// code of the app where there is one, or by a passkey.

export type ReauthSession = { accountId: number; sessionId: number; now: Instant };

export type ReauthMethods = { password: boolean; app: boolean; passkey: boolean; provider: boolean };

/** By what an account can prove who it is, besides mail. */
export async function reauthMethods(database: Database, accountId: number): Promise<ReauthMethods> {
  return {
    password: (await findPassword(database, accountId)) !== null,
    app: ((await findAuthenticator(database, accountId))?.confirmedAt ?? null) !== null,
    passkey: (await listPasskeys(database, accountId)).length > 0,
    provider: (await listIdentities(database, accountId)).length > 0,
  };
}

const WRONG = "The password or code is incorrect, or the code was already used.";

export type ReauthRequest = ReauthSession & {
  /** What was typed; empty: nothing. */
  password: string;
  mailed: string;
  code: string;
  signing: Signing;
  secretKey: string;
};

/**
 * Proves a session by what was typed: the password, or a mailed code, and where an app is set up its code or a recovery
 * code as well. AppError `invalid` does not say which of them is wrong, and nothing is used up then.
 */
export async function reauthenticate(database: Database, proof: ReauthRequest): Promise<void> {
  const { accountId, sessionId, now, secretKey } = proof;
  await countAttempts(database, [{ kind: "confirm", subject: String(accountId) }], { now });
  const stored = await findPassword(database, accountId);
  const password = proof.password !== "" && (await checkPassword(proof.password, stored));
  await inRetriedTransaction(database, async (tx) => {
    const app = ((await findAuthenticator(tx, accountId))?.confirmedAt ?? null) !== null;
    const typed = readTypedCode(proof.code);
    const shown = {
      password,
      mailedCode: await useMailedCode(tx, proof),
      appCode: typed !== null && (await useTypedCode(tx, { accountId, typed, now, secretKey })),
    };
    if (!isReauthenticationComplete({ password: stored !== null, app }, shown))
      throw new AppError("invalid", WRONG);
    await markSessionReauthenticated(tx, { sessionId, at: now });
  });
}

async function useMailedCode(tx: Tx, { accountId, mailed, signing, now }: ReauthRequest): Promise<boolean> {
  const token = await findNewestToken(tx, { accountId, purpose: "confirm" });
  const typed = readTypedCode(mailed);
  if (token === null || typed === null || !isTokenValid(token, now)) return false;
  if (!signing.isSame(typed.code, confirmCode(signing, token.uuid))) return false;
  return useToken(tx, { tokenId: token.id, at: now });
}

/** Mails a code. AppError `rate_limited`. */
export async function mailConfirmCode(
  database: Database,
  { accountId, now, signing }: { accountId: number; now: Instant; signing: Signing },
): Promise<void> {
  await countAttempts(database, [{ kind: "confirmMail", subject: String(accountId) }], { now });
  await inTransaction(database, async (tx) => {
    const of = { purpose: "confirm", accountId, email: null, nextPath: null, now } as const;
    await queueTokenEmail(tx, {
      kind: "confirm",
      tokenUuid: await createSignedToken(tx, signing, of),
      at: now,
    });
  });
}

/** Proves a session after somebody was found to be its owner in another way. */
export async function markReauthenticated(
  database: Database,
  { sessionId, now }: { sessionId: number; now: Instant },
): Promise<void> {
  await inTransaction(database, (tx) => markSessionReauthenticated(tx, { sessionId, at: now }));
}

// Links and codes: giving them out, and what they still stand for. One of a kind is outstanding at a time.

export type TokenRequest = {
  purpose: TokenPurpose;
  accountId: number | null;
  email: string | null;
  nextPath: string | null;
  now: Instant;
};

/** Gives out a token whose link is made when the mail is written; returns its UUID. */
export async function createSignedToken(tx: Tx, signing: Signing, request: TokenRequest): Promise<string> {
  const uuid = randomUUID();
  await writeToken(tx, request, { uuid, token: linkToken(signing, { purpose: request.purpose, uuid }) });
  return uuid;
}

/** Gives out a token that is shown now, to whoever runs the installation, and never again. */
async function createRandomToken(tx: Tx, request: TokenRequest): Promise<string> {
  const token = newToken();
  await writeToken(tx, request, { uuid: randomUUID(), token });
  return token;
}

async function writeToken(
  tx: Tx,
  request: TokenRequest,
  { uuid, token }: { uuid: string; token: string },
): Promise<void> {
  const { now, ...of } = request;
  await voidTokens(tx, of);
  const expiresAt = now + TOKEN_MS[of.purpose];
  await insertToken(tx, { ...of, uuid, digest: digestOfToken(token), createdAt: now, expiresAt });
}

export type TokenLink = { token: string; purposes: readonly TokenPurpose[]; now: Instant };

/** What a link stands for; null when it is unknown, used, too old, or for something else. */
export async function readToken(db: Db, { token, purposes, now }: TokenLink): Promise<Token | null> {
  const found = await findToken(db, digestOfToken(token));
  return found !== null && purposes.includes(found.purpose) && isTokenValid(found, now) ? found : null;
}

/** Uses a link up and returns what it stood for. AppError `not_found` when it is not good. */
export async function takeToken(tx: Tx, link: TokenLink): Promise<Token> {
  const found = await readToken(tx, link);
  if (found === null || !(await useToken(tx, { tokenId: found.id, at: link.now }))) {
    throw new AppError("not_found", "This link has already been used or has expired. Request a new one.");
  }
  return found;
}

// The first account: made by whoever reads the log of the process, with a link that is printed there. There is no
// default password, and nobody else can make it.

/** The page that leads on from the first account to the first ping. */
const WELCOME_PATH = "/welcome/";

/** The end of the link that makes the first account; null when there is somebody who may administer. Earlier links end. */
export async function ensureAdminLink(
  database: Database,
  { now }: { now: Instant },
): Promise<{ token: string } | null> {
  return inTransaction(database, async (tx) => {
    if (await hasAdmin(tx)) return null;
    const token = await createRandomToken(tx, {
      purpose: "setUp",
      accountId: null,
      email: null,
      nextPath: null,
      now,
    });
    return { token };
  });
}

/** Whether a set-up link is good: nobody has used it, and nobody may administer yet. */
export async function isSetupLink(
  database: Database,
  { token, now }: { token: string; now: Instant },
): Promise<boolean> {
  if ((await readToken(database, { token, purposes: ["setUp"], now })) === null) return false;
  return !(await hasAdmin(database));
}

export type SetUpRequest = {
  token: string;
  email: string;
  name: string;
  password: string;
  visitor: Visitor;
};

/** Makes the first account, with a project, and signs it in. AppError when the link or a field is not good. */
export async function finishSetup(database: Database, request: SetUpRequest): Promise<SignInResult> {
  const { token, visitor } = request;
  const { now } = visitor;
  const email = normalEmail(request.email);
  const problem = passwordProblem(request.password, { email });
  if (problem !== null) throw new AppError("invalid", problem, "password");
  // A hash is dear, and whoever has no link must not make us work.
  if (!(await isSetupLink(database, { token, now }))) {
    throw new AppError("not_found", "This link has already been used or has expired.");
  }
  const hash = await createPasswordHash(request.password);
  return inRetriedTransaction(database, async (tx) => {
    await takeToken(tx, { token, purposes: ["setUp"], now });
    if (await hasAdmin(tx)) throw new AppError("conflict", "The admin account was already created.");
    const account = await findOrAddAccount(tx, { email, name: request.name, now });
    await writeAdmin(tx, { accountId: account.id, isOperator: true });
    await writePassword(tx, { accountId: account.id, hash, at: now });
    await addFirstProject(tx, { accountId: account.id, now });
    return completeSignIn(tx, { accountId: account.id, method: "setUp", visitor, nextPath: WELCOME_PATH });
  });
}
