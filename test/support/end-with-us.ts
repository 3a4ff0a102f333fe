// Ensures that a child process does not outlive this one, however it ends: an exit handler is not called on SIGKILL,
// and a test runner kills a worker whose test takes too long.
import { type ChildProcess, spawn } from "node:child_process";

/** Waits until its standard input closes, which happens when this process ends. */
const SCRIPT = `cat >/dev/null; kill -s "$1" -- "$2"`;

export type Ending = {
  signal?: "KILL" | "TERM" | "INT";
  /** The child has its own process group, and all of it must end. */
  group?: boolean;
};

/** Ends a child, unless it ends before, when this process ends. */
export function endWithUs(child: ChildProcess, { signal = "KILL", group = false }: Ending = {}): void {
  if (child.pid === undefined) return;
  const target = group ? -child.pid : child.pid;
  // Detached: Ctrl-C of a terminal must not reach it.
  const shell = spawn("sh", ["-c", SCRIPT, "guardian", signal, String(target)], {
    cwd: "/",
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  shell.unref();
  (shell.stdin as unknown as { unref(): void }).unref();
  // A process ID may be reused.
  child.once("exit", () => shell.kill("SIGKILL"));
}
