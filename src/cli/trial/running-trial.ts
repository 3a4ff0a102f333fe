// How the other commands find a trial that runs: a file beside its data, for its owner only, from its start to its end.
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Where a trial keeps its data, below the folder that it is started in. */
export const DEFAULT_FOLDER = "overdue-data";

const FILE = "running.json";
const FILE_MODE = 0o600;

export type RunningTrial = { databaseUrl: string; siteUrl: string };

/** Says that a trial runs on the data in a folder, and how it is reached. */
export function noteRunning(folder: string, running: RunningTrial): void {
  const path = join(folder, FILE);
  // A file of an earlier start keeps its mode, whatever it is.
  rmSync(path, { force: true });
  writeFileSync(path, JSON.stringify(running), { mode: FILE_MODE });
}

/** Takes it back. */
export function forgetRunning(folder: string): void {
  rmSync(join(folder, FILE), { force: true });
}

/** The trial that runs on the data in a folder; null when none does, also when one was killed. */
export function findRunning(folder: string): RunningTrial | null {
  if (!existsSync(join(folder, "postgres", "postmaster.pid"))) return null;
  try {
    const noted: unknown = JSON.parse(readFileSync(join(folder, FILE), "utf8"));
    return isRunning(noted) ? noted : null;
  } catch {
    return null;
  }
}

function isRunning(noted: unknown): noted is RunningTrial {
  if (typeof noted !== "object" || noted === null) return false;
  const { databaseUrl, siteUrl } = noted as Partial<Record<keyof RunningTrial, unknown>>;
  return typeof databaseUrl === "string" && typeof siteUrl === "string";
}
