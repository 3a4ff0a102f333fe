// `overdue trial`, or `npx overdue`: everything in one process with a private database, to try it out.
import { type Command, InvalidArgumentError } from "commander";
import { existsSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Config, loadConfig } from "../config/config.ts";
import { DOCS } from "../contract/api/docs.ts";
import { formatListenAddress, type ListenAddress } from "../lib/address.ts";
import { type CommandContext, CommandError, EXIT } from "./command-context.ts";
import {
  DataInUseError,
  NoProgramsError,
  onOrphaned,
  packagedPrograms,
  type PrivatePostgres,
  startPrivatePostgres,
} from "./private-postgres.ts";
import { ownerLink } from "./serve.ts";

const DATABASE = "overdue";
const PORT_MAX = 65_535;

/** Settings for a database of a single user, on a machine that does other things. */
const SERVER_SETTINGS = { max_connections: "60", shared_buffers: "64MB", max_wal_size: "256MB" };

const AFTER_HELP = `
The trial includes a PostgreSQL server, which this command starts and stops. Its data is kept in the data folder
between runs. The trial is for evaluation only. For production, set OVERDUE_DATABASE_URL to your own PostgreSQL server
and run \`overdue serve\`. The trial runs on Linux (glibc) and macOS; only Linux is tested.

Examples:
  $ overdue trial
  $ overdue trial --port 8001 --data /srv/overdue-trial`;

type Options = { data: string; port?: number };

/** Adds the options and the action. */
export function defineTrial(
  command: Command,
  context: CommandContext,
  setExitCode: (code: number) => void,
): void {
  command
    .option("-d, --data <folder>", "Data folder", DEFAULT_FOLDER)
    .option("-p, --port <number>", "Port to listen on; overrides OVERDUE_LISTEN", parsePort)
    .addHelpText("after", AFTER_HELP)
    .action(async (options: Options) => setExitCode(await runTrial(context, options)));
}

async function runTrial(context: CommandContext, options: Options): Promise<number> {
  const given = loadConfig(context.environment).config;
  if (given.databaseUrl !== null) {
    throw new CommandError(
      "OVERDUE_DATABASE_URL is set, so the trial is not available. Run `overdue serve` instead.",
      EXIT.usage,
    );
  }
  const folder = resolve(options.data);
  const isFirst = !existsSync(join(folder, "postgres"));
  const port = options.port ?? given.listen.port;
  await refuseTakenPort({ host: given.listen.host, port });
  refuseFullDisk(folder, { isFirst });
  const programs = findPrograms(folder);
  if (isFirst) context.out(`Creating a trial database in ${folder} …\n`);
  const server = await startDatabase(folder, programs);
  // Under npx, a signal ends npx and its shell and does not reach this process.
  onOrphaned(() => process.kill(process.pid, "SIGTERM"));
  const leave = keepRunning(server, { say: (text) => context.err(`overdue: ${text}\n`) });
  try {
    const databaseUrl = server.socketUrl(DATABASE);
    const config = trialConfig(context, { folder, port, url: databaseUrl });
    noteRunning(folder, { databaseUrl, siteUrl: config.siteUrl });
    return await context.serve(config, {
      roles: null,
      // Log lines during the start would appear above the link; a configured level is kept.
      isQuietUntilReady: !context.environment["OVERDUE_LOG_LEVEL"]?.trim(),
      onReady: async () => {
        const welcome = { version: context.version, siteUrl: config.siteUrl, folder, isFirst };
        context.out(renderWelcome({ ...welcome, ownerLink: await ownerLink(config) }));
      },
    });
  } finally {
    // First: a server that is being started during the stop would stay behind.
    await leave();
    deleteRunningFile(folder);
    await server.stop();
  }
}

/** Checked before anything is created: without PostgreSQL, nothing is left behind. */
function findPrograms(folder: string): string {
  try {
    return packagedPrograms();
  } catch (error) {
    throw explainStart(error, folder) ?? error;
  }
}

async function startDatabase(folder: string, programs: string): Promise<PrivatePostgres> {
  try {
    return await startPrivatePostgres({
      directory: programs,
      keepDataIn: join(folder, "postgres"),
      passwordFile: join(folder, "database-password"),
      settings: SERVER_SETTINGS,
      database: DATABASE,
    });
  } catch (error) {
    throw explainStart(error, folder) ?? error;
  }
}

/** Runs `work` on the database of the trial in a folder, which is started if it is not running. */
export async function withTrialDatabase<T>(folder: string, work: (url: string) => Promise<T>): Promise<T> {
  const running = findRunning(folder);
  if (running !== null) return work(running.databaseUrl);
  const server = await startDatabase(folder, findPrograms(folder));
  try {
    return await work(server.socketUrl(DATABASE));
  } finally {
    await server.stop();
  }
}

