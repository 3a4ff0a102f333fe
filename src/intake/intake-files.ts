// All files of an intake in the spool folder: the spool in use and earlier ones, the known checks, and the files of
// intakes that are gone. Without a folder, known checks are kept in memory only.
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FREE_DISK_BYTES_MIN } from "../core/limits.ts";
import type { Instant } from "../core/instant.ts";
import { type KnownChecks, openKnownChecks } from "./known-checks.ts";
import type { BatchSpool, KnownTargets } from "./recorder.ts";
import { openSpool, type Spool, type SpoolState } from "./spool.ts";
import { claimFolder, filesSetAside, makeFolder } from "./spool-file.ts";

/** Intakes of this machine that are gone. */
export type Orphans = {
  /** They left no signals. */
  gone: readonly string[];
  /** Their spools cannot be read. */
  broken: readonly string[];
};

/** `isRemoved`: the file was deleted when it was empty, so that no other process finds it. */
export type ClosedSpool = { isRemoved: boolean };

export type IntakeFiles = {
  /**
   * Opens a spool for an ID, which is then the one in use; null if there is no folder. Its file shows other processes
   * on this machine that the ID is in use, so it has to be open before the ID is registered.
   */
  open(intakeId: string): Promise<BatchSpool | null>;
  /** Keeps the file, even if it is empty: the ID of the spool may still be registered. */
  closeOne(spool: BatchSpool): Promise<ClosedSpool>;
  /** Why a spool can no longer be used, or null. */
  problem(spool: BatchSpool): string | null;
  /** Assigns the folder to one server. False: it contains signals of another server. */
  claim(owner: string): Promise<boolean>;
  /** Must be called once, before the first signal. */
  openKnown(now: Instant): Promise<KnownTargets>;
  /** Takes over the spools of intakes of this machine that are gone, and returns which ones are. */
  findOrphans(): Promise<Orphans>;
  /** These intakes left no signals and have been closed. */
  releaseIntakes(intakeIds: readonly string[]): Promise<void>;
  /** What the last successful heartbeat on this machine stored; null if unknown. */
  lastHeartbeat(): Promise<LastHeartbeat | null>;
  noteHeartbeat(heartbeat: LastHeartbeat): void;
  /** Of the spool in use. */
  state(): SpoolState | null;
  /** Fill level of the spool in use, from 0 to 1. Without space on its disk, or without its folder, it is full. */
  fill(): number;
  knownCount(): number;
  /** `hasLeft`: the intake has been closed, so that an empty spool need not be kept. */
  close(how: { hasLeft: boolean }): Promise<void>;
};

/** Opens nothing yet. */
export function openIntakeFiles(options: { folder: string | null; bytesMax: number }): IntakeFiles {
  const { folder, bytesMax } = options;
  return folder === null ? noIntakeFiles() : new FolderIntakeFiles({ folder, bytesMax });
}

class FolderIntakeFiles implements IntakeFiles {
  readonly #folder: string;
  readonly #bytesMax: number;
  readonly #spools = new Map<BatchSpool, { spool: Spool; intakeId: string }>();
  readonly #lastHeartbeat: LastHeartbeatFile;
  /** Intakes whose files cannot be read and which have been reported. */
  readonly #reportedBroken = new Set<string>();
  #inUse: Spool | null = null;
  #owner: string | null = null;
  #known: KnownChecks | null = null;

  constructor({ folder, bytesMax }: { folder: string; bytesMax: number }) {
    this.#folder = folder;
    this.#bytesMax = bytesMax;
    this.#lastHeartbeat = new LastHeartbeatFile(folder);
  }

