// The wrappers, and how one of them is run with a job.
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { endWithUs } from "../support/end-with-us.ts";

const ROOT = join(import.meta.dirname, "../..");
export const SCRIPT = join(ROOT, "deploy/overdue-run");
const PROGRAM = join(ROOT, "src/main.ts");
const PATH = "/usr/local/bin:/usr/bin:/bin";

export type Wrapper = {
  name: string;
  kind: "run" | "exec";
  /** The program and its first arguments. */
  command: readonly string[];
};

const SHELLS: readonly (readonly [name: string, program: string, ...args: string[]])[] = [
  ["dash", "/usr/bin/dash"],
  ["bash", "/usr/bin/bash"],
  ["busybox", "/usr/bin/busybox", "sh"],
  ["mksh", "/usr/bin/mksh"],
];

/** The wrappers that can run here, and the names of the others. */
export function wrappersHere(): { wrappers: Wrapper[]; missing: string[] } {
  const found = SHELLS.filter(([, program]) => existsSync(program));
  const missing = SHELLS.filter((shell) => !found.includes(shell)).map(([name]) => name);
  const shells = found.map(
    ([name, ...command]): Wrapper => ({ name, kind: "run", command: [...command, SCRIPT] }),
  );
  const hasExec = existsSync(join(ROOT, "src/exec"));
  const exec: Wrapper = { name: "exec", kind: "exec", command: [process.execPath, PROGRAM, "exec"] };
  return {
    wrappers: [...shells, ...(hasExec ? [exec] : [])],
    missing: [...missing, ...(hasExec ? [] : ["exec"])],
  };
}

/** A folder for each run: the temporary files of the wrapper, its queue, and what the job writes. */
export type Folder = {
  path: string;
  temporary: string;
  queue: string;
  runs: string;
  environment: Environment;
};
export type Environment = Readonly<Record<string, string>>;

export function newFolder(parent: string): Folder {
  const path = join(parent, randomUUID());
  const [temporary, queue] = [join(path, "tmp"), join(path, "queue")];
  for (const folder of [path, temporary]) mkdirSync(folder);
  const environment = { PATH, HOME: path, TMPDIR: temporary, OVERDUE_QUEUE: queue, RUNS: join(path, "runs") };
  return { path, temporary, queue, runs: environment.RUNS, environment };
}

/** How often the job has run: it writes a line when it begins. */
export function runCount({ runs }: Pick<Folder, "runs">): number {
  return existsSync(runs) ? readFileSync(runs, "utf8").split("\n").length - 1 : 0;
}

/** What the wrapper has left behind. */
export function leftFiles({ temporary }: Folder): string[] {
  return readdirSync(temporary);
}

export type Ended = {
  code: number | null;
  signal: NodeJS.Signals | null;
  out: string;
  err: string;
  /** From the start of the wrapper until it ended. */
  ms: number;
};

export type Started = { child: ChildProcess; ended: Promise<Ended>; out(): string };

const RUN_MS_MAX = 90_000;

/** Starts a command. Both streams are collected; what holds them open is waited for. */
export function start(
  command: readonly string[],
  { environment, input = "", folder }: { environment: Environment; input?: string | null; folder: string },
): Started {
  const [program = "", ...args] = command;
  const startedAt = performance.now();
  const child = spawn(program, args, {
    env: environment,
    cwd: folder,
    detached: true,
    stdio: [input === null ? "ignore" : "pipe", "pipe", "pipe"],
  });
  endWithUs(child, { group: true });
  const said = { out: "", err: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (said.out += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (said.err += text));
  child.stdin?.on("error", () => {});
  child.stdin?.end(input ?? "");
  const timer = setTimeout(() => endGroup(child), RUN_MS_MAX);
  let ms = 0;
  child.once("exit", () => (ms = performance.now() - startedAt));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, ...said, ms });
    });
  });
  return { child, ended, out: () => said.out };
}

/** Ends what the wrapper started, in its process group. */
export function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
