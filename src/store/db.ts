// The connection pool, session settings, and named statements. Transactions are in transaction.ts.
import pg from "pg";
import type { OwnSlots } from "../core/identity.ts";
import { UnusableDatabaseError } from "./errors.ts";
import { clientClassOf, clientSslOf, tlsPlanOf } from "./tls.ts";
import { TYPE_PARSERS } from "./values.ts";

/** Older PostgreSQL versions are rejected. */
const SERVER_VERSION_MIN = 150_000;
/** How long a statement waits for a lock. */
const LOCK_TIMEOUT_MS = 500;
/** The server ends transactions that are idle for this long. */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 30_000;
const KEEPALIVE_MS = 10_000;
const CONNECT_TIMEOUT_MS = 5_000;
/** The server ends a statement in time. If it has not answered by then, it is gone, and its connection is dropped. */
const ANSWER_GRACE_MS = 5_000;
const CONNECTIONS_MAX = 10;

/** An SQL statement. Its name identifies the prepared statement and appears in logs and statistics. */
export type Statement<Row> = {
  readonly name: string;
  readonly text: string;
  /** Never set; carries the type of the rows. */
  readonly row?: Row;
};

export type Rows<Row> = { rows: Row[]; count: number };

/** Something that can run a statement: the pool or a transaction. */
export type Db = {
  /** The slots of new ids, if this server is one of several cells. */
  readonly slots?: OwnSlots;
  query<Row extends object>(statement: Statement<Row>, values: readonly unknown[]): Promise<Rows<Row>>;
};

/** The pool of a process. */
export type Database = Db & {
  /** Only for transaction.ts and the health check; everything else uses `query`. */
  readonly pool: pg.Pool;
  close(): Promise<void>;
};

export type DatabaseOptions = {
  /** A connection URL, `postgres://user:password@host:port/database`. */
  url: string;
  /** The slots of new ids; see Db. */
  slots?: OwnSlots;
  /** Shown in pg_stat_activity. */
  applicationName: string;
  /** Called when an idle connection breaks; without a listener the process would exit. */
  onError: (error: Error) => void;
  connectionsMax?: number;
  /** Uses generic plans, for processes that send the same few statements repeatedly. */
  plansOnce?: boolean;
  connectTimeoutMs?: number;
  statementTimeoutMs?: number;
  /** False accepts a server with fsync or synchronous_commit off. Only for tests. */
  requireDurable?: boolean;
};

/** Declares a statement and the shape of its rows. */
export function statement<Row extends object = Record<string, never>>(at: {
  name: string;
  text: string;
}): Statement<Row> {
  return at;
}

/** Opens the pool. It connects with the first statement. */
export function openDatabase(options: DatabaseOptions): Database {
  const { Client, config } = connectionOf(options);
  const pool = new pg.Pool({
    ...config,
    Client,
    max: options.connectionsMax ?? CONNECTIONS_MAX,
    query_timeout: (options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS) + ANSWER_GRACE_MS,
    // oxlint-disable-next-line typescript/no-misused-promises -- The pool waits for it; its types do not say so.
    onConnect: (client) => prepareSession(client, options),
  });
  pool.on("error", (error: Error & { client?: unknown }) => {
    // The driver attaches the connection to the error, which would end up in the log.
    delete error.client;
    options.onError(error);
  });
  return {
    slots: options.slots,
    pool,
    query: (what, values) => runStatement(pool, what, values),
    close: () => pool.end(),
  };
}

/** Runs a named statement on a pool or a connection. */
export async function runStatement<Row extends object>(
  on: pg.Pool | pg.ClientBase,
  what: Statement<Row>,
  values: readonly unknown[],
): Promise<Rows<Row>> {
  const result = await on.query<Row>({ name: what.name, text: what.text, values: [...values] });
  return { rows: result.rows, count: result.rowCount ?? 0 };
}

/** A connection outside the pool with the same session settings. The caller closes it. */
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

/** A connection with the server's default session settings. The caller closes it. */
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
    // Independent statements are pipelined.
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
 * Set after connecting instead of in the start-up packet, because poolers in session mode pass these on but
 * reject start-up options.
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
    // The pool's connect timeout does not cover this query.
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
  // Names and bodies contain any character; other encodings cannot store some of them.
  if (server.encoding !== "UTF8") {
    throw new UnusableDatabaseError(
      `The database has the encoding ${server.encoding}, but Overdue requires UTF8. ` +
        "Create another one with `createdb --encoding=UTF8 --template=template0 overdue`.",
    );
  }
  if (options.requireDurable === false) return;
  // A 200 on a ping means that it is on disk, which the server does not guarantee with either off.
  if (server.fsync === "off" || server.synchronous_commit === "off") {
    const which = server.fsync === "off" ? "fsync" : "synchronous_commit";
    throw new UnusableDatabaseError(
      `PostgreSQL runs with ${which} = off, so acknowledged pings could be lost. Set ${which} = on.`,
    );
  }
}

/**
 * SQL condition for rows older than $1 among the $2 oldest rows of a table. By ctid, so that the plan reads
 * only the oldest rows by the key, whatever the limit.
 */
export function amongOldest(table: string, at = "at"): string {
  return `ctid = any (array(
      select ctid from (select ctid, ${at} from ${table} order by id limit $2) as oldest where ${at} < $1
    ))`;
}
