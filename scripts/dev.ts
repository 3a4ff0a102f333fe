// `npm run dev`: a private PostgreSQL, migrated and seeded, and the process with reload, until Ctrl-C. Data is
// kept in .overdue/dev (or the folder given) between runs. Leaves no process behind, however it ends.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { type Config, environmentWith, loadConfig } from "../src/config.ts";
import { formatListenAddress } from "../src/lib/address.ts";
import type { CreatedProject } from "../src/operations/create-project.ts";
import { openDatabase } from "../src/store/db.ts";
import { UnusableDatabaseError } from "../src/store/errors.ts";
import { migrate } from "../src/store/migrate.ts";
import { listAccounts } from "../src/store/projects.ts";
import { onOrphaned } from "../test/support/orphaned.ts";
import { startPostgres } from "../test/support/postgres.ts";
import { embeddedPostgres } from "../test/support/postgres-binaries.ts";
import { seed, SEED_EMAIL } from "./seed.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const HOME = process.argv[2] ?? join(ROOT, ".overdue", "dev");
const LOCK_FILE = join(HOME, "process-id");
const KEYS_FILE = join(HOME, "keys.json");
const DATABASE = "overdue";
const READY_TIMEOUT_MS = 60_000;
const READY_POLL_MS = 100;

/** Only one at a time: two servers on one folder of data would be the end of it. */
function takeLock(): void {
  mkdirSync(HOME, { recursive: true });
  if (existsSync(LOCK_FILE) && isRunning(Number(readFileSync(LOCK_FILE, "utf8")))) {
    throw new Error(`npm run dev is running already, as process ${readFileSync(LOCK_FILE, "utf8")}.`);
  }
  writeFileSync(LOCK_FILE, String(process.pid));
}

function isRunning(processId: number): boolean {
  try {
    return processId > 0 && process.kill(processId, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

async function createDatabase(serverUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    const { rowCount } = await client.query("select 1 from pg_database where datname = $1", [DATABASE]);
    if (rowCount === 0) await client.query(`create database ${DATABASE}`);
  } finally {
    await client.end();
  }
}

/** Migrates, and seeds once. The keys are kept in a file of this machine, so that every start can show them. */
async function prepare(url: string, config: Config): Promise<CreatedProject | null> {
  const options = { url, applicationName: "overdue-dev", onError: () => {} };
  await migrate(options);
  const database = openDatabase(options);
  try {
    const [account] = await listAccounts(database, { afterId: 0, limit: 1 });
    if (account === undefined) {
      const keys = await seed(database, { secretKey: config.secretKey });
      writeFileSync(KEYS_FILE, JSON.stringify(keys), { mode: 0o600 });
    }
  } finally {
    await database.close();
  }
  return existsSync(KEYS_FILE) ? (JSON.parse(readFileSync(KEYS_FILE, "utf8")) as CreatedProject) : null;
}

/**
 * The process under `node --watch`. A shell holds it and waits for the end of its standard input, so that it
 * is stopped in order whenever we end, however we end. It is detached: Ctrl-C reaches us, and not it too.
 */
function startWatched(url: string): ChildProcess {
  const script = `"$1" --watch --watch-preserve-output src/main.ts serve & watched=$!
    cat >/dev/null
    kill -TERM "$watched"
    wait "$watched"`;
  return spawn("sh", ["-c", script, "watcher", process.execPath], {
    cwd: ROOT,
    env: environmentWith({ OVERDUE_DATABASE_URL: url }),
    detached: true,
    stdio: ["pipe", "inherit", "inherit"],
  });
}

async function stopWatched(watched: ChildProcess): Promise<void> {
  if (watched.exitCode !== null || watched.signalCode !== null) return;
  const ended = new Promise((resolve) => watched.once("exit", resolve));
  watched.stdin?.end();
  await ended;
}

/** Whoever else answers there would be taken for ours. */
async function refuseTakenAddress(admin: string): Promise<void> {
  const taken = await fetch(admin).then(
    () => true,
    () => false,
  );
  if (taken || admin.endsWith(":0")) {
    throw new Error(`${admin} cannot be used. Set OVERDUE_ADMIN_LISTEN to another address, with a port.`);
  }
}

async function untilReady(admin: string, signal: AbortSignal): Promise<boolean> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (performance.now() < deadline && !signal.aborted) {
    const response = await fetch(`${admin}/readyz`).catch(() => null);
    if (response?.ok) return true;
    await sleep(READY_POLL_MS);
  }
  return false;
}

function describeStart({
  admin,
  site,
  url,
  keys,
}: {
  admin: string;
  site: string;
  url: string;
  keys: CreatedProject | null;
}): string {
  const rows = [
    ["Site", site],
    ["API", `${site}/api/v3/`],
    ["API, described", `${site}/docs/api`],
    ["Health", `${admin}/healthz  ${admin}/readyz  ${admin}/metrics`],
    ["Database", url],
    ["Account", SEED_EMAIL],
    ["Project", keys?.uuid],
    ["API key", keys?.apiKey],
    ["API key, read-only", keys?.apiKeyReadonly],
    ["Ping key", keys?.pingKey],
  ];
  const lines = rows.flatMap(([name, value]) =>
    value === undefined ? [] : [`  ${name?.padEnd(20)}${value}`],
  );
  return `
Overdue is ready after ${(performance.now() / 1_000).toFixed(1)} s.

${lines.join("\n")}

Send a signal; the first one makes its check:

  curl ${site}/ping/${keys?.pingKey ?? "PING_KEY"}/my-first-job?create=1

And look at it:

  curl -H 'X-Api-Key: ${keys?.apiKey ?? "API_KEY"}' ${site}/api/v3/checks/?slug=my-first-job

A change below src/ restarts the process. Ctrl-C stops everything;
the data stays in ${HOME}, and is made anew when that folder is gone.

`;
}

/** Runs until a signal comes. Every part is stopped again, in reverse order, whatever happens. */
async function dev(signal: AbortSignal): Promise<void> {
  const { config } = loadConfig();
  const admin = `http://${formatListenAddress(config.adminListen)}`;
  await refuseTakenAddress(admin);
  takeLock();
  const server = await startPostgres({ binaries: embeddedPostgres(), keepDataIn: join(HOME, "postgres") });
  try {
    await createDatabase(server.url());
    const url = server.url(DATABASE);
    const keys = await prepare(url, config);
    if (signal.aborted) return;
    const watched = startWatched(url);
    try {
      if (await untilReady(admin, signal))
        process.stdout.write(describeStart({ admin, site: config.siteUrl, url, keys }));
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    } finally {
      await stopWatched(watched);
    }
  } finally {
    await server.stop();
    rmSync(LOCK_FILE, { force: true });
  }
}

/** A migration that was edited after it had been applied is the usual reason, and harmless here. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error instanceof UnusableDatabaseError
    ? `${error.message}\nOr delete ${HOME} for a fresh start.`
    : error.message;
}

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stop.abort());
onOrphaned(() => stop.abort());
try {
  await dev(stop.signal);
} catch (error) {
  process.stderr.write(`${explain(error)}\n`);
  process.exitCode = 1;
}
