// Creating accounts.
import { randomUUID } from "node:crypto";
import { AppError } from "../core/errors.ts";
import { newProjectIds } from "../core/identity.ts";
import type { Instant } from "../core/instant.ts";
import { ACCOUNT_NAME_LENGTH_MAX, EMAIL_ADDRESS_LENGTH_MAX } from "../core/limits.ts";
import { randomText } from "../lib/secrets.ts";
import { type Account, findAccountByEmail, insertAccount } from "../store/accounts.ts";
import type { Database } from "../store/db.ts";
import { postgresErrorName } from "../store/errors.ts";
import { countOwnedProjects, insertProject } from "../store/projects.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { audit } from "./audit.ts";

/** Maximum length of an email address. */
/** One @ with text on both sides, no spaces. */
const EMAIL = /^[^\s@]+@[^\s@]+$/;

export type AccountRequest = {
  email: string;
  name: string;
  isAdmin: boolean;
  checkLimit: number | null;
  now: Instant;
};

/** The form in which addresses are stored and compared, or an AppError `invalid`. */
export function normalEmail(text: string): string {
  const email = text.trim().toLowerCase();
  if (!EMAIL.test(email) || email.length > EMAIL_ADDRESS_LENGTH_MAX) {
    throw new AppError("invalid", `"${text}" is not a valid email address.`, "email");
  }
  return email;
}

/** Creates an account, for the command line. AppError `conflict` if the address has one. */
export async function createAccount(database: Database, request: AccountRequest): Promise<Account> {
  if (request.name.length > ACCOUNT_NAME_LENGTH_MAX) {
    throw new AppError("invalid", `The name can have at most ${ACCOUNT_NAME_LENGTH_MAX} characters.`);
  }
  const account = {
    uuid: randomUUID(),
    email: normalEmail(request.email),
    name: request.name,
    isAdmin: request.isAdmin,
    checkLimit: request.checkLimit,
    pingLogLimit: null,
    createdAt: request.now,
  };
  try {
    return await inTransaction(database, async (tx) => {
      const id = await insertAccount(tx, account);
      const { email: subject, isAdmin, checkLimit } = account;
      const by = { projectId: null, accountId: null, keyId: null };
      const after = { isAdmin, checkLimit };
      await audit(tx, { ...by, what: "account.created", subject, before: null, after, at: request.now });
      return { id, ...account };
    });
  } catch (error) {
    if (postgresErrorName(error) !== "unique_violation") throw error;
    throw new AppError("conflict", `An account for ${account.email} already exists.`);
  }
}

/** Name of the first project of a new account. */
const FIRST_PROJECT = "My project";

/** The account of an address; created if there is none. */
export async function findOrAddAccount(tx: Tx, of: NewAccount): Promise<Account> {
  return (await findAccountByEmail(tx, of.email)) ?? addAccount(tx, of);
}

type NewAccount = { email: string; name: string; now: Instant };

/** Inserts an account. `unique_violation` if the address has one. */
export async function addAccount(tx: Tx, { email, name, now }: NewAccount): Promise<Account> {
  const account = {
    uuid: randomUUID(),
    email,
    name: name.trim().slice(0, ACCOUNT_NAME_LENGTH_MAX),
    isAdmin: false,
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

/** Creates the first project of an account without projects. */
export async function addFirstProject(
  tx: Tx,
  { accountId, now }: { accountId: number; now: Instant },
): Promise<void> {
  if ((await countOwnedProjects(tx, accountId)) > 0) return;
  await insertProject(tx, {
    ...newProjectIds({ uuid: randomUUID, text: randomText }, tx.slots),
    name: FIRST_PROJECT,
    ownerId: accountId,
    createdAt: now,
  });
}
