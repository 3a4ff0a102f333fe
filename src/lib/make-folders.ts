// Creates a folder and its parents. Does not use mkdir with `recursive`: Node repeats it endlessly if a file system
// returns ENOENT although the parent exists, as /proc and autofs mount points do.
import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Creates missing folders, for this user only; returns the first folder that was created, null if none was missing.
 */
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
