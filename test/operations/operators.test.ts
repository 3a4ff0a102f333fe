// Operators who step down, are put down or close their accounts at the same time: somebody is always left. And an
// account that is closed while somebody joins its project.
import { describe, expect, test } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import { changeAccount } from "../../src/operations/accounts/administer.ts";
import { closeAccount } from "../../src/operations/accounts/profile.ts";
import { countOperators, writeOperator } from "../../src/store/accounts/accounts.ts";
import { insertMember, listMembers, lockProject } from "../../src/store/accounts/members.ts";
import type { Account } from "../../src/store/accounts/projects.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON as NOW, sampleAccount, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const ROUNDS = 8;

async function newOperator(): Promise<Account> {
  const account = await sampleAccount(database.db);
  await inTransaction(database.db, (tx) => writeOperator(tx, { accountId: account.id, isOperator: true }));
  return { ...account, isOperator: true };
}

const putDown = (actor: Account, { uuid }: Account) =>
  changeAccount(database.db, { actorId: actor.id, accountUuid: uuid, isOperator: false, now: NOW });
const close = (account: Account) => closeAccount(database.db, { account, now: NOW });

describe("Two operators at once", () => {
  test.each<[string, (one: Account, other: Account) => Promise<void>[]]>([
    ["step down", (one, other) => [putDown(one, one), putDown(other, other)]],
    ["put each other down", (one, other) => [putDown(one, other), putDown(other, one)]],
    ["close their accounts", (one, other) => [close(one), close(other)]],
    ["step down and close", (one, other) => [putDown(one, one), close(other)]],
  ])("%s: one of them is left", async (_, act) => {
    for (let round = 0; round < ROUNDS; round++) {
      await database.db.pool.query("update accounts set is_operator = false");
      const [one, other] = [await newOperator(), await newOperator()];
      const results = await Promise.allSettled(act(one, other));
      const refusals = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
      expect([refusals.length, await countOperators(database.db)]).toEqual([1, 1]);
      expect(refusals[0]).toBeInstanceOf(AppError);
    }
  });
});

test("An account is not closed with a project that somebody is joining", async () => {
  const { db } = database;
  const [owner, guest] = [await sampleAccount(db), await sampleAccount(db)];
  const { id: projectId } = await sampleProject(db, { ownerId: owner.id });
  const joined = Promise.withResolvers<void>();
  const joining = inTransaction(db, async (tx) => {
    await lockProject(tx, projectId);
    await insertMember(tx, { projectId, accountId: guest.id, role: "member", at: NOW });
    joined.resolve();
    await waitedFor();
  });
  await joined.promise;
  await expect(close(owner)).rejects.toMatchObject({ code: "conflict" });
  await joining;
  expect((await listMembers(db, projectId)).map(({ accountId }) => accountId)).toEqual([owner.id, guest.id]);

  /** Until somebody waits for what is held here. */
  async function waitedFor(): Promise<void> {
    const waiting =
      "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    while ((await db.pool.query(waiting)).rowCount === 0) await new Promise((done) => setTimeout(done, 5));
  }
});
