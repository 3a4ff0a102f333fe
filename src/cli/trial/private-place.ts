// Where a PostgreSQL of our own lives and as whom it runs: it refuses to run as root, and whoever it runs as must
// reach its programs and its data. Starts nothing that stays.
import { execFile } from "node:child_process";
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export type Identity = { uid: number; gid: number } | undefined;

/** A folder, and the path under which the server sees it once it stands in it. */
export type ClaimedFolder = { path: string; seenAs: string };

export type Place = {
  /** For the socket and the log; gone when the server is. */
  home: string;
  data: string;
  /** The path of the data for a program whose working directory it is. */
  dataSeenAs: string;
  programs: string;
  /** Whom the server runs as, if not as us. */
  identity: Identity;
  /** Makes an empty folder of the server's own; what was there is removed. */
  claimFolder(path: string): ClaimedFolder;
};

/** Users that own nothing of value, the best first. The first comes with PostgreSQL, the other with every system. */
const UNPRIVILEGED = ["postgres", "nobody"];

/** A process sees its working directory here, also where the way to it is closed. */
const WORKING_DIRECTORY = "/proc/self/cwd";

/** Finds a place for a server; makes the temporary part of it. */
export async function preparePlace(at: { directory: string; keepDataIn?: string }): Promise<Place> {
  const identity = unprivilegedIdentity(at.keepDataIn);
  // Always short: a socket's path may not exceed 103 bytes.
  const home = mkdtempSync(join(tmpdir(), "overdue-pg-"));
  const data = at.keepDataIn ?? join(home, "data");
  mkdirSync(dirname(data), { recursive: true });
  const programs = await reachablePrograms({ directory: at.directory, home, identity });
  // Not before everything of ours is in it: from here on others may put something there.
  if (identity !== undefined) chownSync(home, identity.uid, identity.gid);
  const isReachable = await reaches(identity, dirname(data));
  const seenAs = (path: string) => (isReachable ? path : WORKING_DIRECTORY);
  const claimFolder = (path: string) => {
    rmSync(path, { recursive: true, force: true });
    mkdirSync(path, { mode: 0o700 });
    if (identity !== undefined) chownSync(path, identity.uid, identity.gid);
    return { path, seenAs: seenAs(path) };
  };
  return { home, data, dataSeenAs: seenAs(data), programs, identity, claimFolder };
}

/** As root, somebody else: the owner of data that is there already. Undefined for us. */
function unprivilegedIdentity(keptIn: string | undefined): Identity {
  if (process.getuid?.() !== 0) return undefined;
  const kept = keptIn === undefined ? undefined : statSync(keptIn, { throwIfNoEntry: false });
  if (kept !== undefined && kept.uid !== 0) return { uid: kept.uid, gid: kept.gid };
  const users = readFileSync("/etc/passwd", "utf8");
  for (const name of UNPRIVILEGED) {
    const line = new RegExp(`^${name}:[^:]*:(\\d+):(\\d+):`, "m").exec(users);
    if (line !== null) return { uid: Number(line[1]), gid: Number(line[2]) };
  }
  throw new Error(
    'PostgreSQL cannot run as root. Create a user for it with "useradd --system postgres", or run Overdue as a regular user.',
  );
}

async function reaches(identity: Identity, path: string): Promise<boolean> {
  if (identity === undefined) return true;
  return run("test", ["-x", path], { ...identity, cwd: "/" }).then(
    () => true,
    () => false,
  );
}

/** Programs below /root are closed to the server's user; then they are copied beside its socket. */
async function reachablePrograms(at: {
  directory: string;
  home: string;
  identity: Identity;
}): Promise<string> {
  if (await reaches(at.identity, join(at.directory, "bin/postgres"))) return join(at.directory, "bin");
  const copy = join(at.home, "programs");
  await run("cp", ["-R", "-P", "-p", at.directory, copy]);
  if (at.identity !== undefined) await run("chown", ["-R", `${at.identity.uid}:${at.identity.gid}`, copy]);
  return join(copy, "bin");
}
