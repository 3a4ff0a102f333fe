// The connection to PostgreSQL: the pool, what every session is set to, and how a named statement is run.
// It holds no SQL of the domain and opens no transaction; that is transaction.ts.
import pg from "pg";
import { UnusableDatabaseError } from "./errors.ts";
import { clientClassOf, clientSslOf, tlsPlanOf } from "./tls.ts";
import { TYPE_PARSERS } from "./values.ts";

/** PostgreSQL versions below this one are refused. */
const SERVER_VERSION_MIN = 150_000;
/** A statement waits this long for a lock; then its checks wait for the next batch. */
const LOCK_TIMEOUT_MS = 500;
/** A transaction that is left open is ended by the server after this. */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 30_000;
const KEEPALIVE_MS = 10_000;
const CONNECT_TIMEOUT_MS = 5_000;
const CONNECTIONS_MAX = 10;

/** One SQL statement; its name is the prepared statement's name and appears in logs and statistics. */
export type Statement<Row> = {
  readonly name: string;
  readonly text: string;
  /** Never set: it only carries the type of the rows. */
  readonly row?: Row;
};

export type Rows<Row> = { rows: Row[]; count: number };

/** What reading functions need: somewhere to run a statement. A transaction is one, too. */
export type Db = {
  query<Row extends object>(statement: Statement<Row>, values: readonly unknown[]): Promise<Rows<Row>>;
};

/** The pool of a process. */
export type Database = Db & {
  /** For transaction.ts and the question whether the server answers; everything else goes through `query`. */
  readonly pool: pg.Pool;
  close(): Promise<void>;
};

export type DatabaseOptions = {
  /** A connection address, `postgres://user:password@host:port/database`. */
  url: string;
  /** Shown in pg_stat_activity. */
  applicationName: string;
  /** Called when an idle connection breaks; without a listener the process would die of it. */
  onError: (error: Error) => void;
  connectionsMax?: number;
  /** Plans each statement once for all values: for whoever sends the same few statements all day. */
  plansOnce?: boolean;
  connectTimeoutMs?: number;
  statementTimeoutMs?: number;
  /** False accepts a server that confirms before its disk does. Only tests may want that. */
  requireDurable?: boolean;
};

/** Declares a statement and the shape of its rows. */
export function statement<Row extends object = Record<string, never>>(at: {
  name: string;
  text: string;
}): Statement<Row> {
  return at;
}

/** Opens the pool. Nothing connects before the first statement; `close` ends it. */
export function openDatabase(options: DatabaseOptions): Database {
  const { Client, config } = connectionOf(options);
  const pool = new pg.Pool({
    ...config,
    Client,
    max: options.connectionsMax ?? CONNECTIONS_MAX,
    // oxlint-disable-next-line typescript/no-misused-promises -- The pool waits for it; its types do not say so.
    onConnect: (client) => prepareSession(client, options),
  });
  pool.on("error", (error: Error & { client?: unknown }) => {
    // The driver hangs the whole connection on it, which would end up in a log.
    delete error.client;
    options.onError(error);
  });
  return { pool, query: (what, values) => runStatement(pool, what, values), close: () => pool.end() };
}

/** Runs one named statement on a pool or a connection. For db.ts and transaction.ts. */
export async function runStatement<Row extends object>(
  on: pg.Pool | pg.ClientBase,
  what: Statement<Row>,
  values: readonly unknown[],
): Promise<Rows<Row>> {
  const result = await on.query<Row>({ name: what.name, text: what.text, values: [...values] });
  return { rows: result.rows, count: result.rowCount ?? 0 };
}

/** One connection outside any pool, with the same session settings. The caller ends it. */
export async function connectAlone(options: DatabaseOptions): Promise<pg.Client> {
  const client = await connectBare(options);
  try {
    await prepareSession(client, options);
  } catch (error) {
    await client.end();
    throw error;
  }
  return client;
}

