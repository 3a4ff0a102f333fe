// A private, real PostgreSQL for tests, benchmarks and development: that of the trial, also listening on loopback,
// that can be crashed. Removed completely when it is stopped or when this process dies.
import { type PrivatePostgres, startPrivatePostgres } from "../../src/cli/private-postgres.ts";
import { freePort } from "./ports.ts";
import type { PostgresBinaries } from "./postgres-binaries.ts";

const SUPERUSER = "overdue";
const PORT_ATTEMPTS_MAX = 5;

export type PostgresOptions = {
  binaries: PostgresBinaries;
  /** False trades crash safety for speed. For tests only: a benchmark of it would be meaningless. */
  durable?: boolean;
  /** Extra lines of postgresql.conf, for example `{ shared_buffers: "1GB" }`. */
  settings?: Record<string, string>;
  /** A folder that keeps the data between starts. Without it the data is temporary. */
  keepDataIn?: string;
  /** A database to create with the data. */
  database?: string;
  /** A fixed port, for a server that developers connect to. */
  port?: number;
};

export type PostgresServer = {
  major: number;
  port: number;
  socketDirectory: string;
  dataDirectory: string;
  /** Process ID of the postmaster, for fault injection. */
  pid(): number;
  /** URL of a database over TCP on loopback. */
  url(database?: string): string;
  /** URL of a database over the Unix socket. */
  socketUrl(database?: string): string;
  /** Stops immediately, like a crash, and keeps the data: follow with `resume`. */
  crash(): Promise<void>;
  /** Starts again on the same data and port. */
  resume(): Promise<void>;
  /** Stops gracefully, and deletes the data unless it is to be kept. */
  stop(): Promise<void>;
};

/** Starts a server and waits until it responds. */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await freePort());
    try {
      return serverOf(await startOn(port, options), { port, major: options.binaries.major });
    } catch (error) {
      // Between finding a free port and binding it, another process may take it.
      const taken = String(error).includes("could not create any TCP/IP sockets");
      if (!taken || options.port !== undefined || attempt === PORT_ATTEMPTS_MAX) throw error;
    }
  }
}

function startOn(port: number, options: PostgresOptions): Promise<PrivatePostgres> {
  return startPrivatePostgres({
    directory: options.binaries.directory,
    ...(options.keepDataIn !== undefined && { keepDataIn: options.keepDataIn }),
    ...(options.database !== undefined && { database: options.database }),
    settings: {
      listen_addresses: "127.0.0.1",
      port: String(port),
      max_connections: "200",
      ...(options.durable === false
        ? { fsync: "off", full_page_writes: "off" }
        : { fsync: "on", synchronous_commit: "on", full_page_writes: "on" }),
      ...options.settings,
    },
  });
}

function serverOf(server: PrivatePostgres, { port, major }: { port: number; major: number }): PostgresServer {
  return {
    major,
    port,
    socketDirectory: server.socketDirectory,
    dataDirectory: server.dataDirectory,
    pid: () => server.postmaster().pid ?? 0,
    url: (database = "postgres") => `postgres://${SUPERUSER}@127.0.0.1:${port}/${database}`,
    socketUrl: (database) => server.socketUrl(database),
    crash: async () => {
      const postmaster = server.postmaster();
      const exited = new Promise((resolve) => postmaster.once("exit", resolve));
      postmaster.ref();
      postmaster.kill("SIGQUIT");
      await exited;
    },
    resume: () => server.relaunch(),
    stop: () => server.stop(),
  };
}
