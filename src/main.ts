#!/usr/bin/env node
// The entry point: arguments → settings → resources → roles → wait for a signal → stop in reverse order. It decides
// what runs and contains no protocol code; commands are in cli/.
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { CommandError, databaseOptionsOf, EXIT, type ServeOptions } from "./cli/command-context.ts";
import { runCommandLine } from "./cli/program.ts";
import {
  type Config,
  ConfigError,
  type Environment,
  environmentIn,
  loadConfig,
  SECRET_NAMES,
  secretsOf,
} from "./config/config.ts";
import { objectStoreOf } from "./config/connections.ts";
import { chooseSpoolFolder } from "./config/spool-folder.ts";
import { KEY_PREFIX } from "./core/identity.ts";
import { formatListenAddress } from "./lib/address.ts";
import { createLog, type KnownSecrets, type Log, secretRemover } from "./lib/log.ts";
import { createMetrics } from "./lib/metrics.ts";
import { startWatchdog } from "./lib/watchdog.ts";
import {
  chooseRoles,
  type Resources,
  ROLE_NAMES,
  type RoleName,
  run,
  type RunningProcess,
  UnknownRoleError,
} from "./roles/roles.ts";
import { openDatabase } from "./store/db.ts";

const STOP_SIGNALS = ["SIGTERM", "SIGINT"] as const;

/** After the end, remaining handles may keep the process alive for this long. */
const EXIT_GRACE_MS = 1_000;

/** Shells report a process ended by a signal as this plus the signal number. */
const SIGNAL_EXIT_BASE = 128;

const VERSION = readVersion();

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  const version =
    typeof manifest === "object" && manifest !== null && "version" in manifest && manifest.version;
  return String(version);
}

/** Texts that must never be written: secret settings, and everything that looks like a key. */
function knownSecrets(config: Config): KnownSecrets {
  return {
    secrets: secretsOf(config),
    secretFields: SECRET_NAMES,
    secretPatterns: Object.values(KEY_PREFIX).map((prefix) => new RegExp(`${prefix}[0-9A-Za-z]{28}`, "g")),
  };
}

function openResources(config: Config, log: Log): Resources {
  const databaseOptions = {
    ...databaseOptionsOf(config),
    applicationName: "overdue",
    connectionsMax: config.databasePoolSize,
    onError: (error: Error) => log.warn({ err: error }, "an idle database connection failed"),
  };
  return {
    config,
    database: openDatabase(databaseOptions),
    databaseOptions,
    log,
    metrics: createMetrics({ version: VERSION }),
  };
}

/** Runs the chosen roles until a signal arrives, and returns the exit code. */
async function serve(given: Config, options: ServeOptions): Promise<number> {
  const { roles, onReady, isQuietUntilReady = false } = options;
  const names = choose(roles);
  const config = withSpoolFolder(given, names);
  const log = createLog({ level: config.logLevel, ...knownSecrets(config) });
  if (isQuietUntilReady) log.level = "fatal";
  const resources = openResources(config, log);
  const stop = stopSignal(log);
  process.on("uncaughtException", (error) => {
    log.fatal({ err: error }, "unexpected error");
    process.exit(EXIT.failed);
  });
  log.info({ version: VERSION, node: process.versions.node, pid: process.pid, roles: names }, "starting");
  startWatchdog({ log });
  let running: RunningProcess;
  try {
    running = await run(names, resources, { signal: stop });
  } catch (error) {
    // Stopped while starting: not a failure.
    if (stop.aborted) return EXIT.ok;
    throw listenError(error, config) ?? error;
  }
  const admin = running.adminAddress;
  log.info({ admin: admin && `http://${formatListenAddress(admin)}` }, "ready");
  await onReady?.({ log, roles: names });
  log.level = config.logLevel;
  if (!stop.aborted) await new Promise((resolve) => stop.addEventListener("abort", resolve));
  const failed = await running.stop();
  log.info({ failed }, "stopped");
  return failed.length === 0 ? EXIT.ok : EXIT.failed;
}

