// One spool file: numbered batches of one intake, in SQLite, under a lock that is held while the file is open. A
// process that holds such a file must not open it by other means than SQLite: closing that other descriptor would
// release the lock. Runs only in the spool's thread, because every call waits for the disk.
import { rmSync, statSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import type { Instant } from "../../core/instant.ts";
import { describeFault, faultOf, firstValue, inTransaction } from "../sqlite.ts";

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

export const SPOOL_SCHEMA = `
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
    const lanes = db.prepare("select lane, max(seq) as seq, count(*) as count from batch group by lane").all();
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
    const found = this.#db.prepare("select checksum, payload from batch where position = ?").get(head.position);
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
export function discardFile({ db, path }: { db: DatabaseSync; path: string }): void {
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
