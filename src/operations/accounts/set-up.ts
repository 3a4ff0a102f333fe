// The first account: made by whoever reads the log of the process, with a link that is printed there. There is no
// default password, and nobody else can make it.
import { randomUUID } from "node:crypto";
import { passwordProblem } from "../../core/accounts/password-rules.ts";
import { AppError } from "../../core/errors.ts";
import { newPingKey } from "../../core/identity.ts";
import type { Instant } from "../../core/instant.ts";
import { ACCOUNT_NAME_LENGTH_MAX } from "../../core/limits.ts";
import { randomText } from "../../lib/secrets/random-text.ts";
import { hasOperator, writeOperator } from "../../store/accounts/accounts.ts";
import { writePassword } from "../../store/accounts/credentials.ts";
import { countOwnedProjects } from "../../store/accounts/project-changes.ts";
import {
  type Account,
  findAccountByEmail,
  insertAccount,
  insertProject,
} from "../../store/accounts/projects.ts";
import type { Database } from "../../store/db.ts";
import { inTransaction, type Tx } from "../../store/transaction.ts";
import { inRetriedTransaction } from "../changing/retried.ts";
import { normalEmail } from "../create-account.ts";
import { admit, type Admitted, type Visitor } from "./sign-in/admit.ts";
import { audit } from "./audit.ts";
import { hashed } from "./sign-in/password-turns.ts";
import { giveRandom, readToken, takeToken } from "./sign-in/tokens.ts";

/** What the first project of a new account is called. */
const FIRST_PROJECT = "My project";

/** The page that leads on from the first account to the first ping. */
const WELCOME_PATH = "/welcome/";

/** The end of the link that makes the first account; null when there is somebody who may administer. Earlier links end. */
export async function ensureOwnerLink(
  database: Database,
  { now }: { now: Instant },
): Promise<{ token: string } | null> {
  return inTransaction(database, async (tx) => {
    if (await hasOperator(tx)) return null;
    const token = await giveRandom(tx, {
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
export async function isSetUpLink(
  database: Database,
  { token, now }: { token: string; now: Instant },
): Promise<boolean> {
  if ((await readToken(database, { token, purposes: ["setUp"], now })) === null) return false;
  return !(await hasOperator(database));
}

export type SetUpRequest = {
  token: string;
  email: string;
  name: string;
  password: string;
  visitor: Visitor;
};

/** Makes the first account, with a project, and signs it in. AppError when the link or a field is not good. */
export async function finishSetUp(database: Database, request: SetUpRequest): Promise<Admitted> {
  const { token, visitor } = request;
  const { now } = visitor;
  const email = normalEmail(request.email);
  const problem = passwordProblem(request.password, { email });
  if (problem !== null) throw new AppError("invalid", problem, "password");
  // A hash is dear, and whoever has no link must not make us work.
  if (!(await isSetUpLink(database, { token, now }))) {
    throw new AppError("not_found", "This link has already been used or has expired.");
  }
  const hash = await hashed(request.password);
  return inRetriedTransaction(database, async (tx) => {
    await takeToken(tx, { token, purposes: ["setUp"], now });
    if (await hasOperator(tx)) throw new AppError("conflict", "The admin account was already created.");
    const account = await findOrAddAccount(tx, { email, name: request.name, now });
    await writeOperator(tx, { accountId: account.id, isOperator: true });
    await writePassword(tx, { accountId: account.id, hash, at: now });
    await addFirstProject(tx, { accountId: account.id, now });
    return admit(tx, { accountId: account.id, method: "setUp", visitor, nextPath: WELCOME_PATH });
  });
}

/** The account of an address, made if there is none. */
export async function findOrAddAccount(tx: Tx, of: NewAccount): Promise<Account> {
  return (await findAccountByEmail(tx, of.email)) ?? addAccount(tx, of);
}

type NewAccount = { email: string; name: string; now: Instant };

/** A new account. The database refuses (`unique_violation`) an address that has one. */
export async function addAccount(tx: Tx, { email, name, now }: NewAccount): Promise<Account> {
  const account = {
    uuid: randomUUID(),
    email,
    name: name.trim().slice(0, ACCOUNT_NAME_LENGTH_MAX),
    isOperator: false,
    checkLimit: null,
    pingLogLimit: null,
    createdAt: now,
  };
  const id = await insertAccount(tx, account);
  await audit(tx, {
    projectId: null,
    accountId: id,
    keyId: null,
    what: "account.created",
    subject: email,
    before: null,
    after: null,
    at: now,
  });
  return { ...account, id };
}

/** Gives an account that owns nothing its first project. */
export async function addFirstProject(
  tx: Tx,
  { accountId, now }: { accountId: number; now: Instant },
): Promise<void> {
  if ((await countOwnedProjects(tx, accountId)) > 0) return;
  await insertProject(tx, {
    uuid: randomUUID(),
    name: FIRST_PROJECT,
    ownerId: accountId,
    pingKey: newPingKey(randomText),
    badgeKey: randomUUID(),
    createdAt: now,
  });
}
