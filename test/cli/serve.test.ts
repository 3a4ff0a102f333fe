// `overdue serve` as a supervisor sees it: starts, says where it is, answers, stops, and keeps its secrets.
import { type ChildProcessWithoutNullStreams, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { ROLE_NAMES } from "../../src/roles/names.ts";
import { openDatabase } from "../../src/store/db.ts";
import { sampleCheck, sampleProject } from "../support/sample.ts";
import { endOf, type Environment, runOverdue, startOverdue, useDurablePostgres } from "./run-overdue.ts";

vi.setConfig({ testTimeout: 300_000 });

const postgres = useDurablePostgres();
const PASSWORD = "hunter2hunter2";
const SECRET_KEY = "a-secret-of-the-operator-0123456789";

type LogLine = { msg: string; service?: string; admin?: string; url?: string; link?: string };

let child: ChildProcessWithoutNullStreams | null = null;
afterEach(() => void child?.kill("SIGKILL"));

async function environment(changes: Environment = {}): Promise<Environment> {
  // The server trusts whoever connects, so the password is only there to be kept secret.
  const url = (await postgres.newDatabase()).replace("overdue@", `overdue:${PASSWORD}@`);
  return {
    OVERDUE_DATABASE_URL: url,
    OVERDUE_ADMIN_LISTEN: "127.0.0.1:0",
    OVERDUE_LISTEN: "127.0.0.1:0",
    OVERDUE_LOG_LEVEL: "trace",
    ...changes,
  };
}

/** Starts the process; `line` resolves to the log line with that message, `ended` to all it said. */
function serve(settings: Environment, ...args: string[]) {
  const started = startOverdue(["serve", ...args], settings);
  child = started;
  const ended = endOf(started);
  let text = "";
  const looks = new Set<() => void>();
  started.stdout.on("data", (chunk: string) => {
    text += chunk;
    for (const look of looks) look();
  });
  const said = (message: string) =>
    new Promise<LogLine>((resolve) => {
      const look = () => {
        const line = text.split("\n").find((candidate) => candidate.includes(`"msg":"${message}"`));
        if (line?.endsWith("}")) resolve(JSON.parse(line) as LogLine);
      };
      looks.add(look);
      // It may have been said already, and nothing after it.
      look();
    });
  const line = (message: string) =>
    Promise.race([
      said(message),
      ended.then(({ out, err }) => Promise.reject(new Error(`ended before "${message}":\n${out}${err}`))),
    ]);
  return { process: started, line, ended };
}

const messagesOf = (out: string) =>
  out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as LogLine);

describe("on a server without an admin", () => {
  const BEGIN = "No admin account yet. Open this link to create one.";

  test("each start logs a link that makes the first account, until there is one", async () => {
    const settings = await environment({ OVERDUE_SITE_URL: "http://overdue.example.org" });
    const running = serve({ ...settings, OVERDUE_LOG_LEVEL: "info" });
    const { url } = await running.line("site listening");
    const { link = "" } = await running.line(BEGIN);
    expect(link).toMatch(/^http:\/\/overdue\.example\.org\/accounts\/setup\/[\w-]{20,}\/$/);
    const page = await fetch(`${url}${new URL(link).pathname}`);
    expect([page.status, (await page.text()).includes("Create the admin account")]).toEqual([200, true]);
    running.process.kill("SIGTERM");
    await running.ended;
    await runOverdue(["admin", "create-account", "--operator", "--email", "a@example.org"], settings);
    const again = serve(settings, "--roles", "web");
    await again.line("ready");
    again.process.kill("SIGTERM");
    expect((await again.ended).out).not.toContain(BEGIN);
  });

  test("the link comes also where the database is too busy for the first try", async () => {
    const settings = await environment();
    await runOverdue(["migrate"], settings);
    const busy = new pg.Client({ connectionString: settings["OVERDUE_DATABASE_URL"] });
    await busy.connect();
    await busy.query("begin; lock table sign_in_tokens");
    const running = serve({ ...settings, OVERDUE_LOG_LEVEL: "info" }, "--roles", "web");
    await running.line("ready");
    // Longer than anybody waits for a lock.
    await sleep(2_000);
    await busy.end();
    expect((await running.line(BEGIN)).link).toContain("/accounts/setup/");
    running.process.kill("SIGTERM");
    await running.ended;
  });

  test("a process without the role web, and one behind an authenticating proxy, logs none", async () => {
    const settings = await environment();
    for (const [changes, roles] of [
      [{}, "ping,sweeper"],
      [{ OVERDUE_REMOTE_USER_HEADER: "X-User" }, "web"],
    ] as const) {
      const running = serve({ ...settings, ...changes }, "--roles", roles);
      await running.line("ready");
      running.process.kill("SIGTERM");
      expect((await running.ended).out).not.toContain(BEGIN);
    }
  });
});

