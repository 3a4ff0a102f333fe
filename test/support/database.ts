// A separate database for each test file: a copy of the migrated template, dropped at the end after checking that the
// file left no connection open.
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, expect, inject } from "vitest";
import { type Database, openDatabase } from "../../src/store/db.ts";
import { TEMPLATE_DATABASE } from "./set-up-postgres.ts";

/** A backend needs a moment to notice that its client has gone. */
const GOODBYE_MS = 20_000;
const GOODBYE_POLL_MS = 20;

export type TestDatabase = {
  /** The pool under test; open from the first test to the last. */
  readonly db: Database;
  /** URL of the same database, for tests that connect themselves (and must disconnect again). */
  readonly url: string;
};

/** Call at the top of a test file. `empty: true` gives a database without any schema. */
export function useDatabase(options: { empty?: boolean } = {}): TestDatabase {
  const name = `test_${randomBytes(8).toString("hex")}`;
  let db: Database | undefined;
  const url = () => inject("postgresUrl").replace(/\/postgres$/, `/${name}`);

  beforeAll(async () => {
    await onServer((admin) =>
      admin.query(`create database ${name} template ${options.empty ? "template0" : TEMPLATE_DATABASE}`),
    );
    db = openTestDatabase(url());
  });

  afterAll(async () => {
    await db?.close();
    await onServer(async (admin) => {
      const left = await openConnections(admin, name);
      await admin.query(`drop database if exists ${name} with (force)`);
      expect(left, "connections that this file left open, by their last statement").toEqual([]);
    });
  });

  return {
    get db() {
      if (db === undefined) throw new Error("the database is there from the first test on, not before");
      return db;
    },
    get url() {
      return url();
    },
  };
}

/** A pool for tests: fast instead of durable; tests that break connections declare that errors are expected. */
export function openTestDatabase(
  url: string,
  onError: (error: Error) => void = (error) => {
    throw error;
  },
): Database {
  return openDatabase({ url, applicationName: "overdue-test", requireDurable: false, onError });
}

async function onServer<T>(work: (admin: pg.Client) => Promise<T>): Promise<T> {
  const admin = new pg.Client({ connectionString: inject("postgresUrl") });
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.end();
  }
}

async function openConnections(admin: pg.Client, database: string): Promise<string[]> {
  const deadline = performance.now() + GOODBYE_MS;
  for (;;) {
    const { rows } = await admin.query<{ query: string }>(
      "select query from pg_stat_activity where datname = $1 and backend_type = 'client backend'",
      [database],
    );
    if (rows.length === 0 || performance.now() > deadline) return rows.map(({ query }) => query);
    await sleep(GOODBYE_POLL_MS);
  }
}
