// A private, real PostgreSQL for tests, benchmarks and development: started on loopback from a
// directory of programs, gone without trace when it is stopped or when this process dies.
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { chownSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, closeSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import type { PostgresBinaries } from "./postgres-binaries.ts";

const run = promisify(execFile);

const SUPERUSER = "overdue";
const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_SECONDS = 60;
const START_POLL_MS = 20;
const PORT_ATTEMPTS_MAX = 5;

export type PostgresOptions = {
  binaries: PostgresBinaries;
  /** False trades crash safety for speed. For tests only: a benchmark of it would measure nothing. */
  durable?: boolean;
  /** Extra lines of postgresql.conf, for instance `{ shared_buffers: "1GB" }`. */
  settings?: Record<string, string>;
  /** A folder to keep the data in between starts. Without it the data is temporary. */
  keepDataIn?: string;
  /** A fixed port, for a server that people want to find again. */
  port?: number;
};

export type PostgresServer = {
  major: number;
  port: number;
  socketDirectory: string;
  dataDirectory: string;
  /** Process id of the postmaster, for fault injection. */
  pid(): number;
  /** Address of a database over TCP on loopback. */
  url(database?: string): string;
  /** Address of a database over the Unix socket. */
  socketUrl(database?: string): string;
  /** Stops at once, as a crash would, and keeps the data: follow with `resume`. */
  crash(): Promise<void>;
  /** Starts again on the same data and port. */
  resume(): Promise<void>;
  /** Stops in order, and removes the data unless it was to be kept. */
  stop(): Promise<void>;
};

type Identity = { uid: number; gid: number } | undefined;
type Place = { home: string; data: string; programs: string; temporary: boolean; identity: Identity };

/** Starts a server and waits until it answers. */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const place = await prepare(options);
  const guardian = spawnGuardian(place);
  try {
    if (!existsSync(join(place.data, "PG_VERSION"))) await initialise(place);
    const { postmaster, port } = await startOnFreePort(place, options);
    return serverOf({ place, guardian, postmaster, port, options });
  } catch (error) {
    await dismiss(guardian);
    throw error;
  }
}

/** PostgreSQL refuses to run as root, so as root it runs as the user that packages create for it. */
function unprivilegedIdentity(): Identity {
  if (process.getuid?.() !== 0) return undefined;
  const line = /^postgres:[^:]*:(\d+):(\d+):/m.exec(readFileSync("/etc/passwd", "utf8"));
  if (line === null) {
    throw new Error(
      'PostgreSQL does not run as root. Add a user for it with "useradd --system postgres", or run as yourself.',
    );
  }
  return { uid: Number(line[1]), gid: Number(line[2]) };
}

async function prepare(options: PostgresOptions): Promise<Place> {
  const identity = unprivilegedIdentity();
  // Always short: a socket's path may not exceed 107 bytes.
  const home = mkdtempSync(join(tmpdir(), "overdue-pg-"));
  const data = options.keepDataIn ?? join(home, "data");
  if (options.keepDataIn !== undefined) mkdirSync(data, { recursive: true, mode: 0o700 });
  if (identity !== undefined) {
    chownSync(home, identity.uid, identity.gid);
    if (options.keepDataIn !== undefined) chownSync(data, identity.uid, identity.gid);
  }
  const programs = await reachablePrograms({ directory: options.binaries.directory, home, identity });
  return { home, data, programs, temporary: options.keepDataIn === undefined, identity };
}

/** A checkout below /root is closed to the database's user; then the programs are copied beside the data. */
async function reachablePrograms(at: {
  directory: string;
  home: string;
  identity: Identity;
}): Promise<string> {
  if (at.identity === undefined) return join(at.directory, "bin");
  try {
    await run("test", ["-x", join(at.directory, "bin/postgres")], at.identity);
    return join(at.directory, "bin");
  } catch {
    const copy = join(at.home, "programs");
    await run("cp", ["-a", at.directory, copy]);
    await run("chown", ["-R", `${at.identity.uid}:${at.identity.gid}`, copy]);
    return join(copy, "bin");
  }
}

