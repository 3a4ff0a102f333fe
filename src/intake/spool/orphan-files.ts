// The files of intakes that are gone: those with batches are drained, and empty ones wait until their intakes have
// been closed. The lock on a file shows whether its owner is gone. Runs in the spool's thread.
import { basename } from "node:path";
import type { SpoolFile } from "./file.ts";
import { adoptSpoolFile, type LostFile, spoolNames } from "./folder.ts";

/** Each open file costs descriptors and memory; further ones are taken over when another one has been drained. */
const ADOPTED_FILES_MAX = 16;
/** Empty files that are held at a time; further ones are found later. */
const EMPTY_FILES_MAX = 64;

type EmptyFile = {
  file: SpoolFile;
  /** A complete search has ended since it was found, so that all other files of its owner have been found, too. */
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

  /** Files that have something to drain. */
  get withBatches(): readonly SpoolFile[] {
    return this.#withBatches;
  }

  /** The intakes that left no signals, and can be closed. */
  get emptyIntakeIds(): string[] {
    return this.#empty.filter(({ mayGo }) => mayGo).map(({ file }) => file.intakeId);
  }

  /** Takes over the files it finds, as many as may be open at a time; returns their names. */
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

  /** Whether files were left because too many were open. */
  get hasMore(): boolean {
    return this.#hasMore;
  }

  /** Releases a file that was taken over, drained or not; the caller owns it from then on. */
  release(file: SpoolFile): void {
    this.#withBatches.splice(this.#withBatches.indexOf(file), 1);
  }

  /** Deletes the empty files of intakes that have been closed. */
  releaseIntakes(intakeIds: readonly string[]): void {
    const isGoing = ({ file }: EmptyFile) => intakeIds.includes(file.intakeId);
    const going = this.#empty.filter(isGoing);
    this.#empty = this.#empty.filter((one) => !isGoing(one));
    for (const { file } of going) file.discard();
  }

  /** Leaves all of them to the next process. */
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
