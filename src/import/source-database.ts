// Read-only connections to the database of another product: PostgreSQL, MySQL, MariaDB or a SQLite file. What differs
// between these is in this file: connecting, transactions, quoting, and how a column is read.
import type { Connection, SslOptions } from "mysql2/promise";
import { readFileSync, statSync } from "node:fs";
import { isIP } from "node:net";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { IMPORT_CONNECT_MS_MAX, IMPORT_STATEMENT_MS_MAX, IMPORT_TEXT_LENGTH_MAX } from "../core/limits.ts";
import { connectBare } from "../store/db.ts";
import { SourceError } from "./source-error.ts";

export type ColumnType = "boolean" | "duration" | "integer" | "text" | "time" | "uuid";

export type RawRow = Readonly<Record<string, unknown>>;
export type Parameter = number | string;

export type SourceDatabase = {
  /** "PostgreSQL database hc on db.example.org", without user name and password. */
  name: string;
  /** False if each statement reads the state of its moment. */
  isSnapshot: boolean;
  /** The columns of its tables, by table. */
  readonly columns: ReadonlyMap<string, ReadonlySet<string>>;
  quote(identifier: string): string;
  /** The expression that reads a column as a value that source-value.ts understands. */
  expression(type: ColumnType, quoted: string): string;
  /** Runs a statement with a `?` for each parameter. */
  query(text: string, parameters: readonly Parameter[]): Promise<RawRow[]>;
  close(): Promise<void>;
};

/** More than the limit, so that the reader notices what is longer. */
const TEXT_READ = IMPORT_TEXT_LENGTH_MAX + 1;
const clippedText = (quoted: string) => `substr(${quoted}, 1, ${TEXT_READ})`;

const SCHEME = /^([a-z]+):\/\//i;

/** Connects by the scheme of the URL; anything without a scheme is the path of a SQLite file. */
export function openSourceDatabase(url: string): Promise<SourceDatabase> {
  const scheme = SCHEME.exec(url)?.[1]?.toLowerCase();
  switch (scheme) {
    case "postgres":
    case "postgresql":
      return openPostgres(url);
    case "mysql":
    case "mariadb":
      return openMysql(url);
    case "sqlite":
    case undefined:
      return openSqlite(scheme === undefined ? url : sqlitePath(url));
    default:
      throw new SourceError(
        `Unknown database type "${scheme}". Use a URL that starts with postgres://, mysql:// or sqlite:///, or the path of a SQLite file.`,
      );
  }
}

const POSTGRES_COLUMNS = `select table_name as "table", column_name as "column" from information_schema.columns
  where table_schema = any (current_schemas(false))`;

async function openPostgres(url: string): Promise<SourceDatabase> {
  const name = `PostgreSQL database ${placeOf(url)}`;
  const options = {
    url,
    applicationName: "overdue-import",
    // The next statement fails as well, and its error is reported.
    onError: () => {},
    connectTimeoutMs: IMPORT_CONNECT_MS_MAX,
  };
  const client = await orExplain(name, () =>
    connectBare(options, { query_timeout: IMPORT_STATEMENT_MS_MAX }),
  );
  const query = async (text: string, parameters: readonly Parameter[]) => {
    let index = 0;
    const numbered = text.replace(/\?/g, () => `$${(index += 1)}`);
    return (await client.query<RawRow>(numbered, [...parameters])).rows;
  };
  return start({
    name,
    isSnapshot: true,
    quote: (identifier) => `"${identifier}"`,
    expression: (type, quoted) => {
      if (type === "text") return clippedText(`${quoted}::text`);
      return type === "duration" ? `(extract(epoch from ${quoted}) * 1000000)::text` : `${quoted}::text`;
    },
    query,
    close: () => client.end(),
    begin: [
      "set timezone = 'UTC'",
      "set datestyle = 'ISO'",
      `set statement_timeout = ${IMPORT_STATEMENT_MS_MAX}`,
      "begin transaction isolation level repeatable read read only",
    ],
    listColumns: POSTGRES_COLUMNS,
  });
}

