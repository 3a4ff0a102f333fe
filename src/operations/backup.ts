// Backup and restore: writes all tables as of one moment into an archive, with the bodies from the object store, and
// loads such an archive into an empty database. docs/operate/backup.md describes the archive.
import { createHash, type Hash } from "node:crypto";
import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompress } from "node:zlib";
import {
  BACKUP_FORMAT,
  BackupError,
  type BackupHeader,
  type BackupTable,
  BODIES_SECTION,
  checkTables,
  countMigrations,
  HEADER_NAME,
  MANIFEST_NAME,
  orderTables,
  PACKED_PART_BYTES_MAX,
  parseHeader,
  PART_BYTES_MAX,
  partName,
  type Place,
  placeAfter,
  renderManifest,
  sectionsOf,
  SETTINGS_NAME,
  tableSection,
  type Tally,
  TEXT_BYTES_MAX,
} from "../core/backup.ts";
import type { Instant } from "../core/instant.ts";
import { type ObjectStore, ObjectStoreError } from "../lib/object-store.ts";
import { type ReadFile, readTar, TarError, tarEnd, tarFile } from "../lib/tar.ts";
import {
  analyze,
  beginSnapshot,
  bodyLine,
  COPY_BODIES_IN,
  copyTableIn,
  copyTableOut,
  emptyTables,
  expectBodies,
  listAppliedMigrations,
  listMovedBodies,
  lockTables,
  type MovedBody,
  placeBodies,
  readCatalog,
  setIdentity,
} from "../store/backup.ts";
import type { CopyIn, CopySink } from "../store/copy.ts";
import type { Database, DatabaseOptions } from "../store/db.ts";
import { postgresErrorName, sqlStateOf } from "../store/errors.ts";
import { createSchema, listOwnMigrations, migrate, verifyWritable } from "../store/migrate.ts";
import { type BulkTx, inBulkTransaction } from "../store/transaction.ts";
import { type AdminNotice, markRestored } from "./database-identity.ts";

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);
/** Little processor time: the server that receives pings may run on the same machine. */
const COMPRESSION = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };

const NEWLINE = 10;
/** Rows of the list of bodies that are read at a time. */
const BODIES_LISTED_MAX = 1_000;
/** Bodies that are requested from the object store at the same time; all are in memory. */
const BODIES_AT_ONCE_MAX = 4;

/** Where an archive is written. */
export type BackupSink = {
  write(bytes: Buffer): Promise<void>;
};

/** Where an archive is read. Each call begins at the start. */
export type BackupSource = () => AsyncIterable<Uint8Array>;

export type BackupProgress = {
  section: string;
  /** Number of the section, and of sections. */
  at: number;
  of: number;
  /** Rows so far, of all sections. */
  rows: number;
  /** Bytes of the archive so far. */
  bytes: number;
};

export type BackupOptions = {
  database: Database;
  databaseOptions: DatabaseOptions;
  sink: BackupSink;
  /** Null if none is configured. */
  objects: Pick<ObjectStore, "get"> | null;
  version: string;
  settings: { text: string; hasSecrets: boolean };
  onProgress: (progress: BackupProgress) => void;
};

export type BackupSummary = {
  createdAt: string;
  tables: number;
  rows: number;
  /** Bodies from the object store. */
  bodies: number;
  /** Bodies that were deleted in the object store before they could be read. */
  bodiesMissing: number;
  bytes: number;
};

/** Writes a backup. The tables are locked against migrations while they are copied, but not while bodies are. */
export async function writeBackup(options: BackupOptions): Promise<BackupSummary> {
  const { database, databaseOptions, objects } = options;
  const { archive, header } = await inBulkTransaction(databaseOptions, { kind: "snapshot" }, async (tx) => {
    const at = await beginSnapshot(tx).catch(explainLock);
    const { tables, references } = await readCatalog(tx);
    const begun = await beginArchive(options, {
      at,
      tables: orderTables(tables, references),
      migrations: await listAppliedMigrations(tx),
    });
    await lockTables(tx, begun.header.tables).catch(explainLock);
    for (const table of begun.header.tables) {
      await begun.archive.section(tableSection(table.name), (sink) => tx.copyOut(copyTableOut(table), sink));
    }
    return begun;
  });
  let bodiesMissing = 0;
  await archive.section(BODIES_SECTION, async (sink) => {
    bodiesMissing = await copyBodies(database, { objects, sink });
  });
  await archive.end();
  const bodies = archive.tallies.get(BODIES_SECTION)?.rows ?? 0;
  return {
    createdAt: header.createdAt,
    tables: header.tables.length,
    rows: archive.rows() - bodies,
    bodies,
    bodiesMissing,
    bytes: archive.bytes(),
  };
}

