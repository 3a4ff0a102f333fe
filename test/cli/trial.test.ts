// `overdue` alone, in a folder of its own: the trial starts, says what a person needs, keeps its data, refuses to run
// twice, and leaves no server behind, even when it is killed.
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { afterAll, expect, test, vi } from "vitest";
import { packagedPrograms, startPrivatePostgres } from "../../src/cli/private-postgres.ts";
import { COMPILE_CACHE } from "../support/compile-cache.ts";
import { freePort } from "../support/ports.ts";
import { callOverdue, endOf } from "./run-overdue.ts";

vi.setConfig({ testTimeout: 300_000 });

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const GONE_TIMEOUT_MS = 60_000;
const NOBODY = 65_534;
const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** Closed to everybody else, as `mktemp -d` makes it: also to the user that the database runs as. */
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "overdue-trial-"));
  folders.push(folder);
  return folder;
}

type Started = {
  child: ChildProcessWithoutNullStreams;
  ready: Promise<string>;
  ended: ReturnType<typeof endOf>;
};

function start(args: readonly string[], options: { cwd: string; uid?: number; gid?: number }): Started {
  const child = spawn(process.execPath, [MAIN, ...args], {
    ...options,
    env: { ...COMPILE_CACHE, HOME: options.cwd },
  });
  const ended = endOf(child);
  let text = "";
  const ready = new Promise<string>((resolve, reject) => {
    child.stdout.on("data", (chunk: string) => {
      text += chunk;
      if (text.includes("Ctrl-C")) resolve(text);
    });
    void ended.then(({ out, err }) => reject(new Error(`${out}${err}`)));
  });
  // One who waits for the end only is not to be told of it twice.
  ready.catch(() => {});
  return { child, ready, ended };
}

const databaseRuns = (folder: string) => existsSync(join(folder, "overdue-data/postgres/postmaster.pid"));
const isServed = (port: number) =>
  fetch(`http://127.0.0.1:${port}/web/set-up/echo`).then(
    ({ ok }) => ok,
    () => false,
  );

test("it says where to begin, keeps its data, refuses a second start, and stops in order", async () => {
  const folder = newFolder();
  const port = await freePort();
  const { child, ready, ended } = start(["trial", "--port", String(port)], { cwd: folder });
  const text = await ready;
  expect(text).toContain("TRIAL DATABASE");
  expect(text).toMatch(new RegExp(`http://localhost:${port}/accounts/setup/[\\w-]{20,}/`));
  expect(await isServed(port)).toBe(true);
  expect([await entry(folder), await entry(folder, passwordOf(folder))]).toEqual(["28P01", "in"]);

  const admin = (...args: string[]) => start(["admin", ...args], { cwd: folder }).ended;
  expect((await admin("create-account", "--email", "me@example.org")).code).toBe(0);
  expect((await admin("login-link")).out).toContain(`http://localhost:${port}/accounts/link/`);
  expect(statSync(join(folder, "overdue-data/running.json")).mode & 0o777).toBe(0o600);

  const again = start(["trial", "--port", String(await freePort())], { cwd: folder });
  const { code, err } = await again.ended;
  expect([code, err]).toEqual([1, expect.stringContaining("is already running with the data in")]);
  const samePort = start(["trial", "--port", String(port), "--data", "other"], { cwd: folder });
  expect((await samePort.ended).err).toContain("Another program is already using");
  expect([await isServed(port), databaseRuns(folder)]).toEqual([true, true]);

  child.kill("SIGINT");
  expect((await ended).code).toBe(0);
  expect([await isServed(port), databaseRuns(folder)]).toEqual([false, false]);
  expect((await admin("list")).err).toContain("OVERDUE_DATABASE_URL is not set");

  const second = start(["trial", "--port", String(port)], { cwd: folder });
  const found = await second.ready;
  expect(found).toContain("found in");
  // The time since the first one stopped is logged as a gap, but not above the link.
  expect(found).not.toContain('{"level"');
  second.child.kill("SIGKILL");
  await second.ended;
  await vi.waitFor(() => expect(databaseRuns(folder)).toBe(false), {
    timeout: GONE_TIMEOUT_MS,
    interval: 100,
  });
});

