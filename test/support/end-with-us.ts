// Sees to it that a process we started does not outlive us, however we end: a handler of our own exit is not called
// when we are killed, and a test runner kills a worker whose test takes too long.
import { type ChildProcess, spawn } from "node:child_process";

/** Waits until its standard input closes, which it does with us. */
const SCRIPT = `cat >/dev/null; kill -s "$1" -- "$2"`;

export type Ending = {
  signal?: "KILL" | "TERM" | "INT";
  /** The child was started with a group of its own, and all of that is to end. */
  group?: boolean;
};

/** Ends a child, unless it ends before, when this process does. */
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
  // An id that is gone may soon be somebody else's.
  child.once("exit", () => shell.kill("SIGKILL"));
}
