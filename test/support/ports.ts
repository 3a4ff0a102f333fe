// Ports for processes that are started, or stopped and restarted: outside of the ephemeral range, and recorded, so
// that no other test uses them at the same time.
import { mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";

const LOWEST = 12_000;
const HIGHEST = 31_000;
const ATTEMPTS_MAX = 200;

/** One file for each port given to one of our processes; it is deleted with that process. */
const FOLDER = join(tmpdir(), `overdue-ports-${userInfo().uid}`);
/** Longer than any test run: an older file was left by a killed process. */
const HELD_MS_MAX = 3 * 3_600_000;

const held: string[] = [];

/** A free port on loopback that no other test gets while this process runs. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    if (hold(port) && (await isFree(port))) return port;
  }
  throw new Error(`found no free port between ${LOWEST} and ${HIGHEST}`);
}

/**
 * False if another process holds it. A port that turns out to be in use stays held, so that it is not tried again.
 */
function hold(port: number): boolean {
  const path = join(FOLDER, String(port));
  mkdirSync(FOLDER, { recursive: true });
  const since = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  if (since !== undefined && Date.now() - since > HELD_MS_MAX) rmSync(path, { force: true });
  try {
    writeFileSync(path, `${process.pid}\n`, { flag: "wx" });
  } catch {
    return false;
  }
  if (held.push(path) === 1) process.once("exit", release);
  return true;
}

function release(): void {
  for (const path of held) rmSync(path, { force: true });
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}
