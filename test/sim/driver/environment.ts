// The real database that a world is played on, with a clock that the simulation sets: a function of the same name
// stands before PostgreSQL's own, so that whoever asks the database for the time is told the world's.
import pg from "pg";
import { type Database, openDatabase } from "../../../src/store/db.ts";
import { migrate } from "../../../src/store/migrate.ts";
import { embeddedPostgres } from "../../support/postgres-binaries.ts";
import { startPostgres } from "../../support/postgres.ts";

const DATABASE = "world";
const CONNECTIONS_MAX = 8;

/** A sequence is seen by every session at once, and costs next to nothing to set. */
const CLOCK = `
  create schema simulated;
  create sequence simulated.milliseconds minvalue 0;
  create function simulated.clock_timestamp() returns timestamptz language sql volatile as
    'select to_timestamp(last_value / 1000::float8) from simulated.milliseconds';`;

export type Environment = {
  database: Database;
  /** Sets the database's clock. */
  setClock(at: number): Promise<void>;
  /** Rows of a question of the simulation's own, which no operation answers. */
  rows<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
};

/** Opens a stage on a migrated database of its own. */
export async function openEnvironment(url: string): Promise<Environment> {
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query(CLOCK);
  const { rows } = await admin.query<{ name: string }>("select current_database() as name");
  await admin.query(`alter database "${rows[0]?.name}" set search_path = simulated, pg_catalog, public`);
  let isClosing = false;
  const database = openDatabase({
    url,
    applicationName: "overdue-simulation",
    requireDurable: false,
    connectionsMax: CONNECTIONS_MAX,
    plansOnce: true,
    onError: (error) => {
      // Whoever drops the database at once may be quicker than the connections are in closing.
      if (!isClosing) console.error(error);
    },
  });
  return {
    database,
    setClock: async (at) => {
      await admin.query({ name: "clock", text: "select setval('simulated.milliseconds', $1)", values: [at] });
    },
    rows: async <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) =>
      (await admin.query<Row>(text, [...values])).rows,
    close: async () => {
      isClosing = true;
      await database.close();
      await admin.end();
    },
  };
}

/** Starts a PostgreSQL for one world. What a crash would lose is lost with it: nothing here outlives the run. */
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
