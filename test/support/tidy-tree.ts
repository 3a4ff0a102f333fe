// The files of the repository, so that a test can add a planted file and apply the same rule.
import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";

export type SourceFile = { path: string; text: string };

/** Every file that git tracks or would track, by its path from the root. */
export type Tree = { files: ReadonlyMap<string, SourceFile> };

/** A file with a NUL byte at its beginning is binary and left out. */
const SNIFFED_CHARACTERS = 8_000;

const LISTING_BYTES_MAX = 64 * 1024 * 1024;

/** Reads tracked files and new ones that are not ignored. */
export function readTree(root: string): Tree {
  // git refuses a clone that another user made unless the folder is declared safe.
  const listing = execFileSync(
    "git",
    ["-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
    { cwd: root, encoding: "utf8", maxBuffer: LISTING_BYTES_MAX },
  );
  const files = new Map<string, SourceFile>();
  for (const path of [...new Set(listing.split("\0"))].toSorted()) {
    // A file that was deleted but not committed is still listed; a link may point to a folder.
    if (path === "" || statSync(join(root, path), { throwIfNoEntry: false })?.isFile() !== true) continue;
    const text = readFileSync(join(root, path), "utf8");
    if (!text.slice(0, SNIFFED_CHARACTERS).includes("\0")) files.set(path, { path, text });
  }
  return { files };
}

/** The line of an offset, counted from one. */
export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}
