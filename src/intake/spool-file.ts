// One spool file: numbered batches of one intake, in SQLite, under a lock that is held while the file is open. A
// process that holds such a file must not open it by other means than SQLite: closing that other descriptor would
// release the lock. Runs only in the spool's thread, because every call waits for the disk.
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { crc32 } from "node:zlib";
import type { Instant } from "../core/instant.ts";
import { makeFolders } from "../lib/make-folders.ts";
import { hmacSha256Hex } from "../lib/secrets.ts";

/** A batch as a row. The payload is opaque here. */
export type SpoolRow = {
  lane: number;
  seq: number;
  signalCount: number;
  /** When the oldest signal of the batch was received. */
  receivedAt: Instant;
  payload: Uint8Array;
};

/** The content differs from what was written. */
export class SpoolDamage extends Error {
  override readonly name = "SpoolDamage";
}

export const PAGE_BYTES = 4_096;
/** How much may be written before it is moved from the write-ahead log to the main file. */
const CHECKPOINT_BYTES = 4 * 1024 * 1024;
/** Approximate overhead of a transaction: pages of the tree, the free list, the header. */
const TRANSACTION_BYTES = 4 * PAGE_BYTES;
/** An empty file above this size is truncated, so that the disk regains the space. */
const SHRINK_ABOVE_BYTES = 1024 * 1024;

const SPOOL_SCHEMA = `
  create table owner (intake_id text not null) strict;
  create table batch (
    position integer primary key,
    lane integer not null,
    seq integer not null,
    signal_count integer not null,
    received_at integer not null,
    checksum integer not null,
    payload blob not null
  ) strict;
  create index batch_received_at on batch (received_at);`;

/** A row without its payload. Positions follow each other without a gap, in the order of the writes. */
type Head = Omit<SpoolRow, "payload"> & { position: number };

/** The batches of one file. Takes over a connection that holds the lock on a file with the schema above. */
export class SpoolFile {
  readonly path: string;
  readonly intakeId: string;
  batches: number;
  signals: number;
  /** Size of its pages in use; free pages do not count. */
  bytes: number;
  /** Why nothing is written to the file any more, or null. */
  writingEnded: string | null = null;
  readonly #db: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #remove: StatementSync;
  #head: Head | null;
  #newestPosition: number;
  /** The newest batch of each lane that was in the file, as far as known, and how many are. */
  readonly #lanes: Map<number, { newestSeq: number; count: number }>;
  #removedPosition = 0;
  /** Whether rows up to that position are still in the file, although they were removed. */
  #owesRemoval = false;
  #unmovedBytes = 0;

  readonly #inode: number | undefined;

