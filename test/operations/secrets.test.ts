// Replacing what was made with the previous secret key. test/accounts/secret-rotation.test.ts does it with a server.
import { beforeEach, expect, test } from "vitest";
import { seal, secretIdOf, unseal } from "../../src/lib/secrets.ts";
import { vapidKeysOf } from "../../src/lib/web-push.ts";
import {
  appSeal,
  digestsOfKey,
  pushKeysOf,
  renewSeals,
  secretRenewal,
  secretsOf,
  signingWith,
  unsealWith,
} from "../../src/operations/secrets.ts";
import { findAuthenticator, writeAuthenticator } from "../../src/store/credentials.ts";
import { findSecretKey } from "../../src/store/instance.ts";
import { findPushKey, writePushKey } from "../../src/store/secrets.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON as NOW, sampleAccount } from "../support/sample.ts";

const database = useDatabase();
const [FIRST, SECOND, THIRD] = ["first", "second", "third"].map((name) =>
  `${name}-secret-key-`.padEnd(40, "x"),
) as [string, string, string];
const only = (current: string) => ({ current, previous: null });
const changed = { current: SECOND, previous: FIRST };

beforeEach(async () => {
  await database.db.pool.query(
    "delete from authenticators; delete from instance_settings where name = 'push_key'",
  );
});

async function addApp(secretKey: string): Promise<number> {
  const { id: accountId } = await sampleAccount(database.db);
  const sealed = seal(`totp ${accountId}`, { ...appSeal(accountId), secretKey });
  await inTransaction(database.db, (tx) =>
    writeAuthenticator(tx, { accountId, sealed, secretId: secretIdOf(secretKey), at: NOW }),
  );
  return accountId;
}

const opened = async (accountId: number, secretKey: string) =>
  unseal((await findAuthenticator(database.db, accountId))?.sealed ?? Buffer.alloc(0), {
    ...appSeal(accountId),
    secretKey,
  });

test("the secret key comes from the settings or the database, the previous one from the settings", async () => {
  const stored = await findSecretKey(database.db);
  const read = (secretKey: string | null, secretKeyPrevious: string | null) =>
    secretsOf(database.db, { secretKey, secretKeyPrevious });
  expect(await read(null, FIRST)).toEqual({ current: stored, previous: FIRST });
  expect(await read(null, stored)).toEqual(only(stored));
  expect(await read(SECOND, FIRST)).toEqual(changed);
});

test("both keys sign and open what they made; a key looks the same to others", () => {
  const made = signingWith(only(FIRST)).sign("x");
  expect(signingWith(changed).sign("x")).not.toBe(made);
  expect(signingWith(changed).previous?.sign("x")).toBe(made);
  expect(signingWith({ current: SECOND, previous: "short" }).previous).toBeNull();
  const sealed = seal("text", { ...appSeal(7), secretKey: FIRST });
  expect(unsealWith(sealed, { ...appSeal(7), secrets: changed })).toBe("text");
  expect(unsealWith(sealed, { ...appSeal(8), secrets: changed })).toBeNull();
  expect(unsealWith(sealed, { ...appSeal(7), secrets: { current: SECOND, previous: THIRD } })).toBeNull();
  expect(digestsOfKey("key", changed)).toEqual([
    ...digestsOfKey("key", only(SECOND)),
    ...digestsOfKey("key", only(FIRST)),
  ]);
  expect(secretIdOf(FIRST)).toMatch(/^[0-9a-f]{16}$/);
  expect(secretIdOf(FIRST)).not.toBe(secretIdOf(SECOND));
});

test("seals are replaced in batches; those of a lost key stay as they are", async () => {
  const lost = await addApp(THIRD);
  const ids: number[] = [];
  for (let count = 0; count < 100; count++) ids.push(await addApp(FIRST));
  const first = await renewSeals(database.db, { secrets: changed });
  expect(first).toEqual({ renewed: 99, appsThrough: ids.at(-2) });
  const second = await renewSeals(database.db, { secrets: changed, appsAfter: first.appsThrough ?? 0 });
  expect(second).toEqual({ renewed: 1, appsThrough: null });
  for (const id of [ids[0] ?? 0, ids.at(-1) ?? 0]) {
    expect([await opened(id, SECOND), await opened(id, FIRST)]).toEqual([`totp ${id}`, null]);
  }
  expect(await opened(lost, THIRD)).toBe(`totp ${lost}`);
});

test("the key pair for Web Push survives two changes, and a process with an old key does not replace it", async () => {
  const { publicKey } = vapidKeysOf(FIRST);
  const keyWith = async (secrets: Parameters<typeof pushKeysOf>[1]) =>
    (await pushKeysOf(database.db, secrets)).publicKey;
  expect(await keyWith(only(FIRST))).toBe(publicKey);
  await renewSeals(database.db, { secrets: only(FIRST) });
  for (const secrets of [changed, { current: THIRD, previous: SECOND }]) {
    expect(await keyWith(secrets)).toBe(publicKey);
    await renewSeals(database.db, { secrets });
    expect(await keyWith(only(secrets.current))).toBe(publicKey);
  }
  const sealed = await findPushKey(database.db);
  await renewSeals(database.db, { secrets: only(SECOND) });
  expect(await findPushKey(database.db)).toEqual(sealed);
  // If the key that sealed it is gone, there is a pair all the same.
  await inTransaction(database.db, (tx) => writePushKey(tx, Buffer.alloc(60)));
  expect(await keyWith(only(SECOND))).toBe(vapidKeysOf(SECOND).publicKey);
});

test("progress is logged, and what needs the previous key when that changes", async () => {
  const id = await addApp(FIRST);
  await database.db.pool.query("update authenticators set secret_id = null");
  const said: unknown[] = [];
  const renew = secretRenewal(database.db, {
    settings: { secretKey: SECOND, secretKeyPrevious: FIRST },
    log: { info: (...given: unknown[]) => void said.push(given) },
  });
  expect([await renew(NOW), await renew(NOW)]).toEqual([true, true]);
  const none = { apiKeys: 0, accessTokens: 0, authenticators: 0, recoveryCodes: 0 };
  expect(said).toEqual([
    [{ renewed: 1 }, "secrets encrypted again with the current secret key"],
    [{ needed: none }, expect.stringMatching(/^OVERDUE_SECRET_KEY_PREVIOUS is only needed for badge URLs/)],
  ]);
  expect(await opened(id, SECOND)).toBe(`totp ${id}`);
});
