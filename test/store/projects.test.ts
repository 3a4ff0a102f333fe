// Accounts, projects and members.
import { expect, test } from "vitest";
import {
  findAccountByEmail,
  insertAccount,
  listAccounts,
  updateCheckLimit,
} from "../../src/store/accounts.ts";
import { postgresErrorName } from "../../src/store/errors.ts";
import {
  findProjectByPingKey,
  findProjectByUuid,
  findProjectOwner,
  insertProject,
  listProjectsOfAccount,
  writeProjectZone,
} from "../../src/store/projects.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { sampleAccount, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

test("an account is found by its address with everything it was given", async () => {
  const account = await sampleAccount(database.db, { checkLimit: 7, pingLogLimit: 300, isAdmin: true });
  expect(await findAccountByEmail(database.db, account.email)).toEqual(account);
  expect(await findAccountByEmail(database.db, "nobody@example.org")).toBeNull();
});

test("an address belongs to one account only", async () => {
  const { id: _, ...account } = await sampleAccount(database.db);
  const again = inTransaction(database.db, (tx) =>
    insertAccount(tx, { ...account, uuid: crypto.randomUUID() }),
  );
  expect(postgresErrorName(await again.catch((error: unknown) => error))).toBe("unique_violation");
});

test("a check limit can be set and removed again", async () => {
  const { id: accountId, email } = await sampleAccount(database.db);
  const set = (checkLimit: number | null) =>
    inTransaction(database.db, (tx) => updateCheckLimit(tx, { accountId, checkLimit }));
  expect(await set(50)).toBe(true);
  expect((await findAccountByEmail(database.db, email))?.checkLimit).toBe(50);
  expect(await set(null)).toBe(true);
  expect((await findAccountByEmail(database.db, email))?.checkLimit).toBeNull();
  const unknown = await inTransaction(database.db, (tx) =>
    updateCheckLimit(tx, { accountId: 999_999, checkLimit: 1 }),
  );
  expect(unknown).toBe(false);
});

test("accounts are listed page by page with the checks they own", async () => {
  const first = await sampleAccount(database.db);
  const second = await sampleAccount(database.db);
  const project = await sampleProject(database.db, { ownerId: second.id });
  await sampleCheck(database.db, { projectId: project.id });
  const page = await listAccounts(database.db, { afterId: first.id - 1, limit: 1 });
  expect(page).toEqual([{ ...first, checkCount: 0 }]);
  const next = await listAccounts(database.db, { afterId: first.id, limit: 10 });
  expect(next).toEqual([{ ...second, checkCount: 1 }]);
});

test("a project is found by its uuid and its ping key", async () => {
  const project = await sampleProject(database.db);
  expect(await findProjectByUuid(database.db, project.uuid)).toEqual(project);
  expect(await findProjectByPingKey(database.db, project.pingKey ?? "")).toEqual(project);
  expect(await findProjectByUuid(database.db, crypto.randomUUID())).toBeNull();
  expect(await findProjectByPingKey(database.db, "none")).toBeNull();
});

test("a project comes with its owner, and is listed among what the owner may enter", async () => {
  const owner = await sampleAccount(database.db);
  const project = await sampleProject(database.db, { ownerId: owner.id, pingKey: null });
  expect(await findProjectOwner(database.db, project.id)).toEqual(owner);
  expect(await listProjectsOfAccount(database.db, owner.id)).toEqual([{ ...project, role: "owner" }]);
  expect(await findProjectOwner(database.db, 999_999)).toBeNull();
});

test("a project without an owner cannot be made", async () => {
  const { id: _, ...project } = await sampleProject(database.db);
  const fresh = {
    ...project,
    uuid: crypto.randomUUID(),
    pingKey: null,
    badgeKey: crypto.randomUUID(),
    ownerId: 999_999,
  };
  const orphan = inTransaction(database.db, (tx) => insertProject(tx, fresh));
  expect(postgresErrorName(await orphan.catch((error: unknown) => error))).toBe("foreign_key_violation");
  expect(await findProjectByUuid(database.db, fresh.uuid)).toBeNull();
});

test("a project has UTC as its time zone until another one is written", async () => {
  const { id: projectId, uuid } = await sampleProject(database.db);
  expect((await findProjectByUuid(database.db, uuid))?.tz).toBe("UTC");
  await inTransaction(database.db, (tx) => writeProjectZone(tx, { projectId, zone: "Europe/Riga" }));
  expect((await findProjectByUuid(database.db, uuid))?.tz).toBe("Europe/Riga");
});
