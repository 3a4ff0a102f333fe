// API keys: found by digest, listed, used, revoked, deleted.
import { randomBytes, randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { uniqueKey } from "../../src/core/identity.ts";
import { sha1Hex } from "../../src/lib/secrets.ts";
import {
  type CheckNames,
  findKeysWithChecks,
  findKeyWithProject,
  insertApiKey,
  type KeyWithCheck,
  listApiKeys,
  pruneApiKeys,
  renewApiKeys,
  revokeApiKey,
  touchApiKeys,
} from "../../src/store/api-keys.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

async function sampleKey(projectId: number, kind: "readWrite" | "readOnly" = "readWrite") {
  const digest = randomBytes(32);
  const made = { name: "ci", prefix: "odw_abcd", digest, secretId: "previous", createdAt: MONDAY_NOON };
  const key = await inTransaction(database.db, (tx) => insertApiKey(tx, { projectId, kind, ...made }));
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
  const found = await findKeyWithProject(database.db, [digest]);
  const { id, kind, projectId } = key;
  expect(found).toMatchObject({
    key: { id, kind, projectId },
    digest,
    secretId: "previous",
    project: { id: project.id, uuid: project.uuid },
  });
  expect(found?.at).toBeTypeOf("number");
  expect(await findKeyWithProject(database.db, [randomBytes(32)])).toBeNull();
});

test("keys are found together with checks, by UUID in any project, by unique key only in their own", async () => {
  const project = await sampleProject(database.db);
  const { key, digest } = await sampleKey(project.id, "readOnly");
  const own = await sampleCheck(database.db, { projectId: project.id, name: "own" });
  const foreign = await sampleCheck(database.db, { projectId: (await sampleProject(database.db)).id });
  const find = (namedBy: CheckNames, names: string[]) =>
    findKeysWithChecks(database.db, { namedBy, lookups: names.map((name) => ({ digests: [digest], name })) });
  const idsOf = (results: KeyWithCheck[]) => results.map(({ check }) => check?.id ?? null);
  const uuids = [foreign.uuid, own.uuid, randomUUID(), own.uuid];
  const uniqueKeys = uuids.map((uuid) => uniqueKey(uuid, sha1Hex));
  const byUuid = await find("uuid", uuids);
  expect(idsOf(byUuid)).toEqual([foreign.id, own.id, null, own.id]);
  expect(idsOf(await find("uniqueKey", uniqueKeys))).toEqual([null, own.id, null, own.id]);
  for (const { found } of byUuid) {
    expect(found).toMatchObject({ key: { id: key.id }, digest, project: { uuid: project.uuid } });
  }
  const { settings, badgeUuid } = own;
  expect(byUuid[1]?.check).toMatchObject({ settings, badgeUuid, channelUuids: [], projectId: project.id });
  const unknown = { digests: [randomBytes(32)], name: own.uuid };
  const mixed = [unknown, { digests: [randomBytes(32), digest], name: own.uuid }];
  const [none, some] = await findKeysWithChecks(database.db, { namedBy: "uuid", lookups: mixed });
  expect([none, some?.check?.id]).toEqual([{ found: null, check: null }, own.id]);
  await database.db.pool.query("update checks set deleted_at = now() where id = $1", [own.id]);
  expect(idsOf(await find("uuid", [own.uuid]))).toEqual([null]);
  expect(idsOf(await find("uniqueKey", [uniqueKey(own.uuid, sha1Hex)]))).toEqual([null]);
});

test("a key is found by any of its digests, by the first if there are two, and gets the current one", async () => {
  const { id: projectId } = await sampleProject(database.db);
  const [{ key, digest: previous }, other] = [await sampleKey(projectId), await sampleKey(projectId)];
  const check = await sampleCheck(database.db, { projectId });
  const digest = randomBytes(32);
  const lookUp = async (...digests: Buffer[]) => {
    const found = await findKeyWithProject(database.db, digests);
    const lookups = [{ digests, name: check.uuid }];
    const [together] = await findKeysWithChecks(database.db, { namedBy: "uuid", lookups });
    expect(together?.found?.key).toEqual(found?.key);
    return { id: found?.key.id ?? null, secretId: found?.secretId ?? null };
  };
  const renew = () =>
    inTransaction(database.db, (tx) => renewApiKeys(tx, [{ keyId: key.id, digest, secretId: "current" }]));
  expect(await lookUp(digest, previous)).toEqual({ id: key.id, secretId: "previous" });
  expect((await lookUp(previous, other.digest)).id).toBe(key.id);
  expect((await lookUp(other.digest, previous)).id).toBe(other.key.id);
  await renew();
  expect(await lookUp(previous)).toEqual({ id: null, secretId: null });
  expect(await lookUp(digest, previous)).toEqual({ id: key.id, secretId: "current" });
  // Another key with the same digest keeps it.
  await database.db.pool.query("update api_keys set digest = $1 where id = $2", [previous, key.id]);
  await database.db.pool.query("update api_keys set digest = $1 where id = $2", [digest, other.key.id]);
  await renew();
  expect((await lookUp(digest)).id).toBe(other.key.id);
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
  expect(await findKeyWithProject(database.db, [digest])).toBeNull();
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
