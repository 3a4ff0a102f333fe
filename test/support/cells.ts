// Several cells, each with its own PostgreSQL and process, and a real HAProxy in front of them. For tests and
// benchmarks.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createProject, type CreatedProject } from "../../src/operations/projects.ts";
import { type Database, openDatabase } from "../../src/store/db.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import { migrate } from "../../src/store/migrate.ts";
import { parseCells } from "../../src/core/cells.ts";
import { COMPILE_CACHE } from "./compile-cache.ts";
import { endWithUs } from "./end-with-us.ts";
import { type PingProcess, startPingProcess } from "./ping-process.ts";
import { freePort } from "./ports.ts";
import { embeddedPostgres } from "./postgres-binaries.ts";
import { type PostgresServer, startPostgres } from "./postgres.ts";
import { sampleAccount } from "./sample.ts";

const HAPROXY = "/usr/sbin/haproxy";
const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const COMMAND_MS_MAX = 120_000;
const run = promisify(execFile);
const ROUTER_START_MS_MAX = 60_000;
const SECRET_KEY = "the secret key of the cells in tests";

export type RunningCell = {
  name: string;
  url: string;
  server: PostgresServer;
  database: Database;
  program: PingProcess;
  /** The settings of commands for this cell. */
  settings: Record<string, string>;
  /** A project with its keys, in one of the cell's slots. */
  addProject(): Promise<CreatedProject>;
};

export type Router = { url: string; pid: number; stop(): Promise<void> };

export type RunningCells = {
  cells: readonly RunningCell[];
  /** A temporary folder for maps. */
  folder: string;
  /** Runs `overdue router maps` for every cell. */
  writeMaps(directory: string): Promise<void>;
  /** Starts HAProxy with the printed configuration. */
  startRouter(directory: string, bindOf?: (port: number) => string): Promise<Router>;
  stop(): Promise<void>;
};

export type CellsOptions = {
  /** The slots of each cell, by name. */
  slots: Readonly<Record<string, string>>;
  /** Cells that are described, but do not run. */
  absent?: readonly string[];
  roles?: string;
  settings?: Readonly<Record<string, string>>;
};

export async function startCells(options: CellsOptions): Promise<RunningCells> {
  const { slots, absent = [] } = options;
  const folder = mkdtempSync(join(tmpdir(), "overdue-cells-"));
  const file = join(folder, "cells.json");
  const described = await Promise.all(
    Object.entries(slots).map(async ([name, range]) => ({
      name,
      urls: [`http://127.0.0.1:${await freePort()}`],
      hosts: [`${name}.example.org`],
      slots: [range],
    })),
  );
  writeFileSync(file, JSON.stringify(described));
  const parsed = parseCells(JSON.stringify(described));
  if ("problem" in parsed) throw new Error(parsed.problem);
  const cells = await Promise.all(
    parsed.value.list
      .filter(({ name }) => !absent.includes(name))
      .map(({ name, urls: [url = ""], slots: own }) => startCell({ name, url, own, file }, options)),
  );
  const routers = new Set<Router>();
  return {
    cells,
    folder,
    writeMaps: async (directory) => {
      for (const { settings } of cells) {
        await overdue(["router", "maps", "--directory", directory], settings);
      }
    },
    startRouter: async (directory, bindOf = (port: number) => `127.0.0.1:${port}`) => {
      const port = await freePort();
      const args = ["router", "config", "--directory", directory, "--bind", bindOf(port)];
      const config = join(folder, `haproxy-${port}.cfg`);
      writeFileSync(config, await overdue(args, cells[0]?.settings ?? {}));
      const router = await startRouter({ config, port });
      routers.add(router);
      return router;
    },
    stop: async () => {
      for (const router of routers) await router.stop();
      for (const { database, program, server } of cells) {
        await database.close();
        if (program.end() === null) await program.stop();
        await server.stop();
      }
      rmSync(folder, { recursive: true });
    },
  };
}

/** Runs a command to its end and returns its output. */
async function overdue(args: readonly string[], settings: Record<string, string>): Promise<string> {
  const env = { ...COMPILE_CACHE, HOME: "/nonexistent", ...settings };
  const { stdout } = await run(process.execPath, [MAIN, ...args], { env, timeout: COMMAND_MS_MAX });
  return stdout;
}

type CellPlan = { name: string; url: string; own: readonly string[]; file: string };

async function startCell(
  { name, url, own, file }: CellPlan,
  { roles = "ping,api", settings: more = {} }: CellsOptions,
): Promise<RunningCell> {
  const server = await startPostgres({ binaries: embeddedPostgres() });
  const databaseUrl = server.url();
  const options = { url: databaseUrl, slots: own, applicationName: "test", onError: () => {} };
  await migrate(options);
  const database = openDatabase(options);
  const settings = {
    OVERDUE_SITE_URL: `http://${name}.example.org`,
    OVERDUE_SECRET_KEY: SECRET_KEY,
    OVERDUE_CELL: name,
    OVERDUE_CELLS: file,
    ...more,
  };
  const program = await startPingProcess({
    databaseUrl,
    port: Number(new URL(url).port),
    roles,
    settings,
  });
  return {
    name,
    url,
    server,
    database,
    program,
    settings: { ...settings, OVERDUE_DATABASE_URL: databaseUrl },
    addProject: async () => {
      const { id } = await sampleAccount(database);
      const now = await readDatabaseClock(database);
      return createProject(database, { ownerId: id, name: "Backups", secretKey: SECRET_KEY, now });
    },
  };
}

/** Starts HAProxy with a configuration that listens on the port. */
export async function startRouter({ config, port }: { config: string; port: number }): Promise<Router> {
  const child = spawn(HAPROXY, ["-db", "-f", config], { stdio: ["ignore", "pipe", "pipe"] });
  endWithUs(child);
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-10_000);
    });
  }
  const ended = once(child, "close");
  const url = `http://127.0.0.1:${port}`;
  const giveUpAt = performance.now() + ROUTER_START_MS_MAX;
  while (!(await listens(port))) {
    if (child.exitCode !== null) throw new Error(`HAProxy ended: ${said}`);
    if (performance.now() > giveUpAt) throw new Error(`HAProxy does not answer: ${said}`);
    await sleep(50);
  }
  return {
    url,
    pid: child.pid ?? 0,
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
      await ended;
    },
  };
}

async function listens(port: number): Promise<boolean> {
  const socket = connect({ port, host: "127.0.0.1" });
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