async function initialise(place: Place): Promise<void> {
  const args = ["-D", place.data, "-U", SUPERUSER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
  await run(join(place.programs, "initdb"), args, { ...place.identity, cwd: place.home });
}

/**
 * Stops the server and removes its data when our end of its standard input closes: on request, and just as
 * well when this process is interrupted or killed. It is detached, so that Ctrl-C reaches us and not it.
 */
function spawnGuardian(place: Place): ChildProcess {
  const script = `cat >/dev/null
    "$1/pg_ctl" stop -D "$2" -m fast -w -t ${STOP_TIMEOUT_SECONDS} || "$1/pg_ctl" stop -D "$2" -m immediate -w
    cd / && rm -rf "$3"`;
  const child = spawn("sh", ["-c", script, "guardian", place.programs, place.data, place.home], {
    ...place.identity,
    cwd: place.home,
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

async function startOnFreePort(
  place: Place,
  options: PostgresOptions,
): Promise<{ postmaster: ChildProcess; port: number }> {
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await freePort());
    try {
      return { postmaster: await spawnPostmaster({ place, options, port }), port };
    } catch (error) {
      // Between finding a free port and binding it, somebody else may take it.
      const taken = String(error).includes("could not create any TCP/IP sockets");
      if (!taken || options.port !== undefined || attempt === PORT_ATTEMPTS_MAX) throw error;
    }
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => (address === null || typeof address === "string" ? reject() : resolve(address.port)));
    });
  });
}

type Start = { place: Place; options: PostgresOptions; port: number };

async function spawnPostmaster({ place, options, port }: Start): Promise<ChildProcess> {
  const settings: Record<string, string> = {
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: place.home,
    max_connections: "200",
    ...(options.durable === false
      ? { fsync: "off", full_page_writes: "off" }
      : { fsync: "on", synchronous_commit: "on", full_page_writes: "on" }),
    ...options.settings,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const logPath = join(place.home, "log");
  const log = openSync(logPath, "a", 0o644);
  const child = spawn(join(place.programs, "postgres"), ["-D", place.data, ...args], {
    ...place.identity,
    cwd: place.home,
    detached: true,
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  child.unref();
  await untilAnswering({ child, port, logPath });
  return child;
}

async function untilAnswering(at: { child: ChildProcess; port: number; logPath: string }): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  let failure: unknown;
  while (performance.now() < deadline) {
    if (at.child.exitCode !== null || at.child.signalCode !== null) break;
    const client = new pg.Client({ host: "127.0.0.1", port: at.port, user: SUPERUSER, database: "postgres" });
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      failure = error;
      await sleep(START_POLL_MS);
    }
  }
  throw new Error(`PostgreSQL did not start:\n${readFileSync(at.logPath, "utf8")}`, { cause: failure });
}

type Running = { place: Place; guardian: ChildProcess; postmaster: ChildProcess } & Pick<
  Start,
  "options" | "port"
>;

function serverOf(running: Running): PostgresServer {
  const { place, guardian, options, port } = running;
  let postmaster = running.postmaster;
  return {
    major: options.binaries.major,
    port,
    socketDirectory: place.home,
    dataDirectory: place.data,
    pid: () => postmaster.pid ?? 0,
    url: (database = "postgres") => `postgres://${SUPERUSER}@127.0.0.1:${port}/${database}`,
    socketUrl: (database = "postgres") =>
      `postgres://${SUPERUSER}@/${database}?host=${encodeURIComponent(place.home)}&port=${port}`,
    crash: async () => {
      const exited = new Promise((resolve) => postmaster.once("exit", resolve));
      postmaster.ref();
      postmaster.kill("SIGQUIT");
      await exited;
    },
    resume: async () => {
      postmaster = await spawnPostmaster({ place, options, port });
    },
    stop: () => dismiss(guardian),
  };
}