describe("a process", () => {
  test("OVERDUE_DATABASE_WAIT does not limit the wait for another process that migrates", async () => {
    const settings = await environment({ OVERDUE_DATABASE_WAIT: "1" });
    const other = new pg.Client({ connectionString: settings["OVERDUE_DATABASE_URL"] });
    await other.connect();
    await other.query("select pg_advisory_lock(7064531920)");
    const running = serve(settings, "--roles", "housekeeper");
    await running.line("waiting for another process to finish migrating the database");
    // Longer than the setting.
    await sleep(3_000);
    await other.end();
    await running.line("ready");
    running.process.kill("SIGTERM");
    expect((await running.ended).code).toBe(0);
  });

  test("migrates, answers on its admin address, and stops in reverse order on SIGTERM", async () => {
    const running = serve(await environment());
    const { admin } = await running.line("ready");
    expect(admin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const health = await fetch(`${admin}/healthz`);
    expect(health.status).toBe(200);
    const ready = await fetch(`${admin}/readyz`);
    const checked = ["process", "database", ...ROLE_NAMES, "site"];
    expect({ status: ready.status, body: await ready.json() }).toEqual({
      status: 200,
      body: { status: "ready", checks: Object.fromEntries(checked.map((name) => [name, "ok"])) },
    });
    const metrics = await (await fetch(`${admin}/metrics`)).text();
    expect(metrics).toContain('overdue_loop_errors_total{loop="housekeeper"} 0');
    expect(metrics).toContain("overdue_build_info{");
    running.process.kill("SIGTERM");
    const { code, out, err } = await running.ended;
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const named = (msg: string) =>
      messagesOf(out).flatMap((line) => (line.msg === msg ? [line.service] : []));
    // Roles that answer outsiders are parts of the site.
    const inner = ROLE_NAMES.filter((name) => !["ping", "smtp", "api", "web"].includes(name));
    const order = ["pool", "admin", "schema", "site", "database-identity", "near-misses", ...inner];
    expect(named("service started")).toEqual(order);
    expect(named("service stopped")).toEqual(order.toReversed());
    expect(messagesOf(out).map(({ msg }) => msg)).toContain("database migrated");
  });

  test("a second signal ends it at once", async () => {
    const running = serve(await environment());
    await running.line("ready");
    // Both signals are waiting when it goes on, so the second comes before the first is dealt with.
    running.process.kill("SIGSTOP");
    running.process.kill("SIGTERM");
    running.process.kill("SIGINT");
    running.process.kill("SIGCONT");
    const { code, out } = await running.ended;
    expect([130, 143]).toContain(code);
    expect(messagesOf(out).map(({ msg }) => msg)).not.toContain("stopped");
  });

  test("nothing it writes holds a secret, however much it logs", async () => {
    const settings = await environment({ OVERDUE_SECRET_KEY: SECRET_KEY });
    const running = serve(settings);
    await running.line("ready");
    running.process.kill("SIGINT");
    const good = await running.ended;
    const bad = await runOverdue(["serve"], {
      ...settings,
      OVERDUE_DATABASE_WAIT: "0",
      OVERDUE_DATABASE_URL: `postgres://overdue:${PASSWORD}@127.0.0.1:1/x`,
    });
    expect(good.code).toBe(0);
    expect(bad.code).toBe(1);
    const everything = [good.out, good.err, bad.out, bad.err].join("\n");
    expect(everything).toContain("ready");
    expect(everything).not.toContain(PASSWORD);
    expect(everything).not.toContain(SECRET_KEY);
  });
});

describe("a start that cannot succeed ends with code 1 and a sentence", () => {
  test("a schema that is not up to date, when migrating is turned off", async () => {
    const { code, err } = await runOverdue(
      ["serve"],
      await environment({ OVERDUE_MIGRATE_ON_START: "false" }),
    );
    expect({ code, err }).toEqual({
      code: 1,
      err: "overdue: The database is empty. Run `overdue migrate` first.\n",
    });
  });

  test("a database that stays unavailable", async () => {
    const away = { OVERDUE_DATABASE_URL: "postgres://u@127.0.0.1:1/x", OVERDUE_DATABASE_WAIT: "1" };
    const { code, out, err } = await runOverdue(["serve"], await environment(away));
    expect(code).toBe(1);
    expect(out).toContain('"msg":"waiting for the database"');
    expect(err).toContain(
      "overdue: Cannot use the database: connect ECONNREFUSED 127.0.0.1:1. No server is listening there.",
    );
    expect(err).not.toMatch(/^\s+at /m);
  });

  test("an address that is taken", async () => {
    const first = serve(await environment());
    const [{ url }, { admin }] = await Promise.all([first.line("site listening"), first.line("ready")]);
    const taken = String(admin).replace("http://", "");
    const pings = String(url).replace("http://", "");
    const mail = { OVERDUE_PING_MAIL_LISTEN: pings, OVERDUE_PING_MAIL_DOMAIN: "ping.example.org" };
    const [asAdmin, asPings, asMail] = await Promise.all(
      [{ OVERDUE_ADMIN_LISTEN: taken }, { OVERDUE_LISTEN: pings }, mail].map(async (settings) =>
        runOverdue(["serve"], await environment(settings)),
      ),
    );
    const refusal = (at: string, setting: string) => ({
      code: 1,
      err: expect.stringMatching(
        `Cannot listen on ${at} .* Another process is using that port. Set ${setting} to another`,
      ),
    });
    expect(asAdmin).toMatchObject(refusal(taken, "OVERDUE_ADMIN_LISTEN"));
    expect(asPings).toMatchObject(refusal(pings, "OVERDUE_LISTEN"));
    expect(asMail).toMatchObject(refusal(pings, "OVERDUE_PING_MAIL_LISTEN"));
    first.process.kill("SIGTERM");
    await first.ended;
  });
});

test("a folder or a file that cannot be used ends it with code 2, and the setting is named", async () => {
  // Below a file nothing can be made, not even by root.
  const nowhere = `${import.meta.filename}/nothing`;
  const mail = {
    OVERDUE_PING_MAIL_LISTEN: "127.0.0.1:0",
    OVERDUE_PING_MAIL_DOMAIN: "ping.example.org",
    OVERDUE_PING_MAIL_CERTIFICATE: nowhere,
    OVERDUE_PING_MAIL_CERTIFICATE_KEY: nowhere,
  };
  const [spool, certificate] = await Promise.all(
    [{ OVERDUE_SPOOL_FOLDER: nowhere }, mail].map(async (settings) =>
      runOverdue(["serve"], await environment(settings)),
    ),
  );
  const refusal = (text: RegExp) => ({ code: 2, err: expect.stringMatching(text) });
  expect(spool).toMatchObject(refusal(/Cannot use OVERDUE_SPOOL_FOLDER .*ENOTDIR/));
  expect(certificate).toMatchObject(refusal(/Cannot read the file in OVERDUE_PING_MAIL_CERTIFICATE/));
});

describe("a database that comes and goes", () => {
  test("a process that is stopped while it waits for the database exits with code 0", async () => {
    const away = { OVERDUE_DATABASE_URL: "postgres://u@127.0.0.1:1/x" };
    const running = serve(await environment(away));
    await running.line("waiting for the database");
    running.process.kill("SIGTERM");
    expect((await running.ended).code).toBe(0);
  });

  test("a process outlives its database, says that it is not ready, and recovers", async () => {
    const running = serve(await environment());
    const { admin } = await running.line("ready");
    const readyStatus = async () => (await fetch(`${admin}/readyz`)).status;
    await postgres.server().crash();
    expect(await readyStatus()).toBe(503);
    expect((await fetch(`${admin}/healthz`)).status).toBe(200);
    await postgres.server().resume();
    await vi.waitFor(async () => expect(await readyStatus()).toBe(200), { timeout: 60_000 });
    running.process.kill("SIGTERM");
    expect((await running.ended).code).toBe(0);
  });
});

test("a spool on a full disk: pings are refused, and the process is not ready until there is room", async ({
  skip,
}) => {
  const folder = mkdtempSync(join(tmpdir(), "overdue-disk-"));
  const unmount = () => void spawnSync("umount", ["--lazy", folder]);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  // The spool leaves 64 MiB to other programs.
  if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=96m", "tmpfs", folder]).status !== 0) {
    return skip("mounting a small disk needs the rights of root");
  }
  onTestFinished(unmount);
  const settings = await environment({ OVERDUE_SPOOL_FOLDER: folder });
  const running = serve(settings, "--roles", "ping");
  const { admin } = await running.line("ready");
  const { url } = await running.line("site listening");
  const db = openDatabase({
    url: settings["OVERDUE_DATABASE_URL"] ?? "",
    applicationName: "test",
    onError: () => {},
  });
  onTestFinished(() => db.close());
  const { uuid } = await sampleCheck(db, { projectId: (await sampleProject(db)).id });
  const pingStatus = async () => (await fetch(`${url}/ping/${uuid}`)).status;
  const ready = async () => {
    const answer = await fetch(`${admin}/readyz`);
    return { status: answer.status, text: await answer.text() };
  };
  expect(await pingStatus()).toBe(200);
  await postgres.server().crash();
  await vi.waitFor(async () => expect(await pingStatus()).toBe(200), { timeout: 60_000 });
  expect(await ready()).toMatchObject({ status: 200 });
  const filler = join(folder, "filler");
  writeFileSync(filler, Buffer.alloc(40 * 1024 * 1024));
  await vi.waitFor(async () => expect(await pingStatus()).toBe(503), { timeout: 60_000 });
  expect(await ready()).toMatchObject({ status: 503, text: expect.stringContaining("pings are rejected") });
  expect((await fetch(`${admin}/healthz`)).status).toBe(200);
  rmSync(filler);
  await vi.waitFor(async () => expect(await pingStatus()).toBe(200), { timeout: 60_000 });
  await vi.waitFor(async () => expect(await ready()).toMatchObject({ status: 200 }), { timeout: 60_000 });
  await postgres.server().resume();
  await vi.waitFor(async () => expect(await pingStatus()).toBe(200), { timeout: 60_000 });
  running.process.kill("SIGTERM");
  expect((await running.ended).code).toBe(0);
});

