// What a backup reads and a restore writes, apart from the rows: the catalog, identity columns, and moved bodies.
import type { BackupTable, Migration, Reference } from "../core/backup.ts";
import type { Instant } from "../core/instant.ts";
import { type Db, statement } from "./db.ts";
import type { BulkTx, Tx } from "./transaction.ts";

/** Names come from the catalog, or were compared with it. */
const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** How long a backup waits for a table that a migration or an admin has locked. Nothing else waits behind it. */
const LOCK_WAIT_MS_MAX = 60_000;

/**
 * Keeps migrations from starting until the end of the transaction, and returns a time before its snapshot. Fails if
 * one is running.
 */
export async function beginSnapshot(tx: BulkTx): Promise<Instant> {
  await tx.run(`set local lock_timeout = ${LOCK_WAIT_MS_MAX}`);
  // Migrations write to this table. A lock takes no snapshot, so the snapshot comes after it.
  await tx.run("lock table migration_checksums in share mode");
  return (await tx.query(READ_BEGIN, [])).rows[0]?.at ?? Number.NaN;
}

const READ_BEGIN = statement<{ at: Instant }>({
  name: "backup.read_begin",
  text: "select transaction_timestamp() as at",
});

const LIST_MIGRATIONS = statement<Migration>({
  name: "backup.list_migrations",
  text: "select name, checksum from migration_checksums order by name",
});

/** The migrations that were applied. */
export async function listAppliedMigrations(db: Db): Promise<Migration[]> {
  return (await db.query(LIST_MIGRATIONS, [])).rows;
}

const OWN_SCHEMA = "(select oid from pg_namespace where nspname = current_schema())";

type TableRow = { name: string; columns: string[]; identity_column: string | null; sequence: string | null };

const LIST_TABLES = statement<TableRow>({
  name: "backup.list_tables",
  text: `select c.relname::text as name,
      array_agg(a.attname::text order by a.attnum) as columns,
      max(a.attname::text) filter (where a.attidentity <> '') as identity_column,
      max(pg_get_serial_sequence(quote_ident(c.relname), a.attname)) filter (where a.attidentity <> '') as sequence
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relkind = 'r' and c.relnamespace = ${OWN_SCHEMA}
    group by c.oid, c.relname order by c.relname`,
});

const LIST_REFERENCES = statement<Reference>({
  name: "backup.list_references",
  text: `select distinct f.relname::text as "from", t.relname::text as "to"
    from pg_constraint k join pg_class f on f.oid = k.conrelid join pg_class t on t.oid = k.confrelid
    where k.contype = 'f' and k.connamespace = ${OWN_SCHEMA}`,
});

/** The tables of the schema with the last number of their identity columns, and their foreign keys. */
export async function readCatalog(db: Db): Promise<{ tables: BackupTable[]; references: Reference[] }> {
  const { rows } = await db.query(LIST_TABLES, []);
  const tables: BackupTable[] = [];
  for (const row of rows) {
    const { identity_column: column, sequence } = row;
    const last =
      sequence === null ? null : ((await db.query(READ_SEQUENCE, [sequence])).rows[0]?.last ?? null);
    tables.push({
      name: row.name,
      columns: row.columns,
      identity: column === null ? null : { column, last },
    });
  }
  return { tables, references: (await db.query(LIST_REFERENCES, [])).rows };
}

const READ_SEQUENCE = statement<{ last: string | null }>({
  name: "backup.read_sequence",
  text: "select pg_sequence_last_value($1::regclass)::text as last",
});

/** Keeps the tables as they are until the end of the transaction. */
export async function lockTables(tx: BulkTx, tables: readonly BackupTable[]): Promise<void> {
  await tx.run(`lock table ${tables.map(({ name }) => quoted(name)).join(", ")} in access share mode`);
}

const columnsOf = ({ name, columns }: BackupTable) => `${quoted(name)} (${columns.map(quoted).join(", ")})`;

/** SQL that writes the rows of a table to the client. */
export function copyTableOut(table: BackupTable): string {
  return `copy ${columnsOf(table)} to stdout`;
}

