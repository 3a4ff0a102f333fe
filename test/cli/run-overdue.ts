// Runs the real program as a user would: a process of its own, nothing in its environment but what a test
// puts there, against a PostgreSQL that keeps its promises (the program refuses any other).
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { afterAll, beforeAll } from "vitest";
import { runCommandLine } from "../../src/cli/program.ts";
import { objectStoreOf } from "../../src/config/connections.ts";
import { testPublicUrl } from "../../src/roles/database-identity.ts";
import { COMPILE_CACHE } from "../support/compile-cache.ts";
import { embeddedPostgres } from "../support/postgres-binaries.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
/** So that no profile of the developer is used. */
const NO_HOME = "/nonexistent";
const RUN_TIMEOUT_MS = 90_000;
const START_TIMEOUT_MS = 120_000;

export type Ended = { code: number | null; out: string; err: string };
export type Environment = Record<string, string>;

/** A durable server for the whole file. */
export function useDurablePostgres(): { newDatabase(): Promise<string>; server(): PostgresServer } {
  let server: PostgresServer | undefined;
  beforeAll(async () => {
    server = await startPostgres({ binaries: embeddedPostgres() });
  }, START_TIMEOUT_MS);
  afterAll(() => server?.stop(), START_TIMEOUT_MS);
  const started = () => {
    if (server === undefined) throw new Error("the server is there from the first test on, not before");
    return server;
  };
  return {
    server: started,
    newDatabase: async () => {
      const name = `cli_${randomBytes(6).toString("hex")}`;
      const client = new pg.Client({ connectionString: started().url() });
      await client.connect();
      await client.query(`create database ${name}`);
      await client.end();
      return started().url(name);
    },
  };
}

/** Starts `overdue` and leaves it running; the caller sees to its end. */
export function startOverdue(
  args: readonly string[],
  environment: Environment = {},
): ChildProcessWithoutNullStreams {
  // By default the spool of a server is in a folder of the system.
  const env = args[0] === "serve" ? { OVERDUE_SPOOL_FOLDER: "off", ...environment } : environment;
  return spawn(process.execPath, [MAIN, ...args], { env: { ...COMPILE_CACHE, HOME: NO_HOME, ...env } });
}

/** Runs `overdue` to its end. */
export async function runOverdue(args: readonly string[], environment: Environment = {}): Promise<Ended> {
  const child = startOverdue(args, environment);
  const timer = setTimeout(() => child.kill("SIGKILL"), RUN_TIMEOUT_MS);
  try {
    return await endOf(child);
  } finally {
    clearTimeout(timer);
  }
}

/** What the person at the terminal enters; without it, there is no terminal. */
export type Typed = {
  answers?: readonly string[];
  /** Standard input. */
  input?: string;
};

/** The same command line inside this process: a second faster, for what does not depend on main.ts. */
export async function callOverdue(
  args: readonly string[],
  environment: Environment = {},
  { answers, input = "" }: Typed = {},
): Promise<Ended> {
  const said = { out: "", err: "" };
  const left = [...(answers ?? [])];
  const code = await runCommandLine(args, {
    environment: { HOME: NO_HOME, ...environment },
    version: "0.0.0",
    roleNames: ["one", "two"],
    chooseRoles: (names) => names ?? [],
    out: (text) => {
      said.out += text;
    },
    err: (text) => {
      said.err += text;
    },
    isTerminal: false,
    ask: async (question, { isHidden }) => {
      if (answers === undefined) return null;
      said.err += isHidden ? `${question}(hidden)\n` : `${question}\n`;
      return left.shift() ?? "";
    },
    readInput: async () => input,
    openObjects: async (config, options) => objectStoreOf(config, options),
    testPublicUrl,
    serve: () => Promise.reject(new Error("serving needs a process of its own")),
  });
  return { code, ...said };
}

/** Everything a process said, once it has ended. */
export async function endOf(child: ChildProcessWithoutNullStreams): Promise<Ended> {
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, out, err };
}