function explainLock(error: unknown): never {
  if (postgresErrorName(error) !== "lock_not_available") throw error;
  throw new BackupError(
    "Another session, such as a migration, has locked a table for a minute. Run the backup again when it has ended.",
  );
}

type Archive = {
  tallies: ReadonlyMap<string, Tally>;
  rows(): number;
  bytes(): number;
  /** Writes one section with what `fill` gives to the sink. */
  section(name: string, fill: (sink: CopySink) => Promise<void>): Promise<void>;
  end(): Promise<void>;
};

async function beginArchive(
  { sink, version, settings, onProgress }: BackupOptions,
  { at, tables, migrations }: { at: Instant; tables: BackupTable[]; migrations: BackupHeader["migrations"] },
): Promise<{ archive: Archive; header: BackupHeader }> {
  const header: BackupHeader = {
    format: BACKUP_FORMAT,
    version,
    createdAt: new Date(at).toISOString(),
    migrations,
    tables,
    hasSecrets: settings.hasSecrets,
  };
  const sections = sectionsOf(header);
  const tallies = new Map<string, Tally>();
  const digest = createHash("sha256");
  let bytes = 0;
  let rows = 0;
  const add = async (name: string, content: Buffer) => {
    const file = tarFile({ name, bytes: content }, { modifiedAt: at });
    digest.update(file);
    bytes += file.length;
    await sink.write(file);
  };
  await add(HEADER_NAME, Buffer.from(`${JSON.stringify(header, null, 2)}\n`));
  await add(SETTINGS_NAME, Buffer.from(settings.text));
  const section: Archive["section"] = async (name, fill) => {
    const tally = startTally();
    let parts = 0;
    const note = () =>
      onProgress({
        section: name,
        at: sections.indexOf(name) + 1,
        of: sections.length,
        rows: rows + tally.rows,
        bytes,
      });
    note();
    const parting = partSink(async (part) => {
      addTo(tally, part);
      parts += 1;
      await add(partName(name, parts), await compress(part, COMPRESSION));
      note();
    });
    await fill(parting.sink);
    await parting.end();
    rows += tally.rows;
    tallies.set(name, endTally(tally));
  };
  const end = async () => {
    await add(MANIFEST_NAME, Buffer.from(renderManifest(tallies, { digest: digest.copy().digest("hex") })));
    bytes += tarEnd().length;
    await sink.write(tarEnd());
  };
  return { header, archive: { tallies, rows: () => rows, bytes: () => bytes, section, end } };
}

/** Collects data into parts of a fixed size. The sender waits while a part is written. */
function partSink(write: (part: Buffer) => Promise<void>): { sink: CopySink; end(): Promise<void> } {
  let part = Buffer.allocUnsafe(PART_BYTES_MAX);
  let filled = 0;
  let writing: Promise<void> = Promise.resolve();
  const flush = () => {
    const full = part.subarray(0, filled);
    part = Buffer.allocUnsafe(PART_BYTES_MAX);
    filled = 0;
    writing = writing.then(() => write(full));
    // The sender gets the error; without a sender it is that of `end`.
    writing.catch(() => {});
  };
  return {
    sink: (chunk) => {
      let isFlushed = false;
      for (let at = 0; at < chunk.length; ) {
        const count = chunk.copy(part, filled, at);
        at += count;
        filled += count;
        if (filled < PART_BYTES_MAX) continue;
        flush();
        isFlushed = true;
      }
      return isFlushed ? writing : null;
    },
    end: async () => {
      if (filled > 0) flush();
      await writing;
    },
  };
}

type OpenTally = { rows: number; bytes: number; digest: Hash };

function startTally(): OpenTally {
  return { rows: 0, bytes: 0, digest: createHash("sha256") };
}

/** In the text format of COPY, a newline always ends a row. */
function addTo(tally: OpenTally, data: Buffer): void {
  for (let at = data.indexOf(NEWLINE); at !== -1; at = data.indexOf(NEWLINE, at + 1)) tally.rows += 1;
  tally.bytes += data.length;
  tally.digest.update(data);
}

function endTally({ rows, bytes, digest }: OpenTally): Tally {
  return { rows, bytes, sha256: digest.digest("hex") };
}

/**
 * Copies bodies from the object store. It lists those of now instead of those of the snapshot, which would have to
 * stay open: bodies that were moved since are in the backup twice, and those that were deleted since may be gone from
 * the store anyway. Returns how many were gone.
 */
