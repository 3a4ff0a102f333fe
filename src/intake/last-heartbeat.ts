// What the last good beat on this machine said, in a small file beside the spool: whoever starts while the
// database is away takes from it what it may promise, and the time. Trouble with the file only means less of both.
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Instant } from "../core/instant.ts";

export type LastHeartbeat = {
  /** When it was, on this machine's clock. */
  wallAt: Instant;
  /** By how much the database's clock was ahead of this machine's. */
  databaseAheadMs: number;
  /** Whether no other intake was open: then nobody goes on without this machine. */
  isAlone: boolean;
};

const FILE_NAME = "last-beat.json";
/** Beats come each second; leases last for minutes. */
const WRITE_EVERY_MS = 10_000;

/** The last beat of anybody in the folder; null when there was none, or nobody can tell. */
export async function readLastHeartbeat(folder: string): Promise<LastHeartbeat | null> {
  try {
    return lastHeartbeatOf(JSON.parse(await readFile(join(folder, FILE_NAME), "utf8")));
  } catch {
    return null;
  }
}

function lastHeartbeatOf(value: unknown): LastHeartbeat | null {
  if (typeof value !== "object" || value === null) return null;
  const { wallAt, databaseAheadMs, isAlone } = value as Record<keyof LastHeartbeat, unknown>;
  if (!Number.isFinite(wallAt) || !Number.isFinite(databaseAheadMs)) return null;
  return { wallAt: Number(wallAt), databaseAheadMs: Number(databaseAheadMs), isAlone: isAlone === true };
}

/** Keeps the file up to date, but does not write more often than it has to. */
export class LastHeartbeatFile {
  readonly #path: string;
  #written: LastHeartbeat | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(folder: string) {
    this.#path = join(folder, FILE_NAME);
  }

  note(beat: LastHeartbeat): void {
    const written = this.#written;
    const isFresh = written !== null && Math.abs(beat.wallAt - written.wallAt) < WRITE_EVERY_MS;
    if (isFresh && written.isAlone === beat.isAlone) return;
    this.#written = beat;
    this.#writing = this.#writing.then(() => this.#write(beat));
  }

  /** Resolves when everything that was noted is written, as far as it can be. */
  close(): Promise<void> {
    return this.#writing;
  }

  /** Replaced as a whole: half a file would be none. */
  async #write(beat: LastHeartbeat): Promise<void> {
    const draft = `${this.#path}.${process.pid}`;
    try {
      await writeFile(draft, JSON.stringify(beat), { mode: 0o600 });
      await rename(draft, this.#path);
    } catch {
      this.#written = null;
    }
  }
}
