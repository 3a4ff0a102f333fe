// The last successful heartbeat on this machine, in a small file next to the spool. A process that starts while the
// database is unavailable reads the lease and the time from it. Errors of the file are tolerated.
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Instant } from "../core/instant.ts";

export type LastHeartbeat = {
  /** When it was, on this machine's clock. */
  wallAt: Instant;
  /** By how much the database's clock was ahead of this machine's. */
  databaseAheadMs: number;
  /** Whether no other intake was open: then no other process continues without this machine. */
  isAlone: boolean;
};

const FILE_NAME = "last-beat.json";
/** Heartbeats are sent every second; leases last for minutes. */
const WRITE_EVERY_MS = 10_000;

/** The last heartbeat of any intake in the folder; null if there was none, or it is unknown. */
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

/** Keeps the file up to date, but writes no more often than necessary. */
export class LastHeartbeatFile {
  readonly #path: string;
  #written: LastHeartbeat | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(folder: string) {
    this.#path = join(folder, FILE_NAME);
  }

  note(heartbeat: LastHeartbeat): void {
    const written = this.#written;
    const isFresh = written !== null && Math.abs(heartbeat.wallAt - written.wallAt) < WRITE_EVERY_MS;
    if (isFresh && written.isAlone === heartbeat.isAlone) return;
    this.#written = heartbeat;
    this.#writing = this.#writing.then(() => this.#write(heartbeat));
  }

  /** Resolves when everything is written, as far as possible. */
  close(): Promise<void> {
    return this.#writing;
  }

  /** Replaced atomically: half a file would be unreadable. */
  async #write(heartbeat: LastHeartbeat): Promise<void> {
    const draft = `${this.#path}.${process.pid}`;
    try {
      await writeFile(draft, JSON.stringify(heartbeat), { mode: 0o600 });
      await rename(draft, this.#path);
    } catch {
      this.#written = null;
    }
  }
}
