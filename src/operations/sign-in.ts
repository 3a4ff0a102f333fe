// Signing in: by link, password, passkey, identity provider or proxy, with the second factor;
// re-authentication; and the first account.
import { randomUUID } from "node:crypto";
import { isSigned, type Signing } from "../core/email.ts";
import { AppError } from "../core/errors.ts";
import type { Instant } from "../core/instant.ts";
import { OIDC_ISSUER_LENGTH_MAX, OIDC_SUBJECT_LENGTH_MAX, USER_AGENT_LENGTH_MAX } from "../core/limits.ts";
import type { Secrets } from "../core/secrets.ts";
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
  /** The second factor is required; the token goes into a cookie for a few minutes. */
  | { kind: "secondFactor"; token: string };

/**
 * Methods that need a second factor. The others are secured by a device, a provider, or the server's
 * operator.
 */
const NEEDS_SECOND: readonly SignInMethod[] = ["password", "link"];

export type VerifiedSignIn = {
  accountId: number;
  method: SignInMethod;
  /** When they authenticated; default: now. */
  authenticatedAt?: Instant;
  visitor: Visitor;
  nextPath: string | null;
  /**
   * An identity of the provider that signs in for the first time and will be linked to this account. So far only its
   * address matches, as with an email link: it must not bypass the second factor.
   */
  newIdentity?: IdentityName;
};

/** Completes a sign-in after the first factor. */
export async function completeSignIn(tx: Tx, admission: VerifiedSignIn): Promise<SignInResult> {
  const { accountId, method, visitor, nextPath } = admission;
  const { now, ua, remoteAddr } = visitor;
  const { authenticatedAt = now, newIdentity = null } = admission;
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
  const session = await openSession(tx, { accountId, method, authenticatedAt, now, ua, remoteAddr });
  return { kind: "signedIn", token: session.token, sessionId: session.id, accountId, nextPath };
}

type PendingSignIn = {
  accountId: number;
  method: SignInMethod;
  nextPath: string | null;
  newIdentity: IdentityName | null;
};

type About = Pick<PendingSignIn, "method" | "nextPath"> & Partial<Pick<PendingSignIn, "newIdentity">>;

/** The sign-in that waits for the second factor; null if there is none or it has expired. */
export async function findPendingSignIn(
  database: Database,
  { token, now }: { token: string; now: Instant },
): Promise<PendingSignIn | null> {
  const step = await findStep(database, { digest: digestOfToken(token), kind: "secondFactor" });
  if (step === null || step.accountId === null || now >= step.expiresAt) return null;
  // Written above in this form, or by the previous release, which stored no identities there.
  const { method, nextPath, newIdentity = null } = step.about as About;
  return { accountId: step.accountId, method, nextPath, newIdentity };
}

export type SecondFactorRequest = Known & {
  token: string;
  code: string;
  visitor: Visitor;
  secrets: Secrets;
};

/**
 * Verifies the code of an app or a recovery code. AppError `invalid` for a wrong one, `unauthenticated` after
 * expiry.
 */
