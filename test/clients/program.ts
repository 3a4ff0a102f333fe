// Runs programs of other people: to their end, within a time, without a proxy between us and them, and never
// longer than this process lives.
import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

const RUN_MS_MAX = 60_000;
const KILL_GRACE_MS = 3_000;
/** The end of what a program says is kept: complaints stand there. */
const SAID_LENGTH_MAX = 20_000;

export type Ended = { code: number | null; out: string; err: string };

export type ProgramOptions = {
  /** Set on top of what this process has; null takes a name away. */
  environment?: Readonly<Record<string, string | null>>;
  folder?: string;
  input?: string;
  msMax?: number;
  onLine?: (line: string) => void;
};

/** A proxy of the machine must not come between a client and a server on loopback. */
const NO_PROXY = { NO_PROXY: "127.0.0.1,localhost", no_proxy: "127.0.0.1,localhost" };

function argumentsOfEnv(environment: ProgramOptions["environment"] = {}): string[] {
  const all = Object.entries({ ...NO_PROXY, ...environment });
  const removed = all.filter(([, value]) => value === null).flatMap(([name]) => ["-u", name]);
  return [
    ...removed,
    ...all.filter(([, value]) => value !== null).map(([name, value]) => `${name}=${value}`),
  ];
}

/** Starts a program in a process group of its own, which ends with this process. */
function start(program: string, args: readonly string[], options: ProgramOptions): ChildProcess {
  // Through env, since the environment as a whole is not ours to read.
  const child = spawn("env", [...argumentsOfEnv(options.environment), program, ...args], {
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
    ...(options.folder === undefined ? {} : { cwd: options.folder }),
  });
  const end = () => endGroup(child, "SIGKILL");
  process.once("exit", end);
  child.once("close", () => process.off("exit", end));
  return child;
}

function endGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It ended between the question and the signal.
  }
}

/** Runs a program to its end. One that takes too long is killed, and has a code of null. */
export async function runProgram(
  program: string,
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<Ended> {
  const child = start(program, args, options);
  const said = { out: "", err: "" };
  for (const [name, stream] of [
    ["out", child.stdout],
    ["err", child.stderr],
  ] as const) {
    let rest = "";
    stream?.setEncoding("utf8").on("data", (text: string) => {
      said[name] = (said[name] + text).slice(-SAID_LENGTH_MAX);
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) options.onLine?.(line);
    });
  }
  child.stdin?.on("error", () => {});
  child.stdin?.end(options.input ?? "");
  const timer = setTimeout(() => endGroup(child, "SIGKILL"), options.msMax ?? RUN_MS_MAX);
  const code = await new Promise<number | null>((resolve) => {
    child.once("error", (error) => {
      said.err += error.message;
      resolve(null);
    });
    child.once("close", resolve);
  });
  clearTimeout(timer);
  return { code, ...said };
}

/** Runs a program that has to succeed, and returns what it printed. */
export async function runWell(
  program: string,
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<string> {
  const { code, out, err } = await runProgram(program, args, options);
  if (code === 0) return out;
  const name = [program, ...args].join(" ").slice(0, 200);
  throw new Error(`${name} ended with ${code ?? "no code"}:\n${`${out}\n${err}`.trim().slice(-2_000)}`);
}

/** Runs a program that stays, as long as the work with it lasts, and ends it. */
export async function whileRunning<T>(
  { program, args, options = {} }: { program: string; args: readonly string[]; options?: ProgramOptions },
  work: (said: () => string) => Promise<T>,
): Promise<T> {
  const child = start(program, args, options);
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-SAID_LENGTH_MAX);
    });
  }
  child.stdin?.on("error", () => {});
  child.stdin?.end();
  const closed = new Promise<void>((resolve) => {
    child.once("close", () => resolve());
    child.once("error", () => resolve());
  });
  try {
    return await work(() => said);
  } finally {
    endGroup(child, "SIGTERM");
    await Promise.race([closed, sleep(KILL_GRACE_MS)]);
    endGroup(child, "SIGKILL");
    await closed;
  }
}
