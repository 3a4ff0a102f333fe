// The checks that the intakes of this machine resolved in the last 30 days: while PostgreSQL is unavailable, only
// their signals are accepted. Used for every ping, so lookups are in memory. A file in the folder of the spool shares
// them between processes and keeps them for the next start. It is a cache: its errors never affect a ping, and a lost
// entry only means a new lookup.
import { randomBytes } from "node:crypto";
import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { DAY_MS, type Instant } from "../core/instant.ts";
import type { SignalTarget } from "../core/signal.ts";
import type { KnownTargets } from "./recorder.ts";

/** The first day of 1970 is 1; it fits 16 bits until the year 2149. */
type Day = number;
/** In place of the day on which it was last seen: it was removed. */
const FORGOTTEN: Day = 0;
/** For how many days after it was last seen a check is known. */
const KNOWN_DAYS = 30;
/** About 21 bytes of memory and 16 to 32 bytes of disk each. */
const KNOWN_CHECKS_MAX = 2_000_000;
const SAVE_EVERY_MS = 3_000;
/** Unwritten changes; beyond this number, a check is known only until the restart. */
const UNSAVED_MAX = 200_000;

// The file consists of records, which are only appended: fingerprint, day, and a checksum of both. The first one is the
// header: the secret of the fingerprints and, in place of the day, the version of the format.
const RECORD_BYTES = 16;
const DAY_AT = 8;
const CHECKSUM_AT = 12;
const FORMAT_VERSION = 1;
/** Read or appended in one turn of the event loop; in some of them, many tables grow. */
const PIECE_RECORDS = 1_024;
/** A smaller file is not rewritten. */
const REWRITE_BYTES_MIN = 1024 * 1024;
/** A draft is written within seconds; the process that left an older one is gone. */
const DRAFT_AGE_MS_MAX = 60_000;

/** The folder is that of the spool; without one, checks are known only until the restart. */
type Options = { folder: string | null; now: Instant; countMax?: number; saveEveryMs?: number };

/** Everything before the offset has been read. */
type KnownFile = { handle: FileHandle; inode: bigint; secret: number; offset: number };

/** Resolves when everything that was known before is in memory; also if the file cannot be used. */
export async function openKnownChecks(options: Options): Promise<KnownChecks> {
  const checks = new KnownChecks(options);
  await checks.save();
  return checks;
}

export class KnownChecks implements KnownTargets {
  readonly #path: string;
  readonly #hasFolder: boolean;
  readonly #tables: readonly KnownTable[];
  readonly #unsaved = new Map<Fingerprint, Day>();
  readonly #piece = Buffer.allocUnsafe(PIECE_RECORDS * RECORD_BYTES);
  readonly #timer: NodeJS.Timeout;
  /** As many random bits as a number can have. */
  #secret = Number(randomBytes(8).readBigUInt64LE() >> 11n);
  #fingerprintOf = fingerprintWith(this.#secret);
  #today: Day;
  #file: KnownFile | null = null;
  #saving: Promise<void> | null = null;
  #failed: string | null = null;

  constructor({ folder, now, countMax = KNOWN_CHECKS_MAX, saveEveryMs = SAVE_EVERY_MS }: Options) {
    this.#path = join(folder ?? "", "known-checks");
    this.#hasFolder = folder !== null;
    // Fingerprints are distributed evenly.
    this.#tables = Array.from({ length: TABLES }, () => new KnownTable(Math.floor(countMax / TABLES)));
    this.#today = dayOf(now);
    this.#timer = setInterval(() => void this.save(), saveEveryMs);
    this.#timer.unref();
  }