  /** Throws SpoolDamage if the batches differ from what was written. */
  constructor({ db, path }: { db: DatabaseSync; path: string }) {
    this.path = path;
    this.#inode = inodeAt(path);
    this.#db = db;
    this.intakeId = String(firstValue(db, "select intake_id from owner"));
    const counted = countAll(db);
    this.batches = counted.batches;
    this.signals = counted.signals;
    this.#newestPosition = counted.newestPosition;
    const lanes = db
      .prepare("select lane, max(seq) as seq, count(*) as count from batch group by lane")
      .all();
    this.#lanes = new Map(
      lanes.map(({ lane, seq, count }) => [Number(lane), { newestSeq: Number(seq), count: Number(count) }]),
    );
    this.bytes = bytesInUse(db);
    this.#insert = db.prepare("insert into batch values (?, ?, ?, ?, ?, ?, ?)");
    // Also those before it whose removal is only in memory.
    this.#remove = db.prepare("delete from batch where position <= ?");
    this.#head = this.#headAfter(0);
  }

  /** When the oldest remaining signal was received: lanes are written side by side, so it may be in any row. */
  get oldestAt(): Instant | null {
    const sql = `select min(received_at) from batch where position > ${this.#removedPosition}`;
    return this.#head === null ? null : Number(firstValue(this.#db, sql));
  }

  /** Whether a batch is in the file and not removed. */
  has({ lane, seq }: { lane: number; seq: number }): boolean {
    const sql = "select 1 from batch where lane = ? and seq = ? and position > ?";
    return this.#db.prepare(sql).get(lane, seq, this.#removedPosition) !== undefined;
  }

  /** The newest batch of a lane, and how many there are. */
  lane(lane: number): { newestSeq: number; count: number } {
    return this.#lanes.get(lane) ?? { newestSeq: 0, count: 0 };
  }

  /** By how much the main file will grow when the write-ahead log is moved into it. */
  unmovedGrowthBytes(): number {
    return Math.max(
      0,
      this.#pages() * PAGE_BYTES - (statSync(this.path, { throwIfNoEntry: false })?.size ?? 0),
    );
  }

  /** Writes the rows in one transaction and syncs it. Throws the error of SQLite; then nothing is acknowledged. */
  append(rows: readonly SpoolRow[]): void {
    this.#write(() =>
      inTransaction(this.#db, () => {
        // New rows may not follow the rows that should be gone, and a gap would look like damage.
        if (this.#owesRemoval) this.#remove.run(this.#removedPosition);
        let position = this.#newestPosition;
        for (const row of rows) {
          const { lane, seq, signalCount, receivedAt, payload } = row;
          position += 1;
          this.#insert.run(position, lane, seq, signalCount, receivedAt, this.#checksum(row), payload);
        }
      }),
    );
    this.#owesRemoval = false;
    this.batches += rows.length;
    this.signals += rows.reduce((sum, row) => sum + row.signalCount, 0);
    this.#newestPosition += rows.length;
    for (const { lane, seq } of rows)
      this.#lanes.set(lane, { newestSeq: seq, count: this.lane(lane).count + 1 });
    this.#head ??= this.#headAfter(this.#removedPosition);
    this.#count(rows.reduce((sum, row) => sum + row.payload.length, 0));
  }

  /** The first remaining row. Throws SpoolDamage if it differs from what was written. */
  oldest(): SpoolRow | null {
    const head = this.#head;
    if (head === null) return null;
    const found = this.#db
      .prepare("select checksum, payload from batch where position = ?")
      .get(head.position);
    const payload = found?.["payload"];
    if (!(payload instanceof Uint8Array)) throw new SpoolDamage(`row ${head.position} is missing`);
    const row = { ...head, payload };
    if (this.#checksum(row) !== found?.["checksum"]) throw new SpoolDamage(`row ${head.position} is damaged`);
    return row;
  }

  /** The number of the first remaining row. */
  get head(): Pick<SpoolRow, "lane" | "seq"> | null {
    return this.#head;
  }

  /**
   * Removes the first remaining row. If the disk fails, the removal is only kept in memory: if the row reappears
   * after a restart, its number shows that it was applied.
   */
  removeOldest(): void {
    const head = this.#head;
    if (head === null) return;
    const next = this.#headAfter(head.position);
    if (next === null ? this.batches !== 1 : next.position !== head.position + 1) {
      throw new SpoolDamage(`row ${head.position + 1} is missing`);
    }
    this.#head = next;
    this.#removedPosition = head.position;
    const lane = this.lane(head.lane);
    this.#lanes.set(head.lane, { ...lane, count: lane.count - 1 });
    this.batches -= 1;
    this.signals -= head.signalCount;
    this.#owesRemoval = true;
    if (this.writingEnded !== null) return;
    try {
      this.#write(() => this.#remove.run(head.position));
      this.#owesRemoval = false;
      this.#count(0);
    } catch (error) {
      if (faultOf(error) === "corrupt") throw error;
    }
  }

  /**
   * Moves data from the write-ahead log to the main file once there is enough of it, and truncates an empty file.
   * SQLite would do the former inside a commit and ignore an error, so that a later sync could seem to have
   * succeeded.
   */
  tidy(): void {
    if (this.writingEnded !== null) return;
    try {
      if (this.batches === 0 && (this.#owesRemoval || this.#isLarge())) this.#shrink();
      if (this.#unmovedBytes < CHECKPOINT_BYTES) return;
      this.#unmovedBytes = 0;
      this.#checkpoint("passive");
    } catch (error) {
      // Without space it stays where it is, which is safe. After any other error, nothing more is written.
      if (faultOf(error) === "corrupt") throw error;
    }
  }

  /** False if the file was removed or replaced while it is open. */
  isInPlace(): boolean {
    return inodeAt(this.path) === this.#inode;
  }

  /** Closes the file and leaves it to the next process. */
  close(): void {
    this.#db.close();
  }

  /** Deletes the file, whose batches have all been removed. */
  discard(): void {
    discardFile({ db: this.#db, path: this.path });
  }

  /** A disk that failed once may have lost earlier writes: from then on nothing is acknowledged. */
  #write(step: () => void): void {
    if (this.writingEnded !== null) throw new Error(this.writingEnded);
    try {
      step();
    } catch (error) {
      if (faultOf(error) !== "full") this.writingEnded = describeFault(error);
      throw error;
    }
  }

  #isLarge(): boolean {
    return this.#pages() * PAGE_BYTES > SHRINK_ABOVE_BYTES;
  }

  #pages(): number {
    return Number(firstValue(this.#db, "pragma page_count"));
  }

  #shrink(): void {
    if (this.#owesRemoval) this.#write(() => this.#remove.run(this.#removedPosition));
    this.#owesRemoval = false;
    // Before anything is moved: the log of an empty file need not be moved any more.
    this.#write(() => this.#db.exec("vacuum"));
    this.#checkpoint("truncate");
    this.#unmovedBytes = 0;
    this.bytes = bytesInUse(this.#db);
  }

  #checkpoint(mode: "passive" | "truncate"): void {
    this.#write(() => this.#db.prepare(`pragma wal_checkpoint(${mode})`).get());
  }

  #count(payloadBytes: number): void {
    this.#unmovedBytes += payloadBytes + TRANSACTION_BYTES;
    this.bytes = bytesInUse(this.#db);
  }

  #headAfter(position: number): Head | null {
    const columns = "position, lane, seq, signal_count, received_at";
    const sql = `select ${columns} from batch where position > ? order by position limit 1`;
    const row = this.#db.prepare(sql).get(position);
    if (row === undefined) return null;
    return {
      position: Number(row["position"]),
      lane: Number(row["lane"]),
      seq: Number(row["seq"]),
      signalCount: Number(row["signal_count"]),
      receivedAt: Number(row["received_at"]),
    };
  }

  /** SQLite pages have no checksum; a flipped bit in a payload would go unnoticed. */
  #checksum(row: SpoolRow): number {
    const { lane, seq, signalCount, receivedAt, payload } = row;
    return crc32(payload, crc32(`${this.intakeId} ${lane} ${seq} ${signalCount} ${receivedAt}`));
  }
}

/** Unlinks while the lock is still held, so that no process takes over a file that is being deleted. */
function discardFile({ db, path }: { db: DatabaseSync; path: string }): void {
  for (const suffix of ["", "-wal", "-journal"]) rmSync(path + suffix, { force: true });
  db.close();
}

function bytesInUse(db: DatabaseSync): number {
  const sql = "select page_count - freelist_count from pragma_page_count, pragma_freelist_count";
  return Number(firstValue(db, sql)) * PAGE_BYTES;
}

function countAll(db: DatabaseSync): { batches: number; signals: number; newestPosition: number } {
  const count = (sql: string) => Number(firstValue(db, `select ${sql} from batch`));
  const batches = count("count(*)");
  const oldestPosition = count("coalesce(min(position), 1)");
  const newestPosition = count("coalesce(max(position), 0)");
  if (newestPosition - oldestPosition + 1 !== batches) {
    throw new SpoolDamage(`holds ${batches} rows from ${oldestPosition} to ${newestPosition}`);
  }
  return { batches, signals: count("coalesce(sum(signal_count), 0)"), newestPosition };
}

function inodeAt(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

// The folder of the spool files: their names, and how a file is created, taken over from an owner that is gone, or
// set aside. The lock that SQLite holds on a file is the only evidence of a running owner; process IDs are not used.

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

/** The digest that identifies the owner of a folder is not secret. */
const OWNER_MESSAGE = "spool folder";

/** The owner that the server with this stored secret writes to its folder. */
export function folderOwner(secret: string): string {
  return hmacSha256Hex({ key: secret, message: OWNER_MESSAGE });
}

/** Whether the folder contains files of another server, which must not be recorded in this database. */
export async function isOwnedByOther(folder: string, owner: string): Promise<boolean> {
  const found = await readFile(join(folder, OWNER_NAME), "utf8").catch(() => "");
  return found !== "" && found !== owner && spoolNames(folder).length > 0;
}

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

// Requirements of local files: a SQLite version without known bugs, verified pragmas, and errors classified by what
// they mean for the file.

/** Older versions can lose a commit when the write-ahead log starts over. */
const VERSION_MIN = "3.51.3";

/** SQLite, or the file system below it, does not meet the requirements of durability. */
export class UnfitError extends Error {
  override readonly name = "UnfitError";
}

export type PragmaValue = string | number;

/** Why this version of SQLite may not be used, or null. */
export function versionRefusal(version: string): string | null {
  const parts = (text: string) => text.split(".").map(Number);
  const [major = 0, minor = 0, patch = 0] = parts(version);
  const [majorMin = 0, minorMin = 0, patchMin = 0] = parts(VERSION_MIN);
  const difference = major - majorMin || minor - minorMin || patch - patchMin;
  return difference >= 0 ? null : `SQLite ${version} is too old; ${VERSION_MIN} or newer is required`;
}

/** The version in use; throws UnfitError when it is too old. */
export function requireVersion(db: DatabaseSync): string {
  const version = String(firstValue(db, "select sqlite_version()"));
  const refusal = versionRefusal(version);
  if (refusal !== null) throw new UnfitError(refusal);
  return version;
}

/**
 * Sets each pragma and verifies it; throws UnfitError if one was not applied. SQLite ignores unknown and unsupported
 * pragmas.
 */
export function setPragmas(db: DatabaseSync, wanted: Readonly<Record<string, PragmaValue>>): void {
  for (const [name, value] of Object.entries(wanted)) {
    db.exec(`pragma ${name} = ${value}`);
    const found = firstValue(db, `pragma ${name}`);
    if (found !== value) throw new UnfitError(`SQLite has ${name} = ${String(found)}, not ${value}`);
  }
}

/** The first column of the first row. */
export function firstValue(db: DatabaseSync, sql: string): unknown {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  const row: unknown = statement.get();
  return Array.isArray(row) ? row[0] : undefined;
}

/**
 * The kind of error: no space, the lock is held by another process, the content is damaged or not SQLite, or the disk
 * failed. Unknown errors count as the last, to be safe.
 */
export type SqliteFault = "full" | "locked" | "corrupt" | "io";

const FAULT_OF_CODE: Readonly<Record<number, SqliteFault>> = {
  5: "locked",
  6: "locked",
  11: "corrupt",
  13: "full",
  26: "corrupt",
};

/** Classifies an error of node:sqlite. */
export function faultOf(error: unknown): SqliteFault {
  if (!(error instanceof Error && "errcode" in error && typeof error.errcode === "number")) return "io";
  // The upper bits of an extended code only add detail.
  return FAULT_OF_CODE[error.errcode & 0xff] ?? "io";
}

/** The text of an error with SQLite's error code, for logs. */
export function describeFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "errcode" in error ? `${error.message} (SQLite ${String(error.errcode)})` : error.message;
}

/** Runs the steps in one transaction; if one throws, it is rolled back and the error is rethrown. */
export function inTransaction(db: DatabaseSync, steps: () => void): void {
  db.exec("begin immediate");
  try {
    steps();
    db.exec("commit");
  } catch (error) {
    // After an I/O error SQLite has already rolled back.
    if (db.isTransaction) db.exec("rollback");
    throw error;
  }
}
