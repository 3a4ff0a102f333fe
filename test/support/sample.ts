// Rows for tests of the store and of operations: an account with a project, and its checks. Tests set the values they
// depend on; the rest are defaults.
import { randomBytes, randomUUID } from "node:crypto";
import { type CheckSettings, DEFAULT_SETTINGS } from "../../src/core/check.ts";
import { type Account, insertAccount } from "../../src/store/accounts.ts";
import { type CheckWithState, findCheckByUuid, insertCheck, insertState } from "../../src/store/checks.ts";
import type { Database } from "../../src/store/db.ts";
import { insertProject, type Project } from "../../src/store/projects.ts";
import { inTransaction } from "../../src/store/transaction.ts";

/** Noon of an ordinary Monday: the usual start time of tests. */
export const MONDAY_NOON = Date.UTC(2026, 10, 16, 12);

/** A new account. */
export async function sampleAccount(db: Database, given: Partial<Account> = {}): Promise<Account> {
  const account = {
    uuid: randomUUID(),
    email: `${randomBytes(6).toString("hex")}@example.org`,
    name: "Alice",
    isAdmin: false,
    checkLimit: null,
    pingLogLimit: null,
    createdAt: MONDAY_NOON,
    ...given,
  };
  const id = await inTransaction(db, (tx) => insertAccount(tx, account));
  return { ...account, id };
}

/** A project with a ping key; its owner is a new account unless given. */
export async function sampleProject(
  db: Database,
  given: Partial<Project> & { ownerId?: number } = {},
): Promise<Project> {
  const { ownerId = (await sampleAccount(db)).id, ...values } = given;
  const project = {
    uuid: randomUUID(),
    name: "Backups",
    pingKey: randomBytes(11).toString("hex"),
    badgeKey: randomUUID(),
    tz: "UTC",
    createdAt: MONDAY_NOON,
    ...values,
  };
  const id = await inTransaction(db, (tx) => insertProject(tx, { ...project, ownerId }));
  return { ...project, id };
}

/** A new check with default settings, changed by the test. */
export async function sampleCheck(
  db: Database,
  { projectId, ...settings }: { projectId: number } & Partial<CheckSettings>,
): Promise<CheckWithState> {
  const uuid = randomUUID();
  await inTransaction(db, async (tx) => {
    const checkId = await insertCheck(tx, {
      uuid,
      badgeUuid: randomUUID(),
      projectId,
      settings: { ...DEFAULT_SETTINGS, ...settings },
      createdAt: MONDAY_NOON,
    });
    await insertState(tx, checkId);
  });
  const check = await findCheckByUuid(db, uuid);
  if (check === null) throw new Error("the check that was just inserted is not there");
  return check;
}
