// The folder of the spool files: their names, and how a file is created, taken over from an owner that is gone, or
// set aside. The lock that SQLite holds on a file is the only evidence of a running owner; process IDs are not used.
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  statSync,
} from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import type { Instant } from "../../core/instant.ts";
import { makeFolders } from "../../lib/make-folders.ts";
import {
  describeFault,
  faultOf,
  firstValue,
  inTransaction,
  type PragmaValue,
  requireVersion,
  setPragmas,
  UnfitError,
} from "../sqlite.ts";
import { discardFile, PAGE_BYTES, SPOOL_SCHEMA, SpoolDamage, SpoolFile } from "./file.ts";

/** Marks a file as ours; the bytes spell "OdSp". */
const APPLICATION_ID = 0x4f645370;
const FORMAT_VERSION = 2;
/** How long a new file waits for a process that happens to inspect it. */
const CREATE_WAIT_MS = 500;
const CREATE_ATTEMPTS_MAX = 20;
const SET_ASIDE_NAMES_MAX = 1_000;

/** An empty file that is younger may be about to be locked by its creator. */
const UNFINISHED_AGE_MS = 60_000;

const SPOOL_NAME = /^spool-([0-9a-z][0-9a-z-]{0,63})(?:\.\d+)?\.sqlite$/;
const SET_ASIDE_NAME = /^spool-([0-9a-z][0-9a-z-]{0,63})(?:\.\d+)?\.sqlite(?:\.\d+)?\.set-aside$/;

/** Set before the first batch is written, and verified. */
const SPOOL_PRAGMAS: Readonly<Record<string, PragmaValue>> = {
  locking_mode: "exclusive",
  journal_mode: "wal",
  // 2 is "full": every commit is synced.
  synchronous: 2,
  // For systems where a plain sync leaves the data in the disk's cache.
  fullfsync: 1,
  checkpoint_fullfsync: 1,
  wal_autocheckpoint: 0,
  // 2 is "memory": truncating an empty file needs no second file.
  temp_store: 2,
};

/** A file that is not drained: its batches are lost unless it is repaired by hand. */
export type LostFile = { name: string; intakeId: string; reason: string };

/** The result of inspecting a file of another intake. */
export type Adoption =
  | { kind: "adopted"; file: SpoolFile }
  /** Its owner is running, or it was empty and has been deleted. */
  | { kind: "none" }
  | { kind: "lost"; lost: LostFile };

/** Whether a text can be the intake ID in a file name. */
export function isIntakeId(text: string): boolean {
  return intakeIdOf(`spool-${text}.sqlite`) === text;
}

/** The path of an intake's file, unless its creator had to use another name. */
export function spoolPath({ folder, intakeId }: { folder: string; intakeId: string }): string {
  return join(folder, `spool-${intakeId}.sqlite`);
}

/** Creates the folder, readable only by this user, because it contains ping bodies. */
export function makeFolder(folder: string): void {
  const made = makeFolders(folder);
  if (made === null) return;
  for (let upper = folder; upper.length >= made.length; upper = dirname(upper)) syncFolder(dirname(upper));
}

/** Identifies the server that owns the folder; differs between servers. */
const OWNER_NAME = "server";

/**
 * Assigns the folder to one server, with one database. False: it contains files of another server, whose signals must
 * not be recorded in this database. A folder without files of other processes can be taken over. If the owner cannot
 * be written, as on a full disk, the folder is used anyway.
 */
export async function claimFolder(
  folder: string,
  { owner, ownIds }: { owner: string; ownIds: readonly string[] },
): Promise<boolean> {
  const path = join(folder, OWNER_NAME);
  const isFirst = await writeFile(path, owner, { mode: 0o600, flag: "wx" }).then(
    () => true,
    () => false,
  );
  const found = isFirst ? owner : await readFile(path, "utf8").catch(() => "");
  if (found === owner) return true;
  const others = spoolNames(folder).filter((name) => !ownIds.includes(intakeIdOf(name)));
  if (found !== "" && others.length > 0) return false;
  await writeFile(path, owner, { mode: 0o600 }).catch(() => {});
  return true;
}

