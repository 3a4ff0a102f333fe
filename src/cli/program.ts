// The command line: the list of commands, and how errors are reported.
import { Command, CommanderError } from "commander";
import { ConfigError } from "../config/config.ts";
import { BackupError } from "../core/backup.ts";
import { AppError } from "../core/errors.ts";
import { explainConnection } from "../lib/postgres-error.ts";
import { UnusableDatabaseError } from "../store/errors.ts";
import { type CommandContext, CommandError, EXIT } from "./command-context.ts";

const AFTER_HELP = `
Examples:
  $ overdue                                                # try it with a built-in database
  $ overdue exec -slug backup -- ./backup.sh               # run a job and report it
  $ overdue config                                         # show the settings and their sources
  $ overdue doctor                                         # find out what to fix
  $ overdue migrate                                        # apply pending migrations
  $ overdue admin create-account --email you@example.org
  $ overdue admin create-project --name Backups --json
  $ overdue serve                                          # run all roles in one process
  $ overdue silence --tag db --for 2h --reason "DB upgrade"

Settings are read from OVERDUE_* environment variables and from a .env file in the working directory.
Run \`overdue config --example\` for a description of each setting.
Exit codes: 0 success, 1 failure, 2 invalid arguments or settings.`;

/** The default command. */
const ALONE = "trial";

/** Adds the options and the action of a command. */
type Define = (command: Command, context: CommandContext, setExitCode: (code: number) => void) => void;

/** The code of a command is loaded when the command is called, or its help is shown. */
const COMMANDS: readonly { name: string; summary: string; load: () => Promise<Define> }[] = [
  {
    name: ALONE,
    summary: "Try Overdue with a built-in database (the default command)",
    load: async () => (await import("./trial.ts")).defineTrial,
  },
  {
    name: "serve",
    summary: "Run the server with all roles, or only the given ones",
    load: async () => (await import("./serve.ts")).defineServe,
  },
  {
    name: "migrate",
    summary: "Apply pending database migrations",
    load: async () => (await import("./migrate.ts")).defineMigrate,
  },
  {
    name: "config",
    summary: "Validate the settings and print their values and sources",
    load: async () => (await import("./config.ts")).defineConfig,
  },
  {
    name: "doctor",
    summary: "Check the server and its surroundings, and say what to fix",
    load: async () => (await import("./doctor.ts")).defineDoctor,
  },
  {
    name: "silence",
    summary: "Hold notifications during maintenance",
    load: async () => (await import("./silence.ts")).defineSilence,
  },
  {
    name: "discover",
    summary: "Find the jobs of this machine and make them report",
    load: async () => (await import("./discover.ts")).defineDiscover,
  },
  {
    name: "prune",
    summary: "Delete data past its retention period",
    load: async () => (await import("./prune.ts")).definePrune,
  },
  {
    name: "backup",
    summary: "Write a backup to a file or an object store",
    load: async () => (await import("./backup.ts")).defineBackup,
  },
  {
    name: "restore",
    summary: "Restore a backup into an empty database",
    load: async () => (await import("./restore.ts")).defineRestore,
  },
  {
    name: "incidents",
    summary: "List incidents of a project",
    load: async () => (await import("./incidents.ts")).defineIncidents,
  },
  {
    name: "ack",
    summary: "Acknowledge incidents",
    load: async () => (await import("./incidents.ts")).defineAck,
  },
  {
    name: "admin",
    summary: "Manage accounts, projects, API keys, channels, and limits",
    load: async () => (await import("./admin.ts")).defineAdmin,
  },
];

/** main.ts runs these without this file; here they are only listed. */
const RUNNERS: readonly { name: string; summary: string; usage: string }[] = [
  { name: "exec", summary: "Run a job and report its start, end, and output", usage: "[flags] -- command" },
  { name: "ping", summary: "Send one ping", usage: "[flags] SLUG|UUID [ping]" },
  { name: "flush", summary: "Send reports that could not be sent before", usage: "[flags]" },
];

/** Runs one command line (without the program name) and returns the exit code. */
export async function runCommandLine(args: readonly string[], context: CommandContext): Promise<number> {
  let exitCode: number = EXIT.ok;
  const given = args.length === 0 ? [ALONE] : args;
  const setExitCode = (code: number) => {
    exitCode = code;
  };
  try {
    const program = await buildProgram(given, { context, setExitCode });
    await program.parseAsync(given, { from: "user" });
    return exitCode;
  } catch (error) {
    return reportError(error, context);
  }
}

async function buildProgram(
  args: readonly string[],
  { context, setExitCode }: { context: CommandContext; setExitCode: (code: number) => void },
): Promise<Command> {
  const program = new Command("overdue")
    .description("Overdue monitors scheduled jobs and sends an alert when an expected ping does not arrive.")
    .version(context.version, "-V, --version", "Print the version")
    .helpOption("-h, --help", "Print help")
    .helpCommand("help [command]", "Print help for a command")
    .configureOutput({ writeOut: context.out, writeErr: context.err })
    .showHelpAfterError("(run with --help for usage)")
    .exitOverride()
    .addHelpText("after", AFTER_HELP);
  for (const { name, summary, usage } of RUNNERS) program.command(name).description(summary).usage(usage);
  for (const { name, summary, load } of COMMANDS) {
    const command = program.command(name).description(summary);
    // The name is the first argument, or follows "help" or an option of the program.
    if (args.includes(name)) (await load())(command, context, setExitCode);
  }
  // By default the list depends on the options of each command. Not inherited, because it is set after the commands.
  return program.configureHelp({ subcommandTerm: (command) => `${command.name()} ${command.usage()}` });
}

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
  if (error instanceof UnusableDatabaseError || error instanceof AppError || error instanceof BackupError) {
    context.err(`overdue: ${error.message}\n`);
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
