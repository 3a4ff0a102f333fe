// Encryption of PostgreSQL connections: sslmode, sslrootcert, sslcert and sslkey, as libpq defines them. The driver
// gives some modes another meaning and has no fallback, so it gets complete options from here.
import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { databaseHostOf, type SslMode, sslModeOf } from "../lib/setting-value.ts";
import { UnusableDatabaseError } from "./errors.ts";

export type TlsOptions = {
  rejectUnauthorized?: boolean;
  checkServerIdentity?: () => undefined;
  ca?: string;
  cert?: string;
  key?: string;
  passphrase?: string;
};

type Encryption = TlsOptions | false;

export type TlsPlan = {
  /** The database URL without the parameters handled here. */
  url: string;
  first: Encryption;
  /** Tried if the server rejects the first; null for nothing. */
  fallback: Encryption | null;
};

/** Parameters that are handled here. The driver must not see them, because they would override the options. */
const OWN_PARAMETERS = [
  "sslmode",
  "ssl",
  "uselibpqcompat",
  "sslrootcert",
  "sslcert",
  "sslkey",
  "sslpassword",
];
const SYSTEM_ROOTS = "system";

/** Reads the files named in the URL. Throws UnusableDatabaseError with advice. */
export function tlsPlanOf(url: string): TlsPlan {
  const [place = "", query = ""] = url.split(/\?(.*)/s);
  const given = new URLSearchParams(query);
  const rest = new URLSearchParams(query);
  for (const name of OWN_PARAMETERS) rest.delete(name);
  const bare = rest.size === 0 ? place : `${place}?${rest.toString()}`;
  const isSocket = databaseHostOf(url)?.startsWith("/") === true;
  const mode = isSocket ? "disable" : sslModeOf(given);
  if (mode === "disable") return { url: bare, first: false, fallback: null };
  const options = { ...trustOf(mode, given.get("sslrootcert")), ...clientCertificateOf(given) };
  if (mode === "allow") return { url: bare, first: false, fallback: options };
  return { url: bare, first: options, fallback: mode === "prefer" ? false : null };
}

/** Which certificates of the server are accepted. */
function trustOf(mode: Exclude<SslMode, "disable">, root: string | null): TlsOptions {
  if (mode === "allow" || mode === "prefer") return { rejectUnauthorized: false };
  const isAnyName = mode === "require" || mode === "verify-ca";
  if (root === SYSTEM_ROOTS) {
    if (mode === "verify-full") return {};
    throw new UnusableDatabaseError(
      `sslrootcert=system requires sslmode=verify-full, not ${mode}, because public CAs issue certificates to anyone.`,
    );
  }
  const ca = rootCertificate(root);
  if (ca !== null) return { ca, ...(isAnyName && { checkServerIdentity: () => undefined }) };
  if (mode === "require") return { rejectUnauthorized: false };
  // libpq would reject this, too; because the host name is checked, public certificate authorities are safe here.
  if (mode === "verify-full") return {};
  throw new UnusableDatabaseError(
    "sslmode=verify-ca requires a root certificate. Set sslrootcert in the database URL to its file, or use sslmode=verify-full.",
  );
}

/** The configured file, or libpq's default location if it exists. */
function rootCertificate(named: string | null): string | null {
  if (named !== null) return readNamed("sslrootcert", named);
  const usual = join(homedir(), ".postgresql", "root.crt");
  return statSync(usual, { throwIfNoEntry: false }) === undefined ? null : readNamed("sslrootcert", usual);
}

function clientCertificateOf(given: URLSearchParams): TlsOptions {
  const [certificate, key, passphrase] = ["sslcert", "sslkey", "sslpassword"].map((name) => given.get(name));
  return {
    ...(certificate && { cert: readNamed("sslcert", certificate) }),
    ...(key && { key: readNamed("sslkey", key) }),
    ...(passphrase && { passphrase }),
  };
}

function readNamed(parameter: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const why = error instanceof Error && "code" in error ? String(error.code) : String(error);
    throw new UnusableDatabaseError(
      `Cannot read ${path}, which is set as ${parameter} in the database URL (${why}). Correct the path or its permissions.`,
    );
  }
}

/** The parts of the driver's connection that are used here and missing in its types. */
type Driver = {
  stream: NodeJS.EventEmitter & { destroy(): void };
  ssl: Encryption;
  connect(port: number | string, host?: string): void;
  requestSsl(): void;
};
const DriverConnection = pg.Connection as unknown as new (config: object) => Driver & NodeJS.EventEmitter;

/** The error of a server without TLS support. */
const NOT_OFFERED_TEXT = "The server does not support SSL connections";
/** No line of pg_hba.conf allows this kind of connection. */
const NOT_ADMITTED_CODE = "28000";

/**
 * The connection of `allow` and `prefer`: if the server rejects it before asking for a password, it is retried once
 * with the other encryption.
 */
class FallbackConnection extends DriverConnection {
  #fallback: Encryption | null;
  #place: [port: number | string, host?: string] = [0];
  #socket: Driver["stream"];

  constructor(config: { ssl: Encryption; fallback: Encryption | null }) {
    super(config);
    this.#fallback = config.fallback;
    this.#socket = this.stream;
  }

  override connect(...place: [port: number | string, host?: string]): void {
    this.#place = place;
    this.#socket = this.stream;
    super.connect(...place);
  }

  /** The client requests TLS here in both cases; without it, the next step is the same as after it. */
  override requestSsl(): void {
    if (this.ssl === false) this.emit("sslconnect");
    else super.requestSsl();
  }

  override emit(event: string, ...args: unknown[]): boolean {
    if (event.startsWith("authentication")) this.#fallback = null;
    if (this.#fallback === null || !this.#isRefusal(event, args[0])) return super.emit(event, ...args);
    this.#startOver(this.#fallback);
    return true;
  }

  #isRefusal(event: string, error: unknown): boolean {
    if (!(error instanceof Error)) return false;
    const code = "code" in error ? String(error.code) : "";
    if (event === "errorMessage") return code === NOT_ADMITTED_CODE;
    if (event !== "error" || this.ssl === false) return false;
    return error.message === NOT_OFFERED_TEXT || /^(ERR_SSL_|ERR_TLS_|EPROTO)/.test(code);
  }

  #startOver(encryption: Encryption): void {
    // The socket and the encrypted stream around it, if any: events of both must be ignored from now on.
    for (const stream of new Set([this.stream, this.#socket])) {
      stream.removeAllListeners();
      stream.on("error", () => {});
      stream.destroy();
    }
    this.#fallback = null;
    this.ssl = encryption;
    // Creates an unused socket without importing the network module.
    this.stream = new DriverConnection({}).stream;
    this.connect(...this.#place);
  }
}

/** A client of the driver that connects as planned. */
export function clientClassOf({ first, fallback }: TlsPlan): typeof pg.Client {
  if (fallback === null) return pg.Client;
  return class extends pg.Client {
    constructor(config: pg.ClientConfig = {}) {
      const { keepAlive, keepAliveInitialDelayMillis } = config;
      const connection = { keepAlive, keepAliveInitialDelayMillis, ssl: first, fallback };
      super({ ...config, connection: new FallbackConnection(connection) } as pg.ClientConfig);
    }
  };
}

/** The options of the client itself: both kinds must pass through `requestSsl`. */
export function clientSslOf({ first, fallback }: TlsPlan): Encryption {
  return first !== false ? first : (fallback ?? false);
}
