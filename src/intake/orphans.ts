// Which intakes of this machine are gone, told from the files in the spool's folder: one whose file has
// disappeared has left nothing, and one whose file was set aside is lost. Their rows can then be closed.
import type { Orphans } from "./beat/parts.ts";
import { filesSetAside, intakeIdOf, spoolNames } from "./spool/folder.ts";

/** A file that is being made may be missing for a moment, so one look is not enough. */
const LOOKS_WITHOUT_FILE = 2;

export class OrphanWatch {
  readonly #folder: string;
  /** How often in a row a file that was seen before was missing. */
  readonly #missing = new Map<string, number>();
  readonly #told = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Looks at the folder, which has to exist; the ids in use by this process are not judged. */
  look(ownIds: readonly string[]): Orphans {
    const broken = filesSetAside(this.#folder).map(({ intakeId }) => intakeId);
    const present = new Set(spoolNames(this.#folder).map(intakeIdOf));
    for (const id of present) this.#missing.set(id, 0);
    for (const id of [...broken, ...ownIds]) this.#missing.delete(id);
    const gone: string[] = [];
    for (const [id, count] of this.#missing) {
      if (present.has(id)) continue;
      this.#missing.set(id, count + 1);
      if (count + 1 < LOOKS_WITHOUT_FILE) continue;
      this.#missing.delete(id);
      gone.push(id);
    }
    const isNews = (id: string) => !this.#told.has(id) && !ownIds.includes(id);
    const news = [...new Set(broken)].filter(isNews);
    for (const id of news) this.#told.add(id);
    return { gone, broken: news };
  }
}
