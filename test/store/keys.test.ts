// API keys: found by digest, listed, used, revoked, deleted.
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import {
  findKeyWithProject,
  insertApiKey,
  listApiKeys,
  pruneApiKeys,
  revokeApiKey,
  touchApiKeys,
} from "../../src/store/api-keys.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleProject } from "../support/sample.ts";

const database = useDatabase();

async function sampleKey(projectId: number, kind: "readWrite" | "readOnly" = "readWrite") {
  const digest = randomBytes(32);
  const key = await inTransaction(database.db, (tx) =>
    insertApiKey(tx, { projectId, kind, name: "ci", prefix: "odw_abcd", digest, createdAt: MONDAY_NOON }),
  );
  return { key, digest };
}

test("a key is found by its digest and by nothing else, with its project and the clock", async () => {
  const project = await sampleProject(database.db);
  const { key, digest } = await sampleKey(project.id, "readOnly");
  expect(key).toMatchObject({
    projectId: project.id,
    kind: "readOnly",
    prefix: "odw_abcd",
    lastUsedAt: null,
  });
  const found = await findKeyWithProject(database.db, digest);
  expect(found).toMatchObject({ key, digest, project: { id: project.id, uuid: project.uuid } });
  expect(found?.at).toBeTypeOf("number");
  expect(await findKeyWithProject(database.db, randomBytes(32))).toBeNull();
});

test("a project may have several keys of a kind", async () => {
  const { id: projectId } = await sampleProject(database.db);
  const { key: first } = await sampleKey(projectId);
  const { key: second } = await sampleKey(projectId);
  expect(await listApiKeys(database.db, projectId)).toEqual([first, second]);
});

test("a revoked key is no longer found, stays listed, and is deleted later", async () => {
  const { id: projectId } = await sampleProject(database.db);
  const { key, digest } = await sampleKey(projectId);
  const revoke = () =>
    inTransaction(database.db, (tx) => revokeApiKey(tx, { keyId: key.id, projectId, at: MONDAY_NOON }));
  expect(await revoke()).toBe(true);
  expect(await revoke()).toBe(false);
  expect(await findKeyWithProject(database.db, digest)).toBeNull();
  expect((await listApiKeys(database.db, projectId))[0]?.revokedAt).toBe(MONDAY_NOON);

  const prune = (before: number) =>
    inTransaction(database.db, (tx) => pruneApiKeys(tx, { before, limit: 10 }));
  expect(await prune(MONDAY_NOON)).toBe(0);
  expect(await prune(MONDAY_NOON + 1)).toBe(1);
  expect(await listApiKeys(database.db, projectId)).toEqual([]);
});

test("a key of another project cannot be revoked", async () => {
  const { key } = await sampleKey((await sampleProject(database.db)).id);
  const other = await sampleProject(database.db);
  const revoked = await inTransaction(database.db, (tx) =>
    revokeApiKey(tx, { keyId: key.id, projectId: other.id, at: MONDAY_NOON }),
  );
  expect(revoked).toBe(false);
});

test("last use moves forward only", async () => {
  const { id: projectId } = await sampleProject(database.db);
  const { key } = await sampleKey(projectId);
  const touch = (at: number) => inTransaction(database.db, (tx) => touchApiKeys(tx, [{ keyId: key.id, at }]));
  await touch(MONDAY_NOON + 5_000);
  await touch(MONDAY_NOON);
  expect((await listApiKeys(database.db, projectId))[0]?.lastUsedAt).toBe(MONDAY_NOON + 5_000);
});
