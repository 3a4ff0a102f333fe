// PgBouncer: rejected in transaction mode with a helpful message, accepted in session mode.
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import pg from "pg";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { isUnreachable } from "../../src/lib/postgres-error.ts";
import { openDatabase } from "../../src/store/db.ts";
import { UnusableDatabaseError } from "../../src/store/errors.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import { migrate, refuseTransactionPooling } from "../../src/store/migrate.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { isPgbouncerInstalled, type PgbouncerOptions, startPgbouncer } from "../support/pgbouncer.ts";

const database = useDatabase();
const options = (url: string) => {
  return { url, applicationName: "overdue-test", onError: () => {}, requireDurable: false };
};

test("PostgreSQL itself is accepted", async () => {
  await expect(refuseTransactionPooling(options(database.url))).resolves.toBeUndefined();
});

test("an unreachable database has its own error", async () => {
  const asked = refuseTransactionPooling(options("postgres://nobody@127.0.0.1:1/nothing"));
  await expect(asked).rejects.toThrow("ECONNREFUSED");
});

test("a database that is too busy to respond is waited for like one that is down", async () => {
  const mute = createServer();
  mute.listen(0, "127.0.0.1");
  await once(mute, "listening");
  const { port } = mute.address() as AddressInfo;
  onTestFinished(() => void mute.close());
  const refusal: unknown = await refuseTransactionPooling(
    options(`postgres://nobody@127.0.0.1:${port}/nothing`),
  ).catch((error: unknown) => error);
  expect(isUnreachable(refusal), String(refusal)).toBe(true);
});

describe.skipIf(!isPgbouncerInstalled)("through PgBouncer", () => {
  let stop = async () => {};
  afterEach(() => stop());

  async function through(poolMode: PgbouncerOptions["poolMode"], settings: string[] = []): Promise<string> {
    const pooler = await startPgbouncer({ databaseUrl: database.url, poolMode, settings });
    stop = () => pooler.stop();
    return pooler.url;
  }

  /** Two transactions at once, so that the pool opens all its server connections. */
  async function openAllServers(url: string): Promise<void> {
    const clients = [new pg.Client(url), new pg.Client(url)];
    await Promise.all(clients.map((client) => client.connect()));
    await Promise.all(clients.map((client) => client.query("select pg_sleep(0.05)")));
    await Promise.all(clients.map((client) => client.end()));
  }

  test.each([
    ["as it comes", []],
    ["with two servers taken in turn", ["server_round_robin = 1", "default_pool_size = 2"]],
    ["with a single server", ["default_pool_size = 1"]],
  ])("in transaction mode, %s, every operation is refused", async (_, settings) => {
    const url = await through("transaction", settings);
    await openAllServers(url);
    const refused = await refuseTransactionPooling(options(url)).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(UnusableDatabaseError);
    expect(String(refused)).toMatch(/transaction mode.*pool_mode = session/s);
    await expect(migrate(options(url))).rejects.toThrow("transaction mode");
  });

  test("in session mode statements stay prepared and settings stay set", async () => {
    const url = await through("session");
    await refuseTransactionPooling(options(url));
    const db = openDatabase(options(url));
    try {
      for (let i = 0; i < 3; i++) await inTransaction(db, (tx) => readDatabaseClock(tx));
      const { rows } = await db.pool.query("select current_setting('lock_timeout') as lock_timeout");
      expect(rows).toEqual([{ lock_timeout: "500ms" }]);
    } finally {
      await db.close();
    }
  });
});