test("a database that is killed is restarted, and the terminal shows a sentence about it", async () => {
  const folder = newFolder();
  const port = await freePort();
  const { child, ready, ended } = start(["trial", "--port", String(port)], { cwd: folder });
  await ready;
  process.kill(Number(lockFile(folder)[0]), "SIGKILL");
  let said = "";
  child.stderr.on("data", (chunk: string) => {
    said += chunk;
  });
  const WITHIN = { timeout: GONE_TIMEOUT_MS, interval: 100 };
  await vi.waitFor(() => expect(said).toContain("The trial database is running again."), WITHIN);
  expect(said).toContain("stopped unexpectedly");
  await vi.waitFor(async () => expect(await entry(folder, passwordOf(folder))).toBe("in"), WITHIN);
  child.kill("SIGINT");
  expect((await ended).code).toBe(0);
  expect(databaseRuns(folder)).toBe(false);
});

const lockFile = (folder: string) =>
  readFileSync(join(folder, "overdue-data/postgres/postmaster.pid"), "utf8").split("\n");

/** Whoever opens a pipe waits until somebody opens its other end: so a start is held where it reads or writes one. */
function makePipe(path: string): void {
  const { uid, gid } = statSync(dirname(path));
  rmSync(path, { force: true });
  execFileSync("mkfifo", ["-m", "600", path]);
  chownSync(path, uid, gid);
}

/** The commands of the processes that stand in a folder, or have a path among their arguments. */
function commandsAt({ folder, path }: { folder: string; path: string }): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
        return readlinkSync(`/proc/${pid}/cwd`).startsWith(folder) || command.includes(path)
          ? [`${pid} ${command}`]
          : [];
      } catch {
        // It has ended, or belongs to somebody whom we may not look at.
        return [];
      }
    });
}

test("Ctrl-C while its database is being started again leaves no process behind, and the data whole", async () => {
  const folder = newFolder();
  const data = join(folder, "overdue-data/postgres");
  const within = { timeout: GONE_TIMEOUT_MS, interval: 20 };
  const begin = async () => {
    const trial = start(["trial", "--port", String(await freePort())], { cwd: folder });
    await trial.ready;
    const [pid, , , , home = ""] = lockFile(folder);
    const there = () => commandsAt({ folder: data, path: home });
    const crash = () => process.kill(Number(pid), "SIGKILL");
    return { ...trial, home, there, crash };
  };

  // Held before the server is there: whoever writes its rules waits.
  const early = await begin();
  makePipe(join(early.home, "pg_hba.conf"));
  early.crash();
  const writer = expect.stringMatching(/^\d+ sh .*pg_hba\.conf $/);
  await vi.waitFor(() => expect(early.there()).toContainEqual(writer), within);
  early.child.kill("SIGINT");
  expect((await early.ended).code).toBe(0);
  await vi.waitFor(() => expect(early.there()).toEqual([]), within);

  // Held when the server is there and has not said so yet: it waits for its settings.
  const late = await begin();
  const settings = join(data, "postgresql.conf");
  const before = readFileSync(settings, "utf8");
  const pipe = join(data, "held.conf");
  makePipe(pipe);
  appendFileSync(settings, "\ninclude 'held.conf'\n");
  const old = new Set(late.there());
  late.crash();
  const isServer = (command: string) => !old.has(command) && /^\d+ \S+\/postgres -D /.test(command);
  await vi.waitFor(() => expect(late.there().some(isServer)).toBe(true), within);
  late.child.kill("SIGINT");
  const running = join(folder, "overdue-data/running.json");
  await vi.waitFor(() => expect(existsSync(running)).toBe(false), within);
  // Whoever is to stop it looks for it again and again until it is there to be stopped.
  await vi.waitFor(() => expect(late.there()).toContainEqual(expect.stringMatching(/^\d+ sleep /)), within);
  writeFileSync(settings, before);
  // It reads its settings more than once, and waits each time until somebody has opened the other end.
  const letGo = setInterval(() => closeSync(openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)), 20);
  expect((await late.ended).code).toBe(0);
  clearInterval(letGo);
  await vi.waitFor(() => expect(late.there()).toEqual([]), within);

  const again = await begin();
  expect(await entry(folder, passwordOf(folder))).toBe("in");
  again.child.kill("SIGINT");
  expect((await again.ended).code).toBe(0);
  await vi.waitFor(() => expect(again.there()).toEqual([]), within);
});

