// Passwords and passkeys of an account: setting, adding and taking away, and the challenges that passkeys answer.
import { randomUUID } from "node:crypto";
import { PASSKEYS_MAX } from "../../../core/accounts/member-rules.ts";
import { passwordProblem } from "../../../core/accounts/password-rules.ts";
import { STEP_MS } from "../../../core/accounts/token-rules.ts";
import { AppError } from "../../../core/errors.ts";
import type { Instant } from "../../../core/instant.ts";
import { digestOfToken } from "../../../lib/secrets/secret-token.ts";
import {
  deletePasskey,
  deletePassword,
  findPasskey,
  insertPasskey,
  listPasskeys,
  type Passkey,
  writePasskeyUse,
  writePassword,
} from "../../../store/accounts/credentials.ts";
import { lockAccount, writeKnownFrom } from "../../../store/accounts/accounts.ts";
import { deleteOtherSessions } from "../../../store/accounts/sessions.ts";
import { deleteStepsOf, insertStep, takeStep } from "../../../store/accounts/steps.ts";
import { voidAllTokens } from "../../../store/accounts/tokens.ts";
import type { Database } from "../../../store/db.ts";
import { postgresErrorName } from "../../../store/errors.ts";
import { inTransaction, type Tx } from "../../../store/transaction.ts";
import { inRetriedTransaction } from "../../changing/retried.ts";
import { admit, type Admitted, type Visitor } from "./admit.ts";
import { countAttempts } from "./attempts.ts";
import type { Person } from "./authenticator.ts";
import { noteWay } from "./note-way.ts";
import { hashed } from "./password-turns.ts";
import { demandWayIn, type Removal } from "./ways-in.ts";

export type PasswordChange = { person: Person; password: string; sessionId: number | null; now: Instant };

/** Sets a password; all sessions but this one end, known browsers, links and codes with them. AppError `invalid` for one that is too short. */
export async function setPassword(database: Database, change: PasswordChange): Promise<void> {
  const { person, password, sessionId, now } = change;
  const problem = passwordProblem(password, { email: person.email });
  if (problem !== null) throw new AppError("invalid", problem);
  const hash = await hashed(password);
  await inRetriedTransaction(database, async (tx) => {
    await writePassword(tx, { accountId: person.accountId, hash, at: now });
    await deleteOtherSessions(tx, { accountId: person.accountId, keepId: sessionId });
    await writeKnownFrom(tx, { accountId: person.accountId, at: now });
    // Whoever was in here may have asked for a link, or for another address, that would lead back in.
    await voidAllTokens(tx, person.accountId);
    await deleteStepsOf(tx, person.accountId);
    await noteWay(tx, { person, what: "passwordSet", at: now });
  });
}

/** Takes the password away. AppError `not_found` when there is none, `conflict` for the last way into the account. */
export async function removePassword(database: Database, { person, offers, now }: Removal): Promise<void> {
  const { accountId } = person;
  await inRetriedTransaction(database, async (tx) => {
    await lockAccount(tx, accountId);
    if (!(await deletePassword(tx, accountId))) throw new AppError("not_found", "No password is set.");
    await demandWayIn(tx, { accountId, offers });
    await noteWay(tx, { person, what: "passwordRemoved", at: now });
  });
}

export type Challenge = {
  challenge: string;
  kind: "passkey" | "newPasskey";
  accountId: number | null;
  about: Readonly<Record<string, unknown>>;
  visitor: Visitor;
};

/** Remembers a challenge that a passkey is to answer. AppError `rate_limited`. */
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

/** Takes a challenge that came back: what it was opened with, or null when it is not ours, used, or too old. */
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

/** Adds a passkey that was found to be right. AppError `conflict` when it is known, or there are too many. */
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
      await noteWay(tx, { person, what: "passkeyAdded", after: { name: passkey.name }, at: now });
    });
  } catch (error) {
    if (postgresErrorName(error) !== "unique_violation") throw error;
    throw new AppError("conflict", "This passkey is already registered.");
  }
}

/** Takes a passkey away. AppError `not_found`, or `conflict` for the last way into the account. */
export async function removePasskey(
  database: Database,
  { person, uuid, offers, now }: Removal & { uuid: string },
): Promise<void> {
  const { accountId } = person;
  await inRetriedTransaction(database, async (tx) => {
    await lockAccount(tx, accountId);
    const name = await deletePasskey(tx, { accountId, uuid });
    if (name === null) throw new AppError("not_found", "The passkey does not exist.");
    await demandWayIn(tx, { accountId, offers });
    await noteWay(tx, { person, what: "passkeyRemoved", after: { name }, at: now });
  });
}

/** The passkey that a browser names, for whoever checks its answer. */
export async function lookUpPasskey(database: Database, credentialId: string): Promise<Passkey | null> {
  return findPasskey(database, credentialId);
}

/** The passkeys of an account. */
export async function passkeysOf(database: Database, accountId: number): Promise<Passkey[]> {
  return listPasskeys(database, accountId);
}

/** Writes down that a passkey was used. AppError `invalid` when it was taken away, or used elsewhere, meanwhile. */
export async function usePasskey(
  database: Database,
  { passkey, useCount, now }: { passkey: Passkey; useCount: number; now: Instant },
): Promise<void> {
  await inTransaction(database, (tx) => countUse(tx, { passkeyId: passkey.id, useCount, at: now }));
}

async function countUse(tx: Tx, use: { passkeyId: number; useCount: number; at: Instant }): Promise<void> {
  if (await writePasskeyUse(tx, use)) return;
  throw new AppError("invalid", "The passkey could not be verified. Try again.");
}

/** Lets somebody in whose passkey was found to be right. AppError `invalid`, likewise. */
export async function signInWithPasskey(
  database: Database,
  request: { passkey: Passkey; useCount: number; visitor: Visitor; nextPath: string | null },
): Promise<Admitted> {
  const { passkey, useCount, visitor, nextPath } = request;
  return inRetriedTransaction(database, async (tx) => {
    await countUse(tx, { passkeyId: passkey.id, useCount, at: visitor.now });
    return admit(tx, { accountId: passkey.accountId, method: "passkey", visitor, nextPath });
  });
}