async function copyBodies(
  database: Database,
  { objects, sink }: { objects: BackupOptions["objects"]; sink: CopySink },
): Promise<number> {
  let after = { checkId: 0, n: 0 };
  let missing = 0;
  for (;;) {
    const listed = await listMovedBodies(database, { after, limit: BODIES_LISTED_MAX });
    const last = listed.at(-1);
    if (last === undefined) return missing;
    if (objects === null) {
      throw new BackupError(
        "Ping bodies are in an object store, but none is configured. Set OVERDUE_S3_BUCKET and the other S3 settings " +
          "of the server.",
      );
    }
    for (let at = 0; at < listed.length; at += BODIES_AT_ONCE_MAX) {
      const some = listed.slice(at, at + BODIES_AT_ONCE_MAX);
      const found = await Promise.all(some.map((body) => bodyOrNull(objects, body)));
      for (const [index, body] of some.entries()) {
        const bytes = found[index] ?? null;
        if (bytes === null) missing += 1;
        else await sink(bodyLine(body, bytes));
      }
    }
    after = last;
  }
}

async function bodyOrNull(
  objects: Pick<ObjectStore, "get">,
  { objectKey }: MovedBody,
): Promise<Buffer | null> {
  try {
    return await objects.get(objectKey);
  } catch (error) {
    if (!(error instanceof ObjectStoreError)) throw error;
    if (error.kind === "missing") return null;
    throw new BackupError(`The object store failed: ${error.message}. Run the backup again when it works.`);
  }
}

export type RestoreProgress = {
  step: "verify" | "load";
  section: string;
  rows: number;
  /** Bytes of the archive so far. */
  bytes: number;
};

export type Verified = { header: BackupHeader; rows: number; bodies: number; bytes: number };

type Visitor = {
  header(header: BackupHeader): Promise<void>;
  /** Data of a section, in order. */
  data(section: string, data: Buffer): Promise<void>;
};

/** Reads the whole archive and checks it. Throws BackupError if anything differs from what was written. */
export function verifyBackup(
  source: BackupSource,
  { onProgress }: { onProgress: (progress: RestoreProgress) => void },
): Promise<Verified> {
  const visitor = { header: async () => {}, data: async () => {} };
  return readBackup(source, { step: "verify", visitor, onProgress });
}

async function readBackup(
  source: BackupSource,
  {
    step,
    visitor,
    onProgress,
  }: { step: RestoreProgress["step"]; visitor: Visitor; onProgress: (progress: RestoreProgress) => void },
): Promise<Verified> {
  const digest = createHash("sha256");
  const tallies = new Map<string, OpenTally>();
  let header: BackupHeader | null = null;
  let sections: string[] = [];
  let hasSettings = false;
  let hasEnded = false;
  let at: Place = { section: -1, parts: 0 };
  let bytes = 0;
  let rows = 0;
  const sizeMax = (name: string) => (name.endsWith(".zst") ? PACKED_PART_BYTES_MAX : TEXT_BYTES_MAX);
  const take = async ({ name, bytes: content, raw }: ReadFile) => {
    if (header === null) {
      if (name !== HEADER_NAME) throw new BackupError(NOT_A_BACKUP);
      header = parseHeader(content.toString("utf8"));
      sections = sectionsOf(header);
      for (const section of sections) tallies.set(section, startTally());
      await visitor.header(header);
    } else if (!hasSettings) {
      if (name !== SETTINGS_NAME) throw damaged(`${SETTINGS_NAME} is missing`);
      hasSettings = true;
    } else if (hasEnded) {
      throw damaged(`there is a file after ${MANIFEST_NAME}`);
    } else if (name === MANIFEST_NAME) {
      hasEnded = true;
      const found = new Map([...tallies].map(([section, tally]) => [section, endTally(tally)]));
      if (content.toString("utf8") !== renderManifest(found, { digest: digest.copy().digest("hex") })) {
        throw damaged("its checksums do not match its contents");
      }
    } else {
      const place = placeAfter(name, { sections, at });
      const section = place === null ? undefined : sections[place.section];
      const tally = section === undefined ? undefined : tallies.get(section);
      if (place === null || section === undefined || tally === undefined) {
        throw damaged(`the file ${JSON.stringify(name)} does not belong there`);
      }
      at = place;
      const data = await unpacked(content, name);
      const before = tally.rows;
      addTo(tally, data);
      rows += tally.rows - before;
      await visitor.data(section, data);
      onProgress({ step, section, rows, bytes });
    }
    for (const part of raw) digest.update(part);
    for (const part of raw) bytes += part.length;
  };
  try {
    for await (const file of readTar(source(), { sizeMax })) await take(file);
  } catch (error) {
    if (!(error instanceof TarError)) throw error;
    throw header === null ? new BackupError(NOT_A_BACKUP) : damaged(error.message);
  }
  if (header === null) throw new BackupError(NOT_A_BACKUP);
  if (!hasEnded) throw damaged("its end is missing");
  const bodies = tallies.get(BODIES_SECTION)?.rows ?? 0;
  return { header, rows: rows - bodies, bodies, bytes: bytes + tarEnd().length };
}

