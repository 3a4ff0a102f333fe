// What `overdue doctor` concludes from the facts it has read: one finding for each thing it checked.
import { MINUTE_MS, SECOND_MS } from "./instant.ts";
import { FREE_DISK_BYTES_MIN } from "./limits.ts";
import { SECRET_USES, type SecretCounts, type SecretUse } from "./secrets.ts";

/** What a finding is about. */
export type Subject =
  | "settings"
  | "node"
  | "database"
  | "schema"
  | "connections"
  | "clock"
  | "service"
  | "health"
  | "spool"
  | "log"
  | "email"
  | "public URL"
  | "object store"
  | "secret key"
  | "server";

export type Finding = {
  about: Subject;
  /** A problem makes the server unusable or breaks a guarantee; a warning may be intended. */
  level: "ok" | "warning" | "problem";
  /** What is the case, as one sentence. */
  text: string;
  /** What to do; null if nothing. */
  fix: string | null;
};

export function fine(about: Subject, text: string): Finding {
  return { about, level: "ok", text, fix: null };
}

export function warning(about: Subject, text: string, fix: string): Finding {
  return { about, level: "warning", text, fix };
}

export function problem(about: Subject, text: string, fix: string): Finding {
  return { about, level: "problem", text, fix };
}

/** A problem from a message whose first sentence says what is wrong, and the others what to do. */
export function problemOf(about: Subject, message: string, otherwise: string): Finding {
  const end = /[.?!](?=\s+["`A-Z])/.exec(message)?.index;
  if (end === undefined) return problem(about, message, otherwise);
  return problem(about, message.slice(0, end + 1), message.slice(end + 1).trim());
}

// The database server.

const VERSION_MIN = 15;
const VERSION_TESTED_MAX = 18;
/** Users notice this much in times on pages; below it, networks and load explain it. */
const CLOCK_WARNING_MS = 5 * SECOND_MS;
/** Certificates, codes of authenticator apps and leases of processes fail. */
const CLOCK_PROBLEM_MS = MINUTE_MS;

/** What a database server says about itself. */
export type ServerFacts = {
  /** As server_version_num: 180001 is 18.1. */
  version: number;
  encoding: string;
  fsync: string;
  synchronousCommit: string;
  fullPageWrites: string;
  isReadOnly: boolean;
  isStandby: boolean;
  /** How many connections this user may have to this database. */
  connectionsMax: number;
  /** Open connections of other programs. */
  foreignConnections: number;
};

/** Findings about the server itself. Without a problem there is one that says so. */
export function serverFindings(facts: ServerFacts): Finding[] {
  const found = [
    ...versionFindings(facts),
    ...encodingFindings(facts),
    ...durabilityFindings(facts),
    ...readOnlyFindings(facts),
  ];
  if (found.length > 0) return found;
  return [fine("database", `PostgreSQL ${majorOf(facts)} is reachable and keeps committed data.`)];
}

function majorOf({ version }: Pick<ServerFacts, "version">): number {
  return Math.floor(version / 10_000);
}

function versionFindings(facts: ServerFacts): Finding[] {
  const major = majorOf(facts);
  const text = `The database server runs PostgreSQL ${major}.`;
  if (major < VERSION_MIN) {
    return [problem("database", text, `Upgrade it to PostgreSQL ${VERSION_MIN} to ${VERSION_TESTED_MAX}.`)];
  }
  if (major <= VERSION_TESTED_MAX) return [];
  const fix = `Overdue is tested with PostgreSQL ${VERSION_MIN} to ${VERSION_TESTED_MAX}. Check for a newer version of Overdue.`;
  return [warning("database", text, fix)];
}

function encodingFindings({ encoding }: ServerFacts): Finding[] {
  if (encoding === "UTF8") return [];
  const fix =
    "Create another database with `createdb --encoding=UTF8 --template=template0 overdue`, and set OVERDUE_DATABASE_URL to it.";
  return [problem("database", `The database has the encoding ${encoding} instead of UTF8.`, fix)];
}

function durabilityFindings(facts: ServerFacts): Finding[] {
  const restart = "in postgresql.conf, and reload PostgreSQL.";
  const found: Finding[] = [];
  for (const [name, value] of [
    ["fsync", facts.fsync],
    ["synchronous_commit", facts.synchronousCommit],
  ] as const) {
    if (value !== "off") continue;
    const text = `PostgreSQL runs with ${name} = off, so acknowledged pings could be lost.`;
    found.push(problem("database", text, `Set ${name} = on ${restart}`));
  }
  if (facts.fullPageWrites === "off") {
    const text = "PostgreSQL runs with full_page_writes = off, so a power failure can damage the database.";
    const fix = `Set full_page_writes = on ${restart} Leave it off only if the file system prevents torn pages.`;
    found.push(warning("database", text, fix));
  }
  return found;
}

function readOnlyFindings({ isReadOnly, isStandby }: ServerFacts): Finding[] {
  if (isStandby) {
    const fix = "Set OVERDUE_DATABASE_URL to the primary server, or promote this one.";
    return [problem("database", "The database server is a read-only standby.", fix)];
  }
  if (!isReadOnly) return [];
  const fix = "Turn off default_transaction_read_only for the server, the database and the user.";
  return [problem("database", "The database is read-only.", fix)];
}

/** Whether the server has enough connections for one process with these pools. */
export function connectionsFinding(facts: ServerFacts, { needed }: { needed: number }): Finding {
  const { connectionsMax, foreignConnections } = facts;
  const fix = "Raise max_connections of PostgreSQL, or lower OVERDUE_DATABASE_POOL_SIZE.";
  const limit = `at most ${connectionsMax} connections for Overdue`;
  if (needed > connectionsMax) {
    const text = `The database allows ${limit}, but one process can open ${needed}.`;
    return problem("connections", text, fix);
  }
  if (needed + foreignConnections > connectionsMax) {
    const text = `The database allows ${limit}; other programs use ${foreignConnections}, and one process can open ${needed}.`;
    return warning("connections", text, fix);
  }
  return fine("connections", `One process can open ${needed} of ${connectionsMax} connections.`);
}

/** `aheadMs`: by how much the database's clock is ahead; `toleranceMs`: how inexact that is. */
export function clockFinding({ aheadMs, toleranceMs }: { aheadMs: number; toleranceMs: number }): Finding {
  const offMs = Math.max(0, Math.abs(aheadMs) - toleranceMs);
  if (offMs < CLOCK_WARNING_MS) return fine("clock", "The clocks of this machine and of the database agree.");
  const seconds = Math.round(Math.abs(aheadMs) / SECOND_MS);
  const text = `The clock of this machine is ${seconds} s ${aheadMs > 0 ? "behind" : "ahead of"} the clock of the database.`;
  const fix = "Synchronize both clocks with NTP, for example with chrony or systemd-timesyncd.";
  return (offMs >= CLOCK_PROBLEM_MS ? problem : warning)("clock", text, fix);
}

// The schema.

/** `applied` and `pending` are the migrations that this version knows. */
export function schemaFinding({ applied, pending }: { applied: string[]; pending: string[] }): Finding {
  if (pending.length === 0) return fine("schema", "The schema is the one of this version.");
  const fix =
    "Start `overdue serve`, which migrates the database, or run `overdue migrate`. `overdue migrate --plan` shows what it does.";
  if (applied.length === 0) return problem("schema", "The database has no tables of Overdue yet.", fix);
  return problem("schema", `The schema is older than this version: ${pending.join(", ")} is missing.`, fix);
}

// The secret keys.

const USE_WORDS: Readonly<Record<SecretUse, readonly [one: string, many: string]>> = {
  apiKeys: ["API key", "API keys"],
  accessTokens: ["access token", "access tokens"],
  authenticators: ["authenticator app", "authenticator apps"],
  recoveryCodes: ["recovery code", "recovery codes"],
};

export type SecretFacts = {
  /** Whether OVERDUE_SECRET_KEY_PREVIOUS is set, and the same as the current key. */
  previous: "none" | "same" | "other";
  /** Whether it is shorter than a key of this program can be. */
  isShort: boolean;
  counts: Readonly<Record<SecretUse, SecretCounts>>;
};

/** Findings about the secret keys; none for a server that never had another one. */
export function secretFindings({ previous, isShort, counts }: SecretFacts): Finding[] {
  const listed = (which: keyof SecretCounts) =>
    SECRET_USES.flatMap((use) => {
      const count = counts[use][which];
      return count === 0 ? [] : [`${count} ${USE_WORDS[use][count === 1 ? 0 : 1]}`];
    }).join(", ");
  const found: Finding[] = [];
  if (previous === "same") {
    const text = "OVERDUE_SECRET_KEY_PREVIOUS is the same as the current secret key.";
    found.push(warning("secret key", text, "Set it to the earlier secret key, or remove it."));
  }
  if (previous === "other") {
    const needed = listed("previous");
    const removal =
      needed === ""
        ? "No stored key needs OVERDUE_SECRET_KEY_PREVIOUS. Only badge URLs and links that were made with it do."
        : `OVERDUE_SECRET_KEY_PREVIOUS is needed for ${needed}.`;
    found.push({
      about: "secret key",
      level: "ok",
      text: removal,
      fix:
        needed === ""
          ? "Remove it when no page shows such a badge any more."
          : "Remove it when this is 0. An API key or token is updated when it is used; new recovery codes replace the old ones.",
    });
  }
  if (previous === "other" && isShort) {
    const text = "OVERDUE_SECRET_KEY_PREVIOUS is short, so it can be guessed from a badge URL.";
    const fix = "Replace the badge URLs that were made with it, then remove it.";
    found.push(warning("secret key", text, fix));
  }
  const lost = listed("neither");
  if (lost !== "") {
    const text = `These were made with another secret key and do not work: ${lost}.`;
    const fix =
      "If you changed the secret key, set OVERDUE_SECRET_KEY_PREVIOUS to the earlier one. Otherwise replace them.";
    found.push(warning("secret key", text, fix));
  }
  return found;
}

// This machine.

const NODE_MIN = [24, 18] as const;

/** `version`: as in process.versions.node. */
export function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isOld = major < NODE_MIN[0] || (major === NODE_MIN[0] && minor < NODE_MIN[1]);
  if (!isOld) return fine("node", `Node ${version} is supported.`);
  return problem("node", `Node ${version} is too old.`, `Install Node ${NODE_MIN.join(".")} or later.`);
}

/** File systems, by the number that Linux reports, on which the spool does not keep what it confirms. */
const UNFIT_FILE_SYSTEMS: Readonly<Record<number, string>> = {
  0x01021994: "tmpfs, which is lost at a restart",
  0x858458f6: "ramfs, which is lost at a restart",
};
/** Locks and synced writes depend on the server of these. */
const REMOTE_FILE_SYSTEMS: Readonly<Record<number, string>> = {
  0x6969: "NFS",
  0x517b: "SMB",
  0xfe534d42: "SMB",
  0xff534d42: "CIFS",
  0x01021997: "9p",
  0x00c36400: "Ceph",
  0x65735546: "FUSE",
};
/** A container without a volume. */
const OVERLAY_FILE_SYSTEM = 0x794c7630;

export type SpoolDisk = {
  folder: string;
  fileSystem: number;
  freeBytes: number;
  /** The configured size of the spool. */
  bytesMax: number;
};

/** Findings about the disk of the spool. */
export function diskFindings(disk: SpoolDisk): Finding[] {
  return [...spaceFindings(disk), ...fileSystemFindings(disk)];
}

function spaceFindings({ folder, freeBytes, bytesMax }: SpoolDisk): Finding[] {
  if (freeBytes < FREE_DISK_BYTES_MIN) {
    const text = `The disk of the spool folder ${folder} has ${mebibytes(freeBytes)} free, so pings are rejected while the database is unavailable.`;
    return [
      problem("spool", text, "Free at least 64 MiB there, or set OVERDUE_SPOOL_FOLDER to another disk."),
    ];
  }
  if (freeBytes >= bytesMax) return [];
  const text = `The disk of the spool folder ${folder} has ${mebibytes(freeBytes)} free, less than OVERDUE_SPOOL_BYTES (${mebibytes(bytesMax)}).`;
  return [warning("spool", text, "Free some space there, or lower OVERDUE_SPOOL_BYTES.")];
}

function fileSystemFindings({ folder, fileSystem }: SpoolDisk): Finding[] {
  const fix = "Set OVERDUE_SPOOL_FOLDER to a folder on a local disk that survives a restart.";
  const unfit = UNFIT_FILE_SYSTEMS[fileSystem];
  if (unfit !== undefined) return [problem("spool", `The spool folder ${folder} is on ${unfit}.`, fix)];
  const remote = REMOTE_FILE_SYSTEMS[fileSystem];
  if (remote !== undefined) {
    const text = `The spool folder ${folder} is on a network or user-space file system (${remote}).`;
    return [warning("spool", text, fix)];
  }
  if (fileSystem !== OVERLAY_FILE_SYSTEM) return [];
  const text = `The spool folder ${folder} is in the file system of a container, which is lost when the container is replaced.`;
  return [warning("spool", text, "Mount a volume there.")];
}

function mebibytes(bytes: number): string {
  return `${Math.floor(bytes / 1024 ** 2)} MiB`;
}

// The public URL.

/** What is wrong with the URL itself. */
export function siteUrlFindings(siteUrl: string): Finding[] {
  const { protocol, hostname } = new URL(siteUrl);
  if (protocol === "https:") return [];
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  const text = isLocal
    ? `OVERDUE_SITE_URL is ${siteUrl}, which only this machine can open.`
    : `OVERDUE_SITE_URL is ${siteUrl}, so passwords and ping URLs are sent unencrypted.`;
  const fix =
    "Put an HTTPS reverse proxy in front of Overdue, and set OVERDUE_SITE_URL to the URL that users and jobs open.";
  return [warning("public URL", text, fix)];
}

/** What a request to the public URL has shown. */
export type AddressFacts = {
  /** Whether a server on this database answered; null: that could not be tested. */
  isThisServer: boolean | null;
  /** Whether an Overdue dashboard answered. */
  isOverdue: boolean;
  /** What the request of the setup page has found. */
  problems: readonly { text: string; advice: string }[];
};

/** Findings about the way from the public URL to this server. */
export function addressFindings(siteUrl: string, facts: AddressFacts): Finding[] {
  const { isThisServer, isOverdue, problems } = facts;
  if (isThisServer === false && isOverdue) {
    const text = `Another Overdue server, with another database, answers at ${siteUrl}.`;
    return [
      problem("public URL", text, "Correct OVERDUE_SITE_URL, or the proxy that forwards this address."),
    ];
  }
  const isReached = isThisServer ?? isOverdue;
  // A process without the dashboard answers the test of this server, and not the one of the setup page.
  const relevant = isReached && !isOverdue ? [] : problems;
  const level = isReached ? warning : problem;
  const found = relevant.map(({ text, advice }) => level("public URL", text, advice));
  if (found.length > 0) return found;
  if (isReached) return [fine("public URL", `This server answers at ${siteUrl}.`)];
  const fix = "Check the host name, the proxy, and that the server is running.";
  return [problem("public URL", `This server does not answer at ${siteUrl}.`, fix)];
}