const MYSQL_COLUMNS = `select table_name as \`table\`, column_name as \`column\` from information_schema.columns
  where table_schema = database()`;

async function openMysql(url: string): Promise<SourceDatabase> {
  const name = `MySQL database ${placeOf(url)}`;
  const connection = await orExplain(name, () => connectMysql(url));
  // Without a listener, a connection that breaks between two statements would end the process.
  (connection as unknown as NodeJS.EventEmitter).on("error", () => {});
  const query = async (sql: string, values: readonly Parameter[]) => {
    // As text: the driver sends numbers as floating point.
    const options = { sql, values: values.map(String), timeout: IMPORT_STATEMENT_MS_MAX };
    const [rows] = await connection.execute(options);
    return rows as RawRow[];
  };
  return start({
    name,
    isSnapshot: true,
    quote: (identifier) => `\`${identifier}\``,
    expression: (type, quoted) => (type === "text" ? clippedText(quoted) : quoted),
    query,
    close: () => connection.end(),
    begin: [
      "set time_zone = '+00:00'",
      "set session transaction isolation level repeatable read",
      "start transaction with consistent snapshot, read only",
    ],
    listColumns: MYSQL_COLUMNS,
    run: async (text) => void (await connection.query(text)),
  });
}

/** In the words of MySQL's clients. */
const MYSQL_SSL_MODES = ["disabled", "preferred", "required", "verify_ca", "verify_identity"] as const;
type MysqlSslMode = (typeof MYSQL_SSL_MODES)[number];

async function connectMysql(text: string): Promise<Connection> {
  const url = URL.parse(text);
  const database = decodeURIComponent(url?.pathname.slice(1) ?? "");
  if (url === null || database === "") {
    throw new SourceError(
      "The database URL must look like mysql://user:password@host:3306/database, with special characters in the password percent-encoded.",
    );
  }
  const { createConnection } = await import("mysql2/promise");
  const socketPath = url.searchParams.get("socket");
  const connect = (ssl: SslOptions | null) =>
    createConnection({
      ...(socketPath === null ? { host: url.hostname.replace(/^\[|\]$/g, "") } : { socketPath }),
      ...(url.port === "" ? {} : { port: Number(url.port) }),
      user: decodeURIComponent(url.username),
      password: decodeURIComponent(url.password),
      database,
      ...(ssl === null ? {} : { ssl }),
      charset: "utf8mb4",
      connectTimeout: IMPORT_CONNECT_MS_MAX,
      dateStrings: true,
      supportBigNumbers: true,
      bigNumberStrings: true,
      // The driver would otherwise generate code from the columns that the server names.
      disableEval: true,
    });
  const mode = socketPath === null ? sslModeOf(url.searchParams) : "disabled";
  if (mode === "disabled") return connect(null);
  // The driver would compare the certificate with "localhost".
  if (mode === "verify_identity" && isIP(url.hostname.replace(/^\[|\]$/g, "")) !== 0) {
    throw new SourceError(
      "ssl-mode=verify_identity requires a host name in the database URL, not an IP address. Use a host name, or ssl-mode=verify_ca.",
    );
  }
  const encryption = encryptionOf(mode, url.searchParams);
  if (mode !== "preferred") return connect(encryption);
  try {
    return await connect(encryption);
  } catch (error) {
    if (codeOf(error) !== "HANDSHAKE_NO_SSL_SUPPORT") throw error;
    return connect(null);
  }
}

function sslModeOf(query: URLSearchParams): MysqlSslMode {
  const given = query.get("ssl-mode");
  if (given === null) return "preferred";
  const mode = MYSQL_SSL_MODES.find((one) => one === given.toLowerCase().replace("-", "_"));
  if (mode !== undefined) return mode;
  throw new SourceError(`ssl-mode in the database URL must be one of ${MYSQL_SSL_MODES.join(", ")}.`);
}

