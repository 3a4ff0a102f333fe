#!/usr/bin/env node
// The entry point: prints the version, or runs a command. A command and the server are loaded when they are called, so
// that short commands start quickly and a process holds no code that it does not run.
import { readFileSync } from "node:fs";

/** They run jobs, and load nothing else. */
const RUNNERS = ["exec", "ping", "flush"] as const;

const VERSION_FLAGS: readonly (string | undefined)[] = ["-V", "--version"];

/** After the end, remaining handles may keep the process alive for this long. */
const EXIT_GRACE_MS = 1_000;

const VERSION = readVersion();

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  const version =
    typeof manifest === "object" && manifest !== null && "version" in manifest && manifest.version;
  return String(version);
}

/** Runs a command line and returns the exit code. */
async function runCommand(args: readonly string[]): Promise<number> {
  // A closed standard error does not change the exit code.
  process.stderr.on("error", () => {});
  const { CommandError, EXIT } = await import("./cli/command-context.ts");
  const { runCommandLine } = await import("./cli/program.ts");
  const { ConfigError, environmentIn, knownSecrets, loadConfig } = await import("./config/config.ts");
  const { secretRemover } = await import("./lib/secret-remover.ts");
  const { chooseRoles, ROLE_NAMES, UnknownRoleError } = await import("./roles/names.ts");

  let environment: ReturnType<typeof environmentIn>;
  try {
    environment = environmentIn(process.cwd());
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`overdue: ${error.message}\n`);
    return EXIT.usage;
  }

  // Secrets are removed from standard error, as from the log.
  let clean = secretRemover({});
  try {
    clean = secretRemover(knownSecrets(loadConfig(environment).config));
  } catch (error) {
    // Invalid settings are reported by the command itself.
    if (!(error instanceof ConfigError)) throw error;
  }

  const choose = (names: readonly string[] | null) => {
    try {
      return chooseRoles(names);
    } catch (error) {
      throw error instanceof UnknownRoleError ? new CommandError(error.message, EXIT.usage) : error;
    }
  };

  return runCommandLine(args, {
    environment,
    version: VERSION,
    roleNames: ROLE_NAMES,
    chooseRoles: choose,
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(clean(text)),
    isTerminal: process.stderr.isTTY,
    ask: async (question, options) => {
      const { ask } = await import("./cli/terminal.ts");
      return ask({ input: process.stdin, output: process.stderr }, question, options);
    },
    readInput: async (lengthMax) => {
      const { readAll } = await import("./cli/terminal.ts");
      return readAll(process.stdin, lengthMax);
    },
    openObjects: async (config, options) => {
      const { objectStoreOf } = await import("./config/connections.ts");
      return objectStoreOf(config, options);
    },
    testPublicUrl: async (config, challenge) => {
      const { testPublicUrl } = await import("./roles/database-identity.ts");
      return testPublicUrl(config, challenge);
    },
    serve: async (config, options) => {
      const roles = choose(options.roles);
      const { serve } = await import("./serve.ts");
      return serve(config, { ...options, roles, environment, version: VERSION });
    },
  });
}

const args = process.argv.slice(2);
const isHelp = args[0] === "help";
const runner = RUNNERS.find((name) => name === args[isHelp ? 1 : 0]);
if (runner !== undefined) {
  const { runRunner } = await import("./exec/exec.ts");
  await runRunner(runner, {
    args: isHelp ? ["--help"] : args.slice(1),
    version: VERSION,
    // oxlint-disable-next-line node/no-process-env -- These commands have no settings; the environment is that of a job.
    environment: { ...process.env },
  });
}

// A reader such as head closes the pipe when it has enough.
process.stdout.on("error", () => process.exit(0));
if (args.length === 1 && VERSION_FLAGS.includes(args[0])) process.stdout.write(`${VERSION}\n`);
else process.exitCode = await runCommand(args);
setTimeout(() => process.exit(), EXIT_GRACE_MS).unref();
