// The layout of a backup file, which tables it has and in which order, and what a valid one looks like.

/** Raised when a file of an older program version could no longer be read. */
export const BACKUP_FORMAT = 1;

/** Data of a table is cut into parts of this size, so that neither side needs more memory than a few of them. */
export const PART_BYTES_MAX = 4 * 1024 * 1024;
/** A compressed part: compression can add a little to data that it cannot make smaller. */
export const PACKED_PART_BYTES_MAX = PART_BYTES_MAX + 64 * 1024;
/** The header lists tables and columns, the manifest tables, and the settings are a page of text. */
export const TEXT_BYTES_MAX = 1024 * 1024;
const NAME_LENGTH_MAX = 63;
const TABLES_MAX = 1_000;
const COLUMNS_MAX = 1_000;

/** The backup cannot be written or restored. The message says why, and what to do. */
export class BackupError extends Error {
  override readonly name = "BackupError";
}

/**
 * Tables that a backup leaves out. The first two are written by the migrations. The others hold sign-ins that have
 * begun or are open: a session that was ended after the backup must not be valid again.
 */
const LEFT_OUT: readonly string[] = [
  "migration_checksums",
  "schema_migrations",
  "identity_challenges",
  "sessions",
  "sign_in_steps",
];

export type BackupTable = {
  name: string;
  /** In the order of the data. */
  columns: readonly string[];
  /** The identity column and the last number it gave; null if the table has none. */
  identity: { column: string; last: string | null } | null;
};

/** A foreign key: rows of `from` refer to rows of `to`. */
export type Reference = { from: string; to: string };

/** The tables of a backup, each after those that it refers to. Throws if references form a cycle. */
export function orderTables<T extends { name: string }>(
  tables: readonly T[],
  references: readonly Reference[],
): T[] {
  const left = tables
    .filter(({ name }) => !LEFT_OUT.includes(name))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const ordered: T[] = [];
  while (left.length > 0) {
    const index = left.findIndex(({ name }) => !isWaiting(name, { left, references }));
    if (index === -1) throw new BackupError("The foreign keys of the tables form a cycle.");
    ordered.push(...left.splice(index, 1));
  }
  return ordered;
}

function isWaiting(
  name: string,
  { left, references }: { left: readonly { name: string }[]; references: readonly Reference[] },
): boolean {
  return references.some(
    ({ from, to }) => from === name && to !== name && left.some((other) => other.name === to),
  );
}

export type Migration = { name: string; checksum: string };

/** The first file of a backup. */
export type BackupHeader = {
  format: number;
  /** The program version that wrote it. */
  version: string;
  /** Everything that was confirmed before this time is in the backup. */
  createdAt: string;
  migrations: readonly Migration[];
  tables: readonly BackupTable[];
  hasSecrets: boolean;
};

export const HEADER_NAME = "header.json";
export const SETTINGS_NAME = "settings.env";
export const MANIFEST_NAME = "manifest.json";
/** The section of bodies that were in the object store, after those of the tables. */
export const BODIES_SECTION = "bodies";

/** A section of the data: the rows of one table, or the bodies. */
export function tableSection(table: string): string {
  return `tables/${table}`;
}

const PART_DIGITS = 6;

export function partName(section: string, number: number): string {
  return `${section}/${String(number).padStart(PART_DIGITS, "0")}.copy.zst`;
}

/** How much was found in a section. The digest is that of the uncompressed data. */
export type Tally = { rows: number; bytes: number; sha256: string };

/**
 * The last file of a backup. A reader makes the same text from what it has read, so every byte of it is checked.
 * `digest` is the SHA-256 of the archive up to this file.
 */
export function renderManifest(sections: ReadonlyMap<string, Tally>, { digest }: { digest: string }): string {
  const totals = Object.fromEntries(sections);
  return `${JSON.stringify({ format: BACKUP_FORMAT, sections: totals, archive_sha256: digest }, null, 2)}\n`;
}

/** The sections of a backup, in order. */
export function sectionsOf({ tables }: BackupHeader): string[] {
  return [...tables.map(({ name }) => tableSection(name)), BODIES_SECTION];
}

/** How far a reader is: the section of the last part, and how many parts of it came. */
export type Place = { section: number; parts: number };

/**
 * The place after a part with this name. Sections come in order, parts are numbered from 1, and a section without
 * rows has none. Null: no such part may follow.
 */
export function placeAfter(
  name: string,
  { sections, at }: { sections: readonly string[]; at: Place },
): Place | null {
  const current = sections[at.section];
  if (current !== undefined && name === partName(current, at.parts + 1)) {
    return { section: at.section, parts: at.parts + 1 };
  }
  const section = sections.findIndex((one, index) => index > at.section && name === partName(one, 1));
  return section === -1 ? null : { section, parts: 1 };
}

