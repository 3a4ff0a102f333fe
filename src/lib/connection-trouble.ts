// What is the matter with a connection to PostgreSQL, in a sentence that says what to do next, and whether
// waiting can help. Looks only at codes that the driver, the system and the server give.

/** The server cannot be reached or is not ready yet: it may answer if asked again. */
const UNREACHABLE_CODES = new Set([
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
  "53300",
  "57P01",
  "57P02",
  "57P03",
]);
/** The driver gives these no code: a server that is too slow when it is connected to, by the pool and without one. */
const TOO_SLOW_TEXT =
  /timeout exceeded when trying to connect|connection timeout|^timeout expired$|query read timeout/i;
/** Nor these: a connection that broke, or had broken between two statements. */
const BROKEN_TEXT = /connection terminated|is not queryable/i;

const TOO_SLOW_ADVICE = "It does not answer in time. Is the server very busy, or a firewall in between?";

const ADVICE: Readonly<Record<string, string>> = {
  ECONNREFUSED: "Nothing listens there. Is PostgreSQL running, and are host and port right?",
  ENOENT: "There is no such socket. Is PostgreSQL running, and is the folder in the address right?",
  ENOTFOUND: "The host name is unknown. Is it spelled correctly?",
  EAI_AGAIN: "The host name could not be looked up. Is name resolution working on this machine?",
  ETIMEDOUT: "The host does not answer. Is there a firewall in between?",
  "28P01": "The password is wrong for that user.",
  "28000": "The server does not let that user in from here (pg_hba.conf).",
  "3D000": "There is no such database. Create it first, for instance with `createdb overdue`.",
  "42501": "That user may not do this. Make it the owner of the database.",
  "53100": "The disk of the database server is full. Make room there; nothing else needs to be done.",
  "53300": "The server has no connection left. Raise max_connections or lower OVERDUE_DATABASE_POOL_SIZE.",
  "57P03": "The server is still starting.",
};

/** True when asking again later may succeed. */
export function isUnreachable(error: unknown): boolean {
  const code = codeOf(error);
  if (code !== null) return UNREACHABLE_CODES.has(code);
  return isTooSlow(error) || (error instanceof Error && BROKEN_TEXT.test(error.message));
}

/** The trouble in words, with advice where there is some; null for errors that have no advice here. */
export function explainConnection(error: unknown): string | null {
  const advice = isTooSlow(error) ? TOO_SLOW_ADVICE : ADVICE[codeOf(error) ?? ""];
  if (advice === undefined && !isUnreachable(error)) return null;
  return [messageOf(error), advice].filter((part) => part !== undefined).join(". ");
}

function isTooSlow(error: unknown): boolean {
  return codeOf(error) === null && error instanceof Error && TOO_SLOW_TEXT.test(error.message);
}

function codeOf(error: unknown): string | null {
  if (typeof error !== "object" || error === null) return null;
  // A name with several addresses fails with one error for each of them.
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  if (!("code" in error) || typeof error.code !== "string") return null;
  // A missing file has the same code as a missing socket, but nobody tried to connect to it.
  const isFile = error.code === "ENOENT" && !("syscall" in error && error.syscall === "connect");
  return isFile ? null : error.code;
}

function messageOf(error: unknown): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return (first instanceof Error ? first.message : String(first)).replace(/[.\s]+$/, "");
}
