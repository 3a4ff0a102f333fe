// The command line: the list of commands, and how errors are reported.
import { Command, CommanderError } from "commander";
import { ConfigError } from "../config/config.ts";
import { BackupError } from "../core/backup.ts";
import { AppError } from "../core/errors.ts";
import { KafkaError } from "../lib/kafka.ts";
import { explainConnection } from "../lib/postgres-error.ts";
import { UnusableDatabaseError } from "../store/errors.ts";
import { type CommandContext, CommandError, EXIT } from "./command-context.ts";
import { fitted, HELP_COLUMNS } from "./help-text.ts";
import { withCurrentName } from "./old-names.ts";

const DESCRIPTION =
  "Overdue monitors scheduled jobs and sends an alert when an expected ping does not arrive.";

const AFTER_HELP = `
Examples:
  $ overdue trial                      # try it with a built-in database
  $ overdue exec -slug backup -- ./backup.sh
  $ overdue doctor                     # find out what to fix on a server
  $ overdue login                      # save an API key for the commands below
  $ overdue checks list
  $ overdue silence --tag db --for 2h --reason "DB upgrade"
  $ overdue admin account create --email you@example.org

Settings are read from OVERDUE_* environment variables and from a .env file in the working directory. Run \`overdue config --example\` for a description of each setting.

Exit codes: 0 success, 1 failure, 2 invalid arguments or settings, 4 confirmation needed (see --yes).`;

const ADMIN_HELP = `
These commands use the database in OVERDUE_DATABASE_URL, or that of the trial running in this folder. They need no account and no API key.

Examples:
  $ overdue admin account create --email you@example.org
  $ overdue admin project create --name Backups --json
  $ overdue admin account login-link      # locked out, or email is not set up`;

/** The command of a call without arguments under npx, where someone tries the program. */
const TRIAL = "trial";

/** Adds the options and the action of a command. */
type Define = (command: Command, context: CommandContext, setExitCode: (code: number) => void) => void;

/** The headings of the list of commands. */
type Group = "Jobs" | "Checks" | "Server" | "Admin" | "Other";

type Entry = {
  name: string;
  /** One line, in the imperative. */
  summary: string;
  /** The code of a command is loaded when the command is called, or its help is shown. */
  load?: () => Promise<Define>;
  /** For a command that main.ts runs without this file: it is only listed here. */
  usage?: string;
  /** Printed after the help of a command that consists of others. */
  help?: string;
  commands?: readonly Entry[];
};