/** The names of all spool files, of any owner. */
export function spoolNames(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => SPOOL_NAME.test(name))
    .toSorted();
}

/** All files that were set aside and still exist. */
export function filesSetAside(folder: string): LostFile[] {
  return readdirSync(folder)
    .toSorted()
    .flatMap((name) => {
      const intakeId = SET_ASIDE_NAME.exec(name)?.[1];
      return intakeId === undefined ? [] : [{ name, intakeId, reason: "was quarantined earlier" }];
    });
}

/**
 * A new file under the lock; there must be none with its name. Throws UnfitError or the error of SQLite. Before the
 * lock is taken, a process that searches for orphans may hold the file or delete it as incomplete. Then another name
 * is used: a process that still has the old file open could delete the log of a new one with the same name.
 */
export function createSpoolFile({ folder, intakeId }: { folder: string; intakeId: string }): SpoolFile {
  for (let attempt = 1; attempt <= CREATE_ATTEMPTS_MAX; attempt += 1) {
    const path =
      attempt === 1 ? spoolPath({ folder, intakeId }) : join(folder, `spool-${intakeId}.${attempt}.sqlite`);
    const db = new DatabaseSync(path, { timeout: CREATE_WAIT_MS });
    try {
      requireVersion(db);
      setPragmas(db, { page_size: PAGE_BYTES, ...SPOOL_PRAGMAS });
      // From here on the lock is ours, and only its creator creates a file with this name.
      if (existsSync(path)) {
        chmodSync(path, 0o600);
        writeSchema(db, intakeId);
        syncFolder(folder);
        return new SpoolFile({ db, path });
      }
      db.close();
    } catch (error) {
      if (!isRemoved(error) && faultOf(error) !== "locked") {
        discardFile({ db, path });
        throw error;
      }
      db.close();
    }
  }
  throw new UnfitError(`another process keeps locking or removing the file of intake ${intakeId}`);
}

/** SQLite's error for a file that was renamed or deleted after it was opened. */
function isRemoved(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === 1032;
}

function writeSchema(db: DatabaseSync, intakeId: string): void {
  inTransaction(db, () => {
    db.exec(`pragma application_id = ${APPLICATION_ID}; pragma user_version = ${FORMAT_VERSION}`);
    db.exec(SPOOL_SCHEMA);
    db.prepare("insert into owner values (?)").run(intakeId);
  });
}

/** Takes over a file whose owner is gone. A damaged or foreign file is set aside unchanged. */
export function adoptSpoolFile(options: { folder: string; name: string; now: Instant }): Adoption {
  const { folder, name, now } = options;
  const path = join(folder, name);
  if (isBeingMade(path, now)) return { kind: "none" };
  if (isBeheaded(path)) return setAside({ folder, name, db: null, reason: "the main file is empty" });
  const inode = inodeOf(path);
  let db: DatabaseSync | null = null;
  try {
    db = openExisting(path);
    if (db === null) return { kind: "none" };
    setPragmas(db, { locking_mode: "exclusive" });
    const refusal = refusalOf(db, name);
    // The lock comes before anything is done to the name: its creator may be about to write to it.
    if (refusal === "unfinished") db.exec("begin exclusive; commit");
    if (inodeOf(path) !== inode) {
      // Another process was faster, and a new file may have the name by now. From here on the name is safe: changing
      // it requires the lock.
      db.close();
      return { kind: "none" };
    }
    if (refusal === "unfinished") {
      discardFile({ db, path });
      return { kind: "none" };
    }
    if (refusal !== null) return setAside({ folder, name, db, reason: refusal });
    requireVersion(db);
    setPragmas(db, SPOOL_PRAGMAS);
    return { kind: "adopted", file: new SpoolFile({ db, path }) };
  } catch (error) {
    const isDamaged = error instanceof SpoolDamage || faultOf(error) === "corrupt";
    if (isDamaged && inodeOf(path) === inode)
      return setAside({ folder, name, db, reason: describeFault(error) });
    db?.close();
    if (error instanceof UnfitError) throw error;
    if (isDamaged || faultOf(error) === "locked") return { kind: "none" };
    // It may become readable later, so it keeps its name.
    return { kind: "lost", lost: { name, intakeId: intakeIdOf(name), reason: describeFault(error) } };
  }
}

