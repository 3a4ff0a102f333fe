// `npm run dev`: a private PostgreSQL, migrated and seeded, and the process with reload, until Ctrl-C. Data is kept in
// .overdue/dev (or the given folder) between runs. The dashboard is rebuilt with every change (not with --no-web); the
// documentation is built once, if it is not there.
// Stops every process it started, however it ends.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve as absolutePath } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { DataInUseError, onOrphaned } from "../src/cli/private-postgres.ts";
import { type Config, environmentIn, environmentWith, loadConfig } from "../src/config/config.ts";
import { formatListenAddress } from "../src/lib/address.ts";
import type { CreatedProject } from "../src/operations/projects.ts";
import { createLoginLink } from "../src/operations/sign-in.ts";
import { listAccounts } from "../src/store/accounts.ts";
import { openDatabase } from "../src/store/db.ts";
import { UnusableDatabaseError } from "../src/store/errors.ts";
import { readDatabaseClock } from "../src/store/instance.ts";
import { migrate } from "../src/store/migrate.ts";
import { freePort } from "../test/support/ports.ts";
import { embeddedPostgres } from "../test/support/postgres-binaries.ts";
import { startPostgres } from "../test/support/postgres.ts";
import { seed, SEED_EMAIL } from "./seed.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const ARGS = parseArgs({
  allowPositionals: true,
  allowNegative: true,
  options: { web: { type: "boolean", default: true }, help: { type: "boolean" } },
});
const HELP = `Usage: npm run dev -- [--no-web] [folder]

Runs everything with a private PostgreSQL, migrated and filled, and reload; prints a link to sign in, addresses and
keys. The data is kept in the folder, .overdue/dev without one. With --no-web the pages are not built.
`;
const HOME = absolutePath(ARGS.positionals[0] ?? join(ROOT, ".overdue", "dev"));
const KEYS_FILE = join(HOME, "keys.json");
const DATABASE = "overdue";
const READY_TIMEOUT_MS = 60_000;
const READY_POLL_MS = 100;

type Prepared = { email: string; signInLink: string; keys: CreatedProject | null };

/**
 * Migrates, seeds once, and creates a sign-in link. The keys are kept in a local file, so that every start can show
 * them.
 */
async function prepare(url: string, config: Config): Promise<Prepared> {
  const options = { url, applicationName: "overdue-dev", onError: () => {} };
  await migrate(options);
  const database = openDatabase(options);
  try {
    const [account] = await listAccounts(database, { afterId: 0, limit: 1 });
    if (account === undefined) {
      const keys = await seed(database, { secretKey: config.secretKey });
      writeFileSync(KEYS_FILE, JSON.stringify(keys), { mode: 0o600 });
    }
    const email = account?.email ?? SEED_EMAIL;
    const { token } = await createLoginLink(database, { email, now: await readDatabaseClock(database) });
    const keys = existsSync(KEYS_FILE)
      ? (JSON.parse(readFileSync(KEYS_FILE, "utf8")) as CreatedProject)
      : null;
    return { email, signInLink: `${config.siteUrl}/accounts/link/${token}/`, keys };
  } finally {
    await database.close();
  }
}

/** The process under `node --watch`. */
function startServer(url: string, mail: Mail): ChildProcess {
  return startHeld(["--watch", "--watch-preserve-output", "src/main.ts", "serve"], {
    OVERDUE_DATABASE_URL: url,
    OVERDUE_PING_MAIL_LISTEN: mail.listen,
    OVERDUE_PING_MAIL_DOMAIN: mail.domain,
    OVERDUE_SPOOL_FOLDER: join(HOME, "spool"),
  });
}

/** The dashboard, rebuilt with every change. */
function startWebBuild(): ChildProcess {
  const vite = join(ROOT, "node_modules/vite/bin/vite.js");
  return startHeld([vite, "build", "--watch", "--config", "web/vite.config.ts", "--logLevel", "warn"], {});
}

/** The documentation takes longest to build and is rarely what is being changed. */
function startDocsBuild(): ChildProcess[] {
  if (existsSync(join(ROOT, "dist/docs/hashmap.json"))) return [];
  return [startHeld(["scripts/build.ts", "--only", "docs", "--quiet"], {})];
}

/**
 * A shell starts the program and waits for the end of its standard input, so that it is stopped gracefully whenever
 * this process ends, however it ends. It is detached: Ctrl-C reaches only this process.
 */