  async open(intakeId: string): Promise<BatchSpool> {
    makeFolder(this.#folder);
    const spool = await openSpool({
      folder: this.#folder,
      intakeId,
      bytesMax: this.#bytesMax,
      freeDiskBytesMin: FREE_DISK_BYTES_MIN,
    });
    this.#spools.set(spool, { spool, intakeId });
    this.#inUse = spool;
    return spool;
  }

  async closeOne(spool: BatchSpool): Promise<ClosedSpool> {
    const found = this.#spools.get(spool);
    this.#spools.delete(spool);
    const isRemoved = found?.spool.state().isRemoved ?? false;
    await found?.spool.close({ keepsEmpty: true });
    return { isRemoved };
  }

  problem(spool: BatchSpool): string | null {
    return this.#spools.get(spool)?.spool.state().failed ?? null;
  }

  async claim(owner: string): Promise<boolean> {
    // Read from the disk once: a disk that hangs later must not keep the intake from registering again.
    if (this.#owner === owner) return true;
    const ownIds = [...this.#spools.values()].map(({ intakeId }) => intakeId);
    const isOurs = await claimFolder(this.#folder, { owner, ownIds });
    if (isOurs) this.#owner = owner;
    return isOurs;
  }

  async openKnown(now: Instant): Promise<KnownTargets> {
    this.#known = await openKnownChecks({ folder: this.#folder, now });
    return this.#known;
  }

  async findOrphans(): Promise<Orphans> {
    const spool = this.#inUse;
    if (spool === null) return { gone: [], broken: [] };
    await spool.adoptOrphans();
    return { gone: spool.state().emptyOrphans, broken: this.#newlyBroken() };
  }

  async releaseIntakes(intakeIds: readonly string[]): Promise<void> {
    await this.#inUse?.releaseIntakes(intakeIds);
  }

  lastHeartbeat(): Promise<LastHeartbeat | null> {
    return readLastHeartbeat(this.#folder);
  }

  noteHeartbeat(heartbeat: LastHeartbeat): void {
    this.#lastHeartbeat.note(heartbeat);
  }

  state(): SpoolState | null {
    return this.#inUse?.state() ?? null;
  }

  fill(): number {
    const state = this.state();
    if (state === null) return 0;
    return state.hasRoom ? state.bytes / this.#bytesMax : 1;
  }

  knownCount(): number {
    return this.#known?.state().count ?? 0;
  }

  async close({ hasLeft }: { hasLeft: boolean }): Promise<void> {
    const open = [...this.#spools.values()];
    this.#spools.clear();
    await Promise.all(
      open.map(({ spool }) => spool.close({ keepsEmpty: !hasLeft || spool !== this.#inUse })),
    );
    await this.#known?.close();
    await this.#lastHeartbeat.close();
  }

  #newlyBroken(): string[] {
    const all = new Set(filesSetAside(this.#folder).map(({ intakeId }) => intakeId));
    // Our own spools are reported when they are out of use.
    for (const { intakeId } of this.#spools.values()) all.delete(intakeId);
    const unreported = [...all].filter((intakeId) => !this.#reportedBroken.has(intakeId));
    for (const intakeId of unreported) this.#reportedBroken.add(intakeId);
    return unreported;
  }
}

function noIntakeFiles(): IntakeFiles {
  return {
    open: async () => null,
    closeOne: async () => ({ isRemoved: false }),
    problem: () => null,
    claim: async () => true,
    // Known checks may use all of the receive queue, unknown ones only a part of it.
    openKnown: (now) => openKnownChecks({ folder: null, now }),
    findOrphans: async () => ({ gone: [], broken: [] }),
    releaseIntakes: async () => {},
    lastHeartbeat: async () => null,
    noteHeartbeat: () => {},
    state: () => null,
    fill: () => 0,
    knownCount: () => 0,
    close: async () => {},
  };
}

// The last successful heartbeat on this machine, in a small file next to the spool. A process that starts while the
// database is unavailable reads the lease and the time from it. Errors of the file are tolerated.

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
async function readLastHeartbeat(folder: string): Promise<LastHeartbeat | null> {
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
class LastHeartbeatFile {
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
