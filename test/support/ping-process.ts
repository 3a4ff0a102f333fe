// The real program, usually with only the role ping, started as in production, on loopback and with only the given
// environment. For tests, benchmarks and fuzzing from outside.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { COMPILE_CACHE } from "./compile-cache.ts";
import { endWithUs } from "./end-with-us.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
/** The command as it is installed; it needs dist/. */
export const BUILT_PROGRAM = fileURLToPath(new URL("../../bin/overdue.js", import.meta.url));
const START_MS_MAX = 180_000;
const STOP_MS_MAX = 90_000;
/** How much of the output is kept for error messages. */
const SAID_LENGTH_MAX = 20_000;

export type PingProcess = {
  port: number;
  pid: number;
  /** The end of its output so far. */
  said(): string;
  /** Null while it runs; otherwise how it ended. */
  end(): string | null;
  /** Its current memory usage. */
  residentBytes(): Promise<number>;
  /** Stops it and waits. Throws if it does not exit cleanly. */
  stop(): Promise<void>;
};

export type PingProcessOptions = {
  databaseUrl: string;
  port: number;
  settings?: Readonly<Record<string, string>>;
  /** Arguments of Node itself, for example for profiling. */
  nodeArguments?: readonly string[];
  /** Runs the built program instead of the sources, as users do. */
  isBuilt?: boolean;
  /** The built program of another checkout. */
  builtProgram?: string;
  /** The roles to run; "all" for all of them. */
  roles?: string;
  /** Ignores Ctrl-C of a terminal, for a caller that stops it gracefully. */
  ownGroup?: boolean;
};

/** Starts it and waits until it is ready. It is killed with this process at the latest. */
export async function startPingProcess(options: PingProcessOptions): Promise<PingProcess> {
  const { databaseUrl, port, settings = {}, nodeArguments = [], roles = "ping", ownGroup = false } = options;
  const { builtProgram = BUILT_PROGRAM, isBuilt = builtProgram !== BUILT_PROGRAM } = options;
  const program = isBuilt ? builtProgram : MAIN;
  const child = spawn(process.execPath, [...nodeArguments, program, "serve", "--roles", roles], {
    detached: ownGroup,
    env: {
      ...(isBuilt ? {} : COMPILE_CACHE),
      OVERDUE_DATABASE_URL: databaseUrl,
      OVERDUE_LISTEN: `127.0.0.1:${port}`,
      OVERDUE_ADMIN_LISTEN: "127.0.0.1:0",
      // By default the spool is in a system folder.
      OVERDUE_SPOOL_FOLDER: "off",
      ...settings,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const kill = () => child.kill("SIGKILL");
  endWithUs(child);
  let said = "";
  const life: { end: string | null } = { end: null };
  child.once("close", (code, signal) => {
    life.end = signal === null ? `exit code ${code}` : `signal ${signal}`;
  });
  const ended = once(child, "close");
  const ready = Promise.withResolvers<void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-SAID_LENGTH_MAX);
      if (said.includes('"msg":"ready"')) ready.resolve();
    });
  }
  const pid = child.pid ?? 0;
  await within(START_MS_MAX, Promise.race([ready.promise, ended]), kill);
  if (life.end !== null) throw new Error(`the ping process did not start (${life.end}):\n${said}`);
  return {
    port,
    pid,
    said: () => said,
    end: () => life.end,
    residentBytes: () => residentBytes(pid),
    stop: async () => {
      child.kill("SIGTERM");
      await within(STOP_MS_MAX, ended, kill);
      await ended;
      if (life.end !== "exit code 0") throw new Error(`the ping process ended with ${life.end}:\n${said}`);
    },
  };
}

async function within(ms: number, work: Promise<unknown>, giveUp: () => void): Promise<void> {
  const timer = setTimeout(giveUp, ms);
  try {
    await work;
  } finally {
    clearTimeout(timer);
  }
}

async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const found = /^VmRSS:\s+(\d+) kB/m.exec(status);
  if (found === null) throw new Error(`process ${pid} tells nothing about its memory`);
  return Number(found[1]) * 1_024;
}
