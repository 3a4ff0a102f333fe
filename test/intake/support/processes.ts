// Processes that use a spool, for tests that kill them or remove their disk.
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const APPEND_FOREVER = fileURLToPath(new URL("./append-forever.ts", import.meta.url));
const LOOK_FOR_ORPHANS = fileURLToPath(new URL("./look-for-orphans.ts", import.meta.url));

export type WatchedProcess = {
  process: ChildProcess;
  /** Resolves when it has printed a line with this prefix. */
  waitForLine(start: string): Promise<void>;
  /** The lines so far. */
  lines: readonly string[];
  /** All its output, once it has ended. */
  ended: Promise<readonly string[]>;
};

export type AppenderOptions = {
  folder: string;
  intakeId: string;
  /** Number of concurrent appends. */
  lanes: number;
  /** How many batches it appends before it ends; without it, no end. */
  batchesMax?: number;
  /** The program that starts it, for example a tracer. */
  through?: readonly string[];
};

/** The numbers of the batches that the process printed as acknowledged. */
export function acknowledgedIn(lines: readonly string[]): number[] {
  return lines.filter((line) => /^\d+$/.test(line)).map(Number);
}

/** Starts a process that appends; it is killed after the test if it is still running. */
export function startAppender(options: AppenderOptions): WatchedProcess {
  const { folder, intakeId, lanes, batchesMax = Number.POSITIVE_INFINITY, through = [] } = options;
  const program = [process.execPath, APPEND_FOREVER, folder, intakeId, String(lanes), String(batchesMax)];
  return watch([...through, ...program]);
}

/** Starts a process that searches for orphans endlessly; it is killed after the test. */
export function startSeeker(folder: string): WatchedProcess {
  return watch([process.execPath, LOOK_FOR_ORPHANS, folder]);
}

function watch([command = "", ...words]: readonly string[]): WatchedProcess {
  const child = spawn(command, words, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: string[] = [];
  const watchers = new Set<() => void>();
  const reader = createInterface({ input: child.stdout });
  reader.on("line", (line) => {
    lines.push(line);
    for (const look of watchers) look();
  });
  const ended = new Promise<readonly string[]>((resolve) => reader.on("close", () => resolve(lines)));
  return {
    process: child,
    lines,
    ended,
    waitForLine: (start) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (!lines.some((line) => line.startsWith(start))) return;
          watchers.delete(look);
          resolve();
        };
        watchers.add(look);
        reader.on("close", () => reject(new Error(`ended without a line "${start}"`)));
        look();
      }),
  };
}
