// Whether the database responds, and within which time.
import { expect, test } from "vitest";
import { openDatabase } from "../../src/store/db.ts";
import { askDatabase, findSecretKey, findStoredSecret, isReadOnly } from "../../src/store/instance.ts";
import { openTestDatabase, useDatabase } from "../support/database.ts";

const database = useDatabase();

test("a database that answers is well", async () => {
  await expect(askDatabase(database.db, { limitMs: 2_000 })).resolves.toBeUndefined();
});

test("one that is not there is not", async () => {
  const nowhere = openDatabase({
    url: "postgres://nobody@127.0.0.1:1/nothing",
    applicationName: "overdue-test",
    onError: () => {},
  });
  await expect(askDatabase(nowhere, { limitMs: 2_000 })).rejects.toThrow("ECONNREFUSED");
  await nowhere.close();
});

test("the wait for a free connection counts, and the next question is answered", async () => {
  const db = openTestDatabase(database.url);
  const taken = await Promise.all(Array.from({ length: 10 }, () => db.pool.connect()));
  await expect(askDatabase(db, { limitMs: 50 })).rejects.toThrow("not finished within 50 ms");
  for (const client of taken) client.release();
  await expect(askDatabase(db, { limitMs: 2_000 })).resolves.toBeUndefined();
  await db.close();
});

test("one that refuses changes is read-only", async () => {
  expect(await isReadOnly(database.db)).toBe(false);
  const db = openTestDatabase(`${database.url}?options=-c%20default_transaction_read_only%3Don`);
  expect(await isReadOnly(db)).toBe(true);
  await db.close();
});

test("the stored secret is the key, unless another one is configured", async () => {
  expect(await findStoredSecret(database.db)).toBe(await findSecretKey(database.db));
});