/** Whether the trial's database lets somebody in who comes by its socket. */
async function entry(folder: string, password?: string): Promise<string> {
  const lines = lockFile(folder);
  const client = new pg.Client({
    user: "overdue",
    database: "overdue",
    host: lines[4] ?? "",
    port: Number(lines[3]),
    // Without one the driver would ask before it connects.
    password: password ?? "a guess",
  });
  try {
    await client.connect();
    await client.end();
    return "in";
  } catch (error) {
    return String((error as { code?: string }).code);
  }
}

const passwordOf = (folder: string) =>
  readFileSync(join(folder, "overdue-data/database-password"), "utf8").trim();

test("its database asks for a password, also one of an older release that has asked for none", async () => {
  const folder = newFolder();
  const older = await startPrivatePostgres({
    directory: packagedPrograms(),
    keepDataIn: join(folder, "overdue-data/postgres"),
    database: "overdue",
  });
  expect(await entry(folder)).toBe("in");
  // While the older one runs, nothing is changed.
  const early = start(["trial", "--port", String(await freePort())], { cwd: folder });
  expect((await early.ended).err).toContain("is already running with the data in");
  const file = join(folder, "overdue-data/database-password");
  expect(existsSync(file)).toBe(false);
  await older.stop();
  // The second time it was lost.
  for (const round of ["none", "lost"]) {
    rmSync(file, { force: true });
    const { child, ready, ended } = start(["trial", "--port", String(await freePort())], { cwd: folder });
    await ready;
    const { mode, uid } = statSync(file);
    expect([round, mode & 0o777, uid]).toEqual([round, 0o600, process.getuid?.()]);
    expect([await entry(folder), await entry(folder, passwordOf(folder))]).toEqual(["28P01", "in"]);
    child.kill("SIGINT");
    expect((await ended).code).toBe(0);
  }
});

test.skipIf(process.getuid?.() !== 0)("a user other than root can start it", async () => {
  const folder = newFolder();
  chownSync(folder, NOBODY, NOBODY);
  chmodSync(folder, 0o700);
  const port = await freePort();
  const { child, ready, ended } = start(["trial", "--port", String(port)], {
    cwd: folder,
    uid: NOBODY,
    gid: NOBODY,
  });
  expect(await ready).toContain("TRIAL DATABASE");
  child.kill("SIGTERM");
  expect((await ended).code).toBe(0);
  expect(databaseRuns(folder)).toBe(false);
});

test("a used port and a configured database are reported in a sentence, and nothing is created", async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const address = taken.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const folder = join(newFolder(), "data");
  const refused = await callOverdue(["trial", "--port", String(port), "--data", folder]);
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining(`--port ${port + 1}`) });
  expect(existsSync(folder)).toBe(false);
  await new Promise((resolve) => taken.close(resolve));

  const set = await callOverdue(["trial"], { OVERDUE_DATABASE_URL: "postgres://a@127.0.0.1/b" });
  expect(set).toMatchObject({ code: 2, err: expect.stringContaining("Run `overdue serve`") });
  const wrong = await callOverdue(["trial", "--port", "99999"]);
  expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining("port from 1 to 65535") });
});
