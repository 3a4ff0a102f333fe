// A private, real MariaDB for tests that read a MySQL database, on loopback and a Unix socket. Removed completely when
// it is stopped or when this process dies.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import mysql from "mysql2/promise";
import { endWithUs } from "./end-with-us.ts";
import { freePort } from "./ports.ts";

const PROGRAM = "/usr/sbin/mariadbd";
const INSTALLER = "/usr/bin/mariadb-install-db";
const USER = "root";
const START_ATTEMPTS_MAX = 600;
const START_POLL_MS = 100;

/** Debian's package; these tests are skipped without it. */
export const isMariadbInstalled = existsSync(PROGRAM) && existsSync(INSTALLER);

/** For the name of a suite that needs it: why it is skipped. */
export const WHY_SKIPPED = isMariadbInstalled ? "" : `, but there is no ${PROGRAM}: .ci/install installs it`;

export type MariadbServer = {
  port: number;
  socketPath: string;
  url(database?: string): string;
  /** Creates a database and returns its URL. */
  create(database: string): Promise<string>;
  stop(): Promise<void>;
};

/** Starts a server with an empty data folder and waits until it responds. */
export async function startMariadb(settings: readonly string[] = []): Promise<MariadbServer> {
  const folder = mkdtempSync(join(tmpdir(), "overdue-mariadb-"));
  const data = join(folder, "data");
  const socketPath = join(folder, "socket");
  const common = ["--no-defaults", `--datadir=${data}`, ...(process.getuid?.() === 0 ? ["--user=root"] : [])];
  await promisify(execFile)(INSTALLER, [
    ...common,
    "--auth-root-authentication-method=normal",
    "--skip-test-db",
  ]);
  const port = await freePort();
  const child = spawn(
    PROGRAM,
    [
      ...common,
      `--socket=${socketPath}`,
      `--port=${port}`,
      "--bind-address=127.0.0.1",
      `--pid-file=${join(folder, "pid")}`,
      "--skip-name-resolve",
      "--innodb-buffer-pool-size=64M",
      "--innodb-flush-log-at-trx-commit=0",
      ...settings,
    ],
    { stdio: "ignore" },
  );
  endWithUs(child);
  const url = (database = "") => `mysql://${USER}@127.0.0.1:${port}/${database}`;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const connection = await mysql.createConnection({ socketPath, user: USER });
      await connection.query(`create or replace user ${USER}@'127.0.0.1'`);
      await connection.query(`grant all on *.* to ${USER}@'127.0.0.1'`);
      await connection.end();
      break;
    } catch (error) {
      if (attempt === START_ATTEMPTS_MAX || child.exitCode !== null) throw error;
      await sleep(START_POLL_MS);
    }
  }
  return {
    port,
    socketPath,
    url,
    create: async (database) => {
      const connection = await mysql.createConnection({ socketPath, user: USER });
      await connection.query(`create database ${database}`);
      await connection.end();
      return url(database);
    },
    stop: async () => {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
      rmSync(folder, { recursive: true });
    },
  };
}
