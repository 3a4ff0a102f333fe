// Runs a program of a folder without a shell: with a clean environment, text on standard input, and limits on time and
// output. Nothing that it has started in its process group is left running.
import { spawn } from "node:child_process";
import { constants } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import type { Readable } from "node:stream";

export type Program = {
  folder: string;
  /** A file name, without a path. */
  name: string;
  environment: Readonly<Record<string, string>>;
  input: string;
  timeoutMs: number;
  /** The end of each output is kept. */
  outputBytesMax: number;
  /** Programs that may run at the same time. */
  runningMax: number;
};

export type ProgramResult =
  /** It was not run, and why: the end of a sentence that begins with the name. */
  | { kind: "refused"; text: string }
  /** It was killed because it took too long. */
  | { kind: "timeout"; stdout: string; stderr: string }
  /** `status` null: another process has killed it. */
  | { kind: "exited"; status: number | null; stdout: string; stderr: string };

/** How long the rest of the output is waited for: a process that has left the group may keep it open. */
const DRAIN_MS = 500;

/** Programs that this process is running. */
let running = 0;

/** Runs a program to its end. Its errors are results. */
export async function runProgram(program: Program): Promise<ProgramResult> {
  const found = await locate(program);
  if (!found.ok) return { kind: "refused", text: found.text };
  if (running >= program.runningMax) return { kind: "refused", text: "has to wait for other programs" };
  running += 1;
  try {
    return await run(found.path, program);
  } finally {
    running -= 1;
  }
}

type Located = { ok: true; path: string } | { ok: false; text: string };

/** The file of a program. A link must not lead out of the folder. */
async function locate({ folder, name }: Program): Promise<Located> {
  try {
    const base = await realpath(folder);
    const path = await realpath(join(base, name));
    if (!path.startsWith(base + sep)) return { ok: false, text: "is a link to a file outside of the folder" };
    if (!(await stat(path)).isFile()) return { ok: false, text: "is not a file" };
    await access(path, constants.X_OK);
    return { ok: true, path };
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    return { ok: false, text: isMissing ? "does not exist" : "is not executable" };
  }
}

function run(
  path: string,
  { folder, environment, input, timeoutMs, outputBytesMax }: Program,
): Promise<ProgramResult> {
  return new Promise((resolve) => {
    const refuse = () => resolve({ kind: "refused", text: "could not be started" });
    const child = start(path, { folder, environment });
    if (child === null) return refuse();
    child.on("error", refuse);
    // Without a process, there may be no streams, either.
    if (child.pid === undefined) return;
    const stdout = endOf(child.stdout, outputBytesMax);
    const stderr = endOf(child.stderr, outputBytesMax);
    const killGroup = () => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // No process of the group is left.
      }
    };
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      killGroup();
    }, timeoutMs);
    child.on("exit", () => {
      clearTimeout(timer);
      killGroup();
      const patience = setTimeout(() => {
        for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
      }, DRAIN_MS);
      child.on("close", () => clearTimeout(patience));
    });
    child.on("close", (status) => {
      const outputs = { stdout: stdout(), stderr: stderr() };
      resolve(
        isLate && status === null ? { kind: "timeout", ...outputs } : { kind: "exited", status, ...outputs },
      );
    });
    // A program need not read its input.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}

/** Detached: it leads a process group of its own, which can be killed as a whole. Null: the system refuses it. */
function start(path: string, { folder, environment }: Pick<Program, "folder" | "environment">) {
  try {
    return spawn(path, [], { cwd: folder, env: environment, detached: true, shell: false });
  } catch {
    // Some errors are not reported as events.
    return null;
  }
}

/** The end of a stream as text, as far as it has been read. */
function endOf(stream: Readable, bytesMax: number): () => string {
  let kept = Buffer.alloc(0);
  stream.on("error", () => {});
  stream.on("data", (chunk: Buffer) => {
    kept = Buffer.concat([kept, chunk]).subarray(-bytesMax);
  });
  return () => kept.toString("utf8");
}
