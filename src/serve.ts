// Runs the roles of a process: settings → resources → roles → wait for a signal → stop in reverse order. It decides what
// runs and contains no protocol code.
import { constants } from "node:os";
import { CommandError, databaseOptionsOf, EXIT, type ServeOptions } from "./cli/command-context.ts";
import { cellsOf } from "./config/cells.ts";
import { type Config, type Environment, knownSecrets } from "./config/config.ts";
import { chooseSpoolFolder } from "./config/spool-folder.ts";
import { formatListenAddress } from "./lib/address.ts";
import { adjustHeapGrowth } from "./lib/heap-growth.ts";
import { createLog, type Log } from "./lib/log.ts";
import { createMetrics } from "./lib/metrics.ts";
import { startWatchdog } from "./lib/watchdog.ts";
import type { RoleName } from "./roles/names.ts";
import { type Resources, run, type RunningProcess } from "./roles/roles.ts";
import { openDatabase } from "./store/db.ts";

const STOP_SIGNALS = ["SIGTERM", "SIGINT"] as const;

/** Shells report a process ended by a signal as this plus the signal number. */
const SIGNAL_EXIT_BASE = 128;

export type Serving = Omit<ServeOptions, "roles"> & {
  roles: readonly RoleName[];
  environment: Environment;
  version: string;
};

function openResources(config: Config, { log, version }: { log: Log; version: string }): Resources {
  const cells = cellsOf(config);
  const databaseOptions = {
    ...databaseOptionsOf(config),
    slots: cells?.cell.slots,
    applicationName: "overdue",
    connectionsMax: config.databasePoolSize,
    onError: (error: Error) => log.warn({ err: error }, "an idle database connection failed"),
  };
  return {
    config,
    cells,
    database: openDatabase(databaseOptions),
    databaseOptions,
    log,
    metrics: createMetrics({ version }),
  };
}

/** Runs the chosen roles until a signal arrives, and returns the exit code. */
export async function serve(given: Config, serving: Serving): Promise<number> {
  const { roles, version, environment, onReady, isQuietUntilReady = false } = serving;
  const config = withSpoolFolder(given, { roles, environment });
  const log = createLog({ level: config.logLevel, ...knownSecrets(config) });
  if (isQuietUntilReady) log.level = "fatal";
  const resources = openResources(config, { log, version });
  const stop = stopSignal(log);
  process.on("uncaughtException", (error) => {
    log.fatal({ err: error }, "unexpected error");
    process.exit(EXIT.failed);
  });
  log.info({ version, node: process.versions.node, pid: process.pid, roles }, "starting");
  if (config.secretKeyPrevious !== null && config.secretKeyPrevious === config.secretKey) {
    log.warn("OVERDUE_SECRET_KEY_PREVIOUS is the same as OVERDUE_SECRET_KEY and is ignored");
  }
  startWatchdog({ log });
  adjustHeapGrowth();
  let running: RunningProcess;
  try {
    running = await run(roles, resources, { signal: stop });
  } catch (error) {
    // Stopped while starting: not a failure.
    if (stop.aborted) return EXIT.ok;
    throw listenError(error, config) ?? error;
  }
  const admin = running.adminAddress;
  log.info({ admin: admin && `http://${formatListenAddress(admin)}` }, "ready");
  await onReady?.({ log, roles });
  log.level = config.logLevel;
  if (!stop.aborted) await new Promise((resolve) => stop.addEventListener("abort", resolve));
  const failed = await running.stop();
  log.info({ failed }, "stopped");
  return failed.length === 0 ? EXIT.ok : EXIT.failed;
}

/** Only roles that receive pings need the folder. */
function withSpoolFolder(
  config: Config,
  { roles, environment }: { roles: readonly RoleName[]; environment: Environment },
): Config {
  const receives = roles.includes("ping") || roles.includes("smtp");
  return receives
    ? { ...config, spoolFolder: chooseSpoolFolder(config.spoolFolder, environment) }
    : { ...config, spoolFolder: null };
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
