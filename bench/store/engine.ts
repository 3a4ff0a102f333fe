// The PostgreSQL that the store benchmark measures: private, durable, on a disk. Other setups are refused, because
// results without durable writes are not comparable.
import { mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { startPostgres } from "../../test/support/postgres.ts";
import { embeddedPostgres } from "../../test/support/postgres-binaries.ts";

/** Settings that differ from the defaults; printed with every run. */
const SETTINGS = {
  shared_buffers: "1GB",
  max_wal_size: "4GB",
  checkpoint_timeout: "15min",
  maintenance_work_mem: "512MB",
  // Pages are written in full after a checkpoint; this build can only compress them slowly (pglz).
  wal_compression: "off",
  autovacuum_naptime: "10s",
  // The baseline of the ping benchmark uses 256 sessions.
  max_connections: "300",
};

const DURABLE = ["fsync", "synchronous_commit", "full_page_writes"] as const;

/** File systems in memory, by the number that statfs gives. */
const MEMORY_FILE_SYSTEMS = new Map([
  [0x01021994, "tmpfs"],
  [0x858458f6, "ramfs"],
]);

export type Engine = {
  /** A session of the superuser, for filling, checkpoints and sizes. */
  connect: (database: string) => Promise<pg.Client>;
  url: (database: string) => string;
  /** Stops the server and removes its data; may be called twice. */
  stop: () => Promise<void>;
};

/** Starts the server, prints its version and settings, and throws unless it is durable and on a disk. */
export async function startEngine(): Promise<Engine> {
  const server = await startPostgres({ binaries: embeddedPostgres(), settings: SETTINGS });
  try {
    const connect = async (database: string) => {
      const client = new pg.Client({ connectionString: server.socketUrl(database) });
      // The server stops with this process; a session that notices it first must not cause a second error.
      client.on("error", () => {});
      await client.connect();
      return client;
    };
    const admin = await connect("postgres");
    await requireDurable(admin);
    await requireDisk(server.dataDirectory);
    await admin.end();
    return { connect, url: (database) => server.socketUrl(database), stop: () => server.stop() };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** Runs a benchmark with a server and a folder, which are removed at its end, or when it is interrupted. */
export async function onEngine<T>(
  whenInterrupted: (cleanUp: () => Promise<void>) => void,
  work: (engine: Engine, folder: string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "overdue-bench-"));
  const engine = await startEngine();
  const cleanUp = async () => {
    await engine.stop();
    await rm(folder, { recursive: true, force: true });
  };
  whenInterrupted(cleanUp);
  try {
    return await work(engine, folder);
  } finally {
    await cleanUp();
  }
}

async function requireDurable(admin: pg.Client): Promise<void> {
  const { rows } = await admin.query<{ name: string; setting: string }>(
    "select name, setting from pg_settings where name = any ($1)",
    [[...DURABLE]],
  );
  const version = await admin.query<{ server_version: string }>("show server_version");
  const others = Object.entries(SETTINGS).map(([name, value]) => `${name} ${value}`);
  const durable = rows.map(({ name, setting }) => `${name} ${setting}`);
  console.log(`PostgreSQL ${version.rows[0]?.server_version}: ${durable.join(", ")}`);
  console.log(`set besides: ${others.join(", ")}`);
  const on = rows.filter(({ setting }) => setting === "on");
  if (on.length !== DURABLE.length) throw new Error(`not measured: ${DURABLE.join(", ")} must be on`);
}

async function requireDisk(directory: string): Promise<void> {
  const { type } = await statfs(directory);
  const inMemory = MEMORY_FILE_SYSTEMS.get(type >>> 0);
  if (inMemory !== undefined) {
    throw new Error(`not measured: ${directory} lies on ${inMemory}, in memory. Set TMPDIR to a disk.`);
  }
  console.log(`data on a disk: file system 0x${(type >>> 0).toString(16)} at ${directory}`);
}
