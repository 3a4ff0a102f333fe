// Which secret key stored values were made with, and the key pair for Web Push.
import { randomBytes, randomUUID } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import { DAY_MS } from "../../src/core/instant.ts";
import { insertApiKey, listApiKeys, revokeApiKey } from "../../src/store/api-keys.ts";
import {
  findAuthenticator,
  useRecoveryCode,
  writeAuthenticator,
  writeRecoveryCodes,
} from "../../src/store/credentials.ts";
import {
  countSecretUses,
  findPushKey,
  labelSecretUses,
  lockOtherSeals,
  writePushKey,
  writeSeals,
} from "../../src/store/secrets.ts";
import { insertAccessToken } from "../../src/store/tokens.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON as NOW, sampleAccount, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);
const count = (previousId: string | null = "previous") =>
  countSecretUses(database.db, { currentId: "current", previousId, now: NOW });

let projectId: number;
let accountId: number;

beforeEach(async () => {
  const tables = ["api_keys", "access_tokens", "authenticators", "recovery_codes"];
  for (const table of tables) await database.db.pool.query(`delete from ${table}`);
  accountId = (await sampleAccount(database.db)).id;
  projectId = (await sampleProject(database.db)).id;
});

const addKey = (secretId: string) =>
  write((tx) =>
    insertApiKey(tx, {
      projectId,
      kind: "readWrite",
      name: "",
      prefix: "odw_abcd",
      digest: randomBytes(32),
      secretId,
      createdAt: NOW,
    }),
  );
const addToken = (secretId: string, expiresAt: number) =>
  write((tx) =>
    insertAccessToken(tx, {
      uuid: randomUUID(),
      accountId,
      name: "CI",
      scope: "read",
      prefix: "ovd_abcd",
      digest: randomBytes(32),
      secretId,
      createdAt: NOW,
      expiresAt,
    }),
  );
const addApp = (sealed: string, { of = accountId, secretId = "previous" } = {}) =>
  write((tx) => writeAuthenticator(tx, { accountId: of, sealed: Buffer.from(sealed), secretId, at: NOW }));

test("values are counted by their key, as long as they can be used", async () => {
  for (const secretId of ["current", "previous", "previous", "lost"]) await addKey(secretId);
  const [, revoked] = await listApiKeys(database.db, projectId);
  await write((tx) => revokeApiKey(tx, { keyId: revoked?.id ?? 0, projectId, at: NOW }));
  await addToken("previous", NOW + DAY_MS);
  await addToken("previous", NOW);
  await addApp("secret");
  const digests = [randomBytes(32), randomBytes(32)];
  await write((tx) => writeRecoveryCodes(tx, { accountId, digests, secretId: "previous" }));
  await write((tx) => useRecoveryCode(tx, { accountId, digests: digests.slice(0, 1), at: NOW }));
  expect(await count()).toEqual({
    apiKeys: { previous: 1, neither: 1 },
    accessTokens: { previous: 1, neither: 0 },
    authenticators: { previous: 1, neither: 0 },
    recoveryCodes: { previous: 1, neither: 0 },
  });
  // Without a previous key, nothing needs it.
  expect((await count(null)).apiKeys).toEqual({ previous: 0, neither: 2 });
});

test("values of an earlier release are labeled once", async () => {
  await addKey("previous");
  await addApp("secret");
  await database.db.pool.query(
    "update api_keys set secret_id = null; update authenticators set secret_id = null",
  );
  expect(await count()).toMatchObject({ apiKeys: { previous: 1 }, authenticators: { previous: 1 } });
  expect(await write((tx) => labelSecretUses(tx, "current"))).toBe(2);
  expect(await write((tx) => labelSecretUses(tx, "other"))).toBe(0);
  const none = { previous: 0, neither: 0 };
  expect(await count()).toMatchObject({ apiKeys: none, authenticators: none });
});

test("seals of other keys are found in batches and replaced", async () => {
  const others = [await sampleAccount(database.db), await sampleAccount(database.db)].map(({ id }) => id);
  const [second = 0, third = 0] = others;
  await addApp("one");
  await addApp("two", { of: second });
  await addApp("three", { of: third, secretId: "current" });
  await database.db.pool.query("update authenticators set secret_id = null where account_id = $1", [second]);
  const find = (afterId: number, limit = 10) =>
    write((tx) => lockOtherSeals(tx, { secretId: "current", afterId, limit }));
  expect(await find(0, 1)).toEqual([{ accountId, sealed: Buffer.from("one") }]);
  expect(await find(accountId)).toEqual([{ accountId: second, sealed: Buffer.from("two") }]);
  const apps = [{ accountId, sealed: Buffer.from("new") }];
  await write((tx) => writeSeals(tx, { apps, secretId: "current" }));
  expect((await find(0)).map((app) => app.accountId)).toEqual([second]);
  expect((await findAuthenticator(database.db, accountId))?.sealed).toEqual(Buffer.from("new"));
});

test("the key pair for Web Push is stored once", async () => {
  expect(await findPushKey(database.db)).toBeNull();
  for (const text of ["one", "two"]) {
    await write((tx) => writePushKey(tx, Buffer.from(text)));
    expect(await findPushKey(database.db)).toEqual(Buffer.from(text));
  }
});
