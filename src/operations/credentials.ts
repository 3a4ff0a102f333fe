// Sign-in methods of an account: passwords, passkeys, authenticator apps, recovery codes and linked
// identities.
import { randomUUID } from "node:crypto";
import type { SecurityChange } from "../core/email.ts";
import { AppError } from "../core/errors.ts";
import type { Instant } from "../core/instant.ts";
import { PASSKEYS_MAX } from "../core/limits.ts";
import { ownSecrets, type Secrets } from "../core/secrets.ts";
import {
  hasSignInMethod,
  isStepFresh,
  type OfferedSignInMethods,
  passwordProblem,
  readTypedCode,
  RECOVERY_ALPHABET,
  RECOVERY_CODES,
  RECOVERY_LENGTH,
  shownRecoveryCode,
  STEP_MS,
  TOTP_DIGITS,
  TOTP_STEP_SECONDS,
  TOTP_WINDOW,
} from "../core/sign-in.ts";
import { hashPassword, isPassword, TooBusyError } from "../lib/password-hash.ts";
import { digestOfToken, hmacSha256, randomText, seal, secretIdOf } from "../lib/secrets.ts";
import { newTotpSecret, qrFields, totpStep, totpUri } from "../lib/totp.ts";
import { findAccountById, lockAccount, writeKnownFrom } from "../store/accounts.ts";
import {
  confirmAuthenticator,
  deleteAuthenticator,
  deleteIdentity,
  deletePasskey,
  deletePassword,
  deleteRecoveryCodes,
  findAuthenticator,
  findPasskey,
  findPassword,
  type IdentityName,
  insertIdentity,
  insertPasskey,
  listIdentities,
  listPasskeys,
  type Passkey,
  useAuthenticatorStep,
  useRecoveryCode,
  writeAuthenticator,
  writePasskeyUse,
  writePassword,
  writeRecoveryCodes,
} from "../store/credentials.ts";
import type { Database } from "../store/db.ts";
import { postgresErrorName } from "../store/errors.ts";
import { deleteOtherSessions } from "../store/sessions.ts";
import { deleteStepsOf, insertStep, takeStep, voidAllTokens } from "../store/sign-in.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { queueSecurityEmail } from "./account-emails.ts";
import { countAttempts, type Visitor } from "./attempts.ts";
import { audit } from "./audit.ts";
import { inRetriedTransaction } from "./retry.ts";
import { appSeal, unsealWith } from "./secrets.ts";

export type PasswordChange = { person: Person; password: string; sessionId: number | null; now: Instant };

/**
 * Sets a password and ends all other sessions, known browsers, links and codes. AppError `invalid` if it is
 * too short.
 */
export async function setPassword(database: Database, change: PasswordChange): Promise<void> {
  const { person, password, sessionId, now } = change;
  const problem = passwordProblem(password, { email: person.email });
  if (problem !== null) throw new AppError("invalid", problem);
  const hash = await createPasswordHash(password);
  await inRetriedTransaction(database, async (tx) => {
    await writePassword(tx, { accountId: person.accountId, hash, at: now });
    await deleteOtherSessions(tx, { accountId: person.accountId, keepId: sessionId });
    await writeKnownFrom(tx, { accountId: person.accountId, at: now });
    // An intruder may have requested a link or an address change that would lead back in.
    await voidAllTokens(tx, person.accountId);
    await deleteStepsOf(tx, person.accountId);
    await recordCredentialChange(tx, { person, what: "passwordSet", at: now });
  });
}

/** Removes the password. AppError `not_found` if there is none, `conflict` for the last sign-in method. */
export async function removePassword(
  database: Database,
  { person, offers, now }: CredentialRemoval,
): Promise<void> {
  const { accountId } = person;
  await inRetriedTransaction(database, async (tx) => {
    await lockAccount(tx, accountId);
    if (!(await deletePassword(tx, accountId))) throw new AppError("not_found", "No password is set.");
    await requireSignInMethod(tx, { accountId, offers });
    await recordCredentialChange(tx, { person, what: "passwordRemoved", at: now });
  });
}

export type Challenge = {
  challenge: string;
  kind: "passkey" | "newPasskey";
  accountId: number | null;
  about: Readonly<Record<string, unknown>>;
  visitor: Visitor;
};