function encryptionOf(mode: MysqlSslMode, query: URLSearchParams): SslOptions {
  const file = (name: string, option: "ca" | "cert" | "key"): Partial<SslOptions> => {
    const path = query.get(name);
    return path === null ? {} : { [option]: readNamed(name, path) };
  };
  return {
    ...file("ssl-ca", "ca"),
    ...file("ssl-cert", "cert"),
    ...file("ssl-key", "key"),
    rejectUnauthorized: mode.startsWith("verify"),
    verifyIdentity: mode === "verify_identity",
  };
}

function readNamed(parameter: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new SourceError(
      `Cannot read ${path}, which is set as ${parameter} in the database URL (${reasonOf(error)}).`,
    );
  }
}

const SQLITE_COLUMNS = `select m.name as "table", c.name as "column" from sqlite_master m, pragma_table_info(m.name) c
  where m.type = 'table'`;
const WAL_MODE = "wal";

async function openSqlite(path: string): Promise<SourceDatabase> {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) {
    throw new SourceError(`There is no file ${path}.`);
  }
  const name = `SQLite file ${path}`;
  const database = await orExplain(name, async () => {
    const opened = new DatabaseSync(path, { readOnly: true, timeout: IMPORT_CONNECT_MS_MAX });
    opened.exec("pragma query_only = on");
    return opened;
  });
  const prepared = new Map<string, StatementSync>();
  const query = async (text: string, parameters: readonly Parameter[]): Promise<RawRow[]> => {
    const statement = prepared.get(text) ?? database.prepare(text);
    prepared.set(text, statement);
    // Numbers beyond the range of JavaScript would otherwise be errors.
    statement.setReadBigInts(true);
    return statement.all(...parameters);
  };
  // Without WAL, a transaction of ours would block the writes of Healthchecks, and so the pings that it receives.
  const [mode] = await orExplain(name, () => query("pragma journal_mode", []));
  const isSnapshot = mode?.["journal_mode"] === WAL_MODE;
  return start({
    name,
    isSnapshot,
    quote: (identifier) => `"${identifier}"`,
    expression: (type, quoted) => (["text", "time", "uuid"].includes(type) ? clippedText(quoted) : quoted),
    query,
    close: async () => database.close(),
    begin: isSnapshot ? ["begin"] : [],
    listColumns: SQLITE_COLUMNS,
    run: async (text) => database.exec(text),
  });
}

/** sqlite:///absolute/path, and sqlite://relative/path. */
function sqlitePath(url: string): string {
  try {
    return decodeURIComponent(url.replace(/^sqlite:\/\//i, ""));
  } catch {
    return url.replace(/^sqlite:\/\//i, "");
  }
}

type Connected = Omit<SourceDatabase, "columns"> & {
  /** Statements that start the read-only transaction. */
  begin: readonly string[];
  listColumns: string;
  /** Runs a statement that returns no rows, if `query` cannot. */
  run?: (text: string) => Promise<void>;
};

/** Starts the transaction and reads the columns. Errors of statements are explained from here on. */
async function start({ begin, listColumns, run, ...connected }: Connected): Promise<SourceDatabase> {
  const { name } = connected;
  const columns = new Map<string, Set<string>>();
  const query: SourceDatabase["query"] = (text, parameters) =>
    orExplain(name, () => connected.query(text, parameters));
  try {
    for (const text of begin) await orExplain<unknown>(name, () => run?.(text) ?? connected.query(text, []));
    for (const { table, column } of await query(listColumns, [])) {
      const known = columns.get(String(table)) ?? new Set();
      columns.set(String(table), known.add(String(column)));
    }
    return { ...connected, columns, query };
  } catch (error) {
    await connected.close();
    throw error;
  }
}

async function orExplain<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SourceError) throw error;
    throw new SourceError(`Cannot read the ${name}: ${reasonOf(error)}.`, { cause: error });
  }
}

/** Several addresses of a host fail with an error without a message. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return (error.message === "" ? codeOf(error) : error.message).replace(/\.$/, "");
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

function placeOf(text: string): string {
  const url = URL.parse(text.replace("@/", "@localhost/"));
  const database = url?.pathname.slice(1) ?? "";
  const host = url?.searchParams.get("host") ?? url?.searchParams.get("socket") ?? url?.host ?? "";
  return host === "" ? database : `${database} on ${host}`;
}
