// Makes a folder and those above it. Not by mkdir with `recursive`: Node repeats that without end where a file system
// answers ENOENT although the folder above exists, as /proc and mount points of autofs do.
import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** Makes what is missing, for this user alone; returns the first folder that was made, null when none was missing. */
export function makeFolders(folder: string): string | null {
  try {
    mkdirSync(folder, { mode: 0o700 });
    return folder;
  } catch (error) {
    if (isFolder(folder)) return null;
    const isUpperMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    const upper = dirname(folder);
    if (!isUpperMissing || isFolder(upper)) throw error;
    const made = makeFolders(upper);
    const last = makeFolders(folder);
    return made ?? last;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
