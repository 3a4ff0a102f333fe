// Places whose text is changed: files, and the crontabs of users, which only the program crontab may write.
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { lstat, open, readFile, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { DISCOVERED_FILE_BYTES_MAX } from "../core/limits.ts";
import { runTool, ToolError } from "./tools.ts";

/** `user` null: the user who runs the command. */
export type Place = { kind: "file"; path: string } | { kind: "crontab"; user: string | null };

/** A place that cannot be read or written, and why: a sentence. */
export class PlaceError extends Error {
  override readonly name = "PlaceError";
}

/** The name of a place in messages. */
export function placeName(place: Place): string {
  if (place.kind === "file") return place.path;
  return place.user === null ? "crontab" : `crontab of ${place.user}`;
}

/** The text; null if there is none. Throws PlaceError for what cannot be read or is not text. */
export async function readPlace(place: Place): Promise<string | null> {
  return place.kind === "file" ? readTextFile(place.path) : readUserCrontab(place);
}

async function readTextFile(path: string): Promise<string | null> {
  try {
    // A named pipe or a device may have no end.
    if (!(await stat(path)).isFile()) throw new PlaceError(`${path} is not a regular file.`);
    const bytes = await readFile(path);
    if (bytes.length > DISCOVERED_FILE_BYTES_MAX) {
      throw new PlaceError(`${path} is larger than ${DISCOVERED_FILE_BYTES_MAX} bytes.`);
    }
    const text = bytes.toString("utf8");
    // What is read must be written back unchanged.
    if (!Buffer.from(text).equals(bytes)) throw new PlaceError(`${path} is not UTF-8 text.`);
    return text;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw explained(error, `Cannot read ${path}`);
  }
}

const userOption = (user: string | null) => (user === null ? [] : ["-u", user]);

async function readUserCrontab({ user }: { user: string | null }): Promise<string | null> {
  const { code, stdout, stderr } = await tool(() => runTool("crontab", ["-l", ...userOption(user)]));
  if (code === 0) return stdout;
  if (/\bno crontab for\b/i.test(stderr)) return null;
  throw new PlaceError(`crontab -l failed: ${stderr.trim()}`);
}

/**
 * Replaces the text; null removes it. Throws PlaceError, also if the place does not contain `before`: someone else has
 * changed it in the meantime.
 */
export async function writePlace(
  place: Place,
  { before, after }: { before: string | null; after: string | null },
): Promise<void> {
  await requireText(place, before, "was changed after it was read. Run the command again");
  await (place.kind === "file" ? writeTextFile(place.path, after) : writeUserCrontab(place, after));
  await requireText(place, after, "does not contain what was written to it");
}

async function requireText(place: Place, text: string | null, problem: string): Promise<void> {
  if ((await readPlace(place)) !== text) throw new PlaceError(`${placeName(place)} ${problem}.`);
}

async function writeUserCrontab({ user }: { user: string | null }, after: string | null): Promise<void> {
  // crontab -l of Debian prints a carriage return as these two characters.
  if (after?.includes("\\r\n")) {
    throw new PlaceError("The crontab has Windows line endings. Convert it with crontab -e first.");
  }
  const args = after === null ? ["-r", ...userOption(user)] : [...userOption(user), "-"];
  const { code, stderr } = await tool(() => runTool("crontab", args, { input: after ?? "" }));
  if (code !== 0) throw new PlaceError(`crontab rejected the new text: ${stderr.trim()}`);
}

/** cron ignores names that begin with a dot, so it never runs an unfinished file. */
function hiddenPath(path: string): string {
  return join(dirname(path), `.${basename(path)}.overdue-${randomBytes(4).toString("hex")}`);
}

const NEW_FILE_MODE = 0o644;

async function writeTextFile(path: string, after: string | null): Promise<void> {
  const hidden = hiddenPath(path);
  try {
    const old = await ownerOf(path);
    if (after === null) {
      await rm(path);
      return;
    }
    const file = await open(hidden, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    try {
      await file.writeFile(after);
      // Not by its name: in a folder of another user, that can lead to another file by now.
      if (old !== null) await file.chown(old.uid, old.gid);
      await file.chmod(old?.mode ?? NEW_FILE_MODE);
      await file.sync();
    } finally {
      await file.close();
    }
    if (old !== null) await keepLabel(path, hidden);
    await rename(hidden, path);
    await syncFolder(dirname(path));
  } catch (error) {
    await rm(hidden, { force: true });
    throw explained(error, `Cannot write ${path}`);
  }
}

/** A new name in a folder is on disk only after that. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

const MODE_BITS = 0o7777;

/** Owner and mode of a file; null if there is none. */
async function ownerOf(path: string): Promise<{ uid: number; gid: number; mode: number } | null> {
  try {
    const { uid, gid, mode, ...stats } = await lstat(path);
    if ((mode & constants.S_IFMT) === constants.S_IFLNK) {
      throw new PlaceError(`${path} is a symbolic link. Give the file that it leads to.`);
    }
    if (stats.nlink > 1) throw new PlaceError(`${path} has several hard links. Change it yourself.`);
    return { uid, gid, mode: mode & MODE_BITS };
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

/** The security label of SELinux. Without SELinux there is none. */
async function keepLabel(path: string, copy: string): Promise<void> {
  const isEnabled = await lstat("/sys/fs/selinux/enforce").then(
    () => true,
    () => false,
  );
  if (!isEnabled) return;
  const { code, stderr } = await tool(() => runTool("chcon", ["--reference", path, copy]));
  if (code !== 0) throw new PlaceError(`Cannot set the SELinux label of ${path}: ${stderr.trim()}`);
}

async function tool<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw error instanceof ToolError ? new PlaceError(error.message) : error;
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

function explained(error: unknown, what: string): unknown {
  const code = codeOf(error);
  if (error instanceof PlaceError || code === "") return error;
  const why = code === "EACCES" || code === "EPERM" ? "permission denied" : code;
  return new PlaceError(`${what}: ${why}.`);
}
