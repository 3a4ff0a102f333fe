// Rows for tests of the store and of the operations: an account with a project, and checks in it. Every
// value can be named by the test that cares about it; the rest is plain.
import { randomBytes, randomUUID } from "node:crypto";
import { type CheckSettings, DEFAULT_SETTINGS } from "../../src/core/check.ts";
import { type Account, insertAccount } from "../../src/store/accounts.ts";
import { type CheckWithState, findCheckByUuid, insertCheck, insertState } from "../../src/store/checks.ts";
import type { Database } from "../../src/store/db.ts";
import { insertProject, type Project } from "../../src/store/projects.ts";
import { inTransaction } from "../../src/store/transaction.ts";

/** Noon of an ordinary Monday: the moment at which tests usually begin. */
export const MONDAY_NOON = Date.UTC(2026, 10, 16, 12);

/** An account that nobody has used before. */
export async function sampleAccount(db: Database, given: Partial<Account> = {}): Promise<Account> {
  const account = {
    uuid: randomUUID(),
    email: `${randomBytes(6).toString("hex")}@example.org`,
    name: "Alice",
    isOperator: false,
    checkLimit: null,
    pingLogLimit: null,
    createdAt: MONDAY_NOON,
    ...given,
  };
  const id = await inTransaction(db, (tx) => insertAccount(tx, account));
  return { ...account, id };
}

/** A project with a ping key; its owner is new unless one is named. */
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

/** A new check with the default settings, changed as the test wants. */
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
