import { randomBytes, randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { DAY_MS } from "../../src/core/instant.ts";
import {
  deleteAccessToken,
  deleteExpiredAccessTokens,
  findAccessToken,
  insertAccessToken,
  listAccessTokens,
  type NewAccessToken,
  pruneAccessTokens,
  renewAccessTokens,
  touchAccessTokens,
} from "../../src/store/tokens.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleAccount } from "../support/sample.ts";

const database = useDatabase();

const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);

async function sampleToken(accountId: number, given: Partial<NewAccessToken> = {}): Promise<NewAccessToken> {
  const token: NewAccessToken = {
    uuid: randomUUID(),
    accountId,
    name: "CI",
    scope: "write",
    prefix: "ovd_abcd",
    digest: randomBytes(32),
    secretId: "current",
    createdAt: MONDAY_NOON,
    expiresAt: MONDAY_NOON + DAY_MS,
    ...given,
  };
  await write((tx) => insertAccessToken(tx, token));
  return token;
}

test("a token is found by its digest, expired or not, with its owner", async () => {
  const account = await sampleAccount(database.db, { isAdmin: true });
  const { digest, secretId, accountId, ...token } = await sampleToken(account.id, {
    expiresAt: MONDAY_NOON - 1,
  });
  expect(await findAccessToken(database.db, [digest])).toMatchObject({
    token: { ...token, lastUsedAt: null },
    digest,
    secretId,
    person: { id: accountId, email: account.email, isAdmin: true, zone: null },
  });
  expect(await findAccessToken(database.db, [randomBytes(32)])).toBeNull();
});

test("the tokens of an account are listed newest first, and deleted only by their account", async () => {
  const [{ id: accountId }, other] = [await sampleAccount(database.db), await sampleAccount(database.db)];
  const first = await sampleToken(accountId, { scope: "read" });
  const second = await sampleToken(accountId, { name: "laptop", scope: "admin" });
  await sampleToken(other.id);
  const uuids = async () => (await listAccessTokens(database.db, accountId)).map(({ uuid }) => uuid);
  expect(await uuids()).toEqual([second.uuid, first.uuid]);
  const remove = (by: number) => write((tx) => deleteAccessToken(tx, { uuid: first.uuid, accountId: by }));
  expect(await remove(other.id)).toBeNull();
  expect(await remove(accountId)).toMatchObject({ uuid: first.uuid, name: "CI", scope: "read" });
  expect(await remove(accountId)).toBeNull();
  expect(await uuids()).toEqual([second.uuid]);
});

test("the last use only moves forward", async () => {
  const { id: accountId } = await sampleAccount(database.db);
  const { digest } = await sampleToken(accountId);
  const found = async () => (await findAccessToken(database.db, [digest]))?.token;
  const keyId = (await found())?.id ?? 0;
  for (const at of [MONDAY_NOON + 20, MONDAY_NOON + 10]) {
    await write((tx) => touchAccessTokens(tx, [{ keyId, at }]));
    expect((await found())?.lastUsedAt).toBe(MONDAY_NOON + 20);
  }
});

test("a token is found by any of its digests, and gets the current one", async () => {
  const { id: accountId } = await sampleAccount(database.db);
  const { digest: previous } = await sampleToken(accountId, { secretId: "previous" });
  const { digest: foreign } = await sampleToken(accountId, { name: "other" });
  const digest = randomBytes(32);
  const keyId = (await findAccessToken(database.db, [digest, previous]))?.token.id ?? 0;
  await write((tx) => renewAccessTokens(tx, [{ keyId, digest, secretId: "current" }]));
  expect(await findAccessToken(database.db, [previous])).toBeNull();
  expect(await findAccessToken(database.db, [digest])).toMatchObject({
    token: { id: keyId },
    secretId: "current",
  });
  expect((await findAccessToken(database.db, [foreign]))?.token.name).toBe("other");
});

test("expired tokens are deleted: those of an account at once, all others by age", async () => {
  const [one, other] = [await sampleAccount(database.db), await sampleAccount(database.db)];
  const valid = await sampleToken(one.id);
  await sampleToken(one.id, { expiresAt: MONDAY_NOON });
  const old = await sampleToken(other.id, { expiresAt: MONDAY_NOON - 90 * DAY_MS });
  const older = await sampleToken(other.id, { expiresAt: MONDAY_NOON - 91 * DAY_MS });
  const recent = await sampleToken(other.id, { expiresAt: MONDAY_NOON - DAY_MS });
  const uuids = async (accountId: number) =>
    (await listAccessTokens(database.db, accountId)).map(({ uuid }) => uuid);
  await write((tx) => deleteExpiredAccessTokens(tx, { accountId: one.id, now: MONDAY_NOON }));
  expect(await uuids(one.id)).toEqual([valid.uuid]);
  const prune = () => write((tx) => pruneAccessTokens(tx, { before: MONDAY_NOON - 30 * DAY_MS, limit: 1 }));
  expect(await prune()).toBe(1);
  expect(await uuids(other.id)).toEqual([recent.uuid, old.uuid]);
  expect(await uuids(other.id)).not.toContain(older.uuid);
  expect([await prune(), await prune()]).toEqual([1, 0]);
  expect(await uuids(other.id)).toEqual([recent.uuid]);
});
