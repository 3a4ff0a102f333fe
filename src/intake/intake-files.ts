// Everything of an intake that lies in the spool's folder: the spool in use and those before it, the known
// checks, and the traces of intakes that are gone. Without a folder there is none of it, except in memory.
import type { Instant } from "../core/instant.ts";
import type { BatchSpool, KnownTargets } from "./batches/dependencies.ts";
import type { ClosedSpool, Orphans } from "./heartbeat.ts";
import { type KnownChecks, knownUntilRestart, openKnownChecks } from "./known-checks/known-checks.ts";
import { type LastHeartbeat, LastHeartbeatFile, readLastHeartbeat } from "./last-heartbeat.ts";
import { claimFolder, filesSetAside, makeFolder } from "./spool/folder.ts";
import type { SpoolState } from "./spool/messages.ts";
import { openSpool, type Spool } from "./spool/spool.ts";

/** Other programs on the machine need some room, too. */
const FREE_DISK_BYTES_MIN = 64 * 1024 * 1024;

export type IntakeFiles = {
  /**
   * A spool for an id, which from then on is the one in use; null when there is no folder. Its file tells the
   * others of this machine that the id is in use, so it has to be open before anybody counts on that id.
   */
  open(intakeId: string): Promise<BatchSpool | null>;
  /** Keeps the file, also when it is empty: others may still wait for the id of the spool. */
  closeOne(spool: BatchSpool): Promise<ClosedSpool>;
  /** Why a spool can be used no more, or null. */
  trouble(spool: BatchSpool): string | null;
  /** Makes the folder that of one server. False: it holds signals of another server. */
  claim(owner: string): Promise<boolean>;
  /** To be asked once, before the first signal. */
  openKnown(now: Instant): Promise<KnownTargets>;
  /** Takes over what intakes of this machine have left, and says which of them are gone. */
  findOrphans(): Promise<Orphans>;
  /** Nobody counts any more on these, which have left nothing. */
  releaseIntakes(intakeIds: readonly string[]): Promise<void>;
  /** What the last good heartbeat on this machine said; null when nobody can tell. */
  lastHeartbeat(): Promise<LastHeartbeat | null>;
  noteHeartbeat(heartbeat: LastHeartbeat): void;
  /** Of the spool in use. */
  state(): SpoolState | null;
  /** How full the spool in use is, from 0 to 1. One without room on its disk, or without its folder, is full. */
  fill(): number;
  knownCount(): number;
  /** `hasLeft`: nobody counts on this intake any more, so that an empty spool need not stay. */
  close(how: { hasLeft: boolean }): Promise<void>;
};

/** Opens nothing by itself. */
export function openIntakeFiles(options: { folder: string | null; bytesMax: number }): IntakeFiles {
  const { folder, bytesMax } = options;
  return folder === null ? noIntakeFiles() : new FolderIntakeFiles({ folder, bytesMax });
}

class FolderIntakeFiles implements IntakeFiles {
  readonly #folder: string;
  readonly #bytesMax: number;
  readonly #spools = new Map<BatchSpool, { spool: Spool; intakeId: string }>();
  readonly #lastHeartbeat: LastHeartbeatFile;
  /** Intakes whose files cannot be read, once that was told. */
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

  trouble(spool: BatchSpool): string | null {
    return this.#spools.get(spool)?.spool.state().failed ?? null;
  }

  async claim(owner: string): Promise<boolean> {
    // Asked of the disk once: a disk that hangs later must not keep the intake from entering anew.
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
    // One of our own is told when it is out of use.
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
    trouble: () => null,
    claim: async () => true,
    // Known checks may use all of the receive queue, unknown ones only a part of it.
    openKnown: async () => knownUntilRestart(),
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
