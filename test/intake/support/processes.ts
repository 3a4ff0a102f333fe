// Processes that use a spool, for tests that kill them or take their disk away.
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const APPEND_FOREVER = fileURLToPath(new URL("./append-forever.ts", import.meta.url));
const LOOK_FOR_ORPHANS = fileURLToPath(new URL("./look-for-orphans.ts", import.meta.url));

export type WatchedProcess = {
  process: ChildProcess;
  /** Resolves when it has printed a line that begins so. */
  waitForLine(start: string): Promise<void>;
  /** The lines so far. */
  lines: readonly string[];
  /** Everything it printed, once it is gone. */
  ended: Promise<readonly string[]>;
};

export type AppenderOptions = {
  folder: string;
  intakeId: string;
  /** How many appends wait at a time. */
  lanes: number;
  /** How many batches it appends before it ends by itself; without it, no end. */
  batchesMax?: number;
  /** What the program is started through, for instance a tracer. */
  through?: readonly string[];
};

/** The numbers of the batches that the process said were acknowledged. */
export function acknowledgedIn(lines: readonly string[]): number[] {
  return lines.filter((line) => /^\d+$/.test(line)).map(Number);
}

/** Starts a process that appends; it is killed after the test if it still runs. */
export function startAppender(options: AppenderOptions): WatchedProcess {
  const { folder, intakeId, lanes, batchesMax = Number.POSITIVE_INFINITY, through = [] } = options;
  const program = [process.execPath, APPEND_FOREVER, folder, intakeId, String(lanes), String(batchesMax)];
  return watch([...through, ...program]);
}

/** Starts a process that looks for orphans without end; it is killed after the test. */
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