/** In the order of the help, by group. */
const COMMANDS: readonly (Entry & { group: Group })[] = [
  {
    group: "Jobs",
    name: "exec",
    summary: "Run a job and report its start, end, and output",
    usage: "[flags] -- command",
  },
  { group: "Jobs", name: "ping", summary: "Send one ping", usage: "[flags] SLUG|UUID [ping]" },
  {
    group: "Jobs",
    name: "flush",
    summary: "Send reports that could not be sent before",
    usage: "[flags]",
  },
  {
    group: "Jobs",
    name: "discover",
    summary: "Find the jobs of this machine and make them report",
    load: async () => (await import("./discover.ts")).defineDiscover,
  },
  {
    group: "Checks",
    name: "checks",
    summary: "List, create, pause, resume, and delete checks",
    load: async () => (await import("./checks.ts")).defineChecks,
  },
  {
    group: "Checks",
    name: "runs",
    summary: "List the runs of a check",
    load: async () => (await import("./runs.ts")).defineRuns,
  },
  {
    group: "Checks",
    name: "tail",
    summary: "Follow pings and status changes as they happen",
    load: async () => (await import("./tail.ts")).defineTail,
  },
  {
    group: "Checks",
    name: "incidents",
    summary: "List incidents of a project",
    load: async () => (await import("./incidents.ts")).defineIncidents,
  },
  {
    group: "Checks",
    name: "ack",
    summary: "Acknowledge incidents",
    load: async () => (await import("./incidents.ts")).defineAck,
  },
  {
    group: "Checks",
    name: "silence",
    summary: "Hold notifications during maintenance",
    load: async () => (await import("./silence.ts")).defineSilence,
  },
  {
    group: "Checks",
    name: "fire-drill",
    summary: "Simulate an outage and show who would be notified",
    load: async () => (await import("./fire-drill.ts")).defineFireDrill,
  },
  {
    group: "Checks",
    name: "status-pages",
    summary: "Manage public status pages and publish on them",
    load: async () => (await import("./status-pages.ts")).defineStatusPages,
  },
  {
    group: "Server",
    name: "serve",
    summary: "Run the server with all roles, or only the given ones",
    load: async () => (await import("./serve.ts")).defineServe,
  },
  {
    group: "Server",
    name: TRIAL,
    summary: "Try Overdue with a built-in database",
    load: async () => (await import("./trial.ts")).defineTrial,
  },
  {
    group: "Server",
    name: "migrate",
    summary: "Apply pending database migrations",
    load: async () => (await import("./migrate.ts")).defineMigrate,
  },
  {
    group: "Server",
    name: "config",
    summary: "Validate the settings and print their values and sources",
    load: async () => (await import("./config.ts")).defineConfig,
  },
  {
    group: "Server",
    name: "doctor",
    summary: "Check the server and its surroundings, and say what to fix",
    load: async () => (await import("./doctor.ts")).defineDoctor,
  },
  {
    group: "Server",
    name: "import",
    summary: "Import checks, channels, and accounts from Healthchecks",
    load: async () => (await import("./import.ts")).defineImport,
  },
  {
    group: "Server",
    name: "export",
    summary: "Export checks to Healthchecks",
    load: async () => (await import("./export.ts")).defineExport,
  },
  {
    group: "Server",
    name: "prune",
    summary: "Delete data past its retention period",
    load: async () => (await import("./prune.ts")).definePrune,
  },
  {
    group: "Server",
    name: "backup",
    summary: "Write a backup to a file or an object store",
    load: async () => (await import("./backup.ts")).defineBackup,
  },
  {
    group: "Server",
    name: "restore",
    summary: "Restore a backup into an empty database",
    load: async () => (await import("./restore.ts")).defineRestore,
  },
  {
    group: "Server",
    name: "log",
    summary: "Create and inspect the Kafka topic of OVERDUE_LOG",
    load: async () => (await import("./log.ts")).defineLog,
  },
  {
    group: "Server",
    name: "router",
    summary: "Write the maps and configuration of a router for cells",
    load: async () => (await import("./router.ts")).defineRouter,
  },
  {
    group: "Admin",
    name: "admin",
    summary: "Manage accounts, projects, API keys, and channels",
    help: ADMIN_HELP,
    commands: [
      {
        name: "account",
        summary: "Create, list, and change accounts",
        load: async () => (await import("./admin-account.ts")).defineAdminAccount,
      },
      {
        name: "project",
        summary: "Create and list projects",
        load: async () => (await import("./admin-project.ts")).defineAdminProject,
      },
      {
        name: "key",
        summary: "Create, rotate, and list API keys",
        load: async () => (await import("./admin-key.ts")).defineAdminKey,
      },
      {
        name: "channel",
        summary: "Create, list, test, and delete channels",
        load: async () => (await import("./admin-channel.ts")).defineAdminChannel,
      },
      {
        name: "quarantine",
        summary: "List and retry pings that could not be recorded",
        load: async () => (await import("./admin-quarantine.ts")).defineAdminQuarantine,
      },
      {
        name: "restore",
        summary: "Resume notifications after a restore",
        load: async () => (await import("./admin-restore.ts")).defineAdminRestore,
      },
    ],
  },
  {
    group: "Other",
    name: "login",
    summary: "Save an API key in a profile",
    load: async () => (await import("./login.ts")).defineLogin,
  },
  {
    group: "Other",
    name: "logout",
    summary: "Delete a profile",
    load: async () => (await import("./login.ts")).defineLogout,
  },
  {
    group: "Other",
    name: "whoami",
    summary: "Show the API key, project, and server in use",
    load: async () => (await import("./whoami.ts")).defineWhoami,
  },
  {
    group: "Other",
    name: "completion",
    summary: "Print a shell completion script",
    load: async () => (await import("./completion.ts")).defineCompletion,
  },
];

/** Runs one command line (without the program name) and returns the exit code. */
export async function runCommandLine(args: readonly string[], context: CommandContext): Promise<number> {
  let exitCode: number = EXIT.ok;
  const given = normalized(args, context);
  const setExitCode = (code: number) => {
    exitCode = code;
  };
  try {
    const program = await buildProgram(context, { args: given, setExitCode });
    await program.parseAsync(given, { from: "user" });
    return exitCode;
  } catch (error) {
    return reportError(error, context);
  }
}

