// The file behind the known checks: fingerprints and days, shared by all intakes of a machine, so that known checks
// survive a restart while the database is unavailable. It is a cache: if it is damaged, it is recreated. Runs only in
// the thread of the known checks.
import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { makeFolders } from "../../lib/make-folders.ts";
import { faultOf, firstValue, inTransaction, requireVersion, setPragmas } from "../spool-file.ts";
import type { Fingerprint, FingerprintSecret } from "./fingerprint.ts";
import { type Day, KNOWN_DAYS } from "./table.ts";

/** Alternating fingerprints and days; day zero means that the entry was removed. */
export type KnownList = Float64Array<ArrayBuffer>;

export const FORGOTTEN: Day = 0;

/** Marks a file as ours; the bytes spell "OdKc". */
const APPLICATION_ID = 0x4f644b63;
const FORMAT_VERSION = 1;
/** How long to wait for another intake of this machine. */
const BUSY_MS = 5_000;
/** Rows per operation, so that neither a transaction nor a message becomes large. */
const ROWS_MAX = 20_000;

/** IDs only grow, also when a row is replaced: rows after the newest known ID are new. */
const SCHEMA = `
  create table if not exists secret (low integer not null, high integer not null) strict;
  create table if not exists known (
    id integer primary key autoincrement,
    fingerprint integer not null unique,
    day integer not null
  ) strict;`;

export class KnownFile {
  readonly secret: FingerprintSecret;
  readonly #path: string;
  readonly #countMax: number;
  #db: DatabaseSync;
  #newestId: number;
  #nextToLoad: number;
  #purgedOn: Day | null = null;

  /** Opens or creates the file; a foreign one is set aside. Throws the errors of SQLite or the disk. */
  constructor({ folder, countMax }: { folder: string; countMax: number }) {
    makeFolders(folder);
    this.#countMax = countMax;
    this.#path = join(folder, "known-checks.sqlite");
    const { db, secret, newestId } = openOrReplace(this.#path);
    this.#db = db;
    this.secret = secret;
    this.#newestId = newestId;
    this.#nextToLoad = newestId;
  }

  /** The next rows of what was known when the file was opened, newest first; null after the last. */
  load(): KnownList | null {
    const sql = "select id, fingerprint, day from known where id <= ? order by id desc limit ?";
    const rows = rowsOf(this.#db, sql, this.#nextToLoad, ROWS_MAX);
    this.#nextToLoad = (rows.at(-1)?.[0] ?? 0) - 1;
    return rows.length === 0 ? null : listOf(rows);
  }

  /** Writes local changes, and returns what others have written since the last call. */
  save(changes: KnownList, today: Day): KnownList {
    let rows: number[][] = [];
    inTransaction(this.#db, () => {
      const sql = "select id, fingerprint, day from known where id > ? order by id limit ?";
      rows = rowsOf(this.#db, sql, this.#newestId, ROWS_MAX);
      const insert = this.#db.prepare("insert or replace into known (fingerprint, day) values (?, ?)");
      for (let at = 0; at < changes.length; at += 2) insert.run(changes[at] ?? 0, changes[at + 1] ?? 0);
    });
    // Our own rows need not be read back, unless there are more new rows before them than fit one operation.
    const isAll = rows.length < ROWS_MAX;
    this.#newestId = isAll ? newestIdIn(this.#db) : (rows.at(-1)?.[0] ?? this.#newestId);
    if (this.#purgedOn !== today && this.#purge(today)) this.#purgedOn = today;
    return listOf(rows);
  }

  /** Recreates the file, with the same secret, after damage was found in it. */
  replace(): void {
    this.#db.close();
    setAside(this.#path);
    this.#db = openKnown(this.#path, this.secret).db;
    this.#newestId = 0;
    this.#nextToLoad = 0;
  }

  close(): void {
    this.#db.close();
  }

  /** Deletes some of the rows that are too old or too many; true if nothing is left to delete. */
  #purge(today: Day): boolean {
    const beyond = "select coalesce((select id from known order by id desc limit 1 offset ?), 0)";
    const lastBeyond = rowsOf(this.#db, beyond, this.#countMax)[0]?.[0] ?? 0;
    const old = "select id from known where day < ? or id <= ? limit ?";
    const remove = this.#db.prepare(`delete from known where id in (${old})`);
    return Number(remove.run(today - KNOWN_DAYS, lastBeyond, ROWS_MAX).changes) < ROWS_MAX;
  }
}

type OpenFile = { db: DatabaseSync; secret: FingerprintSecret; newestId: number };

function openOrReplace(path: string): OpenFile {
  try {
    return openKnown(path);
  } catch (error) {
    if (faultOf(error) !== "corrupt" || !existsSync(path)) throw error;
    setAside(path);
    return openKnown(path);
  }
}

function setAside(path: string): void {
  renameSync(path, `${path}.set-aside`);
  for (const suffix of ["-wal", "-shm"]) rmSync(path + suffix, { force: true });
}

/** Counts as damaged, like a file that is not a database. */
class ForeignFile extends Error {
  override readonly name = "ForeignFile";
  readonly errcode = 26;
}

function openKnown(path: string, secretIfNew: FingerprintSecret = newSecret()): OpenFile {
  const db = new DatabaseSync(path, { timeout: BUSY_MS });
  try {
    requireVersion(db);
    if (isNew(db)) chmodSync(path, 0o600);
    // 1 is "normal": after a power failure the last seconds may be missing, which only means new lookups.
    setPragmas(db, { journal_mode: "wal", synchronous: 1 });
    inTransaction(db, () => {
      db.exec(`pragma application_id = ${APPLICATION_ID}; pragma user_version = ${FORMAT_VERSION}`);
      db.exec(SCHEMA);
      if (Number(firstValue(db, "select count(*) from secret")) > 0) return;
      db.prepare("insert into secret values (?, ?)").run(secretIfNew.low, secretIfNew.high);
    });
    return { db, secret: secretOf(db), newestId: newestIdIn(db) };
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Throws ForeignFile if it contains something that is not ours. */
function isNew(db: DatabaseSync): boolean {
  if (Number(firstValue(db, "select count(*) from sqlite_schema")) === 0) return true;
  const applicationId = Number(firstValue(db, "pragma application_id"));
  const version = Number(firstValue(db, "pragma user_version"));
  if (applicationId === APPLICATION_ID && version === FORMAT_VERSION) return false;
  throw new ForeignFile("belongs to another program");
}

function newSecret(): FingerprintSecret {
  const bytes = randomBytes(8);
  return { low: bytes.readInt32LE(0), high: bytes.readInt32LE(4) };
}

function newestIdIn(db: DatabaseSync): number {
  return Number(firstValue(db, "select coalesce(max(id), 0) from known"));
}

function secretOf(db: DatabaseSync): FingerprintSecret {
  const [row] = rowsOf(db, "select low, high from secret");
  if (row?.[0] === undefined || row[1] === undefined) throw new ForeignFile("contains no secret");
  return { low: row[0], high: row[1] };
}

/** Rows of whole numbers. */
function rowsOf(db: DatabaseSync, sql: string, ...parameters: number[]): number[][] {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  return statement.all(...parameters) as unknown as number[][];
}

function listOf(rows: readonly number[][]): KnownList {
  const list = new Float64Array(rows.length * 2);
  for (const [index, [, fingerprint = 0, day = 0]] of rows.entries()) {
    list[index * 2] = fingerprint satisfies Fingerprint;
    list[index * 2 + 1] = day;
  }
  return list;
}