/** A connection whose session is as the server opens it, for questions about the server. The caller ends it. */
export async function connectBare(
  options: DatabaseOptions,
  changes: pg.ClientConfig = {},
): Promise<pg.Client> {
  const { Client, config } = connectionOf(options);
  const client = new Client({ ...config, ...changes });
  client.on("error", options.onError);
  await client.connect();
  return client;
}

function connectionOf(options: DatabaseOptions): { Client: typeof pg.Client; config: pg.ClientConfig } {
  const tls = tlsPlanOf(options.url);
  const config = {
    connectionString: tls.url,
    ssl: clientSslOf(tls),
    application_name: options.applicationName,
    connectionTimeoutMillis: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_MS,
    types: TYPE_PARSERS,
    // Statements that do not wait for each other travel together.
    pipeline: true,
  };
  return { Client: clientClassOf(tls), config };
}

const PREPARE_SESSION = `
  select set_config('TimeZone', 'UTC', false),
    set_config('DateStyle', 'ISO', false),
    set_config('default_transaction_isolation', 'read committed', false),
    set_config('jit', 'off', false),
    set_config('plan_cache_mode', $5, false),
    set_config('lock_timeout', $1, false),
    set_config('idle_in_transaction_session_timeout', $2, false),
    set_config('statement_timeout', $3, false),
    set_config('tcp_keepalives_idle', $4, false),
    current_setting('server_version_num')::int as version,
    current_setting('server_encoding') as encoding,
    current_setting('fsync') as fsync,
    current_setting('synchronous_commit') as synchronous_commit`;

/**
 * Set after connecting and not with the start-up packet, because a pooler in session mode passes this on
 * and refuses the other.
 */
async function prepareSession(client: pg.ClientBase, options: DatabaseOptions): Promise<void> {
  const question = {
    text: PREPARE_SESSION,
    values: [
      String(LOCK_TIMEOUT_MS),
      String(IDLE_IN_TRANSACTION_TIMEOUT_MS),
      String(options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS),
      String(KEEPALIVE_MS / 1_000),
      options.plansOnce === true ? "force_generic_plan" : "auto",
    ],
    // The pool's own limit ends before this question; on a link that is cut just now it would wait for ever.
    query_timeout: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
  };
  const { rows } = await client.query<{
    version: number;
    encoding: string;
    fsync: string;
    synchronous_commit: string;
  }>(question);
  const [server] = rows;
  if (server === undefined)
    throw new UnusableDatabaseError("The database did not respond to the first query.");
  if (server.version < SERVER_VERSION_MIN) {
    const major = Math.floor(server.version / 10_000);
    throw new UnusableDatabaseError(
      `The database server runs PostgreSQL ${major}, but Overdue requires PostgreSQL 15 or newer.`,
    );
  }
  // Names and bodies hold any character; another encoding would refuse some of them, ping by ping.
  if (server.encoding !== "UTF8") {
    throw new UnusableDatabaseError(
      `The database has the encoding ${server.encoding}, but Overdue requires UTF8. ` +
        "Create another one with `createdb --encoding=UTF8 --template=template0 overdue`.",
    );
  }
  if (options.requireDurable === false) return;
  // A 200 on a ping promises that the signal is on disk; with either off the server would lie to us.
  if (server.fsync === "off" || server.synchronous_commit === "off") {
    const which = server.fsync === "off" ? "fsync" : "synchronous_commit";
    throw new UnusableDatabaseError(
      `PostgreSQL runs with ${which} = off, so acknowledged pings could be lost. Set ${which} = on.`,
    );
  }
}

// How a table that grows with time forgets what is old, a few rows at a time.

/**
 * SQL for the rows of a table that are from before $1, looked for among its $2 oldest. By address, so that the plan
 * reads the oldest rows by the key and nothing else, whatever the limit.
 */
export function amongOldest(table: string, at = "at"): string {
  return `ctid = any (array(
      select ctid from (select ctid, ${at} from ${table} order by id limit $2) as oldest where ${at} < $1
    ))`;
}