/** Only roles that receive pings need the folder. */
function withSpoolFolder(config: Config, roles: readonly RoleName[]): Config {
  const receives = roles.includes("ping") || roles.includes("smtp");
  return receives
    ? { ...config, spoolFolder: chooseSpoolFolder(config.spoolFolder, environment) }
    : { ...config, spoolFolder: null };
}

function choose(names: readonly string[] | null): RoleName[] {
  try {
    return chooseRoles(names);
  } catch (error) {
    throw error instanceof UnknownRoleError ? new CommandError(error.message, EXIT.usage) : error;
  }
}

/** Aborted at the first SIGTERM or SIGINT; the second one ends the process immediately. */
function stopSignal(log: Log): AbortSignal {
  const controller = new AbortController();
  for (const signal of STOP_SIGNALS) {
    process.on(signal, () => {
      if (controller.signal.aborted) process.exit(SIGNAL_EXIT_BASE + constants.signals[signal]);
      log.info({ signal }, "stopping");
      controller.abort();
    });
  }
  return controller.signal;
}

const LISTEN_ADVICE: Readonly<Record<string, string>> = {
  EADDRINUSE: "Another process is using that port.",
  EADDRNOTAVAIL: "This machine does not have that address.",
  EACCES: "This user has no permission to use that port. Ports below 1024 require CAP_NET_BIND_SERVICE.",
  ENOTFOUND: "The host name is unknown.",
  EAI_AGAIN: "The host name could not be resolved.",
};

/** The address that cannot be listened on, as a sentence; null for any other error. */
function listenError(error: unknown, config: Config): CommandError | null {
  if (!(error instanceof Error) || !("syscall" in error)) return null;
  const places = [
    { setting: "OVERDUE_ADMIN_LISTEN", address: config.adminListen },
    { setting: "OVERDUE_PING_MAIL_LISTEN", address: config.pingMailListen },
    { setting: "OVERDUE_LISTEN", address: config.listen },
  ];
  const found = places.find(({ address }) =>
    error.syscall === "listen"
      ? "port" in error && address?.port === error.port
      : error.syscall === "getaddrinfo" && "hostname" in error && address?.host === error.hostname,
  );
  if (error.syscall !== "listen" && found === undefined) return null;
  const { setting, address } = found ?? { setting: "OVERDUE_LISTEN", address: config.listen };
  const place = address === null ? "" : ` on ${formatListenAddress(address)}`;
  const advice = LISTEN_ADVICE["code" in error ? String(error.code) : ""];
  const why = advice === undefined ? `(${error.message}).` : `(${error.message}). ${advice}`;
  return new CommandError(`Cannot listen${place} ${why} Set ${setting} to another address.`);
}

/** Secrets are removed from standard error, as from the log. */
function errorWriter(environment: Environment): (text: string) => void {
  let known: KnownSecrets = {};
  try {
    known = knownSecrets(loadConfig(environment).config);
  } catch (error) {
    // Invalid settings are reported by the command itself.
    if (!(error instanceof ConfigError)) throw error;
  }
  const clean = secretRemover(known);
  return (text) => void process.stderr.write(clean(text));
}

/** The settings of the working directory. An unreadable file ends the process with a message. */
function givenEnvironment(): Environment {
  try {
    return environmentIn(process.cwd());
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`overdue: ${error.message}\n`);
    process.exit(EXIT.usage);
  }
}

// A reader such as head closes the pipe when it has enough.
process.stdout.on("error", () => process.exit(EXIT.ok));
// A closed standard error does not change the exit code.
process.stderr.on("error", () => {});
const environment = givenEnvironment();
process.exitCode = await runCommandLine(process.argv.slice(2), {
  environment,
  version: VERSION,
  roleNames: ROLE_NAMES,
  chooseRoles: choose,
  out: (text) => void process.stdout.write(text),
  err: errorWriter(environment),
  openObjects: objectStoreOf,
  serve,
});
setTimeout(() => process.exit(), EXIT_GRACE_MS).unref();