/** The header of a backup. Throws BackupError if it is not one, or is of a newer format. */
export function parseHeader(text: string): BackupHeader {
  let header: unknown;
  try {
    header = JSON.parse(text);
  } catch {
    throw notABackup();
  }
  if (!isRecord(header) || typeof header["format"] !== "number") throw notABackup();
  const { format, version } = header;
  if (format > BACKUP_FORMAT) {
    throw new BackupError(
      `The backup was written by a newer version of Overdue (${shown(version)}). Restore it with that version or a later one.`,
    );
  }
  if (format !== BACKUP_FORMAT || !isHeader(header)) throw notABackup();
  return header;
}

function notABackup(): BackupError {
  return new BackupError("The file is not a backup made by `overdue backup`, or it is damaged.");
}

function shown(version: unknown): string {
  return typeof version === "string" ? version.slice(0, NAME_LENGTH_MAX) : "unknown";
}

function isHeader(header: Record<string, unknown>): header is BackupHeader {
  const { version, createdAt, migrations, tables, hasSecrets } = header;
  return (
    isName(version) &&
    typeof createdAt === "string" &&
    !Number.isNaN(Date.parse(createdAt)) &&
    isListOf(migrations, TABLES_MAX, isMigration) &&
    isListOf(tables, TABLES_MAX, isTable) &&
    new Set(tables.map(({ name }) => name)).size === tables.length &&
    typeof hasSecrets === "boolean"
  );
}

function isMigration(given: unknown): given is Migration {
  return isRecord(given) && isName(given["name"]) && /^[0-9a-f]{64}$/.test(String(given["checksum"]));
}

function isTable(given: unknown): given is BackupTable {
  if (!isRecord(given) || !isIdentifier(given["name"])) return false;
  const { columns, identity } = given;
  if (!isListOf(columns, COLUMNS_MAX, isIdentifier)) return false;
  if (identity === null) return true;
  if (!isRecord(identity) || !isIdentifier(identity["column"])) return false;
  const { last } = identity;
  return last === null || (typeof last === "string" && /^\d{1,18}$/.test(last));
}

function isListOf<T>(given: unknown, max: number, is: (one: unknown) => one is T): given is T[] {
  return Array.isArray(given) && given.length <= max && given.every(is);
}

function isName(given: unknown): given is string {
  return typeof given === "string" && given.length > 0 && given.length <= NAME_LENGTH_MAX;
}

function isIdentifier(given: unknown): given is string {
  return isName(given) && /^[a-z_][a-z0-9_]*$/.test(given);
}

function isRecord(given: unknown): given is Record<string, unknown> {
  return typeof given === "object" && given !== null && !Array.isArray(given);
}

/**
 * How many of this program's migrations the backup has. Throws BackupError unless it has exactly the first ones: its
 * schema is then one that this program can create.
 */
export function countMigrations(header: BackupHeader, ours: readonly Migration[]): number {
  const { migrations, version } = header;
  for (const [index, { name, checksum }] of migrations.entries()) {
    const own = ours[index];
    if (own === undefined) {
      throw new BackupError(
        `The backup was written by a newer version of Overdue (${shown(version)}): the migration ${name} is unknown here. ` +
          "Restore it with that version or a later one.",
      );
    }
    if (own.name !== name || own.checksum !== checksum) {
      throw new BackupError(
        `The backup has the migration ${name}, which is not one of this version of Overdue. ` +
          `Restore it with the version that wrote it (${shown(version)}).`,
      );
    }
  }
  if (migrations.length === 0) throw notABackup();
  return migrations.length;
}

/** Throws BackupError unless the tables are those of the schema, in an order in which they can be loaded. */
export function checkTables(
  header: BackupHeader,
  { tables, references }: { tables: readonly BackupTable[]; references: readonly Reference[] },
): void {
  const describe = ({ name, columns, identity }: BackupTable) =>
    `${name} (${columns.toSorted().join(", ")}) ${identity?.column ?? ""}`;
  const theirs = header.tables.map(describe);
  const ours = orderTables(tables, references).map(describe);
  const names = header.tables.map(({ name }) => name);
  const isOrdered = references.every(
    ({ from, to }) => !names.includes(from) || names.indexOf(to) <= names.indexOf(from),
  );
  if (isOrdered && theirs.toSorted().join("\n") === ours.toSorted().join("\n")) return;
  throw new BackupError("The backup is damaged or was altered: its tables do not match its schema version.");
}