function normalized(args: readonly string[], { environment }: CommandContext): readonly string[] {
  // npx sets this variable. Elsewhere, a call without arguments must not start a database.
  if (args.length === 0) return environment["npm_command"] === "exec" ? [TRIAL] : ["--help"];
  const [first, ...path] = withCurrentName(args);
  // Commander's own command goes one level deep.
  return first === "help" && path.length > 1 ? [...path, "--help"] : withCurrentName(args);
}

/** The program with the commands that are named in the arguments; null: with all of them. */
export async function buildProgram(
  context: CommandContext,
  { args, setExitCode }: { args: readonly string[] | null; setExitCode: (code: number) => void },
): Promise<Command> {
  const program = new Command("overdue")
    .description(DESCRIPTION)
    .version(context.version, "-V, --version", "Print the version")
    .helpOption("-h, --help", "Print help")
    .commandsGroup("Other:")
    .helpCommand("help [command]", "Print help for a command")
    .configureOutput({
      writeOut: (text) => context.out(fitted(text)),
      writeErr: context.err,
      getOutHelpWidth: () => HELP_COLUMNS,
      getErrHelpWidth: () => HELP_COLUMNS,
    })
    // By default, the list has the options of the commands that are loaded.
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .showHelpAfterError("(run with --help for usage)")
    .exitOverride()
    .addHelpText("after", AFTER_HELP);
  const words = args?.filter((word, at) => !word.startsWith("-") && !(at === 0 && word === "help"));
  const add = async (parent: Command, entry: Entry, depth = 0): Promise<Command> => {
    const { name, summary, load, help, usage, commands = [] } = entry;
    const command = parent.command(name).description(summary).helpCommand(false);
    if (usage !== undefined) command.usage(usage);
    if (words !== undefined && words[depth] !== name) return command;
    if (help !== undefined) command.addHelpText("after", help);
    for (const one of commands) await add(command, one, depth + 1);
    if (load !== undefined) (await load())(command, context, setExitCode);
    return command;
  };
  for (const entry of COMMANDS) (await add(program, entry)).helpGroup(`${entry.group}:`);
  return program;
}

/** Their messages say what happened and what to do. */
const EXPECTED = [UnusableDatabaseError, AppError, BackupError, KafkaError] as const;

/** Expected errors are one or two sentences; only bugs show their stack. */
function reportError(error: unknown, context: CommandContext): number {
  // Commander has already printed its message, or the requested help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (error instanceof ConfigError) {
    context.err(`${error.message}\n`);
    return EXIT.usage;
  }
  if (error instanceof CommandError) {
    context.err(`overdue: ${error.message}\n`);
    return error.exitCode;
  }
  if (EXPECTED.some((kind) => error instanceof kind)) {
    context.err(`overdue: ${(error as Error).message}\n`);
    return EXIT.failed;
  }
  const problem = explainConnection(error);
  if (problem !== null) {
    context.err(`overdue: Cannot use the database: ${problem}\n`);
    return EXIT.failed;
  }
  const refused = explainSystemError(error);
  if (refused !== null) {
    context.err(`overdue: ${refused}\n`);
    return EXIT.failed;
  }
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  context.err(`overdue: Unexpected error. This is a bug in Overdue; please report it.\n${detail}\n`);
  return EXIT.failed;
}

const SYSTEM_ADVICE: Readonly<Record<string, string>> = {
  EACCES: "Grant access to the user that runs Overdue, or use another path.",
  EPERM: "Grant access to the user that runs Overdue, or use another path.",
  EROFS: "The disk is read-only. Use another path.",
  ENOENT: "The file or folder does not exist. Correct the path.",
  ENOTDIR: "Part of the path is not a folder. Correct the path.",
  EISDIR: "The path is a folder, but a file is expected. Correct the path.",
  ENOSPC: "The disk is full. Free some space.",
  EDQUOT: "The disk quota is used up. Free some space.",
  EMFILE: "Too many files are open. Raise the open file limit (ulimit -n).",
  ENFILE: "The system has too many open files. Raise the system-wide limit (fs.file-max).",
};

/** A system error with its path; null for any other error. */
function explainSystemError(error: unknown): string | null {
  if (!(error instanceof Error) || !("code" in error) || !("syscall" in error)) return null;
  const advice = SYSTEM_ADVICE[String(error.code)];
  return advice === undefined ? null : `${error.message}. ${advice}`;
}
