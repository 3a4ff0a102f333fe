// `overdue` without a command: everything in one process with a private database, to try it out.
import { type Command, InvalidArgumentError } from "commander";
import { existsSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Config, loadConfig } from "../config/config.ts";
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

/** The database of a person who looks around, on a machine that does other things. */
const SERVER_SETTINGS = { max_connections: "60", shared_buffers: "64MB", max_wal_size: "256MB" };

const AFTER_HELP = `
The trial includes a PostgreSQL server, which this command starts and stops. Its data is kept in the data folder
between runs. The trial is for evaluation only. For production, set OVERDUE_DATABASE_URL to your own PostgreSQL server
and run \`overdue serve\`. The trial runs on Linux (glibc) and macOS; only Linux is tested.

Examples:
  $ overdue
  $ overdue trial --port 8001 --data /srv/overdue-trial`;

type Options = { data: string; port?: number };

/** Adds the command to the program. */
export function registerTrial(
  program: Command,
  context: CommandContext,
  setExitCode: (code: number) => void,
): void {
  program
    .command("trial")
    .description("Try Overdue with a built-in database (the default command)")
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
  // Under npx a signal ends npx and the shell between it and us, and we would never hear of it.
  onOrphaned(() => process.kill(process.pid, "SIGTERM"));
  const leave = keepRunning(server, { say: (text) => context.err(`overdue: ${text}\n`) });
  try {
    const databaseUrl = server.socketUrl(DATABASE);
    const config = trialConfig(context, { folder, port, url: databaseUrl });
    noteRunning(folder, { databaseUrl, siteUrl: config.siteUrl });
    return await context.serve(config, {
      roles: null,
      // What is logged while it starts would stand above the link; a level that was asked for is kept.
      isQuietUntilReady: !context.environment["OVERDUE_LOG_LEVEL"]?.trim(),
      onReady: async () => {
        const welcome = { version: context.version, siteUrl: config.siteUrl, folder, isFirst };
        context.out(renderWelcome({ ...welcome, ownerLink: await ownerLink(config) }));
      },
    });
  } finally {
    // First: what is being started while the server is told to stop would stay behind.
    await leave();
    forgetRunning(folder);
    await server.stop();
  }
}

/** Asked before anything is made: where there is no PostgreSQL, nothing stays behind. */
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

/** What was set stays; what was not set is chosen for one person on one machine. */
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

/** An empty variable counts as not set, and must not hide what is chosen here. */
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
/** A fresh database with its log takes 70 MB; an old one needs room to go on. */
const FREE_MEGABYTES_MIN = { first: 300, later: 50 };

/** Nobody lets us write there, or something is there that is no folder. */
const NO_FOLDER_CODES = new Set(["EACCES", "EPERM", "EROFS", "EEXIST", "ENOTDIR"]);

const INSTEAD =
  "Use your own PostgreSQL server (15 to 18) instead:\n" +
  "  export OVERDUE_DATABASE_URL=postgres://overdue@127.0.0.1:5432/overdue\n" +
  "  overdue serve";

/** Throws CommandError when the address cannot be listened on. */
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

/** Throws CommandError when the disk is too full to begin. */
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

/** What a failed start means; null when nothing better can be said than the error itself says. */
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
  // The program is there, and still "not found": what is not found is the library that loads programs.
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

/** Time for what is left of the old server to end, and for somebody to make room. */
const PAUSE_MS = 3_000;
const REASON_LENGTH_MAX = 500;

export type Watched = Pick<PrivatePostgres, "postmaster" | "relaunch">;

/**
 * Watches until it is told to stop; that is done when no server is being started any more. `say` gets sentences for the
 * terminal: when it ended, why it does not come, when it is back.
 */
function keepRunning(
  server: Watched,
  { say, pauseMs = PAUSE_MS }: { say: (text: string) => void; pauseMs?: number },
): () => Promise<void> {
  const over = new AbortController();
  let bringing = Promise.resolve();
  const watch = () => {
    const again = () => {
      // Whoever is told to stop breaks it off, which is no trouble.
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

// A file beside the data lets other commands find a running trial. Only its owner can read it.

/** Where a trial keeps its data, below the folder that it is started in. */
export const DEFAULT_FOLDER = "overdue-data";

const FILE = "running.json";
const FILE_MODE = 0o600;

export type RunningTrial = { databaseUrl: string; siteUrl: string };

/** Says that a trial runs on the data in a folder, and how it is reached. */
function noteRunning(folder: string, running: RunningTrial): void {
  const path = join(folder, FILE);
  // A file of an earlier start keeps its mode, whatever it is.
  rmSync(path, { force: true });
  writeFileSync(path, JSON.stringify(running), { mode: FILE_MODE });
}

/** Takes it back. */
function forgetRunning(folder: string): void {
  rmSync(join(folder, FILE), { force: true });
}

/** The trial that runs on the data in a folder; null when none does, also when one was killed. */
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
  /** Null when the installation has somebody who runs it. */
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
  Locked out          Run \`overdue admin login-link\` in this folder while the trial is running.
  Stop                Press Ctrl-C. The data is kept for the next start.

`;
}
