// Ports for what is started, or stopped and started again: outside of the range from which the system takes the ports
// of outgoing connections and of whoever does not care, and written down, so that no other test takes one meanwhile.
import { mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";

const LOWEST = 12_000;
const HIGHEST = 31_000;
const ATTEMPTS_MAX = 200;

/** One file for each port that a process of ours was given; they go with that process. */
const FOLDER = join(tmpdir(), `overdue-ports-${userInfo().uid}`);
/** Longer than any run of tests: a file this old was left by a process that was killed. */
const HELD_MS_MAX = 3 * 3_600_000;

const held: string[] = [];

/** A port on loopback that nobody listens on, and that is given to nobody else while this process lives. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    if (hold(port) && (await isFree(port))) return port;
  }
  throw new Error(`found no free port between ${LOWEST} and ${HIGHEST}`);
}

/** False when another process holds it. One that turns out to be in use stays held, so that nobody asks again. */
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
  if (held.push(path) === 1) process.once("exit", letGo);
  return true;
}

function letGo(): void {
  for (const path of held) rmSync(path, { force: true });
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}