/** Stores a challenge for a passkey. AppError `rate_limited`. */
export async function openChallenge(database: Database, of: Challenge): Promise<void> {
  const { now, network } = of.visitor;
  await countAttempts(database, [{ kind: "beginByNetwork", subject: network }], { now });
  await inTransaction(database, (tx) =>
    insertStep(tx, {
      digest: digestOfToken(of.challenge),
      kind: of.kind,
      accountId: of.accountId,
      about: of.about,
      createdAt: now,
      expiresAt: now + STEP_MS,
    }),
  );
}

/** Uses a challenge; null if it is unknown, used or expired. */
export async function takeChallenge(
  database: Database,
  { challenge, kind, now }: Pick<Challenge, "challenge" | "kind"> & { now: Instant },
): Promise<{ accountId: number | null; about: Readonly<Record<string, unknown>> } | null> {
  const step = await inTransaction(database, (tx) =>
    takeStep(tx, { digest: digestOfToken(challenge), kind }),
  );
  return step === null || now >= step.expiresAt ? null : { accountId: step.accountId, about: step.about };
}

export type NewPasskey = Pick<Passkey, "credentialId" | "publicKey" | "useCount" | "transports" | "name">;

/** Adds a verified passkey. AppError `conflict` if it exists or there are too many. */
export async function addPasskey(
  database: Database,
  { person, passkey, now }: { person: Person; passkey: NewPasskey; now: Instant },
): Promise<void> {
  const { accountId } = person;
  try {
    await inRetriedTransaction(database, async (tx) => {
      await lockAccount(tx, accountId);
      if ((await listPasskeys(tx, accountId)).length >= PASSKEYS_MAX) {
        throw new AppError("conflict", `An account can have at most ${PASSKEYS_MAX} passkeys.`);
      }
      await insertPasskey(tx, { ...passkey, uuid: randomUUID(), accountId, createdAt: now });
      await recordCredentialChange(tx, {
        person,
        what: "passkeyAdded",
        after: { name: passkey.name },
        at: now,
      });
    });
  } catch (error) {
    if (postgresErrorName(error) !== "unique_violation") throw error;
    throw new AppError("conflict", "This passkey is already registered.");
  }
}

/** Removes a passkey. AppError `not_found`, or `conflict` for the last sign-in method. */
export async function removePasskey(
  database: Database,
  { person, uuid, offers, now }: CredentialRemoval & { uuid: string },
): Promise<void> {
  const { accountId } = person;
  await inRetriedTransaction(database, async (tx) => {
    await lockAccount(tx, accountId);
    const name = await deletePasskey(tx, { accountId, uuid });
    if (name === null) throw new AppError("not_found", "The passkey does not exist.");
    await requireSignInMethod(tx, { accountId, offers });
    await recordCredentialChange(tx, { person, what: "passkeyRemoved", after: { name }, at: now });
  });
}

/** The passkey with this credential id. */
export async function lookUpPasskey(database: Database, credentialId: string): Promise<Passkey | null> {
  return findPasskey(database, credentialId);
}

/** The passkeys of an account. */
export async function passkeysOf(database: Database, accountId: number): Promise<Passkey[]> {
  return listPasskeys(database, accountId);
}

/** Records the use of a passkey. AppError `invalid` if it was removed or used elsewhere in the meantime. */
export async function usePasskey(
  database: Database,
  { passkey, useCount, now }: { passkey: Passkey; useCount: number; now: Instant },
): Promise<void> {
  await inTransaction(database, (tx) => countUse(tx, { passkeyId: passkey.id, useCount, at: now }));
}

export async function countUse(
  tx: Tx,
  use: { passkeyId: number; useCount: number; at: Instant },
): Promise<void> {
  if (await writePasskeyUse(tx, use)) return;
  throw new AppError("invalid", "The passkey could not be verified. Try again.");
}

const SHAPE = { digits: TOTP_DIGITS, stepSeconds: TOTP_STEP_SECONDS };

export type Person = { accountId: number; email: string };

export type AppSetUp = { secret: string; uri: string; qr: boolean[][] };

/** Starts the setup of an app and returns its secret. AppError `conflict` if one is active. */
export async function beginAuthenticator(
  database: Database,
  { person, secretKey, siteName, now }: { person: Person; secretKey: string; siteName: string; now: Instant },
): Promise<AppSetUp> {
  const { accountId, email } = person;
  const secret = newTotpSecret();
  const sealed = seal(secret, { ...appSeal(accountId), secretKey });
  const secretId = secretIdOf(secretKey);
  const isNew = await inTransaction(database, (tx) =>
    writeAuthenticator(tx, { accountId, sealed, secretId, at: now }),
  );
  if (!isNew) throw new AppError("conflict", "An authenticator app is already set up. Remove it first.");
  const uri = totpUri(secret, { ...SHAPE, issuer: siteName, label: email });
  return { secret: secret.replaceAll(/(.{4})(?=.)/g, "$1 "), uri, qr: qrFields(uri) };
}