export async function passSecondFactor(
  database: Database,
  request: SecondFactorRequest,
): Promise<SignInResult> {
  const { token, code, visitor, secrets } = request;
  const { now, ua, remoteAddr } = visitor;
  const waiting = await findPendingSignIn(database, { token, now });
  if (waiting === null) throw new AppError("unauthenticated", "Your sign-in attempt expired. Sign in again.");
  const { accountId, method, nextPath, newIdentity } = waiting;
  const deviceId = await deviceOf(database, request, { accountId, now });
  await countAttempts(database, codeAttempts({ accountId, deviceId }), { now });
  const typed = readTypedCode(code);
  const admitted = await inRetriedTransaction(database, async (tx): Promise<SignInResult | null> => {
    const isRight = typed !== null && (await useTypedCode(tx, { accountId, typed, now, secrets }));
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

export type LinkRequest = Known & {
  email: string;
  nextPath: string | null;
  registrationOpen: boolean;
  visitor: Visitor;
};

/** No account has this id, for addresses without an account. */
const NO_ACCOUNT = 0;

/**
 * Sends a sign-in link if the address has an account or may create one. The response does not reveal which. AppError
 * `invalid` for an invalid address, `rate_limited` for too many.
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
    // Without an account, the token is written and rolled back, so that the request takes as long.
    if (account === null && !registrationOpen) await voidTokens(tx, of);
    else await queueTokenEmail(tx, { kind: "signIn", tokenUuid, at: now });
  });
}

/** The purpose and account of an emailed link, before it is used. Null if it is invalid. */
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

/** Signs in by a link, creating the account first if that is its purpose. */
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

/** A link for a user who cannot receive email, passed on by an admin. AppError `not_found`. */
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

/** Signs in by password. AppError `invalid` does not reveal what was wrong. */
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

/** Signs in by a verified passkey. AppError `invalid`. */
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

/** Stored until the provider redirects back. */
export type ProviderStep = {
  codeVerifier: string;
  nonce: string;
  nextPath: string | null;
  /** Set for a re-authentication instead of a sign-in. */
  sessionId: number | null;
};

/** Stores the state of a redirect to the provider. AppError `rate_limited`. */
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

/** The stored redirect of a state; null if it is unknown, used or expired. */
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

/** A user as identified by the provider. */
export type Identified = {
  issuer: string;
  subject: string;
  email: string | null;
  isEmailVerified: boolean;
  name: string;
  /** When they last authenticated there; null if not reported. */
  authenticatedAt: Instant | null;
};

export type IdentitySignInRequest = {
  identified: Identified;
  /** Whether unknown users get an account. */
  createsAccounts: boolean;
  visitor: Visitor;
  nextPath: string | null;
};

/**
 * Signs in a user of the provider: by a linked identity, or the first time by a verified address. AppError
 * `forbidden` otherwise, `invalid` for an identifier that is too long.
 */
export function signInWithIdentity(
  database: Database,
  request: IdentitySignInRequest,
): Promise<SignInResult> {
  const { issuer, subject } = request.identified;
  if (issuer.length > OIDC_ISSUER_LENGTH_MAX || subject.length > OIDC_SUBJECT_LENGTH_MAX) {
    throw new AppError("invalid", "The identity provider sent an identifier that is too long.");
  }
  // Two windows of a new user may return at once: one creates the account, the other finds it.
  return retryOnUniqueViolation(() => signInIdentity(database, request));
}

async function signInIdentity(database: Database, request: IdentitySignInRequest): Promise<SignInResult> {
  const { identified, createsAccounts, visitor, nextPath } = request;
  const { issuer, subject } = identified;
  const { now } = visitor;
  const authenticatedAt = authenticatedByProvider(identified.authenticatedAt, now);
  const how = { method: "oidc", authenticatedAt, visitor, nextPath } as const;
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

/** An unverified address could belong to someone else. */
function verifiedEmail({ email, isEmailVerified }: Identified): string {
  if (email !== null && isEmailVerified) return normalEmail(email);
  throw new AppError(
    "forbidden",
    "The identity provider did not confirm that your email address is verified, so it cannot be matched to an account.",
  );
}

/** Whether the identity of the provider belongs to an account. */
export async function isIdentityOf(
  database: Database,
  { identified, accountId, now }: { identified: Identified; accountId: number; now: Instant },
): Promise<boolean> {
  const { issuer, subject } = identified;
  return (await inTransaction(database, (tx) => useIdentity(tx, { issuer, subject, at: now }))) === accountId;
}

/**
 * The session of a user named by the proxy; the session and the account are created the first time. One
 * session per user and no cookie: the proxy names the user with every request. Null for an invalid address.
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
      await insertSession(tx, { digest, accountId, ...browser, createdAt: now, authenticatedAt: now });
      await noteSignIn(tx, { accountId, ...browser, at: now });
    });
  } catch (error) {
    // Two concurrent requests of a new user: the other one has created it.
    if (postgresErrorName(error) !== "unique_violation") throw error;
  }
  return findSession(database, { token, now, remoteAddr });
}

export type ReauthSession = { accountId: number; sessionId: number; now: Instant };

export type ReauthMethods = { password: boolean; app: boolean; passkey: boolean; provider: boolean };

/** Re-authentication methods of an account other than email. */
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
  /** The typed text; empty: nothing. */
  password: string;
  mailed: string;
  code: string;
  signing: Signing;
  secrets: Secrets;
};

/**
 * Re-authenticates a session by password or emailed code, plus an app or recovery code if an app is set up. AppError
 * `invalid` does not reveal which is wrong, and uses up no code.
 */
export async function reauthenticate(database: Database, proof: ReauthRequest): Promise<void> {
  const { accountId, sessionId, now, secrets } = proof;
  await countAttempts(database, [{ kind: "confirm", subject: String(accountId) }], { now });
  const stored = await findPassword(database, accountId);
  const password = proof.password !== "" && (await checkPassword(proof.password, stored));
  await inRetriedTransaction(database, async (tx) => {
    const app = ((await findAuthenticator(tx, accountId))?.confirmedAt ?? null) !== null;
    const typed = readTypedCode(proof.code);
    const shown = {
      password,
      mailedCode: await useMailedCode(tx, proof),
      appCode: typed !== null && (await useTypedCode(tx, { accountId, typed, now, secrets })),
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
  if (!isSigned(typed.code, signing, (signer) => confirmCode(signer, token.uuid))) return false;
  return useToken(tx, { tokenId: token.id, at: now });
}

/** Emails a code. AppError `rate_limited`. */
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

/** Marks a session as re-authenticated by another method. */
export async function markReauthenticated(
  database: Database,
  { sessionId, now }: { sessionId: number; now: Instant },
): Promise<void> {
  await inTransaction(database, (tx) => markSessionReauthenticated(tx, { sessionId, at: now }));
}

export type TokenRequest = {
  purpose: TokenPurpose;
  accountId: number | null;
  email: string | null;
  nextPath: string | null;
  now: Instant;
};

/** Creates a token whose link is derived when the email is composed; returns its UUID. */
export async function createSignedToken(tx: Tx, signing: Signing, request: TokenRequest): Promise<string> {
  const uuid = randomUUID();
  await writeToken(tx, request, { uuid, token: linkToken(signing, { purpose: request.purpose, uuid }) });
  return uuid;
}

/** Creates a token that is shown once, to an admin. */
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

/** The token of a link; null if it is unknown, used, expired or for another purpose. */
export async function readToken(db: Db, { token, purposes, now }: TokenLink): Promise<Token | null> {
  const found = await findToken(db, digestOfToken(token));
  return found !== null && purposes.includes(found.purpose) && isTokenValid(found, now) ? found : null;
}

/** Uses a link and returns its token. AppError `not_found` if it is invalid. */
export async function takeToken(tx: Tx, link: TokenLink): Promise<Token> {
  const found = await readToken(tx, link);
  if (found === null || !(await useToken(tx, { tokenId: found.id, at: link.now }))) {
    throw new AppError("not_found", "This link has already been used or has expired. Request a new one.");
  }
  return found;
}

/** The page after creating the first account. */
const WELCOME_PATH = "/welcome/";

/** Creates the link for the first account; null if there is an admin. Earlier links become invalid. */
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

/** Whether a setup link is valid: unused, and there is no admin yet. */
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

/** Creates the first account with a project and signs it in. AppError if the link or a field is invalid. */
export async function finishSetup(database: Database, request: SetUpRequest): Promise<SignInResult> {
  const { token, visitor } = request;
  const { now } = visitor;
  const email = normalEmail(request.email);
  const problem = passwordProblem(request.password, { email });
  if (problem !== null) throw new AppError("invalid", problem, "password");
  // Hashing is expensive, so the link is checked first.
  if (!(await isSetupLink(database, { token, now }))) {
    throw new AppError("not_found", "This link has already been used or has expired.");
  }
  const hash = await createPasswordHash(request.password);
  return inRetriedTransaction(database, async (tx) => {
    await takeToken(tx, { token, purposes: ["setUp"], now });
    if (await hasAdmin(tx)) throw new AppError("conflict", "The admin account was already created.");
    const account = await findOrAddAccount(tx, { email, name: request.name, now });
    await writeAdmin(tx, { accountId: account.id, isAdmin: true });
    await writePassword(tx, { accountId: account.id, hash, at: now });
    await addFirstProject(tx, { accountId: account.id, now });
    return completeSignIn(tx, { accountId: account.id, method: "setUp", visitor, nextPath: WELCOME_PATH });
  });
}
