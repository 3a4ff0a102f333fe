// The private PostgreSQL itself: durable by default, and removed completely, however its owner ends.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { expect, test } from "vitest";
import { startPostgres } from "./postgres.ts";
import { embeddedPostgres } from "./postgres-binaries.ts";

const HERE = fileURLToPath(new URL("./", import.meta.url));
const GONE_MS = 40_000;

async function ask(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test("a server is durable, answers on loopback and on its socket, and leaves nothing behind", async () => {
  const server = await startPostgres({ binaries: embeddedPostgres(), settings: { work_mem: "7MB" } });
  const settings = `select current_setting('fsync') as fsync, current_setting('full_page_writes') as pages,
    current_setting('synchronous_commit') as commit, current_setting('listen_addresses') as address,
    current_setting('work_mem') as memory`;
  const expected = [{ fsync: "on", pages: "on", commit: "on", address: "127.0.0.1", memory: "7MB" }];
  expect(await ask(server.url(), settings)).toEqual(expected);
  expect(await ask(server.socketUrl(), settings)).toEqual(expected);
  const pid = server.pid();
  await server.stop();
  expect(isAlive(pid)).toBe(false);
  expect(existsSync(server.dataDirectory)).toBe(false);
  expect(existsSync(server.socketDirectory)).toBe(false);
});

test("what was committed survives a crash", async () => {
  const server = await startPostgres({ binaries: embeddedPostgres() });
  try {
    await ask(server.url(), "create table kept (n int)");
    await server.crash();
    await expect(ask(server.url(), "select 1")).rejects.toThrow("ECONNREFUSED");
    await server.resume();
    expect(await ask(server.url(), "select * from kept")).toEqual([]);
  } finally {
    await server.stop();
  }
});

test("data that is to be kept is there at the next start", async () => {
  const folder = mkdtempSync(join(tmpdir(), "overdue-kept-"));
  try {
    const options = { binaries: embeddedPostgres(), keepDataIn: folder, durable: false };
    const first = await startPostgres(options);
    await ask(first.url(), "create table kept (n int)");
    await first.stop();
    const second = await startPostgres(options);
    expect(await ask(second.url(), "select * from kept")).toEqual([]);
    await second.stop();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.each(["SIGKILL", "SIGINT"] as const)(
  "a server goes when its owner gets %s",
  async (signal) => {
    const script = `import { startPostgres } from "./postgres.ts";
    import { embeddedPostgres } from "./postgres-binaries.ts";
    const server = await startPostgres({ binaries: embeddedPostgres(), durable: false });
    console.log(JSON.stringify({ pid: server.pid(), directory: server.socketDirectory }));
    setInterval(() => {}, 1000);`;
    const owner = spawn(process.execPath, ["--input-type=module-typescript", "--eval", script], {
      cwd: HERE,
    });
    const line = await new Promise<string>((resolve, reject) => {
      owner.stdout.once("data", (chunk: Buffer) => resolve(chunk.toString()));
      owner.stderr.once("data", (chunk: Buffer) => reject(new Error(chunk.toString())));
    });
    const { pid, directory } = JSON.parse(line) as { pid: number; directory: string };
    expect(isAlive(pid)).toBe(true);
    owner.kill(signal);
    await expect.poll(() => isAlive(pid) || existsSync(directory), { timeout: GONE_MS }).toBe(false);
  },
  30_000,
);

test("a server that cannot start says why, and leaves nothing behind", async () => {
  const broken = startPostgres({ binaries: embeddedPostgres(), settings: { shared_buffers: "1kB" } });
  await expect(broken).rejects.toThrow("shared_buffers");
});
