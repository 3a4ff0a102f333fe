// Tables of another product that differ between its versions: the columns that exist are read, the others get a
// default. Names are constants of this program, values are parameters.
import type { Instant } from "../core/instant.ts";
import { IMPORT_PAGED_BODY_BYTES_MAX } from "../core/limits.ts";
import type { Limitations } from "./limitations.ts";
import type { ColumnType, Parameter, RawRow, SourceDatabase } from "./source-database.ts";
import { SourceError } from "./source-error.ts";
import {
  type Read,
  readBoolean,
  readDuration,
  readInteger,
  readText,
  readTime,
  readUuid,
} from "./source-value.ts";

type Column = {
  type: ColumnType;
  /** Without this column the source cannot be imported, and without this value the row is left out. */
  isRequired?: true;
  /** What the import does without the column; null: nothing is lost. */
  otherwise?: string | null;
};

export type Columns = Readonly<Record<string, Column>>;

export type TableDefinition<Named extends Columns> = {
  table: string;
  /** Without this table the source cannot be imported. */
  isRequired?: true;
  /** What the import does without the table. */
  otherwise?: string;
  columns: Named;
  /** Columns that contain a body. */
  bodies?: readonly string[];
};

type Values = {
  boolean: boolean;
  duration: number;
  integer: number;
  text: string;
  time: Instant;
  uuid: string;
};

/** Null: the row has no value, a damaged one, or the table has no such column. */
export type TableRow<Named extends Columns> = {
  [Name in keyof Named]: Named[Name] extends { isRequired: true }
    ? Values[Named[Name]["type"]]
    : Values[Named[Name]["type"]] | null;
} & { body: Body | null };

/** The bytes of a small body; a larger one is read by itself. */
export type Body = { column: string; byteCount: number; bytes: Uint8Array | null };

export type SourceTable<Named extends Columns> = {
  /** Rows that match, by the end of a statement: "where id > ? order by id limit 10". */
  rows(rest: string, parameters: readonly Parameter[]): Promise<TableRow<Named>[]>;
  /** The same with a limit. */
  page(rest: string, parameters: readonly Parameter[], lengthMax: number): Promise<TablePage<Named>>;
};

export type TablePage<Named extends Columns> = {
  rows: TableRow<Named>[];
  /** Whole numbers of the last row, after which the next page begins; null if there is none. */
  last: ((column: keyof Named & string) => number | null) | null;
};

const READERS: { readonly [Type in ColumnType]: (raw: unknown) => Read<Values[Type]> } = {
  boolean: readBoolean,
  duration: readDuration,
  integer: readInteger,
  text: readText,
  time: readTime,
  uuid: readUuid,
};

/** Results have other names than columns, which "order by" would otherwise not find. */
const alias = (column: string) => `v_${column}`;
const bodyAlias = (column: string) => `body_${column}`;
const bodySizeAlias = (column: string) => `body_size_${column}`;

/** Compares a table with its definition. Throws SourceError if something required is missing. */
export function openTable<const Named extends Columns>(
  database: SourceDatabase,
  definition: TableDefinition<Named>,
  limitations: Limitations,
): SourceTable<Named> {
  const { table, columns } = definition;
  const existing = database.columns.get(table);
  if (existing === undefined) {
    if (definition.isRequired === true) throw missing(database, `table ${table}`);
    if (definition.otherwise !== undefined)
      limitations.add(`There is no table ${table}. ${definition.otherwise}`);
    return { rows: async () => [], page: async () => ({ rows: [], last: null }) };
  }
  for (const [name, { isRequired, otherwise = null }] of Object.entries(columns)) {
    if (existing.has(name)) continue;
    if (isRequired === true) throw missing(database, `column ${name} of the table ${table}`);
    if (otherwise !== null) limitations.add(`The table ${table} has no column ${name}. ${otherwise}`);
  }
  const text = `select ${selectList(database, definition, existing)} from ${table}`;
  const decodeAll = (rows: readonly RawRow[]) =>
    rows.flatMap((row) => decode(row, definition, limitations) ?? []);
  return {
    rows: async (rest, parameters) => decodeAll(await database.query(`${text} ${rest}`, parameters)),
    page: async (rest, parameters, lengthMax) => {
      const rows = await database.query(`${text} ${rest} limit ${lengthMax}`, parameters);
      // By the rows that were read: those that are left out must not end the list.
      const last = rows.length < lengthMax ? undefined : rows.at(-1);
      return {
        rows: decodeAll(rows),
        last: last === undefined ? null : (column) => readInteger(last[alias(column)]).value,
      };
    },
  };
}

function missing(database: SourceDatabase, what: string): SourceError {
  return new SourceError(
    `The ${database.name} has no ${what}. Check that it is the database of Healthchecks, that its migrations have been applied, and that the user may read all tables.`,
  );
}

function selectList<Named extends Columns>(
  database: SourceDatabase,
  { columns, bodies = [] }: TableDefinition<Named>,
  existing: ReadonlySet<string>,
): string {
  const plain = Object.entries(columns)
    .filter(([name]) => existing.has(name))
    .map(([name, { type }]) => `${database.expression(type, database.quote(name))} as ${alias(name)}`);
  const large = bodies
    .filter((name) => existing.has(name))
    .flatMap((name) => {
      const quoted = database.quote(name);
      const isSmall = `octet_length(${quoted}) <= ${IMPORT_PAGED_BODY_BYTES_MAX}`;
      return [
        `octet_length(${quoted}) as ${bodySizeAlias(name)}`,
        `case when ${isSmall} then ${quoted} end as ${bodyAlias(name)}`,
      ];
    });
  return [...plain, ...large].join(", ");
}

/** Null for a row without a required value. */
function decode<Named extends Columns>(
  row: RawRow,
  { table, columns, bodies = [] }: TableDefinition<Named>,
  limitations: Limitations,
): TableRow<Named> | null {
  const found: Record<string, unknown> = {};
  for (const [name, { type, isRequired = false }] of Object.entries(columns)) {
    const raw = row[alias(name)] ?? null;
    const { value, why } = raw === null ? { value: null, why: "is empty" } : READERS[type](raw);
    const isLost = isRequired && value === null;
    if (isLost || (raw !== null && why !== undefined)) {
      const id = row[alias("id")] === undefined ? "" : `, row ${String(row[alias("id")])}`;
      limitations.addDamage(`${table}${id}: ${name} ${why}.${isLost ? " The row is left out." : ""}`);
    }
    if (isLost) return null;
    found[name] = value;
  }
  found["body"] = bodies.map((name) => bodyOf(row, name)).find((body) => body !== null) ?? null;
  return found as TableRow<Named>;
}

function bodyOf(row: RawRow, column: string): Body | null {
  const byteCount = readInteger(row[bodySizeAlias(column)]).value ?? 0;
  return byteCount === 0 ? null : { column, byteCount, bytes: bytesOf(row[bodyAlias(column)]) };
}

/** Bytes, or text of a version that stored bodies as text; null for anything else. */
export function bytesOf(raw: unknown): Uint8Array | null {
  const bytes = typeof raw === "string" ? Buffer.from(raw, "utf8") : raw;
  // Drivers return different classes.
  return bytes instanceof Uint8Array ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length) : null;
}
