// Explains PostgreSQL connection errors in a sentence with advice, and decides whether waiting can help. Uses only
// the codes and texts of the driver, the system and the server.

/** The server cannot be reached or is not ready yet: a retry may succeed. */
const UNREACHABLE_CODES = new Set([
  "EADDRNOTAVAIL",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EPIPE",
  "ETIMEDOUT",
  "08001",
  "08006",
  "25006",
  "53300",
  "57P01",
  "57P02",
  "57P03",
]);
/** The driver sets no code for these: connection timeouts, with and without the pool. */
const TOO_SLOW_TEXT =
  /timeout exceeded when trying to connect|connection timeout|^timeout expired$|query read timeout/i;
/** Nor these: a connection that broke, also between two statements. */
const BROKEN_TEXT = /connection terminated|is not queryable/i;
/** Nor these: the server is not PostgreSQL, or cannot start a session. */
const STRANGE_TEXT = /^There was an error establishing an SSL connection$/;
const NO_TLS_TEXT = /^The server does not support SSL connections$/;
/** The server requires a password, and the settings have none. */
const NO_PASSWORD_TEXT = /client password must be a (non-empty )?string/;

/** OpenSSL's codes of untrusted certificates. */
const UNTRUSTED_CODES = [
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "CERT_UNTRUSTED",
  "CERT_REJECTED",
  "CERT_SIGNATURE_FAILURE",
  "INVALID_CA",
];
const UNTRUSTED_ADVICE =
  "The server's certificate is not signed by a trusted CA. Set sslrootcert in OVERDUE_DATABASE_URL to its root certificate, or use sslmode=require to encrypt without verification.";

const ADVICE: Readonly<Record<string, string>> = {
  ECONNREFUSED:
    "No server is listening there. Start PostgreSQL, or correct the host and port in OVERDUE_DATABASE_URL.",
  ENOENT: "The Unix socket does not exist. Start PostgreSQL, or correct the folder in OVERDUE_DATABASE_URL.",
  EACCES:
    "This user has no permission to open the Unix socket. Correct its permissions, or connect over TCP.",
  ENOTFOUND: "The host name is unknown. Correct it in OVERDUE_DATABASE_URL.",
  EAI_AGAIN: "The host name could not be resolved. Check the DNS configuration of this machine.",
  ETIMEDOUT: "The host does not respond. Check the host, the port, and any firewalls.",
  EHOSTUNREACH: "There is no route to that host. Check the host and the network.",
  ENETUNREACH: "There is no route to that network. Check the host and the network.",
  ECONNRESET:
    "The server closed the connection. Check that this is the port of a PostgreSQL server, and check its log.",
  "25006":
    "The server is read-only, such as a standby. Set OVERDUE_DATABASE_URL to the primary server, or promote this one.",
  "28P01": "Correct the user name or the password in OVERDUE_DATABASE_URL.",
  "28000":
    "The server does not allow this user to connect from this host. Correct the user name, or add an entry to pg_hba.conf on the server.",
  "3D000": "Create the database first, for instance with `createdb overdue`.",
  "3F000": "The schema does not exist. Create it, or correct the search_path of the database user.",
  "42501":
    "The database user lacks a privilege. Make it the owner of the database and its tables: `ALTER DATABASE <database> OWNER TO <user>`.",
  "53100": "The disk of the database server is full. Free some space there. Overdue then continues.",
  "53200": "The database server is out of memory. Add memory, or lower its max_connections.",
  "53300":
    "The server has no free connections. Raise its max_connections, or lower OVERDUE_DATABASE_POOL_SIZE.",
  "53400": "A limit of the database server was exceeded. Check its log.",
  "55000": "The server is not ready for this operation. Check its log.",
  "57P01": "The server is shutting down. Start it again.",
  "57P02": "The server crashed and is recovering. Check its log.",
  "57P03": "The server is still starting.",
  "57P04": "The database was dropped.",
  CERT_HAS_EXPIRED: "The server's certificate has expired. Renew it on the server.",
  CERT_NOT_YET_VALID: "The server's certificate is not valid yet. Check the clocks on both machines.",
  ERR_TLS_CERT_ALTNAME_INVALID:
    "The server's certificate is not valid for this host name. Use the name in the certificate, or sslmode=verify-ca to skip the host name check.",
  EPROTO: "The TLS handshake failed. Check that this is the port of a PostgreSQL server.",
  ...Object.fromEntries(UNTRUSTED_CODES.map((code) => [code, UNTRUSTED_ADVICE])),
};
const TLS_CODE = /^(CERT_|ERR_SSL_|ERR_TLS_|ERR_OSSL_|EPROTO$|HOSTNAME_MISMATCH$)/;
/** Classes of SQLSTATE that concern the server, not a statement of ours. */
const SERVER_STATE = /^(08|28|53|57P|58|F0|XX00[12])[0-9A-Z]*$/;

