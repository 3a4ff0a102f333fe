// Runs the command: signals go on to it, a time limit ends it, and its end is described as shells do.
import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { isatty } from "node:tty";
import type { Output } from "./output.ts";
import type { Environment } from "./settings.ts";

export type JobEnd = {
  /** That of the job; 128+n if signal n killed it, 124 after the time limit, 126 or 127 if it could not be started. */
  code: number;
  /** What killed it; null after the time limit. */
  signal: NodeJS.Signals | null;
  hasStarted: boolean;
  /** What the output does not tell; null if there is nothing to add. */
  note: string | null;
  endedAtMs: number;
  ranMs: number;
};

const CODE = { timedOut: 124, notExecutable: 126, notFound: 127, signalBase: 128 } as const;

/** The largest exit code that a ping can carry. Those of Windows have 32 bits. */
export const EXIT_CODE_MAX = 255;

const FORWARDED: readonly NodeJS.Signals[] = ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"];
const OF_TERMINALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGQUIT"];

export type Signals = {
  /** Where signals go; null while nothing runs. */
  job: ChildProcess | null;
  /** Called for each signal that would end this process. */
  onEnding: ((signal: NodeJS.Signals) => void) | null;
};

/**
 * Forwards signals to the job that runs. SIGINT and SIGQUIT of a terminal reach the job without us, and must not end
 * this process before it.
 */
export function forwardSignals(): Signals {
  const signals: Signals = { job: null, onEnding: null };
  const isTerminal = [0, 1, 2].some((fd) => isatty(fd));
  const listen = (signal: NodeJS.Signals, forwards: boolean) => {
    try {
      process.on(signal, () => {
        if (forwards) signals.job?.kill(signal);
        if (!["SIGUSR1", "SIGUSR2"].includes(signal)) signals.onEnding?.(signal);
      });
    } catch {
      // Not a signal of this system.
    }
  };
  for (const signal of FORWARDED) listen(signal, true);
  for (const signal of OF_TERMINALS) listen(signal, !isTerminal);
  return signals;
}

export type JobOptions = {
  command: readonly string[];
  environment: Environment;
  output: Output;
  timeoutMs: number | null;
  killAfterMs: number;
  signals: Signals;
};

/** Starts the command and returns its end. Never throws. */
export function startJob(options: JobOptions): Promise<JobEnd> {
  const { output, signals } = options;
  const startedAt = performance.now();
  const endOf = (end: Pick<JobEnd, "code" | "signal" | "note" | "hasStarted">): JobEnd => ({
    ...end,
    endedAtMs: Date.now(),
    ranMs: Math.round(performance.now() - startedAt),
  });
  return new Promise((resolve) => {
    const fail = (error: unknown) => {
      output.connect(null);
      resolve(endOf(notStarted(options.command[0] ?? "", error)));
    };
    let child: ChildProcess;
    try {
      child = spawnCommand(options);
    } catch (error) {
      fail(error);
      return;
    }
    // Also emitted when a signal cannot be sent.
    child.on("error", (error) => {
      if (child.pid === undefined) fail(error);
    });
    if (child.pid === undefined) return;
    output.connect(child);
    signals.job = child;
    const limit = limitTime(child, options);
    child.once("exit", (code, signal) => {
      signals.job = null;
      limit.stop();
      if (limit.isExceeded()) {
        const note = `[overdue] Stopped after the time limit of ${Number(options.timeoutMs) / 1_000} s.`;
        resolve(endOf({ code: CODE.timedOut, signal: null, note, hasStarted: true }));
      } else if (code === null) {
        const number = signal === null ? undefined : constants.signals[signal];
        const note = `[overdue] Killed by ${signal ?? "an unknown signal"}.`;
        resolve(endOf({ code: CODE.signalBase + (number ?? 0), signal, note, hasStarted: true }));
      } else {
        const note = code > EXIT_CODE_MAX ? `[overdue] Exit code ${code}.` : null;
        resolve(endOf({ code, signal: null, note, hasStarted: true }));
      }
    });
  });
}

function spawnCommand({ command, environment, output }: JobOptions): ChildProcess {
  const [file = "", ...args] = command;
  if (process.platform !== "win32" || !/\.(?:cmd|bat)$/i.test(file)) {
    return spawn(file, args, { env: environment, stdio: output.stdio });
  }
  const line = [file, ...args].map(escapeForCmd).join(" ");
  return spawn("cmd.exe", ["/d", "/s", "/c", `"${line}"`], {
    env: environment,
    stdio: output.stdio,
    windowsVerbatimArguments: true,
  });
}

/** Quotes an argument for the C library, and the result for cmd.exe. */
export function escapeForCmd(argument: string): string {
  let quoted = '"';
  let backslashes = 0;
  for (const character of argument) {
    // Backslashes before a quote are doubled, others are not special.
    if (character === '"') quoted += "\\".repeat(backslashes + 1);
    backslashes = character === "\\" ? backslashes + 1 : 0;
    quoted += character;
  }
  quoted += `${"\\".repeat(backslashes)}"`;
  return quoted.replace(/[()%!^"<>&|;, ]/g, "^$&");
}

function notStarted(file: string, error: unknown): Pick<JobEnd, "code" | "signal" | "note" | "hasStarted"> {
  const code = typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";
  const isMissing = code === "ENOENT" || code === "ENOTDIR";
  const reason = isMissing ? "not found" : code === "EACCES" ? "not executable" : code || String(error);
  return {
    code: isMissing ? CODE.notFound : CODE.notExecutable,
    signal: null,
    note: `[overdue] Cannot run ${JSON.stringify(file)}: ${reason}.`,
    hasStarted: false,
  };
}

/** Sends SIGTERM after the time limit, and SIGKILL if that does not help. */
function limitTime(child: ChildProcess, { timeoutMs, killAfterMs }: JobOptions) {
  let isExceeded = false;
  let timer: NodeJS.Timeout | undefined;
  if (timeoutMs !== null) {
    timer = setTimeout(() => {
      isExceeded = true;
      child.kill("SIGTERM");
      timer = setTimeout(() => child.kill("SIGKILL"), killAfterMs);
    }, timeoutMs);
  }
  return { isExceeded: () => isExceeded, stop: () => clearTimeout(timer) };
}
