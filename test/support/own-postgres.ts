// A separate durable PostgreSQL for one test file, migrated, for tests that crash it.
import { afterAll, beforeAll } from "vitest";
import { type Database, openDatabase } from "../../src/store/db.ts";
import { migrate } from "../../src/store/migrate.ts";
import { embeddedPostgres } from "./postgres-binaries.ts";
import { type PostgresServer, startPostgres } from "./postgres.ts";

const START_MS_MAX = 60_000;

export type OwnPostgres = { readonly server: PostgresServer; readonly db: Database };

/** Starts it before the first test of the file and stops it after the last. */
export function useOwnPostgres(): OwnPostgres {
  let running: { server: PostgresServer; db: Database } | null = null;
  const there = () => {
    if (running === null) throw new Error("the server is there only while tests run");
    return running;
  };
  beforeAll(async () => {
    const server = await startPostgres({ binaries: embeddedPostgres() });
    const options = { url: server.url(), applicationName: "test", onError: () => {} };
    await migrate(options);
    running = { server, db: openDatabase(options) };
  }, START_MS_MAX);
  afterAll(async () => {
    await running?.db.close();
    await running?.server.stop();
  });
  return {
    get server() {
      return there().server;
    },
    get db() {
      return there().db;
    },
  };
}