/** Configured settings are kept; the others are chosen for one user on one machine. */
function trialConfig(
  { environment }: CommandContext,
  { folder, port, url }: { folder: string; port: number; url: string },
): Config {
  const { listen } = loadConfig(environment).config;
  return loadConfig({
    OVERDUE_SITE_URL: `http://localhost:${port}`,
    OVERDUE_ADMIN_LISTEN: "127.0.0.1:0",
    OVERDUE_LOG_LEVEL: "warn",
    OVERDUE_SPOOL_FOLDER: join(folder, "spool"),
    ...withoutEmpty(environment),
    OVERDUE_LISTEN: `${listen.host.includes(":") ? `[${listen.host}]` : listen.host}:${port}`,
    OVERDUE_DATABASE_URL: url,
    OVERDUE_ROLES: "all",
  }).config;
}

/** An empty variable counts as not set, and must not hide the values chosen here. */
function withoutEmpty(environment: CommandContext["environment"]): CommandContext["environment"] {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value?.trim()));
}

function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= PORT_MAX) return port;
  throw new InvalidArgumentError(`Expected a port from 1 to ${PORT_MAX}.`);
}

// Explains why a trial cannot start. Changes nothing.

const MEGABYTE = 1024 * 1024;
/** A new database with its log takes 70 MB; an existing one needs some free space. */
const FREE_MEGABYTES_MIN = { first: 300, later: 50 };

/** No permission to write there, or part of the path is not a folder. */
const NO_FOLDER_CODES = new Set(["EACCES", "EPERM", "EROFS", "EEXIST", "ENOTDIR"]);

const INSTEAD =
  "Use your own PostgreSQL server (15 to 18) instead:\n" +
  "  export OVERDUE_DATABASE_URL=postgres://overdue@127.0.0.1:5432/overdue\n" +
  "  overdue serve";

/** Throws CommandError if the address cannot be listened on. */
async function refuseTakenPort(address: ListenAddress): Promise<void> {
  const problem = await new Promise<NodeJS.ErrnoException | null>((done) => {
    const probe = createServer();
    probe.once("error", done);
    probe.listen(address, () => probe.close(() => done(null)));
  });
  if (problem === null) return;
  const place = formatListenAddress(address);
  const why =
    problem.code === "EADDRINUSE"
      ? `Another program is already using ${place}. Is Overdue already running?`
      : `Cannot listen on ${place} (${problem.code}).`;
  throw new CommandError(`${why} Use another port: \`overdue trial --port ${nextPort(address.port)}\`.`);
}

function nextPort(port: number): number {
  return port < 1_024 ? 8_000 : port + 1;
}

/** Throws CommandError if there is not enough disk space. */
export function refuseFullDisk(folder: string, { isFirst }: { isFirst: boolean }): void {
  let existing = folder;
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  const { bavail, bsize } = statfsSync(existing);
  const free = Math.floor((bavail * bsize) / MEGABYTE);
  const needed = isFirst ? FREE_MEGABYTES_MIN.first : FREE_MEGABYTES_MIN.later;
  if (free >= needed) return;
  throw new CommandError(
    `Not enough disk space in ${folder}: the trial database needs ${needed} MB, but only ${free} MB are free. ` +
      "Free some space, or use another folder: `overdue trial --data <folder>`.",
  );
}

/** An explanation of a failed start; null if the error itself is the best one. */
export function explainStart(error: unknown, folder: string): CommandError | null {
  if (!(error instanceof Error)) return null;
  if (error instanceof DataInUseError) {
    return new CommandError(
      `Overdue is already running with the data in ${folder}. Stop it first, or start a second trial with its own folder ` +
        "and port: `overdue trial --data <folder> --port <number>`.",
    );
  }
  if (error instanceof NoProgramsError) return new CommandError(`${error.message}\n${INSTEAD}`);
  const code = "code" in error ? error.code : undefined;
  // The program exists and is still "not found": what is missing is the dynamic loader.
  if (code === "ENOENT") {
    return new CommandError(
      `The trial database cannot run on this system: it requires glibc, which Alpine Linux does not have.\n${INSTEAD}`,
    );
  }
  if (typeof code === "string" && NO_FOLDER_CODES.has(code)) {
    return new CommandError(
      `Cannot store data in ${folder} (${error.message}). Use a folder that you can write to: ` +
        "`overdue trial --data <folder>`.",
    );
  }
  if (error.message.includes("No space left on device")) {
    return new CommandError(
      `The disk that contains ${folder} is full. Free some space, or use \`--data <folder>\`.`,
    );
  }
  return new CommandError(`The trial database failed to start. ${error.message.trimEnd()}\n${INSTEAD}`);
}