test("a process whose event loop is blocked ends by itself, and logs what it was doing", async () => {
  const block = "process.on('SIGUSR2', function blockForEver() { for (;;); })";
  const options = `--import=data:text/javascript,${encodeURIComponent(block)}`;
  const running = serve(await environment({ NODE_OPTIONS: options }), "--roles", "housekeeper");
  await running.line("ready");
  running.process.kill("SIGUSR2");
  const { code, out } = await running.ended;
  expect(code).toBeNull();
  const last = messagesOf(out).at(-1);
  expect(last).toMatchObject({ level: "fatal", msg: expect.stringContaining("the event loop is blocked") });
  expect(JSON.stringify(last)).toContain("blockForEver");
});

test("without a setting, the spool is in the state directory of the service", async () => {
  const folder = mkdtempSync(join(tmpdir(), "overdue-state-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  // An empty variable counts as not set.
  const settings = await environment({ OVERDUE_SPOOL_FOLDER: "", STATE_DIRECTORY: folder });
  const running = serve(settings, "--roles", "ping");
  await running.line("ready");
  expect(readdirSync(folder).filter((name) => /^spool-.*\.sqlite$/.test(name))).toHaveLength(1);
  running.process.kill("SIGTERM");
  expect(await running.ended).toMatchObject({ code: 0 });
});