export type CodeRequest = { person: Person; code: string; secrets: Secrets; now: Instant };

/**
 * Confirms the app by its first code and returns the recovery codes, once. AppError `invalid` for a wrong
 * code.
 */
export async function finishAuthenticator(database: Database, request: CodeRequest): Promise<string[]> {
  const { person, code, secrets, now } = request;
  const { accountId } = person;
  await countAttempts(database, [{ kind: "secondFactor", subject: String(accountId) }], { now });
  const app = await findAuthenticator(database, accountId);
  if (app === null || app.confirmedAt !== null)
    throw new AppError("conflict", "No authenticator app setup is in progress.");
  const secret = unsealWith(app.sealed, { secrets, ...appSeal(accountId) });
  const typed = readTypedCode(code);
  const step =
    secret === null || typed?.kind !== "totp"
      ? null
      : totpStep(typed.code, { ...SHAPE, secret, now, window: TOTP_WINDOW });
  if (step === null) {
    throw new AppError("invalid", "The code is incorrect. Check that the clock on your phone is correct.");
  }
  return inTransaction(database, async (tx) => {
    if (!(await confirmAuthenticator(tx, { accountId, at: now, step }))) {
      throw new AppError("conflict", "No authenticator app setup is in progress.");
    }
    const codes = await newCodes(tx, { accountId, secretKey: secrets.current });
    await recordCredentialChange(tx, { person, what: "totpAdded", at: now });
    return codes;
  });
}

/** Sets up an app whose secret was made elsewhere. Its codes are required from now on. */
export async function addAuthenticator(
  tx: Tx,
  { accountId, secret, secretKey, at }: { accountId: number; secret: string; secretKey: string; at: Instant },
): Promise<void> {
  const sealed = seal(secret, { ...appSeal(accountId), secretKey });
  await writeAuthenticator(tx, { accountId, sealed, secretId: secretIdOf(secretKey), at });
  await confirmAuthenticator(tx, { accountId, at, step: 0 });
}

/** Replaces the recovery codes. AppError `conflict` without an app. */
export async function renewRecoveryCodes(
  database: Database,
  { person, secretKey, now }: { person: Person; secretKey: string; now: Instant },
): Promise<string[]> {
  const { accountId, email } = person;
  return inTransaction(database, async (tx) => {
    const app = await findAuthenticator(tx, accountId);
    if (app === null || app.confirmedAt === null)
      throw new AppError("conflict", "No authenticator app is set up.");
    const codes = await newCodes(tx, { accountId, secretKey });
    const what = "account.codesRenewed";
    await audit(tx, {
      projectId: null,
      accountId,
      keyId: null,
      what,
      subject: email,
      before: null,
      after: null,
      at: now,
    });
    return codes;
  });
}

async function newCodes(
  tx: Tx,
  { accountId, secretKey }: { accountId: number; secretKey: string },
): Promise<string[]> {
  const codes = Array.from({ length: RECOVERY_CODES }, () =>
    randomText({ alphabet: RECOVERY_ALPHABET, length: RECOVERY_LENGTH }),
  );
  const digests = codes.map((code) => digestOfCode(code, { accountId, secretKey }));
  await writeRecoveryCodes(tx, { accountId, digests, secretId: secretIdOf(secretKey) });
  return codes.map(shownRecoveryCode);
}

/** Keyed, because short codes could be found by brute force. */
function digestOfCode(
  code: string,
  { accountId, secretKey }: { accountId: number; secretKey: string },
): Buffer {
  return hmacSha256({ key: secretKey, message: `recovery\n${accountId}\n${code}` });
}

export type TypedCode = NonNullable<ReturnType<typeof readTypedCode>>;

/** Uses a typed code of an account. False: it is wrong, or was used before. */
export async function useTypedCode(
  tx: Tx,
  { accountId, typed, now, secrets }: { accountId: number; typed: TypedCode; now: Instant; secrets: Secrets },
): Promise<boolean> {
  if (typed.kind === "recovery") {
    const digests = ownSecrets(secrets).map((secretKey) =>
      digestOfCode(typed.code, { accountId, secretKey }),
    );
    return useRecoveryCode(tx, { accountId, digests, at: now });
  }
  const app = await findAuthenticator(tx, accountId);
  const secret = app === null ? null : unsealWith(app.sealed, { secrets, ...appSeal(accountId) });
  if (app === null || app.confirmedAt === null || secret === null) return false;
  const step = totpStep(typed.code, { ...SHAPE, secret, now, window: TOTP_WINDOW });
  if (step === null || !isStepFresh(step, app.lastStep)) return false;
  return useAuthenticatorStep(tx, { accountId, step });
}

