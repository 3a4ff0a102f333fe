// The files of intakes that are gone: those with batches are drained, and empty ones wait until nobody counts on
// their intakes any more. The lock on a file is what proves that its owner is gone. Runs in the spool's thread.
import { basename } from "node:path";
import type { SpoolFile } from "./file.ts";
import { adoptSpoolFile, type LostFile, spoolNames } from "./folder.ts";

/** Each open file costs descriptors and memory; what is beyond is adopted when another one has been drained. */
const ADOPTED_FILES_MAX = 16;
/** Empty files that are held at a time; what is beyond is found again later. */
const EMPTY_FILES_MAX = 64;

type EmptyFile = {
  file: SpoolFile;
  /** A whole search has ended since it was found, so that whatever else its owner held has been found, too. */
  mayGo: boolean;
};

export class OrphanFiles {
  readonly #folder: string;
  readonly #onLost: (lost: LostFile) => void;
  readonly #withBatches: SpoolFile[] = [];
  #empty: EmptyFile[] = [];
  #hasMore = false;

  constructor({ folder, onLost }: { folder: string; onLost: (lost: LostFile) => void }) {
    this.#folder = folder;
    this.#onLost = onLost;
  }

  /** Those that have something to drain. */
  get withBatches(): readonly SpoolFile[] {
    return this.#withBatches;
  }

  /** The intakes that have left nothing, and can be let go of. */
  get emptyIntakeIds(): string[] {
    return this.#empty.filter(({ mayGo }) => mayGo).map(({ file }) => file.intakeId);
  }

  /** Takes over what it finds, as much as may be open at a time; returns the names of what it took. */
  adopt({ ownName }: { ownName: string | null }): string[] {
    const foundBefore = [...this.#empty];
    const open = new Set(this.#files().map(({ path }) => basename(path)));
    const taken: string[] = [];
    this.#hasMore = false;
    for (const name of spoolNames(this.#folder)) {
      if (name === ownName || open.has(name)) continue;
      if (this.#withBatches.length >= ADOPTED_FILES_MAX) {
        this.#hasMore = true;
        return taken;
      }
      const adoption = adoptSpoolFile({ folder: this.#folder, name, now: Date.now() });
      if (adoption.kind === "lost") this.#onLost(adoption.lost);
      if (adoption.kind !== "adopted") continue;
      taken.push(name);
      this.#take(adoption.file);
    }
    for (const one of foundBefore) one.mayGo = true;
    return taken;
  }

  /** Whether files were left where they are, because too many were open. */
  get hasMore(): boolean {
    return this.#hasMore;
  }

  /** Gives up a file that was adopted, drained or not; it is the caller's from then on. */
  release(file: SpoolFile): void {
    this.#withBatches.splice(this.#withBatches.indexOf(file), 1);
  }

  /** Deletes the empty files of intakes on which nobody counts any more. */
  releaseIntakes(intakeIds: readonly string[]): void {
    const isGoing = ({ file }: EmptyFile) => intakeIds.includes(file.intakeId);
    const going = this.#empty.filter(isGoing);
    this.#empty = this.#empty.filter((one) => !isGoing(one));
    for (const { file } of going) file.discard();
  }

  /** Leaves all of them to whoever comes next. */
  close(): void {
    for (const file of this.#files()) file.close();
    this.#withBatches.length = 0;
    this.#empty = [];
  }

  #take(file: SpoolFile): void {
    if (file.batches > 0) this.#withBatches.push(file);
    else if (this.#empty.length < EMPTY_FILES_MAX) this.#empty.push({ file, mayGo: false });
    else file.close();
  }

  #files(): SpoolFile[] {
    return [...this.#withBatches, ...this.#empty.map(({ file }) => file)];
  }
}