/** SQL that reads the rows of a table from the client. */
export function copyTableIn(table: BackupTable): string {
  return `copy ${columnsOf(table)} from stdin`;
}

/** Removes the rows that migrations have inserted. */
export async function emptyTables(tx: BulkTx, tables: readonly BackupTable[]): Promise<void> {
  await tx.run(`truncate ${tables.map(({ name }) => quoted(name)).join(", ")} cascade`);
}

/** Continues the numbers of an identity column after the last one that was given. */
export async function setIdentity(tx: BulkTx, { name, identity }: BackupTable): Promise<void> {
  if (identity === null) return;
  const { column, last } = identity;
  await tx.run(
    `select setval(pg_get_serial_sequence('${quoted(name)}', '${column}'), last, true)
      from (select greatest(${last ?? "null"}, max(${quoted(column)})) as last from ${quoted(name)}) as numbers
      where last is not null`,
  );
}

export type MovedBody = { checkId: number; n: number; objectKey: string };

type MovedRow = { check_id: number; n: number; object_key: string };

const LIST_MOVED_BODIES = statement<MovedRow>({
  name: "backup.list_moved_bodies",
  text: `select check_id, n, object_key from ping_bodies
    where body is null and (check_id, n) > ($1, $2) order by check_id, n limit $3`,
});

/** Bodies that are in the object store, in order, after a given one. */
export async function listMovedBodies(
  db: Db,
  { after, limit }: { after: { checkId: number; n: number }; limit: number },
): Promise<MovedBody[]> {
  const { rows } = await db.query(LIST_MOVED_BODIES, [after.checkId, after.n, limit]);
  return rows.map((row) => ({ checkId: row.check_id, n: row.n, objectKey: row.object_key }));
}

/** One line of the section of bodies, in the text format of COPY. */
export function bodyLine({ checkId, n }: Pick<MovedBody, "checkId" | "n">, body: Buffer): Buffer {
  return Buffer.from(`${checkId}\t${n}\t\\\\x${body.toString("hex")}\n`, "latin1");
}

/** Prepares `COPY_BODIES_IN`, and `placeBodies` after it. */
export async function expectBodies(tx: BulkTx): Promise<void> {
  await tx.run(
    "create temporary table restored_bodies (check_id bigint, n bigint, body bytea) on commit drop",
  );
}

export const COPY_BODIES_IN = "copy restored_bodies (check_id, n, body) from stdin";

const PLACE_BODIES = statement({
  name: "backup.place_bodies",
  text: `update ping_bodies b set body = r.body, object_key = null, moving_until = null
    from restored_bodies r where b.check_id = r.check_id and b.n = r.n and b.body is null`,
});
const RELEASE_BODIES = statement({
  name: "backup.release_bodies",
  text: "update ping_bodies set object_key = null, moving_until = null where body is not null and object_key is not null",
});
const DELETE_MISSING_BODIES = statement({
  name: "backup.delete_missing_bodies",
  text: "delete from ping_bodies where body is null",
});
const DELETE_OBJECT_REMOVALS = statement({
  name: "backup.delete_object_removals",
  text: "delete from object_removals",
});

/**
 * Puts the bodies from the object store into the database; the mover moves them again. Returns how many there are,
 * and how many were deleted in the object store before the backup could read them.
 */
export async function placeBodies(
  tx: Tx,
  { hasObjectStore }: { hasObjectStore: boolean },
): Promise<{ placed: number; missing: number }> {
  const { count: placed } = await tx.query(PLACE_BODIES, []);
  await tx.query(RELEASE_BODIES, []);
  const { count: missing } = await tx.query(DELETE_MISSING_BODIES, []);
  // They could never be deleted, and `overdue prune` would report them.
  if (!hasObjectStore) await tx.query(DELETE_OBJECT_REMOVALS, []);
  return { placed, missing };
}

/** Collects statistics, without which the first queries would be slow. */
export async function analyze(tx: BulkTx): Promise<void> {
  await tx.run("analyze");
}