const NOT_A_BACKUP = "The file is not a backup made by `overdue backup`, or it is damaged.";

function damaged(how: string): BackupError {
  return new BackupError(`The backup is damaged or was altered: ${how}. Use another copy of it.`);
}

async function unpacked(content: Buffer, name: string): Promise<Buffer> {
  try {
    return await decompress(content, { maxOutputLength: PART_BYTES_MAX });
  } catch {
    throw damaged(`${name} cannot be decompressed`);
  }
}

export type RestoreOptions = {
  databaseOptions: DatabaseOptions;
  source: BackupSource;
  /** Whether bodies can be moved to an object store later. */
  hasObjectStore: boolean;
  notice: AdminNotice;
  onProgress: (progress: RestoreProgress) => void;
  /** Other migrations, for tests. */
  directory?: string;
};

export type Restored = Verified & {
  /** Bodies that were gone from the object store when the backup was made. */
  bodiesMissing: number;
  /** Migrations that are newer than the backup. */
  migrated: string[];
};

/**
 * Restores into an empty database, which stays empty if anything fails. The data is in safe mode afterward. Throws
 * BackupError if the archive is invalid, and UnusableDatabaseError if the database is not empty.
 */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const { databaseOptions, source, onProgress, directory } = options;
  const where = directory === undefined ? {} : { directory };
  const { header } = await verifyBackup(source, { onProgress });
  const count = countMigrations(header, listOwnMigrations(directory));
  await verifyWritable(databaseOptions);
  const loaded = await inBulkTransaction(databaseOptions, { kind: "load" }, async (tx) => {
    await createSchema(tx, { count, ...where });
    const read = await loadTables(tx, { header, options });
    for (const table of header.tables) await setIdentity(tx, table);
    const { missing } = await placeBodies(tx, options);
    await markRestored(tx, {
      ...options.notice,
      reason: `It was restored from the backup of ${header.createdAt}.`,
    });
    await analyze(tx);
    return { ...read, bodiesMissing: missing };
  });
  const migrated = await migrate({ ...databaseOptions, ...where });
  return { ...loaded, migrated };
}

async function loadTables(
  tx: BulkTx,
  { header: verified, options: { source, onProgress } }: { header: BackupHeader; options: RestoreOptions },
): Promise<Verified> {
  checkTables(verified, await readCatalog(tx));
  await emptyTables(tx, verified.tables);
  await expectBodies(tx);
  const sqlOf = new Map(verified.tables.map((table) => [tableSection(table.name), copyTableIn(table)]));
  sqlOf.set(BODIES_SECTION, COPY_BODIES_IN);
  let open: { section: string; copy: CopyIn } | null = null;
  const close = async () => {
    if (open === null) return;
    const { section, copy } = open;
    open = null;
    await copy.end().catch((error: unknown) => {
      throw refusedBy(error, section);
    });
  };
  const visitor: Visitor = {
    // The file may have been replaced since it was verified.
    header: async (header) => {
      if (JSON.stringify(header) !== JSON.stringify(verified)) throw damaged("it changed while it was read");
    },
    data: async (section, data) => {
      if (open?.section !== section) {
        await close();
        open = { section, copy: await tx.copyIn(sqlOf.get(section) ?? "") };
      }
      await open.copy.write(data).catch((error: unknown) => {
        throw refusedBy(error, section);
      });
    },
  };
  const loaded = await readBackup(source, { step: "load", visitor, onProgress });
  await close();
  return loaded;
}

/** The database refuses values that no backup of this schema has. Other errors are passed on. */
function refusedBy(error: unknown, section: string): unknown {
  if (!/^2[23]/.test(sqlStateOf(error) ?? "")) return error;
  const said = error instanceof Error ? error.message : String(error);
  return new BackupError(
    `The database refused the data of ${section}: ${said}. The backup was altered. Nothing was restored.`,
  );
}