  /** Records that PostgreSQL has the target. */
  remember(target: SignalTarget, now: Instant): void {
    const fingerprint = this.#fingerprintOf(target);
    this.#today = dayOf(now);
    if (this.#set(fingerprint, this.#today)) this.#note(fingerprint, this.#today);
  }

  /** Whether the target was seen within the last 30 days by any intake of this machine. */
  knows(target: SignalTarget, now: Instant): boolean {
    const fingerprint = this.#fingerprintOf(target);
    return isRecent(this.#tables[fingerprint % TABLES]?.dayOf(fingerprint) ?? FORGOTTEN, dayOf(now));
  }

  /** Records that PostgreSQL does not have the target. */
  remove(target: SignalTarget): void {
    const fingerprint = this.#fingerprintOf(target);
    if (this.#set(fingerprint, FORGOTTEN)) this.#note(fingerprint, FORGOTTEN);
  }

  /** Writes changes and reads those of other intakes. Runs automatically every few seconds. */
  save(): Promise<void> {
    if (this.#hasFolder) this.#saving ??= this.#readAndWrite();
    return this.#saving ?? Promise.resolve();
  }

  /** With the number of unwritten changes, and why the file could not be read or written last time, or null. */
  state(): { count: number; unsaved: number; failed: string | null } {
    return { count: this.#count(), unsaved: this.#unsaved.size, failed: this.#failed };
  }

  /** Saves and closes the file; lookups in memory still work. Can be called twice. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#saving;
    await this.save();
    await this.#file?.handle.close().catch(() => {});
    this.#file = null;
  }

  #count(): number {
    return this.#tables.reduce((sum, { count }) => sum + count, 0);
  }

  #set(fingerprint: Fingerprint, day: Day): boolean {
    return this.#tables[fingerprint % TABLES]?.set(fingerprint, day) ?? false;
  }

  #note(fingerprint: Fingerprint, day: Day): void {
    if (this.#hasFolder && this.#unsaved.size < UNSAVED_MAX) this.#unsaved.set(fingerprint, day);
  }

  async #readAndWrite(): Promise<void> {
    try {
      const { offset } = await this.#upToDateFile();
      const isTooLarge = offset > REWRITE_BYTES_MIN && offset > 2 * RECORD_BYTES * this.#count();
      // Before anything is appended, so that a file that cannot be rewritten does not grow.
      if (isTooLarge) await this.#rewrite();
      await this.#append(await this.#upToDateFile());
      this.#failed = null;
    } catch (error) {
      this.#failed = error instanceof Error ? error.message : String(error);
    } finally {
      this.#saving = null;
    }
  }

  /** The file at the path, after everything in it was read. */
  async #upToDateFile(): Promise<KnownFile> {
    const found = await stat(this.#path, { bigint: true }).catch(() => null);
    let file = this.#file;
    if (file === null || found?.ino !== file.inode || found.size < file.offset) {
      this.#file = null;
      await file?.handle.close();
      const openIt = () => openFile(this.#path, { secret: this.#secret, isFixed: this.#count() > 0 });
      // The first attempt sets aside a foreign or damaged file.
      file = await openIt().catch(openIt);
      this.#file = file;
      this.#secret = file.secret;
      this.#fingerprintOf = fingerprintWith(file.secret);
    }
    await this.#read(file);
    return file;
  }

  /** Reads what was appended since the last time, in pieces, so that pings are handled in between. */
  async #read(file: KnownFile): Promise<void> {
    const bytes = this.#piece;
    for (;;) {
      const { bytesRead } = await file.handle.read(bytes, 0, bytes.length, file.offset);
      const end = bytesRead - (bytesRead % RECORD_BYTES);
      if (end === 0) return;
      for (let at = 0; at < end; at += RECORD_BYTES) {
        const [fingerprint, day] = [bytes.readDoubleLE(at), bytes.readUInt32LE(at + DAY_AT)];
        const isDamaged = bytes.readUInt32LE(at + CHECKSUM_AT) !== checksumAt(bytes, at);
        if (isDamaged || (day !== FORGOTTEN && !isRecent(day, this.#today))) continue;
        // A change that was made here and is not written yet is newer.
        if (!this.#unsaved.has(fingerprint)) this.#set(fingerprint, day);
      }
      file.offset += end;
    }
  }

  async #append(file: KnownFile): Promise<void> {
    // Changes made in the meantime wait for the next time, so that this ends.
    for (let left = this.#unsaved.size; left > 0; left -= PIECE_RECORDS) {
      const piece: [Fingerprint, Day][] = [];
      for (const change of this.#unsaved) {
        if (piece.push(change) === PIECE_RECORDS) break;
      }
      // After an interrupted write, the last record is incomplete.
      const { size } = await file.handle.stat();
      const padding = Buffer.alloc((RECORD_BYTES - (size % RECORD_BYTES)) % RECORD_BYTES);
      await file.handle.appendFile(Buffer.concat([padding, recordsOf(piece)]));
      for (const [fingerprint, day] of piece) {
        if (this.#unsaved.get(fingerprint) === day) this.#unsaved.delete(fingerprint);
      }
    }
  }

  /**
   * Replaces the file by one without outdated records. Other processes read it from the beginning when they save the
   * next time. What they append to the old one until then is lost, and appended again on another day.
   */
  async #rewrite(): Promise<void> {
    const path = `${this.#path}.new`;
    const left = await stat(path).catch(() => null);
    if (left !== null && Date.now() - left.mtimeMs > DRAFT_AGE_MS_MAX) await rm(path, { force: true });
    // Fails while another process rewrites the file.
    const draft = await open(path, "wx", 0o600);
    try {
      await draft.appendFile(headerWith(this.#secret));
      for (const table of this.#tables) await draft.appendFile(recordsOf(table.entries(this.#today)));
      // Otherwise the file could be empty after a power failure.
      await draft.datasync();
      await rename(path, this.#path);
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    } finally {
      await draft.close();
    }
  }
}

/** Opens the file, or creates it with the secret. Throws after it has set aside a foreign or damaged one. */
async function openFile(path: string, own: { secret: number; isFixed: boolean }): Promise<KnownFile> {
  const handle = await open(path, "a+", 0o600);
  try {
    const { size, ino: inode } = await handle.stat({ bigint: true });
    // If several processes do this at the same time, the first header counts, and the others are expired records.
    if (size === 0n) await handle.appendFile(headerWith(own.secret));
    const header = Buffer.alloc(RECORD_BYTES);
    await handle.read(header, 0, RECORD_BYTES, 0);
    const secret = header.readDoubleLE(0);
    if (!header.equals(headerWith(secret))) {
      // Unless another process has done this.
      if ((await stat(path, { bigint: true })).ino === inode) await rename(path, `${path}.set-aside`);
      throw new Error("the file was foreign or damaged");
    }
    // Happens if the file could not be created at the start. What is in memory cannot be converted to another secret.
    if (own.isFixed && secret !== own.secret)
      throw new Error("another process has created the file; it can be used after a restart");
    return { handle, inode, secret, offset: RECORD_BYTES };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function headerWith(secret: number): Buffer {
  return recordsOf([[secret, FORMAT_VERSION]]);
}

function recordsOf(entries: readonly [Fingerprint, Day][]): Buffer {
  const bytes = Buffer.alloc(entries.length * RECORD_BYTES);
  for (const [index, [fingerprint, day]] of entries.entries()) {
    const at = index * RECORD_BYTES;
    bytes.writeDoubleLE(fingerprint, at);
    bytes.writeUInt32LE(day, at + DAY_AT);
    bytes.writeUInt32LE(checksumAt(bytes, at), at + CHECKSUM_AT);
  }
  return bytes;
}

function checksumAt(bytes: Buffer, at: number): number {
  return crc32(bytes.subarray(at, at + CHECKSUM_AT));
}

function dayOf(now: Instant): Day {
  return Math.floor(now / DAY_MS) + 1;
}

function isRecent(day: Day, today: Day): boolean {
  return day !== FORGOTTEN && day >= today - KNOWN_DAYS;
}

/** More than one, so that growing or clearing one never delays pings for long. */
const TABLES = 256;
const SLOTS_MIN = 16;
/** A table is rebuilt beyond this load factor, so that searches stay short. */
const LOAD_MAX = 0.7;
/** If a table is full, this share of it is dropped at once, so that the cost is spread over many additions. */
const DROPPED_SHARE = 1 / 16;

/**
 * A hash table of the days on which fingerprints were last seen, with open addressing and ten bytes per slot. With two
 * million entries, a Map takes twice the memory, and its garbage collection 100 ms.
 */
export class KnownTable {
  /** Without those that are FORGOTTEN, which keep their slot until the table is rebuilt. */
  count = 0;
  readonly #countMax: number;
  /** Zero marks a free slot. */
  #fingerprints = new Float64Array(SLOTS_MIN);
  #days = new Uint16Array(SLOTS_MIN);
  #usedSlots = 0;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  /** FORGOTTEN if it is unknown. */
  dayOf(fingerprint: Fingerprint): Day {
    return this.#days[this.#slotOf(fingerprint)] ?? FORGOTTEN;
  }

  /** True if that is new: it was unknown or not yet seen on this day, or it was known and is FORGOTTEN now. */
  set(fingerprint: Fingerprint, day: Day): boolean {
    const before = this.dayOf(fingerprint);
    if (day === FORGOTTEN ? before === FORGOTTEN : before >= day) return false;
    const usedMax = Math.min(this.#countMax, Math.floor(this.#days.length * LOAD_MAX));
    if (before === FORGOTTEN && this.#usedSlots >= usedMax) this.#rebuild(day);
    this.#put(fingerprint, day);
    return true;
  }

  /** Those that were seen within the last 30 days. */
  entries(today: Day): [Fingerprint, Day][] {
    const entries: [Fingerprint, Day][] = [];
    for (const [slot, day] of this.#days.entries()) {
      if (isRecent(day, today)) entries.push([this.#fingerprints[slot] ?? 0, day]);
    }
    return entries;
  }

  /** Drops what is forgotten or expired and, if it is still full, some of what was seen longest ago; or grows. */
  #rebuild(today: Day): void {
    const [fingerprints, days] = [this.#fingerprints, this.#days];
    const kept = days.filter((day) => isRecent(day, today)).toSorted();
    let toDrop = kept.length < this.#countMax ? 0 : Math.ceil(kept.length * DROPPED_SHARE);
    const lastDropped = kept[toDrop - 1] ?? FORGOTTEN;
    const slots = kept.length - toDrop > days.length / 2 ? days.length * 2 : days.length;
    this.#fingerprints = new Float64Array(slots);
    this.#days = new Uint16Array(slots);
    this.#usedSlots = 0;
    this.count = 0;
    for (let slot = 0; slot < days.length; slot += 1) {
      const day = days[slot] ?? FORGOTTEN;
      if (!isRecent(day, today)) continue;
      if (toDrop > 0 && day <= lastDropped) toDrop -= 1;
      else this.#put(fingerprints[slot] ?? 0, day);
    }
  }

  #put(fingerprint: Fingerprint, day: Day): void {
    const slot = this.#slotOf(fingerprint);
    this.#usedSlots += Number(this.#fingerprints[slot] === 0);
    this.count += Number(day !== FORGOTTEN) - Number(this.#days[slot] !== FORGOTTEN);
    this.#fingerprints[slot] = fingerprint;
    this.#days[slot] = day;
  }

  /** The slot of the fingerprint, or the free one where it belongs. */
  #slotOf(fingerprint: Fingerprint): number {
    const fingerprints = this.#fingerprints;
    const mask = fingerprints.length - 1;
    // Other bits of the number than for the choice of the table.
    let slot = Math.floor(fingerprint / TABLES) & mask;
    while (fingerprints[slot] !== fingerprint && fingerprints[slot] !== 0) slot = (slot + 1) & mask;
    return slot;
  }
}

// A number that identifies the target of a signal: a keyed hash with a secret of this machine, short enough to keep
// millions of them in memory. Collisions cannot be created on purpose. Ping URLs are secrets; with this, neither memory
// nor disk contains them.

/**
 * A whole number from 1 to 2^53 - 1. With two million known ones, the probability that an unknown target matches is 2
 * · 10^-10.
 */
type Fingerprint = number;

const HIGH_BITS = 21;
const TWO_TO_32 = 2 ** 32;

/** The fingerprint function for a secret, a random whole number up to 2^53 - 1. */
export function fingerprintWith(secret: number): (target: SignalTarget) => Fingerprint {
  const hash = halfSipHash({ keyLow: secret | 0, keyHigh: Math.floor(secret / TWO_TO_32) });
  return (target) => {
    const texts = target.by === "uuid" ? [target.uuid] : [target.pingKey, target.slug];
    const { low, high } = hash(wordsOf(texts));
    // Zero means "nothing".
    return (high >>> (32 - HIGH_BITS)) * TWO_TO_32 + (low >>> 0) || 1;
  };
}

/** The length and then the code units of each text, two per word, so that two consecutive texts cannot be confused. */
function wordsOf(texts: readonly string[]): number[] {
  const words: number[] = [];
  for (const text of texts) {
    words.push(text.length);
    for (let at = 0; at < text.length; at += 2) {
      const second = at + 1 < text.length ? text.charCodeAt(at + 1) : 0;
      words.push(text.charCodeAt(at) | (second << 16));
    }
  }
  return words;
}

/** HalfSipHash 2-4 with a 64-bit result, over words of 32 bits. It takes a third of the time of SHA-256. */
export function halfSipHash({ keyLow, keyHigh }: { keyLow: number; keyHigh: number }) {
  return (words: readonly number[]): { low: number; high: number } => {
    const { length } = words;
    let v0 = keyLow;
    let v1 = keyHigh ^ 0xee;
    let v2 = keyLow ^ 0x6c796765;
    let v3 = keyHigh ^ 0x74656462;
    let low = 0;
    // After the words comes the number of bytes, of which only the lowest eight bits count, and then the two halves of
    // the result.
    for (let at = 0; at < length + 3; at += 1) {
      const word = at === length ? (length * 4) << 24 : (words[at] ?? 0);
      v3 ^= word;
      for (let round = at > length ? 4 : 2; round > 0; round -= 1) {
        v0 = (v0 + v1) | 0;
        v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
        v0 = (v0 << 16) | (v0 >>> 16);
        v2 = (v2 + v3) | 0;
        v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
        v0 = (v0 + v3) | 0;
        v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
        v2 = (v2 + v1) | 0;
        v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
        v2 = (v2 << 16) | (v2 >>> 16);
      }
      v0 ^= word;
      if (at === length) v2 ^= 0xee;
      if (at === length + 1) {
        low = v1 ^ v3;
        v1 ^= 0xdd;
      }
    }
    return { low, high: v1 ^ v3 };
  };
}