/** Opens without creating: a file that appeared in the meantime would replace the real one. */
function openExisting(path: string): DatabaseSync | null {
  const address = pathToFileURL(path);
  address.searchParams.set("mode", "rw");
  try {
    return new DatabaseSync(address, { timeout: 0 });
  } catch (error) {
    if (!existsSync(path)) return null;
    throw error;
  }
}

/** Why a readable file must not be drained, or null. Throws if it cannot be read or is locked. */
function refusalOf(db: DatabaseSync, name: string): string | null {
  const tables = Number(firstValue(db, "select count(*) from sqlite_schema"));
  const applicationId = Number(firstValue(db, "pragma application_id"));
  const pages = Number(firstValue(db, "pragma page_count"));
  // Its creator died before the first transaction: nothing was ever acknowledged from it.
  if (tables === 0 && applicationId === 0 && pages <= 1) return "unfinished";
  if (applicationId !== APPLICATION_ID) return "is a database of another program";
  const version = Number(firstValue(db, "pragma user_version"));
  if (version !== FORMAT_VERSION)
    return `has format ${version}, but this version reads format ${FORMAT_VERSION}`;
  const intakeId = String(firstValue(db, "select intake_id from owner"));
  return intakeId === intakeIdOf(name) ? null : `belongs to intake ${intakeId}`;
}

/**
 * Renames a file and its log, so that both can be inspected by hand. The names change before the connection closes,
 * because closing would delete the log.
 */
export function setAside(options: {
  folder: string;
  name: string;
  db: { close(): void } | null;
  reason: string;
}): Adoption {
  const { folder, name, db, reason } = options;
  const target = freeName(folder, name);
  const wasThere = renameIfThere(join(folder, name), join(folder, target));
  renameIfThere(join(folder, `${name}-wal`), join(folder, `${target}-wal`));
  db?.close();
  // Another process has set it aside at the same time, and will report it.
  if (!wasThere) return { kind: "none" };
  syncFolder(folder);
  return { kind: "lost", lost: { name: target, intakeId: intakeIdOf(name), reason } };
}

function freeName(folder: string, name: string): string {
  const taken = new Set(readdirSync(folder));
  for (let number = 1; number <= SET_ASIDE_NAMES_MAX; number += 1) {
    const candidate = number === 1 ? `${name}.set-aside` : `${name}.${number}.set-aside`;
    if (!taken.has(candidate)) return candidate;
  }
  throw new UnfitError(`${name} was quarantined ${SET_ASIDE_NAMES_MAX} times`);
}

function isBeingMade(path: string, now: Instant): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.size === 0 && now - found.mtimeMs < UNFINISHED_AGE_MS && sizeOf(`${path}-wal`) === 0;
}

/**
 * SQLite deletes the log of an empty main file, and with it every batch that was only there. The log is checked
 * first: if there is one, the main file of a running owner already had its first page.
 */
function isBeheaded(path: string): boolean {
  return sizeOf(`${path}-wal`) > 0 && sizeOf(path) === 0;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** While a file is open its inode number is not reused, so it shows whether a name still refers to it. */
function inodeOf(path: string): bigint | null {
  return statSync(path, { throwIfNoEntry: false, bigint: true })?.ino ?? null;
}

/** The intake that a file belongs to, according to its name. */
function intakeIdOf(name: string): string {
  return SPOOL_NAME.exec(name)?.[1] ?? name;
}

function renameIfThere(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  }
}

function syncFolder(folder: string): void {
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