function startHeld(args: readonly string[], environment: Record<string, string>): ChildProcess {
  const script = `"$@" & held=$!
    cat >/dev/null
    kill -TERM "$held"
    wait "$held"`;
  return spawn("sh", ["-c", script, "holder", process.execPath, ...args], {
    cwd: ROOT,
    env: environmentWith(environment),
    detached: true,
    stdio: ["pipe", "inherit", "inherit"],
  });
}

type Mail = { listen: string; domain: string };

/** Where pings by email are received: as configured, otherwise at a free port that stays the same. */
async function mailOf({ pingMailListen, pingMailDomain }: Config): Promise<Mail> {
  const listen = pingMailListen ?? { host: "127.0.0.1", port: await freePort() };
  return { listen: formatListenAddress(listen), domain: pingMailDomain ?? "ping.localhost" };
}

async function stopHeld(held: ChildProcess): Promise<void> {
  if (held.exitCode !== null || held.signalCode !== null) return;
  const ended = new Promise((resolve) => held.once("exit", resolve));
  held.stdin?.end();
  await ended;
}

/** Another program that answers there would be mistaken for ours. */
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
  mail,
  prepared: { email, signInLink, keys },
}: {
  admin: string;
  site: string;
  url: string;
  mail: Mail;
  prepared: Prepared;
}): string {
  const address = `${keys?.pingKey ?? "PING_KEY"}+my-first-job@${mail.domain}`;
  const rows = [
    ["Site", site],
    ["Sign in (one-time link)", signInLink],
    ["API", `${site}/api/v3/`],
    ["Documentation", `${site}/docs/`],
    ["API reference", `${site}/docs/api`],
    ["Health", `${admin}/healthz  ${admin}/readyz  ${admin}/metrics`],
    ["Database", url],
    ["Account", email],
    ["Project", keys?.uuid],
    ["API key", keys?.apiKey],
    ["API key (read-only)", keys?.apiKeyReadonly],
    ["Ping key", keys?.pingKey],
    ["Pings by email", `smtp://${mail.listen}  ${address}`],
  ];
  const lines = rows.flatMap(([name, value]) =>
    value === undefined ? [] : [`  ${name?.padEnd(24)}${value}`],
  );
  return `
Overdue is ready after ${(performance.now() / 1_000).toFixed(1)} s.

${lines.join("\n")}

Send a ping. The first one creates its check:

  curl '${site}/ping/${keys?.pingKey ?? "PING_KEY"}/my-first-job?create=1'

Or send it by email, once the check exists:

  printf 'Subject: done\\n\\nall is well\\n' | curl smtp://${mail.listen} --mail-from me@localhost \\
    --mail-rcpt ${address} -T -

Show the check:

  curl -H 'X-Api-Key: ${keys?.apiKey ?? "API_KEY"}' '${site}/api/v3/checks/?slug=my-first-job'

A change in src/ restarts the process; a change in web/ rebuilds the dashboard. Rebuild the documentation
with npm run build -- --only docs. Ctrl-C stops everything; the data stays in ${HOME}. Delete that folder to start over.

`;
}

/** Runs until it gets a signal. Every part is stopped in reverse order, whatever happens. */
async function dev(signal: AbortSignal): Promise<void> {
  const { config } = loadConfig(environmentIn(ROOT));
  const admin = `http://${formatListenAddress(config.adminListen)}`;
  await refuseTakenAddress(admin);
  const server = await startPostgres({
    binaries: embeddedPostgres(),
    keepDataIn: join(HOME, "postgres"),
    database: DATABASE,
  });
  try {
    const url = server.url(DATABASE);
    const prepared = await prepare(url, config);
    if (signal.aborted) return;
    const mail = await mailOf(config);
    const held = [startServer(url, mail), ...(ARGS.values.web ? [startWebBuild(), ...startDocsBuild()] : [])];
    try {
      if (await untilReady(admin, signal))
        process.stdout.write(describeStart({ admin, site: config.siteUrl, url, mail, prepared }));
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    } finally {
      await Promise.all(held.map(stopHeld));
    }
  } finally {
    await server.stop();
  }
}

/** A migration that was edited after it had been applied is the usual reason, and harmless here. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof DataInUseError) return `npm run dev is already running with its data in ${HOME}.`;
  return error instanceof UnusableDatabaseError
    ? `${error.message}\nOr delete ${HOME} to start over.`
    : error.message;
}

if (ARGS.values.help === true) {
  process.stdout.write(HELP);
  process.exit();
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
