// A real PgBouncer in front of the tests' PostgreSQL, to test which of its modes are rejected.
import { spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { freePort } from "./ports.ts";

const PROGRAM = "/usr/sbin/pgbouncer";
const START_ATTEMPTS_MAX = 600;
const START_POLL_MS = 50;

/** Debian's package; these tests are skipped without it. */
export const isPgbouncerInstalled = existsSync(PROGRAM);

export type PgbouncerOptions = {
  databaseUrl: string;
  poolMode: "session" | "transaction";
  settings?: string[];
};

/** Starts PgBouncer in front of one database and returns its URL and a function that stops it. */
export async function startPgbouncer(
  options: PgbouncerOptions,
): Promise<{ url: string; stop(): Promise<void> }> {
  const database = new URL(options.databaseUrl);
  const directory = mkdtempSync(join(tmpdir(), "overdue-pgbouncer-"));
  const port = await freePort();
  const configuration = [
    "[databases]",
    `* = host=${database.hostname} port=${database.port} user=${database.username}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = any",
    `pool_mode = ${options.poolMode}`,
    ...(options.settings ?? []),
  ];
  const path = join(directory, "pgbouncer.ini");
  writeFileSync(path, configuration.join("\n"));
  const identity = unprivilegedIdentity();
  if (identity !== undefined) chownSync(directory, identity.uid, identity.gid);
  // The shell ends the pooler when its standard input closes, so also when this process dies.
  const child = spawn("sh", ["-c", `"$0" -q "$1" & cat >/dev/null; kill $!; wait $!`, PROGRAM, path], {
    ...identity,
    stdio: ["pipe", "ignore", "ignore"],
  });
  const url = `postgres://${database.username}@127.0.0.1:${port}${database.pathname}`;
  await untilAnswering(url);
  return {
    url,
    stop: async () => {
      const exited = new Promise((resolve) => child.once("exit", resolve));
      child.stdin.end();
      await exited;
      rmSync(directory, { recursive: true });
    },
  };
}

function unprivilegedIdentity(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const line = /^postgres:[^:]*:(\d+):(\d+):/m.exec(readFileSync("/etc/passwd", "utf8"));
  return line === null ? undefined : { uid: Number(line[1]), gid: Number(line[2]) };
}

async function untilAnswering(url: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      return await client.end();
    } catch (error) {
      if (attempt === START_ATTEMPTS_MAX) throw error;
      await sleep(START_POLL_MS);
    }
  }
}