const TOO_SLOW_ADVICE =
  "The server did not respond in time. Check the host, the port, any firewalls, and the server load.";
const BROKEN_ADVICE =
  "The server closed the connection. Check that this is the port of a PostgreSQL server, and check its log.";
const STRANGE_ADVICE =
  "The response does not come from a PostgreSQL server. Correct the host and port in OVERDUE_DATABASE_URL.";
const NO_TLS_ADVICE =
  "The sslmode in OVERDUE_DATABASE_URL requires TLS. Enable ssl in the server's postgresql.conf, or use sslmode=prefer.";
const NO_PASSWORD_ADVICE =
  "The server requires a password, but none is set. Add it to OVERDUE_DATABASE_URL: postgres://user:password@host/database.";
const TLS_ADVICE =
  "The encrypted connection failed. Check sslmode, sslrootcert, sslcert, and sslkey in OVERDUE_DATABASE_URL.";
const SERVER_ADVICE = "For details, check the log of the database server.";

/** True if a retry later may succeed. */
export function isUnreachable(error: unknown): boolean {
  const code = codeOf(error);
  if (code !== null) return UNREACHABLE_CODES.has(code) || isTlsError(error);
  return isTooSlow(error) || hasText(error, BROKEN_TEXT) || hasText(error, STRANGE_TEXT) || isTlsError(error);
}

/** True if encryption failed. At startup that is an error in the settings, so waiting does not help. */
export function isTlsError(error: unknown): boolean {
  const code = codeOf(error);
  if (code === null) return hasText(error, NO_TLS_TEXT);
  return UNTRUSTED_CODES.includes(code) || TLS_CODE.test(code);
}

/** The problem as a sentence with advice; null if there is no advice. */
export function explainConnection(error: unknown): string | null {
  const advice = adviceOn(error);
  if (advice === undefined && !isUnreachable(error)) return null;
  return [messageOf(error), advice].filter((part) => part !== undefined).join(". ");
}

function adviceOn(error: unknown): string | undefined {
  const code = codeOf(error);
  if (code !== null) {
    if (ADVICE[code] !== undefined) return ADVICE[code];
    if (isTlsError(error)) return TLS_ADVICE;
    return SERVER_STATE.test(code) ? SERVER_ADVICE : undefined;
  }
  if (isTooSlow(error)) return TOO_SLOW_ADVICE;
  if (hasText(error, NO_TLS_TEXT)) return NO_TLS_ADVICE;
  if (hasText(error, NO_PASSWORD_TEXT)) return NO_PASSWORD_ADVICE;
  if (hasText(error, STRANGE_TEXT)) return STRANGE_ADVICE;
  return hasText(error, BROKEN_TEXT) ? BROKEN_ADVICE : undefined;
}

function isTooSlow(error: unknown): boolean {
  return codeOf(error) === null && hasText(error, TOO_SLOW_TEXT);
}

function hasText(error: unknown, text: RegExp): boolean {
  return error instanceof Error && text.test(error.message);
}

function codeOf(error: unknown): string | null {
  if (typeof error !== "object" || error === null) return null;
  // A name with several addresses fails with one error for each of them.
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  if (!("code" in error) || typeof error.code !== "string") return null;
  // A file and a socket fail with the same codes; this is the file.
  const isFile = ["ENOENT", "EACCES"].includes(error.code) && !isOfConnecting(error);
  return isFile ? null : error.code;
}

function isOfConnecting(error: object): boolean {
  return "syscall" in error && error.syscall === "connect";
}

function messageOf(error: unknown): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return (first instanceof Error ? first.message : String(first)).replace(/(?<![.\s])[.\s]+$/, "");
}
