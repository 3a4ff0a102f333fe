// Admins who revoke rights or close their accounts at the same time: one is always left. Also an account that is
// closed while a user joins its project, and a project that is deleted while it gets a check.
import { describe, expect, test } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import { changeAccount } from "../../src/operations/admin.ts";
import { audit } from "../../src/operations/audit.ts";
import { createCheck } from "../../src/operations/checks.ts";
import { closeAccount } from "../../src/operations/profile.ts";
import { removeProjectIn } from "../../src/operations/projects.ts";
import { type Account, lockAdmins, writeAdmin } from "../../src/store/accounts.ts";
import { listChecks } from "../../src/store/checks.ts";
import { insertMember, listMembers, lockProject } from "../../src/store/projects.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { creation } from "../support/checks-under-change.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON as NOW, sampleAccount, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const ROUNDS = 8;

async function newOperator(): Promise<Account> {
  const account = await sampleAccount(database.db);
  await inTransaction(database.db, (tx) => writeAdmin(tx, { accountId: account.id, isAdmin: true }));
  return { ...account, isAdmin: true };
}

const putDown = (actor: Account, { uuid }: Account) =>
  changeAccount(database.db, { actorId: actor.id, accountUuid: uuid, isAdmin: false, now: NOW });
const close = (account: Account) => closeAccount(database.db, { account, now: NOW });

describe("Two admins at once", () => {
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
      const left = await inTransaction(database.db, lockAdmins);
      expect([refusals.length, left.length]).toEqual([1, 1]);
      expect(refusals[0]).toBeInstanceOf(AppError);
    }
  });
});

test("Admins can still work while their number is checked", async () => {
  const { db } = database;
  const operator = await newOperator();
  const change = { projectId: null, accountId: operator.id, keyId: null, before: null, after: null, at: NOW };
  await inTransaction(db, async (tx) => {
    expect(await lockAdmins(tx)).toContain(operator.id);
    await inTransaction(db, (other) => audit(other, { ...change, what: "project.renamed", subject: "Shop" }));
  });
});

test("An account that is closed takes its name and the addresses that it had out of the record", async () => {
  const { db } = database;
  const [person, actor] = [await sampleAccount(db), await sampleAccount(db)];
  const was = "maiden-name@example.org";
  const about = { projectId: null, accountId: actor.id, keyId: null, at: NOW };
  await inTransaction(db, async (tx) => {
    await audit(tx, { ...about, what: "account.created", subject: was, before: null, after: null });
    const sides = { before: { email: was }, after: { email: person.email } };
    const own = { ...about, accountId: person.id, subject: person.email };
    await audit(tx, { ...own, what: "account.emailChanged", ...sides });
    await audit(tx, { ...own, what: "account.changed", before: { name: "" }, after: { name: "Noor" } });
  });
  await close(person);
  const { rows } = await db.pool.query<{ text: string }>("select e::text as text from audit_entries e");
  const record = rows.map(({ text }) => text).join("\n");
  for (const gone of [was, person.email, "Noor"]) expect(record).not.toContain(gone);
  expect(record).toContain("account.closed");
});

test("An account is not closed with a project that another user is joining", async () => {
  const { db } = database;
  const [owner, guest] = [await sampleAccount(db), await sampleAccount(db)];
  const { id: projectId } = await sampleProject(db, { ownerId: owner.id });
  const joined = Promise.withResolvers<void>();
  const joining = inTransaction(db, async (tx) => {
    await lockProject(tx, projectId);
    await insertMember(tx, { projectId, accountId: guest.id, role: "member", at: NOW });
    joined.resolve();
    await somebodyWaits();
  });
  await joined.promise;
  await expect(close(owner)).rejects.toMatchObject({ code: "conflict" });
  await joining;
  expect((await listMembers(db, projectId)).map(({ accountId }) => accountId)).toEqual([owner.id, guest.id]);
});

test("A project that is being deleted gets no new check", async () => {
  const { db } = database;
  const project = await sampleProject(db);
  const removed = Promise.withResolvers<void>();
  const removing = inTransaction(db, async (tx) => {
    await removeProjectIn(tx, { project, by: { accountId: null, keyId: null }, now: NOW });
    removed.resolve();
    await somebodyWaits();
  });
  await removed.promise;
  expect(await createCheck(db, creation(project.id))).toEqual({ kind: "not found" });
  await removing;
  expect(await listChecks(db, { projectId: project.id })).toEqual([]);
});

/** Until another transaction waits for a lock that the caller holds. */
async function somebodyWaits(): Promise<void> {
  const waiting =
    "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
  const { pool } = database.db;
  while ((await pool.query(waiting)).rowCount === 0) await new Promise((done) => setTimeout(done, 5));
}