// Restarts the database of a trial when it ends unexpectedly, for example on a full disk or when memory is short.

/** Time for the old server to end, and for the user to free some space. */
const PAUSE_MS = 3_000;
const REASON_LENGTH_MAX = 500;

export type Watched = Pick<PrivatePostgres, "postmaster" | "relaunch">;

/**
 * Runs until it is stopped; resolves when no server is being started any more. `say` gets sentences for the terminal:
 * that the database ended, why a restart failed, that it is running again.
 */
function keepRunning(
  server: Watched,
  { say, pauseMs = PAUSE_MS }: { say: (text: string) => void; pauseMs?: number },
): () => Promise<void> {
  const over = new AbortController();
  let bringing = Promise.resolve();
  const watch = () => {
    const again = () => {
      // Aborted by the stop, which is not an error.
      bringing = bringBack().catch(() => {});
    };
    const { exitCode, signalCode } = server.postmaster();
    if (exitCode === null && signalCode === null) server.postmaster().once("exit", again);
    else again();
  };
  const bringBack = async () => {
    if (over.signal.aborted) return;
    say(
      "The trial database stopped unexpectedly, possibly because the disk or memory is full. Restarting it …",
    );
    for (let tries = 1; ; tries += 1) {
      await sleep(pauseMs, undefined, { signal: over.signal });
      try {
        await server.relaunch(over.signal);
        break;
      } catch (error) {
        if (over.signal.aborted) return;
        const said = String(error instanceof Error ? error.message : error).slice(-REASON_LENGTH_MAX);
        if (tries === 1) say(`The restart failed; retrying. ${said.trimEnd()}`);
      }
    }
    say("The trial database is running again.");
    watch();
  };
  watch();
  return async () => {
    over.abort();
    await bringing;
  };
}

// A file next to the data lets other commands find a running trial. Only its owner can read it.

/** Where a trial keeps its data, below the working directory. */
export const DEFAULT_FOLDER = "overdue-data";

const FILE = "running.json";
const FILE_MODE = 0o600;

export type RunningTrial = { databaseUrl: string; siteUrl: string };

/** Records that a trial is running on the data in a folder, and how to connect to it. */
function noteRunning(folder: string, running: RunningTrial): void {
  const path = join(folder, FILE);
  // An existing file would keep its mode.
  rmSync(path, { force: true });
  writeFileSync(path, JSON.stringify(running), { mode: FILE_MODE });
}

/** Deletes the record. */
function deleteRunningFile(folder: string): void {
  rmSync(join(folder, FILE), { force: true });
}

/** The trial running on the data in a folder; null if there is none, or it was killed. */
export function findRunning(folder: string): RunningTrial | null {
  if (!existsSync(join(folder, "postgres", "postmaster.pid"))) return null;
  try {
    const noted: unknown = JSON.parse(readFileSync(join(folder, FILE), "utf8"));
    return isRunning(noted) ? noted : null;
  } catch {
    return null;
  }
}

function isRunning(noted: unknown): noted is RunningTrial {
  if (typeof noted !== "object" || noted === null) return false;
  const { databaseUrl, siteUrl } = noted as Partial<Record<keyof RunningTrial, unknown>>;
  return typeof databaseUrl === "string" && typeof siteUrl === "string";
}

export type Welcome = {
  version: string;
  siteUrl: string;
  folder: string;
  isFirst: boolean;
  /** Null if there is an admin account. */
  ownerLink: string | null;
};

/** The text for the terminal. */
function renderWelcome({ version, siteUrl, folder, isFirst, ownerLink: link }: Welcome): string {
  const next =
    link === null
      ? [`  Open                ${siteUrl}/`]
      : ["  Open this one-time link to create the admin account:", "", `  ${link}`];
  return `
Overdue ${version} is running.

${next.join("\n")}

  TRIAL DATABASE      ${isFirst ? "created" : "found"} in ${folder}
                      For evaluation only: it is not backed up, and it includes outdated libraries.
                      For production, set OVERDUE_DATABASE_URL to your own PostgreSQL server
                      (15 to 18) and run \`overdue serve\`.
  Settings            OVERDUE_* environment variables, or a .env file in this folder.
  Documentation       ${siteUrl}${DOCS.home}
  Locked out          Run \`overdue admin account login-link\` in this folder while the trial is running.
  Stop                Press Ctrl-C. The data is kept for the next start.

`;
}
