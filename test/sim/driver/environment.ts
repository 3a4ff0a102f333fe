// A real database with a virtual clock: a function named like PostgreSQL's clock function takes precedence and
// returns the virtual time.
import pg from "pg";
import { type Database, openDatabase } from "../../../src/store/db.ts";
import { migrate } from "../../../src/store/migrate.ts";
import { embeddedPostgres } from "../../support/postgres-binaries.ts";
import { startPostgres } from "../../support/postgres.ts";

const DATABASE = "world";
const CONNECTIONS_MAX = 8;

/** A sequence is visible to every session immediately and cheap to set. */
const CLOCK = `
  create schema simulated;
  create sequence simulated.milliseconds minvalue 0;
  create function simulated.clock_timestamp() returns timestamptz language sql volatile as
    'select to_timestamp(last_value / 1000::float8) from simulated.milliseconds';`;

export type Environment = {
  database: Database;
  /** Sets the virtual clock. */
  setClock(at: number): Promise<void>;
  /** Runs a query that no operation provides. */
  rows<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
};

/** Prepares a migrated database. */
export async function openEnvironment(url: string): Promise<Environment> {
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query(CLOCK);
  const { rows } = await admin.query<{ name: string }>("select current_database() as name");
  await admin.query(`alter database "${rows[0]?.name}" set search_path = simulated, pg_catalog, public`);
  let isClosing = false;
  /** Messages are sent concurrently, but the connection executes one query at a time. */
  let last: Promise<unknown> = Promise.resolve();
  const database = openDatabase({
    url,
    applicationName: "overdue-simulation",
    requireDurable: false,
    connectionsMax: CONNECTIONS_MAX,
    plansOnce: true,
    onError: (error) => {
      // The database may be dropped before all connections are closed.
      if (!isClosing) console.error(error);
    },
  });
  return {
    database,
    setClock: async (at) => {
      await admin.query({ name: "clock", text: "select setval('simulated.milliseconds', $1)", values: [at] });
    },
    rows: async <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) => {
      const result = last.then(() => admin.query<Row>(text, [...values]));
      last = result.catch(() => {});
      return (await result).rows;
    },
    close: async () => {
      isClosing = true;
      await database.close();
      await admin.end();
    },
  };
}

/** Starts a PostgreSQL for one run. Durability is off because the data is discarded. */
export async function startEnvironment(): Promise<Environment> {
  const server = await startPostgres({
    binaries: embeddedPostgres(),
    durable: false,
    settings: {
      shared_buffers: "512MB",
      synchronous_commit: "off",
      wal_level: "minimal",
      max_wal_senders: "0",
      max_wal_size: "2GB",
      checkpoint_timeout: "30min",
      // Hours pass in seconds: a plan for empty tables reads whole tables until they are analyzed.
      autovacuum_naptime: "1s",
    },
  });
  try {
    const admin = new pg.Client({ connectionString: server.url() });
    await admin.connect();
    await admin.query(`create database ${DATABASE}`);
    await admin.end();
    const url = server.url(DATABASE);
    const options = { url, applicationName: "overdue-simulation", requireDurable: false };
    await migrate({ ...options, onError: (error) => console.error(error) });
    const environment = await openEnvironment(url);
    return {
      ...environment,
      close: async () => {
        await environment.close();
        await server.stop();
      },
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}
