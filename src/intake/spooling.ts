// Everything of an intake that lies in the spool's folder: the spool in use and those before it, the known
// checks, and the traces of intakes that are gone. Without a folder there is none of it, except in memory.
import type { Instant } from "../core/instant.ts";
import type { Orphans } from "./beat/parts.ts";
import type { BatchSpool, KnownTargets } from "./direct/parts.ts";
import { type KnownChecks, openKnownChecks } from "./known-checks.ts";
import { OrphanWatch } from "./orphans.ts";
import { openSpool, type Spool } from "./spool.ts";
import { makeFolder } from "./spool/folder.ts";
import type { SpoolState } from "./spool/messages.ts";

/** Other programs on the machine need some room, too. */
const FREE_DISK_BYTES_MIN = 64 * 1024 * 1024;

export type Spooling = {
  /** A spool for an id, which from then on is the one in use; null when there is no folder. */
  open(intakeId: string): Promise<BatchSpool | null>;
  closeOne(spool: BatchSpool): Promise<void>;
  /** Why a spool can be used no more, or null. */
  trouble(spool: BatchSpool): string | null;
  /** To be asked once, before the first signal. */
  openKnown(now: Instant): Promise<KnownTargets>;
  /** Takes over what intakes of this machine have left, and says which of them are gone. */
  findOrphans(): Promise<Orphans>;
  /** Of the spool in use. */
  state(): SpoolState | null;
  knownCount(): number;
  close(): Promise<void>;
};

/** Opens nothing by itself. */
export function makeSpooling(options: { folder: string | null; bytesMax: number }): Spooling {
  const { folder, bytesMax } = options;
  return folder === null ? noSpooling() : new FolderSpooling({ folder, bytesMax });
}

class FolderSpooling implements Spooling {
  readonly #folder: string;
  readonly #bytesMax: number;
  readonly #orphans: OrphanWatch;
  readonly #spools = new Map<BatchSpool, { spool: Spool; intakeId: string }>();
  #inUse: Spool | null = null;
  #known: KnownChecks | null = null;

  constructor({ folder, bytesMax }: { folder: string; bytesMax: number }) {
    this.#folder = folder;
    this.#bytesMax = bytesMax;
    this.#orphans = new OrphanWatch(folder);
  }

  async open(intakeId: string): Promise<BatchSpool> {
    makeFolder(this.#folder);
    // Before the spool removes the files of those who left nothing.
    this.#orphans.look([intakeId]);
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

  async closeOne(spool: BatchSpool): Promise<void> {
    const found = this.#spools.get(spool);
    this.#spools.delete(spool);
    await found?.spool.close();
  }

  trouble(spool: BatchSpool): string | null {
    return this.#spools.get(spool)?.spool.state().failed ?? null;
  }

  async openKnown(now: Instant): Promise<KnownTargets> {
    this.#known = await openKnownChecks({ folder: this.#folder, now });
    return this.#known;
  }

  async findOrphans(): Promise<Orphans> {
    await this.#inUse?.adoptOrphans();
    return this.#orphans.look([...this.#spools.values()].map(({ intakeId }) => intakeId));
  }

  state(): SpoolState | null {
    return this.#inUse?.state() ?? null;
  }

  knownCount(): number {
    return this.#known?.state().count ?? 0;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#spools.keys()].map((spool) => this.closeOne(spool)));
    await this.#known?.close();
  }
}

function noSpooling(): Spooling {
  return {
    open: async () => null,
    closeOne: async () => {},
    trouble: () => null,
    // Without a spool nothing is promised while the database is away, so nobody needs to be known.
    openKnown: async () => ({ remember: () => {}, knows: () => false, forget: () => {} }),
    findOrphans: async () => ({ gone: [], broken: [] }),
    state: () => null,
    knownCount: () => 0,
    close: async () => {},
  };
}
