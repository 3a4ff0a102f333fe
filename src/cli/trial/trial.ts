// `overdue`, alone: everything in one process with a database of its own, for whoever wants to see it first. Puts the
// parts together and says in plain words what stands in the way; how a server is started, private-postgres.ts knows.
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { type Config, loadConfig } from "../../config.ts";
import { type CommandContext, CommandError, EXIT } from "../command-context.ts";
import { ownerLink } from "../serve.ts";
import { keepRunning } from "./keep-running.ts";
import { onOrphaned } from "./orphaned.ts";
import { packagedPrograms } from "./postgres-programs.ts";
import { type PrivatePostgres, startPrivatePostgres } from "./private-postgres.ts";
import { DEFAULT_FOLDER, forgetRunning, noteRunning } from "./running-trial.ts";
import { renderWelcome } from "./welcome.ts";
import { explainStart, refuseFullDisk, refuseTakenPort } from "./what-is-in-the-way.ts";

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