/** Removes the app and its recovery codes. False: there was none. `actorId` null is the command line. */
export async function removeAuthenticator(
  database: Database,
  { person, actorId, now }: { person: Person; actorId: number | null; now: Instant },
): Promise<boolean> {
  const { accountId } = person;
  return inTransaction(database, async (tx) => {
    const hadOne = await deleteAuthenticator(tx, accountId);
    await deleteRecoveryCodes(tx, accountId);
    if (!hadOne) return false;
    await recordCredentialChange(tx, { person, what: "totpRemoved", actorId, at: now });
    return true;
  });
}

/** A new sign-in method of an existing account: its owner is notified. */
export async function linkIdentity(
  tx: Tx,
  { identity, accountId, now }: { identity: IdentityName; accountId: number; now: Instant },
): Promise<void> {
  const account = await findAccountById(tx, accountId);
  const { issuer, subject } = identity;
  // Two windows may return at once: the other one has sent the notification.
  if (account === null || !(await insertIdentity(tx, { issuer, subject, accountId, at: now }))) return;
  const person = { accountId, email: account.email };
  await recordCredentialChange(tx, { person, what: "providerAdded", after: { issuer }, at: now });
}

/** Unlinks an identity. AppError `not_found`, or `conflict` for the last sign-in method. */
export async function unlinkIdentity(
  database: Database,
  { person, identity, offers, now }: CredentialRemoval & { identity: IdentityName },
): Promise<void> {
  const { accountId } = person;
  const { issuer, subject } = identity;
  await inRetriedTransaction(database, async (tx) => {
    await lockAccount(tx, accountId);
    if (!(await deleteIdentity(tx, { issuer, subject, accountId }))) {
      throw new AppError("not_found", "This identity is no longer linked to your account.");
    }
    await requireSignInMethod(tx, { accountId, offers });
    await recordCredentialChange(tx, { person, what: "providerRemoved", before: { issuer }, at: now });
  });
}

/** Whether a password is correct; AppError `unavailable` if too many requests are waiting. */
export function checkPassword(password: string, hash: string | null): Promise<boolean> {
  return unlessTooBusy(() => isPassword(password, hash));
}

/** The hash of a password; AppError `unavailable` if too many requests are waiting. */
export function createPasswordHash(password: string): Promise<string> {
  return unlessTooBusy(() => hashPassword(password));
}

async function unlessTooBusy<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof TooBusyError)) throw error;
    throw new AppError("unavailable", "The server is busy. Try again in a moment.");
  }
}

/** The account, and the sign-in methods that the server offers. */
export type CredentialRemoval = { person: Person; offers: OfferedSignInMethods; now: Instant };

/** AppError `conflict` if the account has no sign-in method left. Its row must be locked. */
async function requireSignInMethod(
  tx: Tx,
  { accountId, offers }: { accountId: number; offers: OfferedSignInMethods },
): Promise<void> {
  const [password, passkeys, identities] = [
    await findPassword(tx, accountId),
    await listPasskeys(tx, accountId),
    await listIdentities(tx, accountId),
  ];
  const issuers = identities.map(({ issuer }) => issuer);
  if (hasSignInMethod(offers, { hasPassword: password !== null, passkeyCount: passkeys.length, issuers }))
    return;
  throw new AppError(
    "conflict",
    "This is your only sign-in method, and this server cannot send email. Set a password or add a passkey first.",
  );
}

export type CredentialChange = {
  person: { accountId: number; email: string };
  what: Exclude<SecurityChange, "emailChanged">;
  before?: object | null;
  after?: object | null;
  /** The actor, if not the account itself; null is the command line. */
  actorId?: number | null;
  at: Instant;
};

/** Audits the change of a sign-in method and notifies the account's owner, in the same transaction. */
async function recordCredentialChange(tx: Tx, note: CredentialChange): Promise<void> {
  const { person, what, before = null, after = null, at } = note;
  const { accountId, email: subject } = person;
  const by = {
    projectId: null,
    accountId: note.actorId === undefined ? accountId : note.actorId,
    keyId: null,
  };
  await audit(tx, { ...by, what: `account.${what}`, subject, before, after, at });
  await queueSecurityEmail(tx, { accountId, what, at });
}
